//! Handles and structures of the headers.
//
// SPDX-License-Identifier: Apache-2.0

use std::marker::{PhantomData, PhantomPinned};
use std::mem::{size_of, transmute};
use std::os::raw::{c_char, c_void};

use crate::constants::*;

/// Types that only the library looks into: neither Send nor Sync, not to be made or moved by Rust.
macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug)]
        pub struct $name {
            bytes: [u8; 0],
            marker: PhantomData<(*mut u8, PhantomPinned)>,
        }
    )*};
}

opaque! {
    /// A set of option values. Create with xf_config_create().
    xf_config,
    /// The root object. Create with xf_context_create().
    xf_context,
    /// Sentence pairs as text; immutable.
    xf_corpus,
    /// A tokenizer; see text.h.
    xf_tokenizer,
    /// Makes batches from a corpus.
    xf_batcher,
    /// A Transformer's parameters with their configuration and, perhaps, a tokenizer.
    xf_model,
    /// The state of an optimization: gradients, moments, step, workspace.
    xf_trainer,
    /// A decoder: options and workspace over a model it shares with others.
    xf_decoder,
    /// The answers of a decode call.
    xf_hypotheses,
}

/// Receives log lines. Called on the thread that made the call, never from a worker; must not unwind, or call functions
/// on the same context other than `xf_context_cancel()`.
pub type xf_log_fn = Option<
    unsafe extern "C" fn(user: *mut c_void, level: xf_log_level, component: *const c_char, message: *const c_char),
>;

/// Says which tokens may follow a hypothesis: clears the bits of those in `allowed`, of which all are set, that may
/// not. Called on the thread that decodes; must not unwind or use the decoder. 0: go on; any other value ends the call.
pub type xf_constraint_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, prefix: *const xf_prefix, allowed: *mut u32) -> i32>;

/// Why a call failed. Owned by the caller; 256 bytes, frozen for ever; may live on the stack. Filled only when a
/// call returns a negative status. The library neither keeps the pointer nor allocates, so running out of memory is
/// reported too.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct xf_error {
    /// The same value as was returned, an enum xf_status.
    pub status: i32,
    /// errno, a cudaError_t, or 0: the code of the layer below.
    pub native_code: i32,
    /// One line of UTF-8, NUL-terminated: the value found and the value expected.
    pub message: [c_char; XF_ERROR_MESSAGE_SIZE],
}

/// One row of the option table. All strings are static.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct xf_option_info {
    /// In: sizeof(xf_option_info) of the caller.
    pub struct_size: usize,
    /// Such as "train.label_smoothing".
    pub key: *const c_char,
    /// An enum xf_option_type.
    pub type_: i32,
    /// Not used, 0.
    pub reserved: i32,
    /// The default as text, in the form xf_config_set() reads.
    pub default_value: *const c_char,
    /// Smallest value allowed, of a number.
    pub minimum: f64,
    /// Largest value allowed, of a number.
    pub maximum: f64,
    /// For XF_OPTION_STR: the allowed words separated by '|', or NULL when any text is allowed.
    pub choices: *const c_char,
    /// One sentence on what it does, with its unit.
    pub doc: *const c_char,
    /// Where the paper speaks of it, such as "s. 5.4", or "".
    pub paper: *const c_char,
    /// Version that brought the option, "0.1".
    pub since: *const c_char,
}

/// The host's allocator for what is large: tensors, arenas, scratch. Small C++ objects use operator new. Both
/// functions are called from any thread, several at a time.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct xf_allocator {
    /// sizeof(xf_allocator) of the caller.
    pub struct_size: usize,
    /// Passed back to both functions.
    pub user: *mut c_void,
    /// Returns size bytes aligned to alignment (a power of two), or NULL.
    pub alloc: Option<unsafe extern "C" fn(user: *mut c_void, size: usize, alignment: usize) -> *mut c_void>,
    /// Frees what alloc returned; size as then.
    pub free: Option<unsafe extern "C" fn(user: *mut c_void, ptr: *mut c_void, size: usize)>,
}

/// Memory of a context's tensors, in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct xf_memory_stats {
    /// In: sizeof(xf_memory_stats) of the caller.
    pub struct_size: usize,
    /// Bytes held now.
    pub current: i64,
    /// Largest value of current so far.
    pub peak: i64,
    /// The budget, 0 when there is none.
    pub budget: i64,
    /// Allocations made so far: stands still in the steady state of training and decoding.
    pub allocations: i64,
}

