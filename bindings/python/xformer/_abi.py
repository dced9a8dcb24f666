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
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
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


class xf_allocator(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("user", c_void_p),
        ("alloc", ctypes.CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_size_t)),
        ("free", ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)),
    ]


class xf_memory_stats(Sized):
    _fields_ = [("struct_size", c_size_t)] + [(n, c_int64) for n in ("current", "peak", "budget", "allocations")]


class xf_backend_info(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("version", c_char_p),
        ("path", c_char_p),
        ("kind", c_char_p),
        ("device_count", c_int32),
        ("active", c_int32),
        ("reason", c_char_p),
    ]


class xf_option_info(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("key", c_char_p),
        ("type", c_int32),
        ("reserved", c_int32),
        ("default_value", c_char_p),
        ("minimum", c_double),
        ("maximum", c_double),
        ("choices", c_char_p),
        ("doc", c_char_p),
        ("paper", c_char_p),
        ("since", c_char_p),
    ]


class xf_corpus_stats(Sized):
    _fields_ = [("struct_size", c_size_t)] + [
        (n, c_int64) for n in ("lines", "kept", "bad_columns", "empty_side", "too_long", "invalid_utf8", "nul_byte")
    ]


class xf_batch(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("sentences", c_int64),
        ("src_ids", POINTER(c_int32)),
        ("src_offsets", POINTER(c_int32)),
        ("tgt_ids", POINTER(c_int32)),
        ("tgt_offsets", POINTER(c_int32)),
        ("pair_index", POINTER(c_int64)),
    ]


class xf_batcher_stats(Sized):
    _fields_ = [("struct_size", c_size_t)] + [
        (n, c_int64)
        for n in ("epoch", "batch", "batches", "pairs", "too_long", "empty", "src_tokens", "tgt_tokens")
    ]


class xf_tensor_info(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("rows", c_int64), ("columns", c_int64)]


class xf_step_stats(Sized):
    _fields_ = (
        [("struct_size", c_size_t)]
        + [(n, c_int64) for n in ("step", "sentences", "src_tokens", "tgt_tokens")]
        + [(n, c_double) for n in ("loss", "nll", "learning_rate", "gradient_norm")]
    )


class xf_prefix(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("sentence", c_size_t),
        ("ids", POINTER(c_int32)),
        ("length", c_int64),
        ("remaining", c_int64),
        ("vocab_size", c_int32),
        ("reserved", c_int32),
    ]


class xf_hypothesis(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("ids", POINTER(c_int32)),
        ("length", c_int64),
        ("text", c_void_p),  # not c_char_p: ctypes would stop at a NUL, and a text may hold one
        ("text_length", c_size_t),
        ("log_probability", c_double),
        ("score", c_double),
        ("finished", c_int32),
        ("reserved", c_int32),
    ]


class xf_eval_stats(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("sentences", c_int64),
        ("tgt_tokens", c_int64),
        ("loss", c_double),
        ("nll", c_double),
        ("perplexity", c_double),
    ]


class xf_bleu_score(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("score", c_double),
        ("precisions", c_double * 4),
        ("brevity_penalty", c_double),
        ("hypothesis_length", c_int64),
        ("reference_length", c_int64),
        ("signature", c_char * 96),
    ]


