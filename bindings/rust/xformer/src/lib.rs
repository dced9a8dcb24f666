//! Trains and decodes the encoder-decoder Transformer of [Attention Is All You Need](https://arxiv.org/abs/1706.03762):
//! the C library libxformer for Rust.
//!
//! ```no_run
//! use xformer::{Context, Decoder, Model};
//!
//! let context = Context::new(None)?;
//! let model = Model::load(&context, "en-de.xf")?;
//! let mut decoder = Decoder::new(&model, None)?;
//! for text in decoder.translate(&["Choose File - Save."])?.texts()? {
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
//! `&self` may be called by many threads at once. A [`Model`], which its trainers and decoders share, is watched by the
//! library: a trainer's call has it for itself, and what comes beside is an error of [`Status::Busy`] and does nothing.
//! A [`CancelHandle`] stops what runs. After `fork()` a child can't use the contexts of its parent: their calls are
//! errors of [`Status::Forked`].
//!
//! # Errors
//!
//! An [`Error`] has a [`Status`] to match on and a sentence with the value found and the value expected; after one,
//! objects are as before the call. The documentation of a method names the statuses that are its own. Beside them all
//! that works may give [`Status::NoMemory`], [`Status::Backend`] and [`Status::Forked`], what takes long
//! [`Status::Cancelled`] and [`Status::Callback`] (of a [`Host`]'s progress closure), what uses a model
//! [`Status::Busy`], what reads a file [`Status::NotFound`], [`Status::Io`], [`Status::Corrupt`], [`Status::Limit`] and
//! [`Status::Version`], and what writes one [`Status::NotFound`] and [`Status::Io`].
//
// SPDX-License-Identifier: Apache-2.0

#![deny(missing_docs, unsafe_op_in_unsafe_fn)]
#![warn(missing_debug_implementations)]

#[macro_use]
mod handle;
#[macro_use]
mod mirror;

mod batch;
mod batcher;
mod config;
mod context;
mod corpus;
mod decoder;
mod error;
mod eval;
mod host;
mod hypotheses;
mod model;
mod params;
mod source;
mod tokenizer;
mod trainer;
mod version;

pub use batch::Batch;
pub use batcher::{Batcher, BatcherStats};
pub use config::{options, Config, OptionInfo, OptionType, Value};
pub use context::{BackendInfo, BackendState, CancelHandle, Context, MemoryStats};
pub use corpus::{Corpus, CorpusStats};
pub use decoder::{Attention, AttentionKind, Decoder, EvalStats};
pub use error::{Error, Result, Status};
pub use eval::{bleu, chrf, BleuScore, BleuTokenize};
pub use host::{Host, LogLevel};
pub use hypotheses::{Hypotheses, Hypothesis};
pub use model::{Model, TensorInfo};
pub use params::{Allowed, DecodeParams, Prefix};
pub use source::{ModelSummary, Source};
pub use tokenizer::{Tokenizer, TOKEN_END, TOKEN_START};
pub use trainer::{StepOutcome, StepStats, Trainer};
pub use version::{build_info, version, version_num};

/// The raw declarations, for what this crate leaves out.
pub use xformer_sys as sys;

/// Programs that must not compile.
#[cfg(doctest)]
#[doc = include_str!("../tests/refused.md")]
struct Refused;
