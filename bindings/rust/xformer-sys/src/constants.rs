//! Numbers and words of the headers: statuses, option types, log levels, versions, tokens.
//!
//! C enumerations are plain integers here, so a number that these headers do not know is a number and nothing worse.
//
// SPDX-License-Identifier: Apache-2.0

use std::os::raw::{c_int, c_uint};

/// Result of a call: 0 is success, a negative value is an error, a positive value a documented non-error. The
/// numbers are part of the ABI: none is ever changed or used again.
pub type xf_status = c_int;
/// Success.
pub const XF_OK: xf_status = 0;
/// Not an error: an iterator has nothing more to give.
pub const XF_DONE: xf_status = 1;
/// A NULL, a handle of the wrong kind, a value the parameter can't take.
pub const XF_ERROR_INVALID_ARGUMENT: xf_status = -1;
/// The allocator said no, or the context's memory budget would be exceeded.
pub const XF_ERROR_NO_MEMORY: xf_status = -2;
/// No option, file, backend or tensor of that name.
pub const XF_ERROR_NOT_FOUND: xf_status = -3;
/// A number outside the documented bounds.
pub const XF_ERROR_OUT_OF_RANGE: xf_status = -4;
/// The caller's buffer is too small; the needed size was written to its size argument.
pub const XF_ERROR_BUFFER_TOO_SMALL: xf_status = -5;
/// The call is not allowed in the handle's present state.
pub const XF_ERROR_STATE: xf_status = -6;
/// The operating system refused to open, read or write; native_code is errno.
pub const XF_ERROR_IO: xf_status = -20;
/// The file is damaged: truncated, a wrong checksum, a field that contradicts another.
pub const XF_ERROR_CORRUPT: xf_status = -21;
/// The file or the input asks for more than the documented limits allow.
pub const XF_ERROR_LIMIT: xf_status = -22;
/// The file or the plugin was written for another version of the library.
pub const XF_ERROR_VERSION: xf_status = -23;
/// Text is not valid UTF-8, or training data are not of the promised form.
pub const XF_ERROR_DATA: xf_status = -24;
/// This build, backend or device can't do it.
pub const XF_ERROR_UNSUPPORTED: xf_status = -40;
/// A backend failed; native_code is its own code (a cudaError_t, say).
pub const XF_ERROR_BACKEND: xf_status = -41;
/// Loss or gradients are not finite; weights and optimizer state are as before the call.
pub const XF_ERROR_NONFINITE: xf_status = -42;
/// The handle belongs to a process from which this one was forked.
pub const XF_ERROR_FORKED: xf_status = -43;
/// xf_context_cancel() was called. The handle is usable; what it holds is as documented for errors.
pub const XF_ERROR_CANCELLED: xf_status = -60;
/// The caller's callback asked to stop.
pub const XF_ERROR_CALLBACK: xf_status = -61;
/// A defect of the library: please report it.
pub const XF_ERROR_INTERNAL: xf_status = -99;

/// Type of an option's value.
pub type xf_option_type = c_uint;
/// 64-bit signed integer.
pub const XF_OPTION_I64: xf_option_type = 1;
/// double.
pub const XF_OPTION_F64: xf_option_type = 2;
/// 0 or 1.
pub const XF_OPTION_BOOL: xf_option_type = 3;
/// UTF-8 text; one of a list of words where the table says so.
pub const XF_OPTION_STR: xf_option_type = 4;

/// Weight of a log line.
pub type xf_log_level = c_uint;
/// Something failed; the call that failed also returns it.
pub const XF_LOG_ERROR: xf_log_level = 0;
/// Something is not as the caller may think: a skipped line, a backend that could not be used.
pub const XF_LOG_WARNING: xf_log_level = 1;
/// What was chosen and done.
pub const XF_LOG_INFO: xf_log_level = 2;
/// Detail for those who look for a fault.
pub const XF_LOG_DEBUG: xf_log_level = 3;

/// How BLEU splits text into words.
pub type xf_bleu_tokenize = c_uint;
/// mteval-v13a, sacreBLEU's default: for raw text.
pub const XF_BLEU_13A: xf_bleu_tokenize = 0;
/// At white space only: for text that is tokenised already (multi-bleu).
pub const XF_BLEU_NONE: xf_bleu_tokenize = 1;
/// For text that is tokenised already: at white space and around a hyphen within a word, and a precision of zero is
/// not smoothed. The paper's Table 2: multi-bleu on tokenised text with compounds split.
pub const XF_BLEU_SPLIT_HYPHENS: xf_bleu_tokenize = 2;

/// The three uses of attention (paper s. 3.2.3).
pub type xf_attention_kind = c_uint;
/// Encoder self-attention: queries and keys are the source's tokens.
pub const XF_ATTENTION_ENCODER: xf_attention_kind = 0;
/// Decoder self-attention: queries and keys are the target's positions; none looks ahead.
pub const XF_ATTENTION_DECODER: xf_attention_kind = 1;
/// Encoder-decoder attention: queries are the target's positions, keys the source's tokens.
pub const XF_ATTENTION_CROSS: xf_attention_kind = 2;

/// Major version of these declarations: changes when the ABI breaks, from 1 on.
pub const XF_VERSION_MAJOR: i32 = 0;
/// Minor version of these declarations: changes when functions or options are added.
pub const XF_VERSION_MINOR: i32 = 1;
/// Patch version of these declarations: changes when defects are mended.
pub const XF_VERSION_PATCH: i32 = 0;
/// The three parts as one number 0xXXYYZZ, for comparison.
pub const XF_VERSION_NUM: i32 = XF_VERSION_MAJOR << 16 | XF_VERSION_MINOR << 8 | XF_VERSION_PATCH;

/// Bytes of the message in an `xf_error`, its terminating NUL included.
pub const XF_ERROR_MESSAGE_SIZE: usize = 248;

/// Id of the start symbol, which the decoder is fed first.
pub const XF_TOKEN_START: i32 = 0;
/// Id of the end symbol, which ends every source and every target.
pub const XF_TOKEN_END: i32 = 1;
