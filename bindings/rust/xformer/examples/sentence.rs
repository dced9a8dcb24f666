//! Translates its arguments: `sentence MODEL TEXT...`. The README shows it.
//
// SPDX-License-Identifier: Apache-2.0

use xformer::{Context, Decoder, Model};

fn main() -> xformer::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let mut decoder = Decoder::new(&Model::load(&Context::new(None)?, &arguments[1])?, None)?;
    println!("{}", decoder.translate(&arguments[2..])?.texts()?.join("\n"));
    Ok(())
}