/// One backend, present or not. Strings are owned by the context.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct xf_backend_info {
    /// In: sizeof(xf_backend_info) of the caller.
    pub struct_size: usize,
    /// "ref", "openblas", "cuda".
    pub name: *const c_char,
    /// Version of the plugin and of what it stands on; "" when it could not be loaded.
    pub version: *const c_char,
    /// File it was loaded from; "" for the built-in one.
    pub path: *const c_char,
    /// Kind of its devices: "cpu" or "cuda".
    pub kind: *const c_char,
    /// Number of devices it can open; 0 when it is not available.
    pub device_count: i32,
    /// 1 when this context computes with it.
    pub active: i32,
    /// Why it is not available, one sentence; "" when it is.
    pub reason: *const c_char,
}

/// What became of the lines of a corpus: lines is the sum of the others.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct xf_corpus_stats {
    /// In: sizeof(xf_corpus_stats) of the caller.
    pub struct_size: usize,
    /// Lines read.
    pub lines: i64,
    /// Pairs kept.
    pub kept: i64,
    /// Lines without exactly one tab.
    pub bad_columns: i64,
    /// Lines with an empty side.
    pub empty_side: i64,
    /// Lines with a side longer than "data.max_bytes".
    pub too_long: i64,
    /// Lines that are not UTF-8.
    pub invalid_utf8: i64,
    /// Lines with a NUL byte.
    pub nul_byte: i64,
}

/// Packed sentences: the ids of all sentences one after the other, and where each begins. Sentence b of the source
/// is `src_ids[src_offsets[b]]` to `src_ids[src_offsets[b + 1] - 1]`, its last id the end symbol; the target likewise.
/// The target has no start symbol: the library puts it in. From xf_batcher_next() the arrays belong to the batcher;
/// a caller may also fill the struct with arrays of its own. XF_BATCH_INIT makes an empty one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct xf_batch {
    /// sizeof(xf_batch) of the caller.
    pub struct_size: usize,
    /// Number of sentences, B.
    pub sentences: i64,
    /// `[src_offsets[B]]` ids.
    pub src_ids: *const i32,
    /// `[B + 1]`, first 0, not falling.
    pub src_offsets: *const i32,
    /// `[tgt_offsets[B]]` ids; NULL for decoding.
    pub tgt_ids: *const i32,
    /// `[B + 1]`; NULL for decoding.
    pub tgt_offsets: *const i32,
    /// `[B]` index of each pair in its corpus, or NULL.
    pub pair_index: *const i64,
}

/// Where a batcher stands and what it holds.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct xf_batcher_stats {
    /// In: sizeof(xf_batcher_stats) of the caller.
    pub struct_size: usize,
    /// Epoch of the next batch, from 0.
    pub epoch: i64,
    /// Number of the next batch in its epoch, from 0.
    pub batch: i64,
    /// Batches in this epoch.
    pub batches: i64,
    /// Pairs in an epoch.
    pub pairs: i64,
    /// Pairs left out because a side has more than "data.max_tokens" tokens.
    pub too_long: i64,
    /// Pairs left out because a side has no token.
    pub empty: i64,
    /// Source tokens in an epoch, end symbols counted.
    pub src_tokens: i64,
    /// Target tokens in an epoch, end symbols counted.
    pub tgt_tokens: i64,
}

/// One parameter tensor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct xf_tensor_info {
    /// In: sizeof(xf_tensor_info) of the caller.
    pub struct_size: usize,
    /// Module path, such as "encoder.0.self_attention.q.weight"; owned by the model.
    pub name: *const c_char,
    /// Rows: outputs of a linear map, ids of an embedding; 1 for a vector.
    pub rows: i64,
    /// Columns: inputs of a linear map, d_model of an embedding; the length of a vector.
    pub columns: i64,
}

/// What a training step did.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct xf_step_stats {
    /// In: sizeof(xf_step_stats) of the caller.
    pub struct_size: usize,
    /// Number of the update just made, from 1.
    pub step: i64,
    /// Sentence pairs used.
    pub sentences: i64,
    /// Source tokens, end symbols counted.
    pub src_tokens: i64,
    /// Target tokens, end symbols counted.
    pub tgt_tokens: i64,
    /// Label-smoothed cross-entropy, nats per target token, under dropout.
    pub loss: f64,
    /// Un-smoothed cross-entropy, nats per target token, under dropout.
    pub nll: f64,
    /// Learning rate of the update, eq. (3).
    pub learning_rate: f64,
    /// L2 norm of the gradient of the mean loss.
    pub gradient_norm: f64,
}

