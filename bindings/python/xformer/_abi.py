"""The C ABI as ctypes: structures and the prototype of every function of lib/xformer.map.

A mirror of include/xformer/*.h and nothing else; the tests compare it with the headers field by field. ctypes lets go
of the interpreter lock in each call, so other threads run meanwhile.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_void_p
from types import SimpleNamespace
from typing import Any, Dict, Tuple, Type, TypeVar

from . import _buffer, _library, errors


class xf_error(ctypes.Structure):
    _fields_ = [("status", c_int32), ("native_code", c_int32), ("message", c_char * 248)]


class Sized(ctypes.Structure):
    """A structure that begins with struct_size, which is set here: the library fills what both sides know."""

    def __init__(self, *args: Any) -> None:
        super().__init__(ctypes.sizeof(type(self)), *args)


#: void (*xf_log_fn)(void *user, enum xf_log_level, const char *component, const char *message)
xf_log_fn = ctypes.CFUNCTYPE(None, c_void_p, ctypes.c_int, c_char_p, c_char_p)
#: int32_t (*xf_progress_fn)(void *user, const char *task, int64_t done, int64_t total)
xf_progress_fn = ctypes.CFUNCTYPE(c_int32, c_void_p, c_char_p, c_int64, c_int64)
#: int32_t (*xf_constraint_fn)(void *user, const xf_prefix *prefix, uint32_t *allowed)
xf_constraint_fn = ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p, POINTER(ctypes.c_uint32))

# The words of the tables below. Handles, arrays of the caller, and where a handle is put are "ptr": each handle carries
# a mark that the library checks itself. A pointer to a structure is called by the structure.
_TYPES: Dict[str, Any] = {
    "none": None,
    "i32": c_int32,
    "i64": c_int64,
    "u64": ctypes.c_uint64,
    "size": c_size_t,
    "f64": c_double,
    "text": c_char_p,
    "ptr": c_void_p,
    "i32s": POINTER(c_int32),
    "i64s": POINTER(c_int64),
    "f32s": POINTER(ctypes.c_float),
    "f64s": POINTER(c_double),
    "texts": POINTER(c_char_p),
    "sizes": POINTER(c_size_t),
    "f64x4": c_double * 4,
    "char16": c_char * 16,
    "char96": c_char * 96,
    "xf_log_fn": xf_log_fn,
    "xf_progress_fn": xf_progress_fn,
    "xf_constraint_fn": xf_constraint_fn,
}

# Name: type member member ..., type member ... and struct_size before them.
_STRUCTS = """
xf_host: ptr alloc_user alloc free log_user, xf_log_fn log, i32 log_level reserved, ptr progress_user,\
         xf_progress_fn progress, ptr parallel_user parallel release_user release comm
xf_memory_stats: i64 current peak budget allocations
xf_backend_info: text name version path kind, i32 state device_count, text reason
xf_option_info: text key, i32 type reserved, text default_value, f64 minimum maximum, text choices doc paper since
xf_corpus_stats: i64 lines kept bad_columns empty_side too_long invalid_utf8 nul_byte
xf_batch: i64 sentences, i32s src_ids src_offsets tgt_ids tgt_offsets, i64s pair_index
xf_batcher_stats: i64 epoch batch batches pairs too_long empty src_tokens tgt_tokens
xf_source: text path, ptr data, u64 size, ptr read read_user, i32 fd reserved
xf_model_summary: i64 parameters vocab_size file_bytes decode_bytes train_bytes step, i32 has_tokenizer reserved,\
         char16 precision
xf_tensor_info: text name, i64 rows columns
xf_step_stats: i64 step sentences src_tokens tgt_tokens, f64 loss nll learning_rate gradient_norm, i32 outcome reserved
xf_prefix: size sentence, i32s ids, i64 length remaining, i32 vocab_size reserved
xf_decode_params: ptr config, texts prefixes, sizes prefix_lengths, i32s prefix_ids prefix_offsets,\
         xf_constraint_fn constraint, ptr constraint_user
