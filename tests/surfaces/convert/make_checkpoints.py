#!/usr/bin/env python3
"""Writes transformers folders of each family that the converter reads, and the results of transformers for them.

    make_checkpoints.py PAIRS.tsv OUT            the small models of checkpoints/
    make_checkpoints.py --many PAIRS.tsv OUT     more models, in unusual configurations, for peers.sh

The models are trained for some steps on lines of text. The file expected.json of each folder contains texts with their
ids, log-probabilities of targets (fp64), and greedy output. --many also writes sentences.json: 200 sentences to decode.
Requires transformers, torch, and sentencepiece (PyPI).

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import random
import tempfile

import sentencepiece
import spm
import torch
import transformers
from transformers.utils import logging

logging.set_verbosity_error()
logging.disable_progress_bar()
FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>"]
SMALL = dict(d_model=16, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
             encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=96, dropout=0.0)  # fmt: skip
LARGE = dict(d_model=60, encoder_layers=3, decoder_layers=1, encoder_attention_heads=5, decoder_attention_heads=5,
             encoder_ffn_dim=52, decoder_ffn_dim=52, max_position_embeddings=70, dropout=0.0)  # fmt: skip
NLLB = ["ace_Arab", "deu_Latn", "eng_Latn", "zul_Latn"]
MBART = ["ar_AR", "de_DE", "en_XX", "ro_RO"]
M2M = ["de", "en", "fr", "zu"]


def train_spm(lines, size, kind):
    settings = {"normalization_rule_name": "identity", "character_coverage": 0.999}
    data = spm.train(lines, vocab_size=size, model_type=kind, **settings)
    return data, sentencepiece.SentencePieceProcessor(model_proto=data)


class Family:
    """A model folder: vocabulary, model, and the ids of sources and targets."""

    start = end = 2
    generation = {}

    def __init__(self, pairs, **sizes):
        self.pairs, self.sizes = pairs, sizes
        self.files = {}
        self.vocabulary()

    def write(self, folder):
        for name, data in self.files.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)

    def ids(self, processor, table, text):
        return [table.get(piece, self.unknown) for piece in processor.encode(text, out_type=str)]

    def source(self, text):
        return self.ids(self.spm, self.table, text) + [self.end]

    def target(self, text):
        return self.ids(self.spm, self.table, text) + [self.end]

    def texts(self):
        """Returns the language options of the converted model, or None if it has no tokenizer."""
        return {}

    def fairseq(self, kind):
        """Trains a SentencePiece model and assigns fairseq's ids. Returns the number of ids."""
        data, self.spm = train_spm([side for pair in self.pairs for side in pair], 260, kind)
        self.files["sentencepiece.bpe.model"] = data
        pieces = [self.spm.id_to_piece(i) for i in range(self.spm.get_piece_size())]
        self.table = {name: id for id, name in enumerate(FAIRSEQ)}
        self.table.update((piece, i + 1) for i, piece in enumerate(pieces) if i >= 3)
        self.unknown = 3
        return len(pieces) + 1


class Marian(Family):
    kind, end, languages = "marian", 0, ()

    def vocabulary(self):
        data, self.spm = train_spm([pair[0] for pair in self.pairs], 200, "unigram")
        target, self.target_spm = train_spm([pair[1] for pair in self.pairs], 200, "unigram")
        pieces = {side.id_to_piece(i) for side in (self.spm, self.target_spm) for i in range(200)} - {
            "<s>",
            "</s>",
            "<unk>",
        }
        names = ["</s>", "<unk>", *[">>%s<<" % language for language in self.languages], *sorted(pieces), "<pad>"]
        self.table = {name: id for id, name in enumerate(names)}
        self.unknown, self.start, self.V = 1, len(names) - 1, len(names)
        self.files.update({"source.spm": data, "target.spm": target, "vocab.json": json.dumps(self.table).encode()})

    def model(self):
        fields = dict(vocab_size=self.V, eos_token_id=0, forced_eos_token_id=0, pad_token_id=self.start,
                      decoder_start_token_id=self.start, activation_function="swish", scale_embedding=True)  # fmt: skip
        config = transformers.MarianConfig(**{**fields, **self.sizes})
        model = transformers.MarianMTModel(config)
        model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias) * 0.1)
        self.generation = {"bad_words_ids": [[self.start]], "num_beams": 4, "max_length": 512}
        return model

    def source(self, text):
        before = [self.table[">>%s<<" % self.languages[0]]] if self.languages else []
        return before + super().source(text)

    def target(self, text):
        return self.ids(self.target_spm, self.table, text) + [self.end]

    def texts(self):
        return {"text.target_language": self.languages[0]} if self.languages else {}


