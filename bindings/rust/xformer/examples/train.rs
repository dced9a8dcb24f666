//! Trains a tiny model on a file with lines of the form "source TAB target", continues an earlier run, and measures the
//! result: `cargo run --example train PAIRS CHECKPOINT STEPS`.
//
// SPDX-License-Identifier: Apache-2.0

use std::error::Error;
use std::path::Path;

use xformer::{
    bleu, Batcher, BleuTokenize, Config, Context, Corpus, Decoder, Host, LogLevel, Model, Tokenizer, Trainer,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (pairs, checkpoint, steps) = match &arguments[..] {
        [pairs, checkpoint, steps] => (Path::new(pairs), Path::new(checkpoint), steps.parse::<i64>()?),
        _ => return Err("usage: train PAIRS CHECKPOINT STEPS".into()),
    };
    let mut config = Config::new()?;
    config.preset("tiny")?.set("tokenizer.vocab_size", 1000)?.set("data.batch_tokens", 400)?;
    config.set("train.warmup_steps", 100)?; // the paper's 4,000 are for 100,000 steps
    let host = Host::new().log(LogLevel::Warning, |_, component, message| eprintln!("{}: {}", component, message));
    let context = Context::with_host(&config, host)?;
    let corpus = Corpus::open(&context, pairs, &config)?;

    let (mut trainer, mut batcher) = if checkpoint.exists() {
        let trainer = Trainer::resume(&context, checkpoint, None)?;
        let mut batcher = Batcher::new(&corpus, trainer.model().tokenizer(), &config)?;
        batcher.resume(&trainer)?;
        println!("continues after step {}", trainer.step_count());
        (trainer, batcher)
    } else {
        let tokenizer = Tokenizer::train(&context, &corpus, &config)?;
        let model = Model::new(&context, &tokenizer, &config)?;
        (Trainer::new(&model, &config)?, Batcher::new(&corpus, model.tokenizer(), &config)?)
    };
    while trainer.step_count() < steps {
        match trainer.next_step(&mut batcher)? {
            Some(stats) if stats.step % 100 == 0 => {
                println!("step {}  loss {:.3}  perplexity {:.2}", stats.step, stats.loss, stats.nll.exp());
            }
            _ => (), // None: the end of an epoch
        }
    }
    trainer.save(checkpoint, &batcher)?;

    let first: Vec<(&str, &str)> = corpus.pairs().take(32).collect::<Result<_, _>>()?;
    let (sources, targets): (Vec<&str>, Vec<&str>) = first.into_iter().unzip();
    let found = Decoder::new(trainer.model(), &config)?.translate(&sources)?;
    println!("BLEU of the first pairs {:.1}", bleu(&found.texts()?, &targets, BleuTokenize::V13a)?.score);
    Ok(())
}
