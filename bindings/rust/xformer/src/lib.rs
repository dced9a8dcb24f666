//! Trains and decodes the encoder-decoder Transformer of [Attention Is All You Need](https://arxiv.org/abs/1706.03762)
//! with the C library libxformer.
//!
//! ```no_run
//! use xformer::{Context, Decoder, Model};
//!
//! let context = Context::new(None)?;
//! let model = Model::load(&context, "en-de.xf", None)?;
//! let mut decoder = Decoder::new(&model, None)?;
//! for text in decoder.translate(&["Choose File - Save."])?.texts()? {
//!     println!("{}", text);
//! }
//! # Ok::<(), xformer::Error>(())
//! ```
//!
//! A [`Context`] opens a device. A [`Corpus`] contains sentence pairs, from which a [`Tokenizer`] is trained and a
//! [`Batcher`] produces batches. A [`Trainer`] trains a [`Model`] with them, and a [`Decoder`] translates, scores, and
//! evaluates with the model. An [`Engine`] translates requests that arrive at any time. Options are set by name in a
//! [`Config`]; [`options`] returns the table of all options. `None` in place of a config selects all defaults.
//!
//! # Ownership
//!
//! Objects keep what they need of the objects from which they were created. They have no lifetime parameters and may be
//! dropped in any order. Borrowed are the arrays of a batch from [`Batcher::next_batch`], the hypotheses in
//! [`Hypotheses`], and the texts of a corpus.
//!
//! # Threads
//!
//! All objects are `Send` and `Sync`. Methods that change an object take `&mut self`. A [`Model`] is shared by its
//! trainers and decoders: a call that conflicts with a running one returns [`Status::Busy`] and does nothing. After
//! `fork()`, calls on the parent's objects return [`Status::Forked`] in the child.
//!
//! # Cancellation, deadlines, and progress
//!
//! [`Call::run`] gives the library calls of a closure a [`CancelToken`], a deadline, and a progress callback.
//!
//! # Errors
//!
//! An [`Error`] has a [`Status`] to match and a sentence: what was found, what was expected, and what to do. After an
//! error, objects are as before the call. The documentation of a method names its specific statuses. In addition, most
//! calls may return [`Status::InvalidArgument`], [`Status::NoMemory`], [`Status::Backend`], and [`Status::Forked`]; long
//! ones [`Status::Cancelled`], [`Status::Deadline`], and [`Status::Callback`]; those that load a file
//! [`Status::NotFound`], [`Status::Io`], [`Status::Corrupt`], [`Status::Limit`], and [`Status::Version`]; and those that
//! save one [`Status::NotFound`] and [`Status::Io`].
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
mod call;
mod config;
mod context;
mod corpus;
mod decoder;
mod engine;
mod error;
mod eval;
pub mod experimental;
mod host;
mod hypotheses;
mod io;
mod model;
mod params;
mod sentences;
mod tokenizer;
mod trainer;
mod version;

pub use batch::Batch;
pub use batcher::{Batcher, BatcherStats};
pub use call::{Call, CancelToken, Progress};
pub use config::{option, options, Config, OptionInfo, OptionType, Value};
pub use context::{BackendInfo, BackendState, Context, ContextInfo, MemoryStats, NumberType};
pub use corpus::{Corpus, CorpusStats};
pub use decoder::{Decoder, EvalStats};
pub use engine::{Engine, EngineInfo, Event, Request, Translation};
pub use error::{Error, Result, Status};
pub use eval::{bleu, chrf, BleuScore, BleuTokenize, ChrfScore};
pub use host::{Host, LogLevel};
pub use hypotheses::{Hypotheses, Hypothesis};
pub use io::{Sink, Source};
pub use model::{Model, ModelSummary, TensorInfo};
pub use params::{DecodeModels, DecodeParams};
pub use sentences::split_sentences;
pub use tokenizer::{Side, Tokenizer, TokenizerInfo};
pub use trainer::{StepOutcome, StepStats, Trainer};
pub use version::{build_info, version, version_num};

/// The raw declarations, for functions that this crate does not wrap.
pub use xformer_sys as sys;

/// Programs that must not compile.
#[cfg(doctest)]
#[doc = include_str!("../tests/refused.md")]
struct Refused;