class MarianMany(Marian):
    languages = ("deu", "fra", "zho_Hans")


class MarianApart(Marian):
    """Has separate vocabularies for the two sides."""

    def vocabulary(self):
        super().vocabulary()
        tables = []
        for side, name in ((self.spm, "vocab.json"), (self.target_spm, "target_vocab.json")):
            pieces = [side.id_to_piece(i) for i in range(3, 200)]
            tables.append({piece: id for id, piece in enumerate(["</s>", "<unk>", *sorted(pieces), "<pad>"])})
            self.files[name] = json.dumps(tables[-1]).encode()
        self.table, self.target_table = tables
        self.files["tokenizer_config.json"] = b'{"separate_vocabs": true}'
        self.start, self.V = 199, 200

    def target(self, text):
        return self.ids(self.target_spm, self.target_table, text) + [self.end]


class M2M100(Family):
    kind = "m2m_100"

    def vocabulary(self):
        data, self.spm = train_spm([side for pair in self.pairs for side in pair], 260, "bpe")
        pieces = [self.spm.id_to_piece(i) for i in range(3, 260)]
        random.Random(3).shuffle(pieces)
        self.table = {name: id for id, name in enumerate(FAIRSEQ + pieces)}
        self.files.update({"sentencepiece.bpe.model": data, "vocab.json": json.dumps(self.table).encode()})
        size = len(self.table)
        self.lang = {code: size + i for i, code in enumerate(M2M)}
        added = {str(id): {"content": "__%s__" % code, "special": True} for code, id in self.lang.items()}
        setting = {"tokenizer_class": "M2M100Tokenizer", "added_tokens_decoder": added}
        self.files["tokenizer_config.json"] = json.dumps(setting).encode()
        self.unknown, self.V = 3, size + len(M2M) + 8

    def model(self):
        config = transformers.M2M100Config(
            vocab_size=self.V, encoder_layerdrop=0, decoder_layerdrop=0, attention_dropout=0, **self.sizes
        )
        self.generation = {"num_beams": 5, "early_stopping": True, "max_length": 200}
        return transformers.M2M100ForConditionalGeneration(config)

    def source(self, text):
        return [self.lang["en"]] + super().source(text)

    def target(self, text):
        return [self.lang["de"]] + super().target(text)

    def texts(self):
        return {"text.source_language": "en", "text.target_language": "de"}

    forced = property(lambda self: self.lang["de"])


class Nllb(M2M100):
    kind = "m2m_100"
    legacy = False

    def vocabulary(self):
        size = self.fairseq("bpe")
        self.lang = {code: size + i for i, code in enumerate(NLLB)}
        listed = [{"id": id, "content": code, "special": True} for code, id in self.lang.items()]
        self.files["tokenizer.json"] = json.dumps({"added_tokens": listed}).encode()
        setting = {"tokenizer_class": "NllbTokenizer", "legacy_behaviour": self.legacy}
        self.files["tokenizer_config.json"] = json.dumps(setting).encode()
        self.V = size + len(NLLB) + 3

    def source(self, text):
        ids = Family.source(self, text)
        return ids + [self.lang["eng_Latn"]] if self.legacy else [self.lang["eng_Latn"]] + ids

    def target(self, text):
        return [self.lang["deu_Latn"]] + Family.target(self, text)

    def texts(self):
        return {"text.source_language": "eng_Latn", "text.target_language": "deu_Latn"}

    forced = property(lambda self: self.lang["deu_Latn"])


