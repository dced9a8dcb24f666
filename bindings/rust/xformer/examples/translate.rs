//! Translates lines of standard input: `cargo run --example translate MODEL < TEXT`.
//
// SPDX-License-Identifier: Apache-2.0

use std::error::Error;
use std::io::{self, BufRead, Write};

use xformer::{Context, Decoder, Model};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: translate MODEL < TEXT")?;
    let context = Context::new(None)?;
    let mut decoder = Decoder::new(&Model::load(&context, path, None)?, None)?;
    let (mut lines, mut output) = (io::stdin().lock().lines(), io::stdout().lock());
    loop {
        let texts: Vec<String> = lines.by_ref().take(32).collect::<Result<_, _>>()?;
        if texts.is_empty() {
            return Ok(());
        }
        for sentence in decoder.translate(&texts)?.iter() {
            match sentence {
                Ok(hypotheses) => writeln!(output, "{}", hypotheses[0].text().unwrap_or_default())?,
                Err(error) => {
                    eprintln!("{}", error);
                    writeln!(output)?; // one output line for each input line
                }
            }
        }
        output.flush()?;
    }
}