/// A hypothesis whose next token is to be chosen: what a constraint is asked about.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct xf_prefix {
    /// sizeof(xf_prefix) of the library: it may grow at its end.
    pub struct_size: usize,
    /// Which sentence of the batch, or of the texts, it answers.
    pub sentence: usize,
    /// Its tokens so far, without the start symbol; valid during the call.
    pub ids: *const i32,
    /// How many.
    pub length: i64,
    /// Tokens that may follow, the end symbol counted; 1: what is not ended now is cut off.
    pub remaining: i64,
    /// V: how many ids there are.
    pub vocab_size: i32,
    /// Not used, 0.
    pub reserved: i32,
}

/// One answer. Pointers are owned by its xf_hypotheses.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct xf_hypothesis {
    /// In: sizeof(xf_hypothesis) of the caller.
    pub struct_size: usize,
    /// The target ids, without start and end symbol.
    pub ids: *const i32,
    /// How many.
    pub length: i64,
    /// UTF-8, NUL-terminated; NULL when the model has no tokenizer.
    pub text: *const c_char,
    /// Bytes of text without the NUL.
    pub text_length: usize,
    /// Natural logarithm of the probability, the end symbol's included when finished.
    pub log_probability: f64,
    /// log_probability divided by the length penalty; answers come best first.
    pub score: f64,
    /// 1 when the answer ended with the end symbol; 0 when the length limit cut it off.
    pub finished: i32,
    /// Not used, 0.
    pub reserved: i32,
}

/// Quality of a model on held-out pairs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct xf_eval_stats {
    /// In: sizeof(xf_eval_stats) of the caller.
    pub struct_size: usize,
    /// Pairs.
    pub sentences: i64,
    /// Target tokens, end symbols counted.
    pub tgt_tokens: i64,
    /// Cross-entropy with "train.label_smoothing" of the decoder's config, nats per target token, no dropout.
    pub loss: f64,
    /// Un-smoothed cross-entropy, nats per target token, no dropout.
    pub nll: f64,
    /// exp(nll): perplexity per token.
    pub perplexity: f64,
}

/// A corpus BLEU score with its parts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct xf_bleu_score {
    /// In: sizeof(xf_bleu_score) of the caller.
    pub struct_size: usize,
    /// 0 to 100.
    pub score: f64,
    /// n-gram precisions in percent, n = 1 to 4, smoothed as sacreBLEU's "exp" does.
    pub precisions: [f64; 4],
    /// 0 to 1.
    pub brevity_penalty: f64,
    /// Words of all hypotheses.
    pub hypothesis_length: i64,
    /// Words of all references.
    pub reference_length: i64,
    /// What was computed, in sacreBLEU's manner; NUL-terminated.
    pub signature: [c_char; 96],
}

/// Constants that stand for the C initialisers: all zero, but for the size.
macro_rules! init {
    ($($name:ident: $type:ty,)*) => {$(
        #[doc = concat!("A zeroed `", stringify!($type), "` with its struct_size.")]
        pub const $name: $type = {
            // SAFETY: every member is an integer, a floating-point number, a pointer, an optional function or an array
            // of those, for all of which zero bits are a value.
            let mut value = unsafe { transmute::<[u8; size_of::<$type>()], $type>([0; size_of::<$type>()]) };
            value.struct_size = size_of::<$type>();
            value
        };
    )*};
}

init! {
    XF_OPTION_INFO_INIT: xf_option_info,
    XF_ALLOCATOR_INIT: xf_allocator,
    XF_MEMORY_STATS_INIT: xf_memory_stats,
    XF_BACKEND_INFO_INIT: xf_backend_info,
    XF_CORPUS_STATS_INIT: xf_corpus_stats,
    XF_BATCH_INIT: xf_batch,
    XF_BATCHER_STATS_INIT: xf_batcher_stats,
    XF_TENSOR_INFO_INIT: xf_tensor_info,
    XF_STEP_STATS_INIT: xf_step_stats,
    XF_HYPOTHESIS_INIT: xf_hypothesis,
    XF_EVAL_STATS_INIT: xf_eval_stats,
    XF_BLEU_SCORE_INIT: xf_bleu_score,
}