class NllbLegacy(Nllb):
    legacy = True


class WithoutTokenizer(Family):
    """Writes no tokenizer files."""

    def vocabulary(self):
        self.fairseq("unigram")
        self.files.clear()
        self.V = 262

    def texts(self):
        return None


class Bart(WithoutTokenizer):
    kind = "bart"

    def model(self):
        fields = dict(vocab_size=self.V, activation_function="gelu")
        config = transformers.BartConfig(**{**fields, **self.sizes})
        model = transformers.BartForConditionalGeneration(config)
        self.generation = {"num_beams": 4, "length_penalty": 2.0}
        return model


class BartForced(Bart):
    forced = 0

    def model(self):
        model = super().model()
        self.generation["forced_bos_token_id"] = 0
        return model

    def target(self, text):
        return [0] + super().target(text)


class Pegasus(WithoutTokenizer):
    kind, start, end = "pegasus", 1, 2

    def model(self):
        fields = dict(vocab_size=self.V, pad_token_id=1, decoder_start_token_id=1, eos_token_id=2, scale_embedding=True)
        config = transformers.PegasusConfig(**{**fields, **self.sizes, "forced_eos_token_id": 2})
        return transformers.PegasusForConditionalGeneration(config)


class Mbart(Family):
    """mBART-25 for one language pair: the decoder starts with the target language."""

    kind, fifty = "mbart", False

    def vocabulary(self):
        size = self.fairseq("unigram")
        self.lang = {code: size + i for i, code in enumerate(MBART)}
        added = {str(id): {"content": code, "special": True} for code, id in self.lang.items()}
        setting = {
            "tokenizer_class": "MBart50Tokenizer" if self.fifty else "MBartTokenizer",
            "added_tokens_decoder": added,
        }
        self.files["tokenizer_config.json"] = json.dumps(setting).encode()
        self.V = size + len(MBART) + 1
        self.start = 2 if self.fifty else self.lang["ro_RO"]

    def model(self):
        fields = dict(vocab_size=self.V, activation_function="gelu", scale_embedding=True)
        config = transformers.MBartConfig(**{**fields, **self.sizes, "decoder_start_token_id": self.start})
        model = transformers.MBartForConditionalGeneration(config)
        model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias) * 0.1)
        self.generation = {"num_beams": 5}
        return model

    def source(self, text):
        return super().source(text) + [self.lang["en_XX"]]

    def texts(self):
        return {"text.source_language": "en_XX"}


class Mbart50(Mbart):
    fifty = True
    forced = property(lambda self: self.lang["ro_RO"])

    def source(self, text):
        return [self.lang["en_XX"]] + Family.source(self, text)

    def target(self, text):
        return [self.lang["ro_RO"]] + super().target(text)

    def texts(self):
        return {"text.source_language": "en_XX", "text.target_language": "ro_RO"}


class Own:
    """Contains the files that the tokenizer of transformers saves. That tokenizer defines the ids and languages."""

    token, more = "%s", {}

    def vocabulary(self):
        super().vocabulary()
        self.files.pop("tokenizer_config.json")
        self.files.pop("tokenizer.json", None)
        with tempfile.TemporaryDirectory() as folder:
            self.write(folder)
            self.tokenizer = getattr(transformers, self.tokenizer_class).from_pretrained(folder, **self.more)
            self.tokenizer.save_pretrained(folder)
            for name in os.listdir(folder):
                with open(os.path.join(folder, name), "rb") as file:
                    self.files[name] = file.read()
        self.lang = {code: self.tokenizer.convert_tokens_to_ids(self.token % code) for code in self.lang}
        self.start = self.lang["ro_RO"] if self.kind == "mbart" and not self.fifty else 2
        self.V = max(len(self.tokenizer), max(self.lang.values()) + 1) + 3
        languages = self.texts()
        self.tokenizer.src_lang = languages["text.source_language"]
        self.tokenizer.tgt_lang = languages.get("text.target_language", "ro_RO")

    def source(self, text):
        return self.tokenizer(text)["input_ids"]

    def target(self, text):
        ids = self.tokenizer(text_target=text)["input_ids"]
        return ids[: ids.index(self.end) + 1] if ids[0] != self.end else ids


