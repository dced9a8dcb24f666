"""config.json and generation_config.json, field by field.

Each field is carried over, or known to change no result (listed here, with the reason), or refused by its name and
value. Nothing is passed over in silence.

SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import json
import os
from typing import Any, Collection, Dict, List, NoReturn, Optional, Set, Tuple

from . import ConvertError
from .files import read_json

_NAMES = "_name_or_path name_or_path architectures transformers_version tokenizer_class dataset_name license language"
_TRAINING = (
    "dropout attention_dropout activation_dropout classifier_dropout classif_dropout encoder_layerdrop "
    "decoder_layerdrop init_std initializer_range gradient_checkpointing save_step label_smoothing"
)
_OTHER_TASKS = (
    "id2label label2id num_labels _num_labels finetuning_task problem_type task_specific_params prefix sep_token_id "
    "cls_token_id mask_token_id classifier_dropout_prob"
)
_COMPUTING = (
    "use_cache output_past cache_implementation torch_dtype dtype torchscript use_bfloat16 return_dict "
    "return_dict_in_generate output_attentions output_hidden_states output_scores output_logits tf_legacy_loss "
    "_attn_implementation attn_implementation _attn_implementation_autoset disable_compile _from_model_config "
    "low_memory use_model_defaults"
)
#: Fields that no result depends on: names, what training alone reads, other tasks, how it is computed.
NO_EFFECT = frozenset("{} {} {} {}".format(_NAMES, _TRAINING, _OTHER_TASKS, _COMPUTING).split())

#: Fields of which one value (or an absent one) is the only one that means the search of this library, or none at all.
_ONLY: Dict[str, Tuple[Any, ...]] = {
    "is_encoder_decoder": (True,),
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "cross_attention_hidden_size": (),
    "tie_encoder_decoder": (False,),
    "pruned_heads": ({},),
    "quantization_config": (),
    "chunk_size_feed_forward": (0,),
    "do_sample": (False,),
    "num_beam_groups": (1,),
    "diversity_penalty": (0,),
    "penalty_alpha": (),
    "repetition_penalty": (1,),
    "encoder_repetition_penalty": (1,),
    "no_repeat_ngram_size": (0,),
    "encoder_no_repeat_ngram_size": (0,),
    "suppress_tokens": ([],),
    "begin_suppress_tokens": ([],),
    "sequence_bias": ({},),
    "exponential_decay_length_penalty": (),
    "constraints": (),
    "force_words_ids": (),
    "forced_decoder_ids": (),
    "guidance_scale": (1,),
    "num_assistant_tokens": (),
    "prompt_lookup_num_tokens": (),
    "stop_strings": (),
    "watermarking_config": (),
    "num_return_sequences": (1,),
    "remove_invalid_values": (False, True),  # this library refuses weights that could give such values
    "renormalize_logits": (False, True),  # scores alone: every row of this library's search is normalised once
    "token_healing": (False,),
}
#: Read by sampling alone, which is off.
_SAMPLING = frozenset("temperature top_k top_p top_h min_p typical_p epsilon_cutoff eta_cutoff".split())
#: Settings of a search that are kept as texts of the model, "generation.NAME": they are options of a decoder here.
SEARCH = (
    "num_beams",
    "length_penalty",
    "early_stopping",
    "max_length",
    "max_new_tokens",
    "min_length",
    "min_new_tokens",
)


class Fields:
    """The two files of a folder. ``config`` holds what the model is, ``generation`` how ``generate`` uses it, which is
    said in config.json where there is no generation_config.json. Fields of ``ignored`` count as absent."""

    def __init__(self, folder: str, ignored: Collection[str] = ()) -> None:
        self._path = os.path.join(folder, "config.json")
        self._values = _present(read_json(self._path), ignored)
        self._used: Set[str] = {"model_type"}
        path = os.path.join(folder, "generation_config.json")
        self._apart = os.path.exists(path)
        self._search_path = path if self._apart else self._path
        self._search = _present(read_json(path), ignored) if self._apart else self._values
        self._search_used: Set[str] = {"pad_token_id"}  # of answers in a batch

    # A field of config.json.
    def _get(self, name: str, default: Any) -> Any:
        self._used.add(name)
        return self._values.get(name, default)

    def refuse(self, name: str, reason: str) -> NoReturn:
        raise ConvertError("%s: %s is %s, %s" % (self._path, name, _shown(self._values.get(name)), reason))

    def integer(self, name: str, default: Optional[int] = None, least: int = 1, most: int = 1 << 20) -> int:
        value = self._get(name, default)
        if value is None:
            raise ConvertError("%s lacks %s" % (self._path, name))
        if type(value) is not int or not least <= value <= most:
            self.refuse(name, "expected a whole number from %d to %d" % (least, most))
        return int(value)

    def boolean(self, name: str, default: bool) -> bool:
        value = self._get(name, default)
        if type(value) is not bool:
            self.refuse(name, "expected true or false")
        return bool(value)

    def choice(self, name: str, default: str, choices: Dict[str, str]) -> str:
        value = self._get(name, default)
        if not isinstance(value, str) or value not in choices:
            self.refuse(name, "expected one of %s" % ", ".join(choices))
        return choices[value]

    def equal(self, name: str, other: str, default: int) -> int:
        """Two fields for which this library has one number."""
        first, second = self.integer(name, default), self.integer(other, default)
        if first != second:
            self.refuse(name, "and %s %d: expected the same" % (other, second))
        return first

    def only(self, name: str, *values: Any) -> None:
        """A field that may be absent, or have one of these values."""
        if name in self._values and self._get(name, None) not in values:
            self.refuse(name, "expected %s" % (" or ".join(map(_shown, values)) or "nothing"))

    def has(self, name: str) -> bool:
        return name in self._values or name in self._search

    def flag(self, name: str) -> bool:
        """Whether a field is there and true."""
        return self.boolean(name, False)

    def text(self, name: str) -> str:
        """A field that is a text, or an empty one."""
        value = self._get(name, "")
        return value if isinstance(value, str) else ""

    def drop(self, *names: str) -> None:
        """Fields without effect in this family."""
        self._used.update(names)

    # A field that is in both, in generation_config.json first.
    def token(self, name: str, default: Optional[int], V: int) -> int:
        """An id, or -1."""
        value, other = self._search.get(name), self._values.get(name)
        if value is None:
            value = other
        if other is not None and value != other and name in ("decoder_start_token_id", "eos_token_id"):
            raise ConvertError(
                "%s: %s is %s, and %s in %s" % (self._search_path, name, _shown(value), _shown(other), self._path)
            )
        self._used.add(name)
        self._search_used.add(name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is None:
            value = default
        if value is None:
            return -1
        if type(value) is not int or not 0 <= value < V:
            raise ConvertError(
                "%s: %s is %s, expected a token from 0 to %d" % (self._where(name), name, _shown(value), V - 1)
            )
        return value

    def _where(self, name: str) -> str:
        return self._search_path if self._search.get(name) is not None else self._path

    def banned(self, V: int) -> List[int]:
        """bad_words_ids, each of one token."""
        name = "bad_words_ids"
        self._used.add(name)
        self._search_used.add(name)
        words = self._search.get(name, self._values.get(name, []))
        if not isinstance(words, list):
            words = [words]
        for word in words:
            if not isinstance(word, list) or len(word) != 1 or type(word[0]) is not int or not 0 <= word[0] < V:
                raise ConvertError(
                    "%s: %s has %s, expected lists of one token from 0 to %d"
                    % (self._where(name), name, _shown(word), V - 1)
                )
        return sorted({word[0] for word in words})

    def search_settings(self) -> Dict[str, str]:
        """Settings of the search by name, as texts."""
        found = {}
        for name in SEARCH:
            value = self._search.get(name, None)
            self._used.add(name)
            self._search_used.add(name)
            if value is not None and value != -1:
                if type(value) not in (int, float, bool, str):
                    raise ConvertError("%s: %s is %s, expected a number" % (self._search_path, name, _shown(value)))
                found[name] = _shown(value)
        return found

    def finish(self) -> None:
        """Refuses what nothing has asked for."""
        _finish(self._path, self._values, self._used | self._search_used)
        if self._apart:
            _finish(self._search_path, self._search, self._search_used)


def _present(values: Dict[str, Any], ignored: Collection[str]) -> Dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None and name not in ignored}


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _finish(path: str, values: Dict[str, Any], used: Collection[str]) -> None:
    for name, value in values.items():
        if name in used or name in NO_EFFECT or name in _SAMPLING:
            continue
        if name not in _ONLY:
            raise ConvertError(
                "%s: %s is %s, a field that this converter does not know (--ignore %s leaves it out)"
                % (path, name, _shown(value), name)
            )
        if value not in _ONLY[name]:
            expected = " or ".join(map(_shown, _ONLY[name])) or "none"
            raise ConvertError(
                "%s: %s is %s, expected %s (--ignore %s leaves it out)" % (path, name, _shown(value), expected, name)
            )
