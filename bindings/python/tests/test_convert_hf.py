"""python -m xformer.convert from-hf and to-hf, on the small folders of tests/convert/make_checkpoints.py and what
transformers said of them.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import io
import json
import os
import shutil
import tempfile
import unittest
import unittest.mock

from support import ROOT, xformer
from xformer.convert.__main__ import main

try:
    import numpy
except ImportError:
    numpy = None

FOLDERS = os.path.join(ROOT, "tests", "convert", "checkpoints")
NAMES = ("bart", "fsmt", "m2m100", "marian", "marian-many", "mbart", "mbart50", "nllb", "pegasus")
GREEDY = {"decode.beam": 1, "decode.alpha": 0, "decode.max_extra_tokens": 10}


@unittest.skipIf(numpy is None, "needs numpy")
class ConvertTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.context = xformer.Context({"context.device": "cpu", "context.threads": 1})
        self.addCleanup(self.context.close)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run_main(self, *arguments):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = main(list(arguments))
        return status, said.getvalue()

    def copy(self, name):
        """A folder that a test may change."""
        path = self.path(name)
        shutil.copytree(os.path.join(FOLDERS, name), path)
        return path

    def edit(self, folder, file, **changes):
        """Sets fields of a JSON file; None takes one away."""
        path = os.path.join(folder, file)
        with open(path) as opened:
            values = json.load(opened)
        values.update(changes)
        for key in [key for key, value in changes.items() if value is None]:
            del values[key]
        with open(path, "w") as opened:
            json.dump(values, opened)

    def expected(self, name):
        with open(os.path.join(FOLDERS, name, "expected.json")) as file:
            return json.load(file)

    def assert_equal_results(self, path, expected):
        sentences, told = expected["sentences"], expected["languages"] or {}
        batch = xformer.Batch.from_ids([s["source"] for s in sentences], [s["target"] for s in sentences])
        with xformer.Model.load(self.context, path) as model, xformer.Decoder(model, {**GREEDY, **told}) as decoder:
            for score, sentence in zip(decoder.score(batch), sentences):
                self.assertLess(abs(score / sentence["log_probability"] - 1), 1e-4)
            answers = decoder.decode(xformer.Batch.from_ids([s["source"] for s in sentences]))
            found = [list(a[0].ids) + [expected["end"]] * a[0].finished for a in answers]
            self.assertEqual(found, [s["greedy"] for s in sentences])
            self.assertTrue(any(a[0].finished for a in answers))
            if model.tokenizer is not None:
                by_text = decoder.translate([s["text"] for s in sentences])
                self.assertEqual([a[0].ids for a in by_text], [a[0].ids for a in answers])
            return model.tokenizer is not None


class FromHf(ConvertTest):
    def test_results_are_those_of_transformers(self):
        for name in NAMES:
            with self.subTest(name):
                status, said = self.run_main("from-hf", os.path.join(FOLDERS, name), self.path("out.xf"))
                self.assertEqual((status, name in said), (0, bool(said)))
                has_text = self.assert_equal_results(self.path("out.xf"), self.expected(name))
                self.assertEqual(has_text, name not in ("bart", "fsmt", "pegasus"))

    def folders_with_text(self):
        """Each folder that has a tokenizer; what a batcher of its model is told; what mBART-25 has behind targets."""
        for name in sorted(set(NAMES) - {"bart", "fsmt", "pegasus"}):
            yield name, os.path.join(FOLDERS, name), self.expected(name)["languages"] or {}, []
        # mBART-25 as it was before it was made for one pair: the decoder is fed the language that it is told.
        folder = self.copy("mbart")
        start = self.expected("mbart")["sentences"][0]["source"][-1] + 1
        self.edit(folder, "config.json", decoder_start_token_id=None)
        self.edit(folder, "generation_config.json", decoder_start_token_id=None)
        yield "mbart", folder, {"decode.source_language": "en_XX", "decode.target_language": "ro_RO"}, [start]

    def test_both_sides_are_framed_as_transformers_frames_them(self):
        for name, folder, told, behind in self.folders_with_text():
            with self.subTest(name, behind=behind):
                self.assertEqual(self.run_main("from-hf", folder, self.path("out.xf"))[0], 0)
                config = {key.replace("decode.", "data."): value for key, value in told.items()}
                with xformer.Model.load(self.context, self.path("out.xf")) as model:
                    for sentence in self.expected(name)["sentences"]:
                        pair = [(sentence["text"], sentence["target_text"])]
                        with xformer.Corpus.from_pairs(self.context, pair) as corpus:
                            with xformer.Batcher(corpus, model.tokenizer, config) as batcher:
                                batch = batcher.next()
                        self.assertEqual(list(batch.src_ids), sentence["source"])
                        self.assertEqual(list(batch.tgt_ids), sentence["target"] + behind)

    def test_training_goes_on_with_texts(self):
        for name, folder, told, behind in self.folders_with_text():
            with self.subTest(name, behind=behind):
                self.assertEqual(self.run_main("from-hf", folder, self.path("out.xf"))[0], 0)
                sentences = self.expected(name)["sentences"]
                pairs = [(s["text"], s["target_text"]) for s in sentences]
                config = {
                    "train.schedule": "constant",
                    "train.learning_rate": 0.003,
                    "train.warmup_steps": 1,
                    "train.dropout": 0,
                    "train.label_smoothing": 0,
                    **{key.replace("decode.", "data."): value for key, value in told.items()},
                }
                model = xformer.Model.load(self.context, self.path("out.xf"))
                corpus = xformer.Corpus.from_pairs(self.context, pairs)
                batcher = xformer.Batcher(corpus, model.tokenizer, config)
                decoder = xformer.Decoder(model, {**GREEDY, **told})
                before = decoder.evaluate(batcher)
                expected = -sum(s["log_probability"] for s in sentences)
                if not behind:  # else a token more is said of each
                    self.assertLess(abs(before.nll * before.tgt_tokens / expected - 1), 1e-4)
                self.assertEqual(before.tgt_tokens, sum(len(s["target"] + behind) for s in sentences))
                trainer = xformer.Trainer(model, config)
                for _ in trainer.train(batcher, 60):
                    pass
                self.assertLess(decoder.evaluate(batcher).nll, 0.5 * before.nll)
                answers = decoder.translate([text for text, _ in pairs])
                found = sum(a[0].text == target for a, (_, target) in zip(answers, pairs))
                self.assertGreater(found, len(pairs) // 2)

    def test_a_character_that_the_other_side_alone_has(self):
        self.assertEqual(self.run_main("from-hf", os.path.join(FOLDERS, "marian"), self.path("out.xf"))[0], 0)
        with open(os.path.join(FOLDERS, "marian", "vocab.json")) as file:
            ids = json.load(file)
        with xformer.Model.load(self.context, self.path("out.xf")) as model:
            for text, pieces in (
                ("a M\u00fcl", ["\u2581a", "\u2581", "M", "\u00fc", "l"]),
                ("\u00df", ["\u2581", "\u00df"]),
                ("\u4e2d\u6587", ["\u2581", "<unk>"]),
            ):
                self.assertEqual(model.tokenizer.encode(text), [ids[piece] for piece in pieces])

    def test_there_and_back(self):
        for name in ("marian", "marian-many", "bart", "mbart", "m2m100", "pegasus"):
            with self.subTest(name):
                there, back = self.path(name + ".hf"), self.path(name + ".xf")
                self.assertEqual(self.run_main("from-hf", os.path.join(FOLDERS, name), self.path("out.xf"))[0], 0)
                self.assertEqual(self.run_main("to-hf", self.path("out.xf"), there)[0], 0)
                expected = self.expected(name)
                if not name.startswith("marian"):  # its tokenizer, which has the languages, is not written
                    if name == "m2m100":
                        forced = expected["sentences"][0]["target"][0]
                        self.edit(there, "generation_config.json", forced_bos_token_id=forced)
                    expected["languages"] = None
                self.assertEqual(self.run_main("from-hf", there, back)[0], 0)
                self.assert_equal_results(back, expected)

    def test_shards_and_halves(self):
        from xformer.convert.checkpoint import SafetensorsFile
        from xformer.convert.model_file import Tensor, write_safetensors

        folder = self.copy("marian")
        whole = SafetensorsFile(os.path.join(folder, "model.safetensors"))
        names, index = sorted(whole.shapes), {}
        for number in (0, 1):
            shard = "model-0000%d-of-00002.safetensors" % (number + 1)
            values = {n: whole.read(n, 0, int(numpy.prod(whole.shapes[n]))) for n in names[number::2]}
            tensors = [Tensor(n, whole.shapes[n], lambda v=v: [v]) for n, v in values.items()]
            write_safetensors(os.path.join(folder, shard), tensors, {"format": "pt"})
            index.update(dict.fromkeys(values, shard))
        os.remove(os.path.join(folder, "model.safetensors"))
        with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
            json.dump({"weight_map": index}, file)
        self.assertEqual(self.run_main("from-hf", folder, self.path("out.xf"))[0], 0)
        self.assert_equal_results(self.path("out.xf"), self.expected("marian"))
        status, _ = self.run_main("from-hf", folder, self.path("half.xf"), "--precision", "fp16")
        self.assertEqual(status, 0)
        self.assertEqual(xformer.Model.inspect(self.context, self.path("half.xf")).precision, "fp16")
        # Back from a narrow file: its numbers, widened.
        self.assertEqual(self.run_main("to-hf", self.path("half.xf"), self.path("there"))[0], 0)
        original = SafetensorsFile(os.path.join(FOLDERS, "marian", "model.safetensors"))
        wide = SafetensorsFile(self.path("there", "model.safetensors"))
        for name in names:
            size = int(numpy.prod(whole.shapes[name]))
            self.assertLess(abs(wide.read(name, 0, size) - original.read(name, 0, size)).max(), 1e-2)

    def test_settings_are_kept(self):
        self.assertEqual(self.run_main("from-hf", os.path.join(FOLDERS, "marian"), self.path("out.xf"))[0], 0)
        with xformer.Model.load(self.context, self.path("out.xf")) as model:
            self.assertEqual(model.metadata["generation.num_beams"], "4")
            self.assertEqual(model.metadata["converted_from"], "marian")
            self.assertEqual(model.config["model.activation"], "swish")
            start = model.config["model.start_token"]
            self.assertEqual(model.config["model.banned_tokens"], str(start))

    def test_languages_by_name(self):
        self.assertEqual(self.run_main("from-hf", os.path.join(FOLDERS, "nllb"), self.path("out.xf"))[0], 0)
        with xformer.Model.load(self.context, self.path("out.xf")) as model:
            with self.assertRaisesRegex(xformer.XformerError, "deu_Latn"):
                xformer.Decoder(model, {"decode.target_language": "deu_Lat"})


class Refused(ConvertTest):
    """One sentence with file and field, status 1, and nothing left behind."""

    def refuse(self, folder, *words, command="from-hf"):
        before = sorted(os.listdir(self.folder))
        status, said = self.run_main(command, folder, self.path("out.xf"))
        self.assertEqual((status, said.count("\n")), (1, 1), said)
        for word in words:
            self.assertIn(word, said)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_fields(self):
        for name, file, field, value in (
            ("marian", "config.json", "encoder_layers", 1 << 40),
            ("marian", "config.json", "max_position_embeddings", 1 << 30),
            ("marian", "config.json", "num_hidden_layers", 7),
            ("marian", "config.json", "d_model", 17),
            ("marian", "config.json", "d_model", -2),
            ("marian", "config.json", "d_model", "16"),
            ("marian", "config.json", "decoder_attention_heads", 4),
            ("marian", "config.json", "decoder_ffn_dim", 48),
            ("marian", "config.json", "activation_function", "gelu_new"),
            ("marian", "config.json", "normalize_before", True),
            ("marian", "config.json", "is_encoder_decoder", False),
            ("marian", "config.json", "model_type", "t5"),
            ("marian", "config.json", "scale_embedding", 1),
            ("marian", "config.json", "something_new", 3),
            ("marian", "config.json", "quantization_config", {"bits": 4}),
            ("marian", "config.json", "eos_token_id", 10000),
            ("marian", "generation_config.json", "bad_words_ids", [[1, 2]]),
            ("marian", "generation_config.json", "decoder_start_token_id", 3),
            ("marian", "generation_config.json", "no_repeat_ngram_size", 3),
            ("marian", "generation_config.json", "do_sample", True),
            ("m2m100", "config.json", "tie_word_embeddings", False),
            ("bart", "config.json", "extra_pos_embeddings", 3),
        ):
            with self.subTest(field=field, value=value):
                folder = self.copy(name)
                self.edit(folder, file, **{field: value})
                self.refuse(folder, file, field)
                shutil.rmtree(folder)

    def test_tables_beyond_all_bounds(self):
        folder = self.copy("marian")
        self.edit(folder, "config.json", d_model=128, max_position_embeddings=1 << 20)
        self.refuse(folder, "max_position_embeddings")

    def test_a_field_can_be_ignored(self):
        folder = self.copy("marian")
        self.edit(folder, "generation_config.json", no_repeat_ngram_size=3)
        status, _ = self.run_main("from-hf", folder, self.path("out.xf"), "--ignore", "no_repeat_ngram_size")
        self.assertEqual(status, 0)

    def test_shapes(self):
        for name, field, value, tensor in (
            ("marian", "vocab_size", 300, "decoder_vocab_size"),
            ("marian", "encoder_layers", 2, "model.encoder.layers.1."),
            ("marian", "encoder_layers", None, "model.encoder.layers.1."),
            ("marian", "decoder_layers", 1, "model.decoder.layers.1."),
            ("marian", "encoder_ffn_dim", None, "encoder_ffn_dim"),
            ("bart", "max_position_embeddings", 95, "embed_positions"),
            ("bart", "vocab_size", 263, "model.shared.weight"),
            ("fsmt", "src_vocab_size", 262, "encoder.embed_tokens"),
        ):
            with self.subTest(field=field):
                folder = self.copy(name)
                self.edit(folder, "config.json", **{field: value})
                self.refuse(folder, tensor)
                shutil.rmtree(folder)

    def rewrite(self, folder, change):
        path = os.path.join(folder, "model.safetensors")
        with open(path, "rb") as file:
            data = file.read()
        with open(path, "wb") as file:
            file.write(change(data))

    def test_weights(self):
        for words, change in (
            (("model.safetensors", "cut off"), lambda data: data[:-1000]),
            (("model.safetensors",), lambda data: data[:100]),
            (("model.safetensors",), lambda data: b""),
            (("model.safetensors",), lambda data: b"\xff" * 8 + data[8:]),
            (("model.safetensors", "not JSON"), lambda data: data[:8] + b"[" + data[9:]),
            (
                ("model.shared.weight", "shape"),
                lambda data: data.replace(
                    b'"model.shared.weight":{"dtype":"F32"', b'"model.shared.weight":{"dtype":"F16"'
                ),
            ),
            (
                ("lacks the tensor model.shared.weight",),
                lambda data: data.replace(b"model.shared.weight", b"model.shored.weight"),
            ),
            (("not finite",), lambda data: data[:-4] + b"\x00\x00\xc0\x7f"),
            (
                ("decoder.layers.0.fc1.bias", "shape"),
                lambda data: data.replace(
                    b'"model.decoder.layers.0.fc1.bias":{"dtype":"F32","shape":[24]',
                    b'"model.decoder.layers.0.fc1.bias":{"dtype":"F32","shape":[12]',
                ),
            ),
        ):
            with self.subTest(words):
                folder = self.copy("marian")
                self.rewrite(folder, change)
                self.refuse(folder, *words)
                shutil.rmtree(folder)

    def test_files(self):
        folder = self.copy("marian")
        os.remove(os.path.join(folder, "model.safetensors"))
        self.refuse(folder, "model.safetensors")
        with open(os.path.join(folder, "config.json"), "w") as file:
            file.write("[" * 100000)
        self.refuse(folder, "config.json")
        with open(os.path.join(folder, "config.json"), "w") as file:
            file.write('{"model_type": "marian", "model_type": "bart"}')
        self.refuse(folder, "config.json", "twice")
        self.refuse(self.path("nowhere"), "config.json")

    def test_paths_and_texts_of_a_hostile_folder(self):
        """What a configuration can say that a path, a file name or UTF-8 can't be."""
        half = "\ud800"
        folder = self.copy("marian")
        self.edit(folder, "generation_config.json", early_stopping=half)
        self.refuse(folder, "generation_config.json", "surrogates")
        self.edit(folder, "generation_config.json", early_stopping=None)
        with open(os.path.join(folder, "vocab.json")) as file:
            names = list(json.load(file))
        self.edit(folder, "vocab.json", **{names[7]: None, half: 7})
        self.refuse(folder, "vocab.json", "surrogates")
        shutil.rmtree(folder)
        folder = self.copy("marian")
        os.remove(os.path.join(folder, "target.spm"))
        os.mkdir(os.path.join(folder, "target.spm"))
        self.refuse(folder, "target.spm", "directory")
        os.remove(os.path.join(folder, "model.safetensors"))
        for name in ("a\0b", "../b", ".."):
            with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
                json.dump({"weight_map": {"tensor": name}}, file)
            self.refuse(folder, "model.safetensors.index.json" if name != ".." else folder)

    def test_files_that_are_too_large(self):
        with unittest.mock.patch("xformer.convert.files._MOST", 100):
            self.refuse(os.path.join(FOLDERS, "marian"), "config.json", "more than 100 bytes")

    def test_pickles_of_a_folder_named_after_safetensors(self):
        folder = self.path("some.safetensors")
        shutil.copytree(os.path.join(FOLDERS, "marian"), folder)
        os.rename(os.path.join(folder, "model.safetensors"), os.path.join(folder, "pytorch_model.bin"))
        self.refuse(folder, "pytorch_model.bin", "PyTorch")

    def test_added_tokens(self):
        for file, value in (
            ("tokenizer_config.json", {"added_tokens_decoder": {"5": {}}}),
            ("tokenizer_config.json", {"added_tokens_decoder": "words"}),
            ("tokenizer.json", {"added_tokens": [{"content": "__en__"}]}),
            ("added_tokens.json", {"__en__": [1]}),
            ("added_tokens.json", {"__en__": "one"}),
            ("added_tokens.json", {"__en__": float("inf")}),
        ):
            with self.subTest(value):
                folder = self.copy("m2m100")
                os.remove(os.path.join(folder, "tokenizer_config.json"))
                with open(os.path.join(folder, file), "w") as opened:
                    json.dump(value, opened)
                self.refuse(folder, file, "added tokens")
                shutil.rmtree(folder)

    def test_where_nothing_can_be_written(self):
        status, said = self.run_main("from-hf", os.path.join(FOLDERS, "marian"), self.path("nowhere", "out.xf"))
        self.assertEqual((status, said.count("\n")), (1, 1), said)
        self.assertIn(self.path("nowhere", "out.xf") + ": No such", said)

    def test_vocabulary(self):
        folder = self.copy("marian")
        self.edit(folder, "vocab.json", **{"</s>": 5})
        self.refuse(folder, "vocab.json")
        folder = self.copy("nllb")
        with open(os.path.join(folder, "sentencepiece.bpe.model"), "r+b") as file:
            file.truncate(1000)
        self.refuse(folder, "sentencepiece.bpe.model")


