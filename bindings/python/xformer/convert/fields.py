"""Reads config.json and generation_config.json.

Every field is converted, is listed here because it does not affect results, or is refused with its name and value. No
field is ignored silently.

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
#: Fields that do not affect results: names, training settings, other tasks, implementation settings.
NO_EFFECT = frozenset("{} {} {} {}".format(_NAMES, _TRAINING, _OTHER_TASKS, _COMPUTING).split())

#: Fields with no equivalent in this library, and the values with which they have no effect. They may also be absent.
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
    "remove_invalid_values": (False, True),  # weights with NaN or infinity are refused anyway
    "renormalize_logits": (False, True),  # affects only the reported scores
    "token_healing": (False,),
}
#: Fields that are read only when sampling, and do_sample must be false.
_SAMPLING = frozenset("temperature top_k top_p top_h min_p typical_p epsilon_cutoff eta_cutoff".split())
#: Search settings. They are decoder options in this library, so they are only stored, as metadata "generation.NAME".
SEARCH = (
    "num_beams",
    "length_penalty",
    "early_stopping",
    "max_length",
    "max_new_tokens",
    "min_length",
    "min_new_tokens",
)

START = "decoder_start_token_id"


class Fields:
    """The fields of both files of a folder.

    config.json describes the model, generation_config.json the settings of ``generate()``. Without the second file,
    these settings are in config.json. Fields in ``ignored`` are treated as absent.
    """

    def __init__(self, folder: str, ignored: Collection[str] = ()) -> None:
        self._path = os.path.join(folder, "config.json")
        self._values = _present(read_json(self._path), ignored)
        self._used: Set[str] = {"model_type"}
        path = os.path.join(folder, "generation_config.json")
        self._has_generation_file = os.path.exists(path)
        self._search_path = path if self._has_generation_file else self._path
        self._search = _present(read_json(path), ignored) if self._has_generation_file else self._values
        self.notes: List[str] = []
        self._search_used: Set[str] = {"pad_token_id"}  # only pads the output of a batch

    # Fields of config.json.
    def _get(self, name: str, default: Any) -> Any:
        self._used.add(name)
        return self._values.get(name, default)

    def refuse(self, name: str, reason: str) -> NoReturn:
        raise ConvertError("%s: %s is %s, %s" % (self._path, name, _shown(self._values.get(name)), reason))

    def integer(self, name: str, default: Optional[int] = None, least: int = 1, most: int = 1 << 20) -> int:
        value = self._get(name, default)
        if value is None:
            raise ConvertError("%s: %s is missing" % (self._path, name))
        if type(value) is not int or not least <= value <= most:
            self.refuse(name, "expected an integer from %d to %d" % (least, most))
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
        """Returns the common value of two fields that are one option in this library."""
        first, second = self.integer(name, default), self.integer(other, default)
        if first != second:
            self.refuse(name, "but %s is %d: expected equal values" % (other, second))
        return first

    def only(self, name: str, *values: Any) -> None:
        """Refuses a field that is present with another value than these."""
        if name in self._values and self._get(name, None) not in values:
            self.refuse(name, "expected %s" % " or ".join(map(_shown, values)))

    def text(self, name: str) -> str:
        """Returns a string field, or an empty string if it is absent or not a string."""
        value = self._get(name, "")
        return value if isinstance(value, str) else ""

    def drop(self, *names: str) -> None:
        """Accepts fields that have no effect in this family of models."""
        self._used.update(names)

    # Token ids. ``generate()`` reads them from generation_config.json, or from config.json if there is no such file.
    def token(self, name: str, V: int, default: int = -1, other: bool = False) -> int:
        """Returns a token id of the search settings, or else the default. ``other``: before that, of config.json."""
        value, path = self._search.get(name), self._search_path
        trained = self._values.get(name)
        if value is None and other:
            value, path = trained, self._path
        elif other and trained is not None and value != trained:
            raise ConvertError(
                "%s: %s is %s, but %s in %s: expected equal values"
                % (path, name, _shown(value), _shown(trained), self._path)
            )
        self._used.add(name)
        self._search_used.add(name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is None:
            return default
        if type(value) is not int or not 0 <= value < V:
            raise ConvertError("%s: %s is %s, expected a token id from 0 to %d" % (path, name, _shown(value), V - 1))
        return value

    def start_token(self, V: int, default: int) -> int:
        """Returns the token with which ``generate()`` starts the decoder: decoder_start_token_id, or else bos_token_id.

        If the search settings have neither, ``generate()`` fails. The result is then the start token in training.
        """
        trained = self.token(START, V, default, other=True)
        first = self.token("bos_token_id", V)
        if START in self._search:
            return trained
        if first >= 0:
            self.notes.append(
                "%s has no %s: the decoder starts with bos_token_id %d, as in generate()"
                % (os.path.basename(self._search_path), START, first)
            )
            return first
        self.notes.append(
            "%s has no %s and no bos_token_id, so that generate() fails: the decoder starts with %d, as in training"
            % (os.path.basename(self._search_path), START, trained)
        )
        return trained

    def has_start_token(self) -> bool:
        """Returns whether start_token() uses decoder_start_token_id."""
        return START in self._search or (START in self._values and "bos_token_id" not in self._search)

    def first_token(self, V: int) -> int:
        """Returns the token that ``generate()`` forces as the first one, or -1."""
        forced, flag = "forced_bos_token_id", "force_bos_token_to_be_generated"
        found = self.token(forced, V)
        if not self._has_generation_file:
            return self.token("bos_token_id", V) if self._values.get(flag) is True else found
        for name in (forced, flag):
            if self._values.get(name) not in (None, False) and forced not in self._search:
                self.notes.append(
                    "%s of config.json is ignored, as in generate(), because generation_config.json has no %s"
                    % (name, forced)
                )
        return found

    def banned(self, V: int) -> List[int]:
        """Returns the ids of bad_words_ids, which may only contain single tokens."""
        name = "bad_words_ids"
        self._used.add(name)
        self._search_used.add(name)
        words = self._search.get(name, [])
        if not isinstance(words, list):
            words = [words]
        for word in words:
            if not isinstance(word, list) or len(word) != 1 or type(word[0]) is not int or not 0 <= word[0] < V:
                raise ConvertError(
                    "%s: %s contains %s, expected lists of one token id from 0 to %d"
                    % (self._search_path, name, _shown(word), V - 1)
                )
        return sorted({word[0] for word in words})

    def search_settings(self) -> Dict[str, str]:
        """Returns the search settings, as JSON text."""
        found = {}
        for name in SEARCH:
            value = self._search.get(name, None)
            self._used.add(name)
            self._search_used.add(name)
            if value is not None and value != -1:
                if type(value) not in (int, float, bool, str):
                    raise ConvertError(
                        "%s: %s is %s, expected a number, a boolean, or a string"
                        % (self._search_path, name, _shown(value))
                    )
                found[name] = _shown(value)
        return found

    def finish(self) -> None:
        """Refuses fields that were not read and are not known to have no effect."""
        _finish(self._path, self._values, self._used | self._search_used)
        if self._has_generation_file:
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
                "%s: %s is %s, but this field is unknown: use --ignore %s to convert without it"
                % (path, name, _shown(value), name)
            )
        if value not in _ONLY[name]:
            expected = " or ".join(map(_shown, _ONLY[name])) or "no such field"
            raise ConvertError(
                "%s: %s is %s, expected %s: use --ignore %s to convert without it"
                % (path, name, _shown(value), expected, name)
            )
