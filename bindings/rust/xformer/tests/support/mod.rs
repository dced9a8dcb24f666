//! Shared by the tests: a small training setup, and temporary folders.
//
// SPDX-License-Identifier: Apache-2.0
#![allow(dead_code)] // each test program uses a part

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, process};

use xformer::*;

/// Ids of a tokenizer that the library trained.
pub const START: i32 = 0;
pub const END: i32 = 1;

pub const PAIRS: [(&str, &str); 12] = [
    ("one two three", "eins zwei drei"),
    ("two three four", "zwei drei vier"),
    ("three four", "drei vier"),
    ("four one", "vier eins"),
    ("one one two", "eins eins zwei"),
    ("four four three two", "vier vier drei zwei"),
    ("two", "zwei"),
    ("three one four two", "drei eins vier zwei"),
    ("one four", "eins vier"),
    ("two two", "zwei zwei"),
    ("three three three", "drei drei drei"),
    ("four two one", "vier zwei eins"),
];

pub fn sources() -> Vec<&'static str> {
    PAIRS.iter().map(|pair| pair.0).collect()
}

pub fn targets() -> Vec<&'static str> {
    PAIRS.iter().map(|pair| pair.1).collect()
}

/// Options of a model that is trained within a second.
pub fn config() -> Config {
    let mut config = Config::new().expect("a config");
    for (key, value) in [
        ("context.device", "cpu"),
        ("context.threads", "1"),
        ("tokenizer.vocab_size", "290"),
        ("data.batch_tokens", "40"),
        ("model.encoder_layers", "1"),
        ("model.decoder_layers", "1"),
        ("model.d_model", "16"),
        ("model.d_ff", "24"),
        ("model.heads", "2"),
        ("model.d_k", "8"),
        ("model.d_v", "8"),
        ("model.max_length", "64"),
        ("train.schedule", "constant"),
        ("train.learning_rate", "0.01"),
        ("train.warmup_steps", "5"),
        ("decode.max_extra_tokens", "8"),
    ] {
        config.set(key, value).expect("an option");
    }
    config
}

/// The options of config(), and others.
pub fn config_with(options: &[(&str, &str)]) -> Config {
    let mut config = config();
    for (key, value) in options {
        config.set(key, *value).expect("an option");
    }
    config
}

/// One of each object.
pub struct World {
    pub config: Config,
    pub context: Context,
    pub corpus: Corpus,
    pub tokenizer: Tokenizer,
    pub batcher: Batcher,
    pub model: Model,
    pub trainer: Trainer,
    pub decoder: Decoder,
}

impl World {
    pub fn new() -> Self {
        World::with(Host::new(), &config())
    }

    pub fn with(host: Host, config: &Config) -> Self {
        World::build(host, config.clone()).expect("a world")
    }

    fn build(host: Host, config: Config) -> Result<Self> {
        let context = Context::with_host(&config, host)?;
        let corpus = Corpus::from_pairs(&context, PAIRS, None)?;
        let tokenizer = Tokenizer::train(&context, &corpus, &config)?;
        let model = Model::new(&context, &tokenizer, &config)?;
        let batcher = Batcher::new(&corpus, model.tokenizer(), &config)?;
        let trainer = Trainer::new(&model, &config)?;
        let decoder = Decoder::new(&model, &config)?;
        Ok(World { config, context, corpus, tokenizer, batcher, model, trainer, decoder })
    }

    pub fn batch(&mut self) -> Batch<'static> {
        self.batcher.next_batch().expect("no error").expect("the first batch of an epoch").into_owned()
    }

    pub fn train(&mut self, steps: usize) -> Vec<StepStats> {
        let steps = self.trainer.steps(&mut self.batcher).take(steps);
        steps.collect::<Result<_>>().expect("steps")
    }

    pub fn translate(&mut self) -> Vec<String> {
        self.decoder.translate(&sources()).expect("hypotheses").texts().expect("texts")
    }
}

/// Ids, text, the bits of score and log-probability, and whether it is finished.
pub type Found = (Vec<i32>, String, u64, u64, bool);

/// All hypotheses, for comparison.
pub fn all(found: &Hypotheses) -> Vec<Vec<Found>> {
    let copy = |h: Hypothesis<'_>| {
        let text = h.text().expect("a text").into_owned();
        (h.ids.to_vec(), text, h.score.to_bits(), h.log_probability.to_bits(), h.finished)
    };
    found.iter().map(|sentence| sentence.expect("hypotheses").into_iter().map(copy).collect()).collect()
}

/// A context and a decoder, and a batch that takes seconds to decode.
pub fn slow_world() -> (Context, Decoder, Batch<'static>) {
    let config = config_with(&[
        ("model.d_model", "256"),
        ("model.d_ff", "1024"),
        ("model.vocab_size", "4000"),
        ("model.decoder_layers", "4"),
        ("model.max_length", "512"),
        ("decode.max_extra_tokens", "300"),
        ("decode.beam", "8"),
    ]);
    let context = Context::new(&config).expect("a context");
    let model = Model::new(&context, None, &config).expect("a model");
    let decoder = Decoder::new(&model, &config).expect("a decoder");
    (context, decoder, Batch::from_ids((0..300).map(|i| [2 + i, 7, 8, END])).expect("a batch"))
}

/// Returns the error of a call, which must have this status and a message that contains these words.
#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T>, status: Status, words: &str) -> Error {
    let error = result.expect_err("an error");
    assert_eq!(error.status(), status, "{}", error);
    assert!(error.message().contains(words), "{} lacks {}", error, words);
    assert_eq!(error.to_string(), error.message());
    error
}

/// A temporary folder, removed when it is dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("xformer-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