class M2M100Own(Own, M2M100):
    tokenizer_class, token = "M2M100Tokenizer", "__%s__"


class NllbOwn(Own, Nllb):
    tokenizer_class, more = "NllbTokenizer", {"extra_special_tokens": NLLB}


class MbartOwn(Own, Mbart):
    tokenizer_class = "MBartTokenizer"


class Mbart50Own(Own, Mbart50):
    tokenizer_class = "MBart50Tokenizer"


class Fsmt(WithoutTokenizer):
    kind = "fsmt"

    def model(self):
        fields = dict(
            langs=["en", "de"],
            src_vocab_size=self.V + 5 * (not self.sizes.get("tie_word_embeddings")),
            tgt_vocab_size=self.V,
            activation_function="relu",
        )
        config = transformers.FSMTConfig(**{**fields, **self.sizes})
        model = transformers.FSMTForConditionalGeneration(config)
        self.generation = {"num_beams": 5, "max_length": 200}
        return model


SMALL_MODELS = {
    "marian": (Marian, {}),
    "marian-many": (MarianMany, {"activation_function": "relu"}),
    "m2m100": (M2M100, {}),
    "nllb": (Nllb, {}),
    "bart": (Bart, {}),
    "mbart": (Mbart, {}),
    "mbart50": (Mbart50, {}),
    "fsmt": (Fsmt, {}),
    "pegasus": (Pegasus, {}),
}
MANY_MODELS = {
    **SMALL_MODELS,
    "marian-large": (Marian, {**LARGE, "activation_function": "gelu", "scale_embedding": False}),
    "marian-pickle": (Marian, {}),
    "fsmt-pickle": (Fsmt, {}),
    "marian-apart": (MarianApart, {**LARGE, "share_encoder_decoder_embeddings": False, "tie_word_embeddings": False}),
    "marian-decoder": (Marian, {"share_encoder_decoder_embeddings": False}),
    "m2m100-large": (M2M100, {**LARGE, "activation_function": "gelu", "scale_embedding": False}),
    "nllb-legacy": (NllbLegacy, LARGE),
    "bart-large": (Bart, {**LARGE, "activation_function": "relu", "scale_embedding": True}),
    "bart-forced": (BartForced, {}),
    "mbart-large": (Mbart, {**LARGE, "activation_function": "swish"}),
    "mbart50-large": (Mbart50, {**LARGE, "scale_embedding": False}),
    "pegasus-large": (Pegasus, {**LARGE, "activation_function": "relu", "scale_embedding": False}),
    "fsmt-large": (Fsmt, {**LARGE, "scale_embedding": False}),
    "m2m100-own": (M2M100Own, {}),
    "nllb-own": (NllbOwn, {}),
    "mbart-own": (MbartOwn, {}),
    "mbart50-own": (Mbart50Own, {}),
    "fsmt-tied": (Fsmt, {**LARGE, "activation_function": "gelu", "tie_word_embeddings": True}),
}


def steps(model, family, pairs, count, rate, warmup):
    model.train()
    with torch.no_grad():  # zero biases would test nothing
        for name, value in model.named_parameters():
            if name.endswith("bias") and value.requires_grad:
                value.normal_(0, 0.05)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=rate)
    for step in range(count):
        optimizer.param_groups[0]["lr"] = rate * min(1, (step + 1) / warmup)
        source, target = (f(text) for f, text in zip((family.source, family.target), pairs[step % len(pairs)]))
        logits = logits_of(model, family, source, target)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits, torch.tensor(target)).backward()
        optimizer.step()
    model.eval()


