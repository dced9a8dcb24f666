//! Measures the overhead of the binding: `bench MODEL SENTENCES OUTPUT ROUNDS` translates the lines of a file ROUNDS times
//! on one thread, 32 per call, and prints the seconds of each round.
//
// SPDX-License-Identifier: Apache-2.0

use std::error::Error;
use std::fs;
use std::time::Instant;

use xformer::{Config, Context, Decoder, Model};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (model, sentences, output, rounds) = match &arguments[..] {
        [model, sentences, output, rounds] => (model, sentences, output, rounds.parse::<u32>()?),
        _ => return Err("usage: bench MODEL SENTENCES OUTPUT ROUNDS".into()),
    };
    let mut config = Config::new()?;
    config.set("context.threads", 1)?;
    let context = Context::new(&config)?;
    let mut decoder = Decoder::new(&Model::load(&context, model, None)?, None)?;
    let text = fs::read_to_string(sentences)?;
    let lines: Vec<&str> = text.lines().collect();

    let mut translations = Vec::new();
    for _ in 0..rounds {
        translations.clear();
        let begin = Instant::now();
        for chunk in lines.chunks(32) {
            translations.extend(decoder.translate(chunk)?.texts()?);
        }
        println!("{:.6}", begin.elapsed().as_secs_f64());
    }
    fs::write(output, translations.iter().map(|text| text.clone() + "\n").collect::<String>())?;
    Ok(())
}
