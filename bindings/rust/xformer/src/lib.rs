//! Trains and decodes the encoder-decoder Transformer of [Attention Is All You Need](https://arxiv.org/abs/1706.03762):
//! the C library libxformer for Rust.
//!
//! ```no_run
//! use xformer::{Context, Decoder, Model};
//!
//! let context = Context::new(None)?;
//! let model = Model::load(&context, "en-de.xf")?;
//! let mut decoder = Decoder::new(&model, None)?;
//! for text in decoder.translate(&["Choose File - Save."])?.texts() {
//!     println!("{}", text);
//! }
//! # Ok::<(), xformer::Error>(())
//! ```
//!
//! A [`Context`] opens a device. A [`Corpus`] of sentence pairs trains a [`Tokenizer`]; with both a [`Batcher`] makes
//! batches, from which a [`Trainer`] learns a [`Model`]; a [`Decoder`] translates, scores and evaluates with it. All
//! choices are options by name in a [`Config`]; [`options`] is the table of them. Where a config is asked for, `None`
//! stands for all defaults.
//!
//! # Ownership
//!
//! Objects keep what they need of those they were made from, so they have no lifetimes and may be dropped in any order.
//! What is borrowed has one: a batch in the arrays of its batcher, an answer in its [`Hypotheses`], the text of a pair.
//!
//! # Threads
//!
//! All objects may go to other threads and be shared. Methods that change an object take `&mut self`; those that take
//! `&self` may be called by many threads at once. A [`Model`], which its trainers and decoders share, is watched at run
//! time: a trainer's call has it for itself, and what comes beside is an error, [`Error::is_busy`], and does nothing.
//! [`CancelHandle`] stops what runs.
//!
//! After `fork()` a child can't use the contexts of its parent: their calls are errors of [`Status::Forked`].
//!
//! # Errors
//!
//! An [`Error`] has a [`Status`] to match on and a sentence with the value found and the value expected. Methods list
//! the statuses that are theirs. All that belong to a context may also give [`Status::Forked`], and [`Status::State`]
//! in a log closure of that context.
//
// SPDX-License-Identifier: Apache-2.0

#![deny(missing_docs, unsafe_op_in_unsafe_fn)]
#![warn(missing_debug_implementations)]

mod batch;
mod batcher;
mod callback;
mod config;
mod constraint;
mod context;
mod corpus;
mod decoder;
mod error;
mod eval;
mod handle;
mod hypotheses;
mod model;
mod strings;
mod tokenizer;
mod trainer;
mod usage;
mod version;

pub use batch::Batch;
pub use batcher::{Batcher, BatcherStats, Epoch};
pub use config::{options, Config, OptionInfo, OptionType, Value};
pub use constraint::{Allowed, Prefix};
pub use context::{BackendInfo, CancelHandle, Context, LogLevel, MemoryStats};
pub use corpus::{Corpus, CorpusStats, Pairs};
pub use decoder::{Attention, AttentionKind, Decoder, EvalStats};
pub use error::{Error, Result, Status};
pub use eval::{bleu, chrf, BleuScore, BleuTokenize};
pub use hypotheses::{Answers, Hypotheses, Hypothesis, Sentences};
pub use model::{Model, ParamInfo};
pub use tokenizer::{Tokenizer, TOKEN_END, TOKEN_START};
pub use trainer::{StepStats, Steps, Trainer};
pub use version::{build_info, version, version_num};

/// The raw declarations, for what this crate leaves out.
pub use xformer_sys as sys;

/// What the headers' thread rules allow, checked by the compiler.
const _: () = {
    const fn any_thread<T: Send + Sync + 'static>() {}
    any_thread::<Config>();
    any_thread::<Context>();
    any_thread::<CancelHandle>();
    any_thread::<Corpus>();
    any_thread::<Tokenizer>();
    any_thread::<Batcher>();
    any_thread::<Batch<'static>>();
    any_thread::<Model>();
    any_thread::<Trainer>();
    any_thread::<Decoder>();
    any_thread::<Prefix<'static>>();
    any_thread::<Allowed<'static>>();
    any_thread::<Hypotheses>();
    any_thread::<Hypothesis<'static>>();
    any_thread::<Error>();
};