xf_hypothesis: i32s ids, i64 length, ptr text, size text_length, f32s token_log_probabilities,\
         f64 log_probability score, i32 finished complete
xf_eval_stats: i64 sentences tgt_tokens, f64 loss nll perplexity
xf_bleu_score: f64 score, f64x4 precisions, f64 brevity_penalty, i64 hypothesis_length reference_length,\
         char96 signature
"""  # The text of a hypothesis is no "text": ctypes would stop at a NUL, and an answer may hold one.

# The parameters of those that give an xf_status (a C enum, which is an int), but for the xf_error at the end.
_FALLIBLE = """
xf_config_create ptr
xf_config_copy ptr ptr
xf_config_preset ptr text
xf_config_set ptr text text
xf_config_set_i64 ptr text i64
xf_config_set_f64 ptr text f64
xf_config_get_i64 ptr text i64s
xf_config_get_f64 ptr text f64s
xf_config_get ptr text texts
xf_option_get size xf_option_info
xf_context_create ptr xf_host ptr
xf_context_get_memory ptr xf_memory_stats
xf_context_all_gather ptr i64 i64s
xf_backend_get ptr size xf_backend_info
xf_corpus_open ptr ptr text ptr
xf_corpus_open_parallel ptr ptr text text ptr
xf_corpus_from_memory ptr ptr text text size ptr
xf_corpus_from_pairs ptr ptr texts sizes texts sizes size ptr
xf_corpus_from_ids ptr xf_batch ptr
xf_corpus_subset ptr ptr size ptr
xf_corpus_split ptr i64 i64 ptr ptr
xf_corpus_get_stats ptr xf_corpus_stats
xf_corpus_get_pair ptr i64 ptr sizes ptr sizes
xf_batcher_create ptr ptr ptr ptr
xf_batcher_next ptr xf_batch
xf_batcher_get_stats ptr xf_batcher_stats
xf_batcher_seek ptr i64 i64
xf_tokenizer_train ptr ptr ptr ptr
xf_tokenizer_load ptr text ptr
xf_tokenizer_save ptr text
xf_tokenizer_encode ptr text size ptr size sizes
xf_tokenizer_decode ptr ptr size text size sizes
xf_tokenizer_get_piece ptr i32 text size sizes
xf_model_create ptr ptr ptr ptr
xf_model_load ptr text ptr
xf_model_load_from ptr xf_source ptr
xf_model_inspect ptr ptr xf_source xf_model_summary
xf_model_save ptr ptr text
xf_model_save_memory ptr ptr ptr size sizes
xf_model_average ptr size ptr
xf_model_average_files ptr texts size ptr
xf_model_copy ptr ptr ptr
xf_model_set_metadata ptr text text
xf_model_get_tensor ptr size xf_tensor_info
xf_model_read_tensor ptr size ptr size
xf_model_write_tensor ptr size ptr size
xf_trainer_create ptr ptr ptr
xf_train_step ptr xf_batch size xf_step_stats
xf_train_next ptr ptr xf_step_stats
xf_train_accumulate ptr xf_batch xf_step_stats
xf_train_update ptr xf_step_stats
xf_trainer_read_gradient ptr size ptr size
xf_trainer_ema ptr ptr
xf_trainer_save ptr ptr text
xf_trainer_resume ptr text ptr ptr
xf_trainer_get_position ptr i64s i64s
xf_trainer_seek ptr ptr
xf_decoder_create ptr ptr ptr
xf_decode ptr xf_batch xf_decode_params ptr
xf_translate ptr texts sizes size xf_decode_params ptr
xf_hypotheses_status ptr size
xf_hypotheses_get ptr size size xf_hypothesis
xf_score ptr xf_batch ptr
xf_evaluate ptr xf_batch size xf_eval_stats
xf_evaluate_batcher ptr ptr xf_eval_stats
xf_attention_weights ptr xf_batch i32 i32 ptr size sizes
xf_bleu texts texts size i32 xf_bleu_score
xf_chrf texts texts size f64s
"""

# The result and the parameters of those that can't fail, each with all that are of this shape.
_INFALLIBLE = """
text: xf_version xf_build_info
text i32: xf_status_name
text ptr: xf_context_device
text ptr text: xf_model_metadata
text ptr size: xf_model_metadata_key
i32: xf_version_num
i32 ptr: xf_context_rank xf_context_rank_count xf_tokenizer_vocab_size xf_tokenizer_start_token xf_tokenizer_end_token
i64 ptr: xf_corpus_pair_count xf_trainer_step_count
size: xf_option_count
size ptr: xf_backend_count xf_model_tensor_count xf_hypotheses_sentence_count
size ptr size: xf_hypotheses_answer_count
ptr ptr: xf_model_config xf_model_tokenizer xf_trainer_model xf_trainer_config
none ptr: xf_context_cancel xf_trainer_cancel xf_decoder_cancel xf_config_free xf_context_free xf_corpus_free\
          xf_batcher_free xf_tokenizer_free xf_model_free xf_trainer_free xf_decoder_free xf_hypotheses_free
