"""The C ABI as ctypes: structures and the prototype of every function of lib/xformer.map.

A mirror of include/xformer/*.h and nothing else; the tests compare it with the headers field by field. ctypes lets go
of the interpreter lock in each call, so other threads run meanwhile.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any, Dict, Tuple

from . import _library, errors


class xf_error(Structure):
    _fields_ = [("status", c_int32), ("native_code", c_int32), ("message", c_char * 248)]


class Sized(Structure):
    """A structure that begins with struct_size, which is set here: the library fills what both sides know."""

    def __init__(self, *args: Any) -> None:
        super().__init__(ctypes.sizeof(type(self)), *args)


#: void (*xf_log_fn)(void *user, enum xf_log_level, const char *component, const char *message)
xf_log_fn = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)
#: int32_t (*xf_progress_fn)(void *user, const char *task, int64_t done, int64_t total)
xf_progress_fn = ctypes.CFUNCTYPE(c_int32, c_void_p, c_char_p, c_int64, c_int64)
#: int32_t (*xf_constraint_fn)(void *user, const xf_prefix *prefix, uint32_t *allowed)
xf_constraint_fn = ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p, POINTER(c_uint32))

_TYPES: Dict[str, Any] = {
    "i32": c_int32,
    "i64": c_int64,
    "u64": c_uint64,
    "size": c_size_t,
    "f64": c_double,
    "text": c_char_p,
    "ptr": c_void_p,
    "i32s": POINTER(c_int32),
    "i64s": POINTER(c_int64),
    "f32s": POINTER(c_float),
    "texts": POINTER(c_char_p),
    "sizes": POINTER(c_size_t),
    "f64x4": c_double * 4,
    "char16": c_char * 16,
    "char96": c_char * 96,
    "log": xf_log_fn,
    "progress": xf_progress_fn,
    "constraint": xf_constraint_fn,
}


def _struct(name: str, *fields: str) -> Any:
    """A Sized with the members of each "type: name name ..."."""
    rows = [(member, _TYPES[row.split(": ")[0]]) for row in fields for member in row.split(": ")[1].split()]
    return type(name, (Sized,), {"_fields_": [("struct_size", c_size_t)] + rows, "__module__": __name__})


xf_host = _struct(
    "xf_host",
    "ptr: alloc_user alloc free log_user",
    "log: log",
    "i32: log_level reserved",
    "ptr: progress_user",
    "progress: progress",
    "ptr: parallel_user parallel release_user release",
)
xf_memory_stats = _struct("xf_memory_stats", "i64: current peak budget allocations")
xf_backend_info = _struct("xf_backend_info", "text: name version path kind", "i32: state device_count", "text: reason")
xf_option_info = _struct(
    "xf_option_info",
    "text: key",
    "i32: type reserved",
    "text: default_value",
    "f64: minimum maximum",
    "text: choices doc paper since",
)
xf_corpus_stats = _struct(
    "xf_corpus_stats", "i64: lines kept bad_columns empty_side too_long invalid_utf8 nul_byte"
)
xf_batch = _struct(
    "xf_batch", "i64: sentences", "i32s: src_ids src_offsets tgt_ids tgt_offsets", "i64s: pair_index"
)
xf_batcher_stats = _struct(
    "xf_batcher_stats", "i64: epoch batch batches pairs too_long empty src_tokens tgt_tokens"
)
xf_source = _struct("xf_source", "text: path", "ptr: data", "u64: size", "ptr: read read_user", "i32: fd reserved")
xf_model_summary = _struct(
    "xf_model_summary",
    "i64: parameters vocab_size file_bytes decode_bytes train_bytes step",
    "i32: has_tokenizer reserved",
    "char16: precision",
)
xf_tensor_info = _struct("xf_tensor_info", "text: name", "i64: rows columns")
xf_step_stats = _struct(
    "xf_step_stats",
    "i64: step sentences src_tokens tgt_tokens",
    "f64: loss nll learning_rate gradient_norm",
    "i32: outcome reserved",
)
xf_prefix = _struct("xf_prefix", "size: sentence", "i32s: ids", "i64: length remaining", "i32: vocab_size reserved")
xf_decode_params = _struct(
    "xf_decode_params",
    "ptr: config",
    "texts: prefixes",
    "sizes: prefix_lengths",
    "i32s: prefix_ids prefix_offsets",
    "constraint: constraint",
    "ptr: constraint_user",
)
# text is no "text": ctypes would stop at a NUL, and an answer may hold one.
xf_hypothesis = _struct(
    "xf_hypothesis",
    "i32s: ids",
    "i64: length",
    "ptr: text",
    "size: text_length",
    "f32s: token_log_probabilities",
    "f64: log_probability score",
    "i32: finished complete",
)
xf_eval_stats = _struct("xf_eval_stats", "i64: sentences tgt_tokens", "f64: loss nll perplexity")
xf_bleu_score = _struct(
    "xf_bleu_score",
    "f64: score",
    "f64x4: precisions",
    "f64: brevity_penalty",
    "i64: hypothesis_length reference_length",
    "char96: signature",
)

# Handles, and arrays of the caller, are void * here: each handle carries a mark that the library checks itself.
_H = _OUT = _DATA = c_void_p
_ERR = POINTER(xf_error)
_STR = c_char_p
_SIZE = POINTER(c_size_t)
_STRS = POINTER(c_char_p)
_STATUS = c_int

#: name: (restype, argtypes). xf_status is a C enum, which is an int.
PROTOTYPES: Dict[str, Tuple[Any, Tuple[Any, ...]]] = {
    "xf_version": (_STR, ()),
    "xf_version_num": (c_int32, ()),
    "xf_build_info": (_STR, ()),
    "xf_status_name": (_STR, (c_int32,)),
    "xf_config_create": (_STATUS, (_OUT, _ERR)),
    "xf_config_free": (None, (_H,)),
    "xf_config_copy": (_STATUS, (_H, _OUT, _ERR)),
    "xf_config_preset": (_STATUS, (_H, _STR, _ERR)),
    "xf_config_set": (_STATUS, (_H, _STR, _STR, _ERR)),
    "xf_config_set_i64": (_STATUS, (_H, _STR, c_int64, _ERR)),
    "xf_config_set_f64": (_STATUS, (_H, _STR, c_double, _ERR)),
    "xf_config_get_i64": (_STATUS, (_H, _STR, POINTER(c_int64), _ERR)),
    "xf_config_get_f64": (_STATUS, (_H, _STR, POINTER(c_double), _ERR)),
    "xf_config_get": (_STATUS, (_H, _STR, _STRS, _ERR)),
    "xf_option_count": (c_size_t, ()),
    "xf_option_get": (_STATUS, (c_size_t, POINTER(xf_option_info), _ERR)),
    "xf_context_create": (_STATUS, (_H, POINTER(xf_host), _OUT, _ERR)),
    "xf_context_free": (None, (_H,)),
    "xf_context_cancel": (None, (_H,)),
    "xf_context_device": (_STR, (_H,)),
    "xf_context_get_memory": (_STATUS, (_H, POINTER(xf_memory_stats), _ERR)),
    "xf_backend_count": (c_size_t, (_H,)),
    "xf_backend_get": (_STATUS, (_H, c_size_t, POINTER(xf_backend_info), _ERR)),
    "xf_corpus_open": (_STATUS, (_H, _H, _STR, _OUT, _ERR)),
    "xf_corpus_open_parallel": (_STATUS, (_H, _H, _STR, _STR, _OUT, _ERR)),
    "xf_corpus_from_memory": (_STATUS, (_H, _H, _STR, _STR, c_size_t, _OUT, _ERR)),
    "xf_corpus_from_pairs": (_STATUS, (_H, _H, _STRS, _SIZE, _STRS, _SIZE, c_size_t, _OUT, _ERR)),
    "xf_corpus_from_ids": (_STATUS, (_H, POINTER(xf_batch), _OUT, _ERR)),
    "xf_corpus_subset": (_STATUS, (_H, _DATA, c_size_t, _OUT, _ERR)),
    "xf_corpus_split": (_STATUS, (_H, c_int64, c_int64, _OUT, _OUT, _ERR)),
    "xf_corpus_free": (None, (_H,)),
    "xf_corpus_pair_count": (c_int64, (_H,)),
    "xf_corpus_get_stats": (_STATUS, (_H, POINTER(xf_corpus_stats), _ERR)),
    "xf_corpus_get_pair": (_STATUS, (_H, c_int64, _OUT, _SIZE, _OUT, _SIZE, _ERR)),
    "xf_batcher_create": (_STATUS, (_H, _H, _H, _OUT, _ERR)),
    "xf_batcher_free": (None, (_H,)),
    "xf_batcher_next": (_STATUS, (_H, POINTER(xf_batch), _ERR)),
    "xf_batcher_get_stats": (_STATUS, (_H, POINTER(xf_batcher_stats), _ERR)),
    "xf_batcher_seek": (_STATUS, (_H, c_int64, c_int64, _ERR)),
    "xf_tokenizer_train": (_STATUS, (_H, _H, _H, _OUT, _ERR)),
    "xf_tokenizer_load": (_STATUS, (_H, _STR, _OUT, _ERR)),
    "xf_tokenizer_save": (_STATUS, (_H, _STR, _ERR)),
    "xf_tokenizer_free": (None, (_H,)),
    "xf_tokenizer_vocab_size": (c_int32, (_H,)),
    "xf_tokenizer_encode": (_STATUS, (_H, _STR, c_size_t, _DATA, c_size_t, _SIZE, _ERR)),
    "xf_tokenizer_decode": (_STATUS, (_H, _DATA, c_size_t, _STR, c_size_t, _SIZE, _ERR)),
    "xf_tokenizer_get_piece": (_STATUS, (_H, c_int32, _STR, c_size_t, _SIZE, _ERR)),
    "xf_model_create": (_STATUS, (_H, _H, _H, _OUT, _ERR)),
    "xf_model_load": (_STATUS, (_H, _STR, _OUT, _ERR)),
    "xf_model_load_from": (_STATUS, (_H, POINTER(xf_source), _OUT, _ERR)),
    "xf_model_inspect": (_STATUS, (_H, _H, POINTER(xf_source), POINTER(xf_model_summary), _ERR)),
    "xf_model_save": (_STATUS, (_H, _H, _STR, _ERR)),
    "xf_model_save_memory": (_STATUS, (_H, _H, _DATA, c_size_t, _SIZE, _ERR)),
    "xf_model_average": (_STATUS, (_DATA, c_size_t, _OUT, _ERR)),
    "xf_model_average_files": (_STATUS, (_H, _STRS, c_size_t, _OUT, _ERR)),
    "xf_model_copy": (_STATUS, (_H, _H, _OUT, _ERR)),
    "xf_model_free": (None, (_H,)),
    "xf_model_config": (_H, (_H,)),
    "xf_model_tokenizer": (_H, (_H,)),
    "xf_model_set_metadata": (_STATUS, (_H, _STR, _STR, _ERR)),
    "xf_model_metadata": (_STR, (_H, _STR)),
    "xf_model_metadata_key": (_STR, (_H, c_size_t)),
    "xf_model_tensor_count": (c_size_t, (_H,)),
    "xf_model_get_tensor": (_STATUS, (_H, c_size_t, POINTER(xf_tensor_info), _ERR)),
    "xf_model_read_tensor": (_STATUS, (_H, c_size_t, _DATA, c_size_t, _ERR)),
    "xf_model_write_tensor": (_STATUS, (_H, c_size_t, _DATA, c_size_t, _ERR)),
    "xf_trainer_create": (_STATUS, (_H, _H, _OUT, _ERR)),
    "xf_trainer_free": (None, (_H,)),
    "xf_trainer_cancel": (None, (_H,)),
    "xf_train_step": (_STATUS, (_H, POINTER(xf_batch), c_size_t, POINTER(xf_step_stats), _ERR)),
    "xf_train_next": (_STATUS, (_H, _H, POINTER(xf_step_stats), _ERR)),
    "xf_train_accumulate": (_STATUS, (_H, POINTER(xf_batch), POINTER(xf_step_stats), _ERR)),
    "xf_train_update": (_STATUS, (_H, POINTER(xf_step_stats), _ERR)),
    "xf_trainer_read_gradient": (_STATUS, (_H, c_size_t, _DATA, c_size_t, _ERR)),
    "xf_trainer_step_count": (c_int64, (_H,)),
    "xf_trainer_model": (_H, (_H,)),
    "xf_trainer_ema": (_STATUS, (_H, _OUT, _ERR)),
    "xf_trainer_save": (_STATUS, (_H, _H, _STR, _ERR)),
    "xf_trainer_resume": (_STATUS, (_H, _STR, _H, _OUT, _ERR)),
    "xf_trainer_get_position": (_STATUS, (_H, POINTER(c_int64), POINTER(c_int64), _ERR)),
    "xf_trainer_seek": (_STATUS, (_H, _H, _ERR)),
    "xf_trainer_config": (_H, (_H,)),
    "xf_decoder_create": (_STATUS, (_H, _H, _OUT, _ERR)),
    "xf_decoder_free": (None, (_H,)),
    "xf_decoder_cancel": (None, (_H,)),
    "xf_decode": (_STATUS, (_H, POINTER(xf_batch), POINTER(xf_decode_params), _OUT, _ERR)),
    "xf_translate": (_STATUS, (_H, _STRS, _SIZE, c_size_t, POINTER(xf_decode_params), _OUT, _ERR)),
    "xf_hypotheses_sentence_count": (c_size_t, (_H,)),
    "xf_hypotheses_status": (_STATUS, (_H, c_size_t, _ERR)),
    "xf_hypotheses_answer_count": (c_size_t, (_H, c_size_t)),
    "xf_hypotheses_get": (_STATUS, (_H, c_size_t, c_size_t, POINTER(xf_hypothesis), _ERR)),
    "xf_hypotheses_free": (None, (_H,)),
    "xf_score": (_STATUS, (_H, POINTER(xf_batch), _DATA, _ERR)),
    "xf_evaluate": (_STATUS, (_H, POINTER(xf_batch), c_size_t, POINTER(xf_eval_stats), _ERR)),
    "xf_evaluate_batcher": (_STATUS, (_H, _H, POINTER(xf_eval_stats), _ERR)),
    "xf_attention_weights": (_STATUS, (_H, POINTER(xf_batch), c_int32, c_int32, _DATA, c_size_t, _SIZE, _ERR)),
    "xf_bleu": (_STATUS, (_STRS, _STRS, c_size_t, c_int32, POINTER(xf_bleu_score), _ERR)),
    "xf_chrf": (_STATUS, (_STRS, _STRS, c_size_t, POINTER(c_double), _ERR)),
}

lib = _library.load()
for _name, (_restype, _argtypes) in PROTOTYPES.items():
    _function = getattr(lib, _name)
    _function.restype = _restype
    _function.argtypes = _argtypes


def call(function: Any, *args: Any) -> int:
    """Calls a function whose last argument is an xf_error; gives its status, raises what a negative one means."""
    error = xf_error()
    status: int = function(*args, ctypes.byref(error))
    if status < 0:
        raise errors.make(status, error.native_code, error.message.decode("utf-8", "replace"))
    return status
