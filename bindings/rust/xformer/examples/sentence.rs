//! Translates its arguments: `sentence MODEL TEXT...`. Shown in the README.
//
// SPDX-License-Identifier: Apache-2.0

use xformer::{Context, Decoder, Model};

fn main() -> xformer::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let model = Model::load(&Context::new(None)?, &arguments[1], None)?;
    let mut decoder = Decoder::new(&model, None)?;
    println!("{}", decoder.translate(&arguments[2..])?.texts()?.join("\n"));
    Ok(())
}