#: void (*xf_log_fn)(void *user, enum xf_log_level, const char *component, const char *message)
xf_log_fn = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)
#: int32_t (*xf_constraint_fn)(void *user, const xf_prefix *prefix, uint32_t *allowed)
xf_constraint_fn = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(xf_prefix), POINTER(c_uint32))

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
    "xf_context_create": (_STATUS, (_H, POINTER(xf_allocator), _OUT, _ERR)),
    "xf_context_free": (None, (_H,)),
    "xf_context_set_log": (_STATUS, (_H, xf_log_fn, c_void_p, c_int, _ERR)),
    "xf_context_cancel": (None, (_H,)),
    "xf_context_device": (_STR, (_H,)),
    "xf_context_get_memory": (_STATUS, (_H, POINTER(xf_memory_stats), _ERR)),
    "xf_backend_load": (_STATUS, (_H, _STR, _ERR)),
    "xf_backend_count": (c_size_t, (_H,)),
    "xf_backend_get": (_STATUS, (_H, c_size_t, POINTER(xf_backend_info), _ERR)),
    "xf_corpus_open": (_STATUS, (_H, _H, _STR, _OUT, _ERR)),
    "xf_corpus_open_parallel": (_STATUS, (_H, _H, _STR, _STR, _OUT, _ERR)),
    "xf_corpus_from_memory": (_STATUS, (_H, _H, _STR, _STR, c_size_t, _OUT, _ERR)),
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
    "xf_model_save": (_STATUS, (_H, _STR, _ERR)),
    "xf_model_export": (_STATUS, (_H, _H, _STR, _ERR)),
    "xf_model_average": (_STATUS, (_H, _STRS, c_size_t, _OUT, _ERR)),
    "xf_model_free": (None, (_H,)),
    "xf_model_config": (_H, (_H,)),
    "xf_model_tokenizer": (_H, (_H,)),
    "xf_model_tensor_count": (c_size_t, (_H,)),
    "xf_model_get_tensor": (_STATUS, (_H, c_size_t, POINTER(xf_tensor_info), _ERR)),
    "xf_model_read_tensor": (_STATUS, (_H, c_size_t, _DATA, c_size_t, _ERR)),
    "xf_model_write_tensor": (_STATUS, (_H, c_size_t, _DATA, c_size_t, _ERR)),
    "xf_trainer_create": (_STATUS, (_H, _H, _OUT, _ERR)),
    "xf_trainer_free": (None, (_H,)),
    "xf_train_step": (_STATUS, (_H, POINTER(xf_batch), c_size_t, POINTER(xf_step_stats), _ERR)),
    "xf_train_accumulate": (_STATUS, (_H, POINTER(xf_batch), POINTER(xf_step_stats), _ERR)),
    "xf_train_update": (_STATUS, (_H, POINTER(xf_step_stats), _ERR)),
    "xf_trainer_read_gradient": (_STATUS, (_H, c_size_t, _DATA, c_size_t, _ERR)),
    "xf_trainer_step_count": (c_int64, (_H,)),
    "xf_trainer_model": (_H, (_H,)),
    "xf_trainer_save": (_STATUS, (_H, _H, _STR, _ERR)),
    "xf_trainer_resume": (_STATUS, (_H, _STR, _OUT, _ERR)),
    "xf_trainer_get_position": (_STATUS, (_H, POINTER(c_int64), POINTER(c_int64), _ERR)),
    "xf_trainer_seek": (_STATUS, (_H, _H, _ERR)),
    "xf_trainer_config": (_H, (_H,)),
    "xf_decoder_create": (_STATUS, (_H, _H, _OUT, _ERR)),
    "xf_decoder_free": (None, (_H,)),
    "xf_decode": (_STATUS, (_H, POINTER(xf_batch), _OUT, _ERR)),
    "xf_translate": (_STATUS, (_H, _STRS, _SIZE, c_size_t, _OUT, _ERR)),
    "xf_decoder_set_constraint": (_STATUS, (_H, xf_constraint_fn, c_void_p, _ERR)),
    "xf_hypotheses_sentence_count": (c_size_t, (_H,)),
    "xf_hypotheses_answer_count": (c_size_t, (_H, c_size_t)),
    "xf_hypotheses_get": (_STATUS, (_H, c_size_t, c_size_t, POINTER(xf_hypothesis), _ERR)),
    "xf_hypotheses_free": (None, (_H,)),
    "xf_score": (_STATUS, (_H, POINTER(xf_batch), _DATA, _ERR)),
    "xf_evaluate": (_STATUS, (_H, POINTER(xf_batch), c_size_t, POINTER(xf_eval_stats), _ERR)),
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