def logits_of(model, family, source, target):
    fed = torch.tensor([[family.start] + target[:-1]])
    return model(input_ids=torch.tensor([source]), decoder_input_ids=fed, use_cache=False).logits[0]


def expected(model, family, pairs):
    if family.kind != "fsmt":  # its attention mask is fp32
        model = model.double()
    found = []
    for source_text, target_text in pairs:
        source, target = family.source(source_text), family.target(target_text)
        with torch.no_grad():
            by_token = torch.log_softmax(logits_of(model, family, source, target), -1)
            score = float(by_token[range(len(target)), target].sum())
            forced = {"forced_bos_token_id": family.forced} if hasattr(family, "forced") else {}
            greedy = model.generate(
                torch.tensor([source]), attention_mask=torch.ones(1, len(source), dtype=torch.long), num_beams=1,
                do_sample=False, max_length=None, max_new_tokens=len(source) + 10, forced_eos_token_id=None,
                early_stopping=False, length_penalty=1.0, **forced,
            )[0].tolist()[1:]  # fmt: skip
        texts = {"text": source_text, "target_text": target_text}
        found.append({"source": source, "target": target, "log_probability": score, "greedy": greedy, **texts})
    return found


def make(name, family_class, sizes, pairs, out, many):
    torch.manual_seed(7)
    family = family_class(pairs, **{**SMALL, **sizes})
    model = family.model()
    short = [pair for pair in pairs if len(pair[0]) < 40 and len(pair[1]) < 40]
    if many:  # larger embeddings, more pairs, and more steps, so that the output depends on the source
        with torch.no_grad():
            tables = (m for m in model.modules() if isinstance(m, torch.nn.Embedding) and "Pos" not in type(m).__name__)
            for table in {id(m.weight): m.weight for m in tables}.values():
                table.mul_(10 if model.config.scale_embedding else 20)
        steps(model, family, short[:64], 2000, 2e-3 if model.config.d_model < 32 else 5e-4, 400)
    else:
        steps(model, family, short[:8], 300, 5e-3, 1)
    folder = os.path.join(out, name)
    os.makedirs(folder, exist_ok=True)
    for key, value in family.generation.items():
        setattr(model.generation_config, key, value)
    if hasattr(model.config, "num_beams"):
        model.config.num_beams = 1
    model.save_pretrained(folder)
    if name.endswith("-pickle"):  # as in older published folders: all tensors, including position tables
        os.remove(os.path.join(folder, "model.safetensors"))
        torch.save(model.state_dict(), os.path.join(folder, "pytorch_model.bin"))
    family.write(folder)
    if hasattr(model.generation_config, "forced_eos_token_id"):
        model.generation_config.forced_eos_token_id = None
    results = {"end": family.end, "languages": family.texts(), "sentences": expected(model, family, short[:12])}
    with open(os.path.join(folder, "expected.json"), "w") as file:
        json.dump(results, file, separators=(",", ":"))
        file.write("\n")
    if many:
        texts, targets = map(list, zip(*short[:200]))
        ids = {"source": list(map(family.source, texts)), "target": list(map(family.target, targets))}
        with open(os.path.join(folder, "sentences.json"), "w") as file:
            json.dump({"text": texts, "target_text": targets, **ids, "forced": getattr(family, "forced", None)}, file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--many", action="store_true")
    parser.add_argument("pairs")
    parser.add_argument("out")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    with open(given.pairs, encoding="utf-8") as file:
        pairs = [tuple(line.rstrip("\n").split("\t")) for line, _ in zip(file, range(3000))]
    for name, (family, sizes) in (MANY_MODELS if given.many else SMALL_MODELS).items():
        if not given.names or name in given.names:
            make(name, family, sizes, pairs, given.out, given.many)
            print(name, flush=True)


if __name__ == "__main__":
    main()