"""

#: The structures, but for xf_error, by their names.
structs: Any = SimpleNamespace()
for _name, _, _members in (_row.partition(": ") for _row in _STRUCTS.split("\n")[1:-1]):
    _fields = [("struct_size", c_size_t)]
    for _type, *_names in map(str.split, _members.split(",")):
        _fields += [(_member, _TYPES[_type]) for _member in _names]
    setattr(structs, _name, type(_name, (Sized,), {"_fields_": _fields, "__module__": __name__}))
    _TYPES[_name] = POINTER(getattr(structs, _name))

#: name: (restype, argtypes)
PROTOTYPES: Dict[str, Tuple[Any, Tuple[Any, ...]]] = {}
for _name, *_words in (_row.split() for _row in _FALLIBLE.split("\n")[1:-1]):
    PROTOTYPES[_name] = (ctypes.c_int, (*(_TYPES[_word] for _word in _words), POINTER(xf_error)))
for _shape, _, _members in (_row.partition(": ") for _row in _INFALLIBLE.split("\n")[1:-1]):
    _result, *_arguments = (_TYPES[_word] for _word in _shape.split())
    PROTOTYPES.update((_name, (_result, tuple(_arguments))) for _name in _members.split())

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


_Kind = TypeVar("_Kind", bound=Tuple[Any, ...])


def told(kind: Type[_Kind], raw: Any, **convert: Any) -> _Kind:
    """A NamedTuple of the members of a structure that have the names of its fields; convert has functions for some."""

    def value(name: str) -> Any:
        given = getattr(raw, name)
        if name in convert:
            return convert[name](given)
        return text(given) if isinstance(given, (bytes, type(None))) else given

    return kind(*map(value, kind._fields))  # type: ignore[attr-defined]


def read(kind: Type[_Kind], raw: Any, function: Any, *args: object, **convert: Any) -> _Kind:
    """The same of a structure of this type that a function fills behind these arguments."""
    filled = raw()
    call(function, *args, ctypes.byref(filled))
    return told(kind, filled, **convert)


def filled(capacity: int, room: Any, function: Any, *args: object, by: Any = call) -> Any:
    """What a function fills that takes a buffer, its capacity and where it tells the size; once more when the first was
    too small. room makes a buffer for so many, which can be cut off."""
    size = c_size_t()
    while True:
        made = room(capacity)
        place = _buffer.address(made)
        try:
            by(function, *args, place, capacity, ctypes.byref(size))
        except errors.BufferTooSmallError:
            capacity = size.value + 1  # the NUL of a text
            continue
        del place  # or it could not be cut off
        del made[size.value :]
        return made


def text(value: Any) -> str:
    """A string of the library, "" of NULL."""
    return str((value or b"").decode("utf-8", "replace"))