class ToHf(ConvertTest):
    def model(self, **options):
        sizes = dict(
            encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2, d_k=4, d_v=4, max_length=16, vocab_size=9
        )
        given = {"model." + key: value for key, value in {**sizes, **options}.items()}
        with xformer.Model(self.context, given) as model:
            model.save(self.path("in.xf"))
        shutil.rmtree(self.path("there"), ignore_errors=True)
        return self.run_main("to-hf", self.path("in.xf"), self.path("there"))

    def config(self):
        with open(self.path("there", "config.json")) as file:
            return json.load(file)

    def test_classes(self):
        for options, name in (
            ({}, "MarianMTModel"),
            ({"tie": "none", "source_vocab_size": 7}, "MarianMTModel"),
            ({"norm": "pre"}, "PegasusForConditionalGeneration"),
            ({"norm": "pre", "embedding_norm": True}, "MBartForConditionalGeneration"),
            ({"embedding_norm": True}, "BartForConditionalGeneration"),
        ):
            with self.subTest(name):
                status, said = self.model(**options)
                self.assertEqual(status, 0, said)
                self.assertEqual(self.config()["architectures"], [name])

    def test_the_same_model_comes_back(self):
        for options in (
            {},
            {"positions": "learned", "activation": "gelu"},
            {"tie": "none", "source_vocab_size": 7},
            {"attention_bias": True, "output_bias": True, "tie": "decoder"},
            {"norm": "pre"},
            {"norm": "pre", "positions": "learned", "output_bias": True, "embedding_scale": False},
            {"norm": "pre", "embedding_norm": True},
            {"embedding_norm": True, "positions": "learned", "activation": "swish"},
        ):
            with self.subTest(**options):
                self.model(**options, norm_epsilon=1e-5, seed=3)
                self.assertEqual(self.run_main("from-hf", self.path("there"), self.path("back.xf"))[0], 0)
                pair = xformer.Batch.from_ids([[5, 4, 3, 1], [6, 1]], [[2, 3, 1], [4, 5, 6, 1]])
                scores = []
                for name in ("in.xf", "back.xf"):
                    with xformer.Model.load(self.context, self.path(name)) as model, xformer.Decoder(model) as decoder:
                        scores.append(decoder.score(pair))
                for a, b in zip(*scores):
                    self.assertLess(abs(a / b - 1), 1e-5)

    def test_what_no_class_has(self):
        for option, value in (
            ("gated", True),
            ("norm_kind", "rms"),
            ("window", 4),
            ("d_k", 2),
            ("norm_epsilon", 1e-3),
        ):
            with self.subTest(option):
                status, said = self.model(**{option: value})
                self.assertEqual((status, said.count("\n")), (1, 1), said)
                self.assertIn("model." + option, said)
                self.assertFalse(os.path.exists(self.path("there")))

    def test_a_folder_that_is_there(self):
        self.assertEqual(self.model()[0], 0)
        status, said = self.run_main("to-hf", self.path("in.xf"), self.path("there"))
        self.assertEqual((status, "not empty" in said), (1, True))
        self.assertTrue(os.path.exists(self.path("there", "config.json")))
        with unittest.mock.patch(
            "xformer.convert.to_hf._write_json", side_effect=OSError(28, "No space left on device")
        ):
            status, said = self.run_main("to-hf", self.path("in.xf"), self.path("other"))
        self.assertEqual((status, said.count("\n"), os.path.exists(self.path("other"))), (1, 1, False))
        with open(self.path("file"), "w"):
            pass
        for name in ("file", "nowhere/there"):
            status, said = self.run_main("to-hf", self.path("in.xf"), self.path(name))
            self.assertEqual((status, said.count("\n"), self.path(name) in said), (1, 1, True), said)
        with open(self.path("in.xf"), "r+b") as file:
            file.truncate(2000)
        status, said = self.run_main("to-hf", self.path("in.xf"), self.path("other"))
        self.assertEqual((status, os.path.exists(self.path("other"))), (1, False))

    def test_ends_early(self):
        """A full disk and Ctrl-C, while a file is written: the folder is as it was."""
        os.mkdir(self.path("empty"))
        self.assertEqual(self.model()[0], 0)
        before = sorted(os.listdir(self.folder))
        for error, expected in ((OSError(28, "No space left on device"), (1, 1)), (KeyboardInterrupt(), (130, 0))):
            for arguments in (
                ("to-hf", self.path("in.xf"), self.path("empty")),
                ("to-hf", self.path("in.xf"), self.path("other")),
                ("from-hf", self.path("there"), self.path("back.xf")),
            ):
                with self.subTest(error=error, arguments=arguments):
                    with unittest.mock.patch("xformer.convert.model_file.Progress.add", side_effect=error):
                        status, said = self.run_main(*arguments)
                    self.assertEqual((status, said.count("\n")), expected, said)
                    self.assertEqual(sorted(os.listdir(self.folder)), before)
                    self.assertEqual(os.listdir(self.path("empty")), [])


if __name__ == "__main__":
    unittest.main()
