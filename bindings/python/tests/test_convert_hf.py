"""python -m xformer.convert from-hf and to-hf, compared with results of transformers.

tests/surfaces/convert/make_checkpoints.py wrote the model folders and these results.

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

from support import OPTIONS, PAIRS, ROOT, xformer
from xformer.convert.__main__ import main

try:
    import numpy
except ImportError:
    numpy = None

MODELS = os.path.join(ROOT, "tests", "surfaces", "convert", "models")
FOLDERS = os.path.join(ROOT, "tests", "surfaces", "convert", "checkpoints")
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
        messages = io.StringIO()
        with contextlib.redirect_stderr(messages):
            status = main(list(arguments))
        return status, messages.getvalue()

    def copy(self, name):
        """Returns a copy of a folder, which the test may change."""
        path = self.path(name)
        shutil.copytree(os.path.join(FOLDERS, name), path)
        return path

    def edit(self, folder, file, **changes):
        """Sets fields of a JSON file. None removes a field."""
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
        sentences, languages = expected["sentences"], expected["languages"] or {}
        batch = xformer.Batch.from_ids([s["source"] for s in sentences], [s["target"] for s in sentences])
        config = {**GREEDY, **languages}
        with xformer.Model.load(self.context, path) as model, xformer.Decoder(model, config) as decoder:
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
                status, messages = self.run_main("from-hf", os.path.join(FOLDERS, name), self.path("out.xf"))
                self.assertEqual((status, name in messages), (0, bool(messages)))
                has_text = self.assert_equal_results(self.path("out.xf"), self.expected(name))
                self.assertEqual(has_text, name not in ("bart", "fsmt", "pegasus"))

    def folders_with_text(self):
        """Yields (name, folder, language options, ids appended to targets) of all folders with a tokenizer."""
        for name in sorted(set(NAMES) - {"bart", "fsmt", "pegasus"}):
            yield name, os.path.join(FOLDERS, name), self.expected(name)["languages"] or {}, []
        # mBART-25 before it is trained for one language pair: text.target_language selects the start token.
        folder = self.copy("mbart")
        start = self.expected("mbart")["sentences"][0]["source"][-1] + 1
        self.edit(folder, "config.json", decoder_start_token_id=None)
        self.edit(folder, "generation_config.json", decoder_start_token_id=None)
        yield "mbart", folder, {"text.source_language": "en_XX", "text.target_language": "ro_RO"}, [start]

    def test_ids_with_languages_and_end_tokens(self):
        for name, folder, languages, suffix in self.folders_with_text():
            with self.subTest(name, suffix=suffix):
                self.assertEqual(self.run_main("from-hf", folder, self.path("out.xf"))[0], 0)
                with xformer.Model.load(self.context, self.path("out.xf")) as model:
                    for sentence in self.expected(name)["sentences"]:
                        pair = [(sentence["text"], sentence["target_text"])]
                        with xformer.Corpus.from_pairs(self.context, pair) as corpus:
                            with xformer.Batcher(corpus, model.tokenizer, languages) as batcher:
                                batch = batcher.next()
                        self.assertEqual(list(batch.src_ids), sentence["source"])
                        self.assertEqual(list(batch.tgt_ids), sentence["target"] + suffix)

    def test_continued_training(self):
        for name, folder, languages, suffix in self.folders_with_text():
            with self.subTest(name, suffix=suffix):
                self.assertEqual(self.run_main("from-hf", folder, self.path("out.xf"))[0], 0)
                sentences = self.expected(name)["sentences"]
                pairs = [(s["text"], s["target_text"]) for s in sentences]
                config = {
                    "train.schedule": "constant",
                    "train.learning_rate": 0.003,
                    "train.warmup_steps": 1,
                    "train.dropout": 0,
                    "train.label_smoothing": 0,
                    **languages,
                }
                model = xformer.Model.load(self.context, self.path("out.xf"))
                corpus = xformer.Corpus.from_pairs(self.context, pairs)
                batcher = xformer.Batcher(corpus, model.tokenizer, config)
                decoder = xformer.Decoder(model, {**GREEDY, **languages})
                before = decoder.evaluate(batcher)
                expected = -sum(s["log_probability"] for s in sentences)
                if not suffix:  # otherwise each target has one more token
                    self.assertLess(abs(before.nll * before.tgt_tokens / expected - 1), 1e-4)
                self.assertEqual(before.tgt_tokens, sum(len(s["target"] + suffix) for s in sentences))
                trainer = xformer.Trainer(model, config)
                for _ in trainer.train(batcher, 60):
                    pass
                self.assertLess(decoder.evaluate(batcher).nll, 0.5 * before.nll)
                answers = decoder.translate([text for text, _ in pairs])
                found = sum(a[0].text == target for a, (_, target) in zip(answers, pairs))
                self.assertGreater(found, len(pairs) // 2)

    def test_characters_of_the_other_side(self):
        self.assertEqual(self.run_main("from-hf", os.path.join(FOLDERS, "marian"), self.path("out.xf"))[0], 0)
        with open(os.path.join(FOLDERS, "marian", "vocab.json")) as file:
            ids = json.load(file)
        with xformer.Model.load(self.context, self.path("out.xf")) as model:
            for text, pieces in (
                ("a M\u00fcl", ["\u2581a", "\u2581", "M", "\u00fc", "l"]),
                ("\u00df", ["\u2581", "\u00df"]),
                ("\u4e2d\u6587", ["\u2581", "<unk>"]),
            ):
                self.assertEqual(model.tokenizer.source.encode(text), [ids[piece] for piece in pieces])

    def test_import_export_import(self):
        for name in ("marian", "marian-many", "bart", "mbart", "mbart50", "m2m100", "nllb", "pegasus"):
            with self.subTest(name):
                there, back = self.path(name + ".hf"), self.path(name + ".xf")
                self.assertEqual(self.run_main("from-hf", os.path.join(FOLDERS, name), self.path("out.xf"))[0], 0)
                self.assertEqual(self.run_main("to-hf", self.path("out.xf"), there)[0], 0)
                self.assertEqual(self.run_main("from-hf", there, back)[0], 0)
                has_text = self.assert_equal_results(back, self.expected(name))
                self.assertEqual(has_text, name not in ("bart", "pegasus"))

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
        self.assertEqual(xformer.Model.inspect(self.context, self.path("half.xf")).weights, "fp16")
        # Export from a low-precision file.
        self.assertEqual(self.run_main("to-hf", self.path("half.xf"), self.path("there"))[0], 0)
        original = SafetensorsFile(os.path.join(FOLDERS, "marian", "model.safetensors"))
        wide = SafetensorsFile(self.path("there", "model.safetensors"))
        for name in names:
            size = int(numpy.prod(whole.shapes[name]))
            self.assertLess(abs(wide.read(name, 0, size) - original.read(name, 0, size)).max(), 1e-2)

    def test_search_settings_become_metadata(self):
        self.assertEqual(self.run_main("from-hf", os.path.join(FOLDERS, "marian"), self.path("out.xf"))[0], 0)
        with xformer.Model.load(self.context, self.path("out.xf")) as model:
            self.assertEqual(model.metadata["generation.num_beams"], "4")
            self.assertEqual(model.metadata["converted_from"], "marian")
            self.assertEqual(model.config["model.activation"], "swish")
            start = model.config["model.start_token"]
            self.assertEqual(model.config["model.banned_tokens"], str(start))

    def test_start_and_first_token_are_those_of_generate(self):
        """The expected ids are what generate() of transformers 5.23 does with these folders."""
        start, forced = "decoder_start_token_id", "forced_bos_token_id"
        without = {start: None}
        neither = {start: None, "bos_token_id": None}
        flag = {"force_bos_token_to_be_generated": True}
        for name, config, generation, expected in (
            ("mbart", {}, {}, (264, -1)),
            ("mbart", without, {}, (264, -1)),
            ("mbart", {}, without, (0, -1)),
            ("mbart", without, without, (0, -1)),
            ("mbart", without, None, (0, -1)),
            ("mbart", {}, neither, (264, -1)),  # generate() fails, as in the next one
            ("mbart50", neither, neither, (2, -1)),
            ("mbart50", without, {**without, "bos_token_id": 5}, (5, -1)),
            ("bart", without, None, (0, -1)),
            ("fsmt", {}, without, (0, -1)),
            ("mbart", {forced: 7}, {}, (264, -1)),
            ("mbart", {}, {forced: 7}, (264, 7)),
            ("mbart", {forced: 7}, None, (264, 7)),
            ("bart", flag, {}, (2, -1)),
            ("bart", flag, None, (2, 0)),
        ):
            with self.subTest(name, config=config, generation=generation):
                folder = self.copy(name)
                self.edit(folder, "config.json", **config)
                if generation is None:
                    os.remove(os.path.join(folder, "generation_config.json"))
                else:
                    self.edit(folder, "generation_config.json", **generation)
                status, messages = self.run_main("from-hf", folder, self.path("out.xf"))
                self.assertEqual(status, 0, messages)
                with xformer.Model.load(self.context, self.path("out.xf")) as model:
                    found = model.config["model.start_token"], model.config["model.first_token"]
                self.assertEqual(found, expected)
                search = config if generation is None else generation
                self.assertEqual("has no decoder_start_token_id" in messages, start in search)
                ignored = generation == {} and (forced in config or config == flag)
                self.assertEqual("is ignored, as in generate()" in messages, ignored)
                shutil.rmtree(folder)

    def test_notes_of_known_differences(self):
        for name in NAMES:
            with self.subTest(name):
                status, messages = self.run_main("from-hf", os.path.join(FOLDERS, name), self.path("out.xf"))
                self.assertEqual(status, 0, messages)
                self.assertEqual("padding token 1" in messages, name in ("fsmt", "m2m100", "nllb"), messages)
                self.assertEqual("never generated" in messages, name in ("mbart", "pegasus"), messages)

    def test_languages_by_name(self):
        self.assertEqual(self.run_main("from-hf", os.path.join(FOLDERS, "nllb"), self.path("out.xf"))[0], 0)
        with xformer.Model.load(self.context, self.path("out.xf")) as model:
            with self.assertRaisesRegex(xformer.XformerError, "deu_Latn"):
                xformer.Decoder(model, {"text.target_language": "deu_Lat"})


class Refused(ConvertTest):
    """Expects exit status 1, one message that names the file and the field, and no new files."""

    def refuse(self, folder, *words, command="from-hf"):
        before = sorted(os.listdir(self.folder))
        status, messages = self.run_main(command, folder, self.path("out.xf"))
        self.assertEqual((status, messages.count("\n")), (1, 1), messages)
        for word in words:
            self.assertIn(word, messages)
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

    def test_too_large_tables(self):
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
            (("model.safetensors", "truncated"), lambda data: data[:-1000]),
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
                ("tensor model.shared.weight is missing",),
                lambda data: data.replace(b"model.shared.weight", b"model.shored.weight"),
            ),
            (("NaN",), lambda data: data[:-4] + b"\x00\x00\xc0\x7f"),
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

    def test_hostile_paths_and_strings(self):
        """Strings that are invalid as paths, as file names, or in UTF-8."""
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
        with unittest.mock.patch("xformer.convert.files._MAX_BYTES", 100):
            self.refuse(os.path.join(FOLDERS, "marian"), "config.json", "at most 100 bytes")

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

    def test_missing_output_folder(self):
        status, messages = self.run_main("from-hf", os.path.join(FOLDERS, "marian"), self.path("nowhere", "out.xf"))
        self.assertEqual((status, messages.count("\n")), (1, 1), messages)
        self.assertIn(self.path("nowhere", "out.xf") + ": No such", messages)

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
        with xformer.Model(self.context, None, given) as model:
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
                status, messages = self.model(**options)
                self.assertEqual(status, 0, messages)
                self.assertEqual(self.config()["architectures"], [name])

    def test_export_and_import_keep_the_model(self):
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

    def test_export_and_import_keep_the_tokenizer(self):
        for kind, options in (
            ("bpe", {}),
            ("bpe", {"model.norm": "pre"}),
            ("unigram", {"model.norm": "pre", "model.embedding_norm": True}),
            ("wordpiece", {"model.embedding_norm": True}),
            ("sentencepiece", {"model.norm": "pre", "model.embedding_norm": True}),
            ("pair", {"model.tie": "decoder"}),
        ):
            with self.subTest(kind, **options):
                self.save_model_with_tokenizer(kind, options)
                self.assertEqual(self.run_main("to-hf", self.path("in.xf"), self.path(kind + ".hf"))[0], 0)
                status, messages = self.run_main("from-hf", self.path(kind + ".hf"), self.path("back.xf"))
                self.assertEqual((status, "not text" in messages), (0, False), messages)
                shutil.rmtree(self.path(kind + ".hf"))
                results = []
                for name in ("in.xf", "back.xf"):
                    with xformer.Model.load(self.context, self.path(name)) as model, xformer.Decoder(model) as decoder:
                        texts = ["one two three", "four one"]
                        answers = [[a.text for a in found] for found in decoder.translate(texts)]
                        sides = (model.tokenizer.source, model.tokenizer.target)
                        ids = [tokenizer.encode(text) for tokenizer in sides for text in texts]
                        results.append((model.config["model.vocab_size"], len(sides[0]), ids, answers))
                self.assertEqual(*results)

    def save_model_with_tokenizer(self, kind, options):
        corpus = xformer.Corpus.from_pairs(self.context, PAIRS)
        if kind == "sentencepiece":
            tokenizer = xformer.Tokenizer.load(self.context, os.path.join(MODELS, "unigram.json"))
        elif kind == "pair":
            sides = []
            for size in (270, 280):
                learned = xformer.Tokenizer.train(self.context, corpus, {**OPTIONS, "tokenizer.vocab_size": size})
                learned.save(self.path("side.json"))
                with open(self.path("side.json"), encoding="utf-8") as file:
                    sides.append(file.read())
            pair = dict(zip(("source", "target"), sides), format="xformer-tokenizer", version=1, kind="pair")
            with open(self.path("pair.json"), "w", encoding="utf-8") as file:
                json.dump(pair, file)
            tokenizer = xformer.Tokenizer.load(self.context, self.path("pair.json"))
        else:
            tokenizer = xformer.Tokenizer.train(self.context, corpus, {**OPTIONS, "tokenizer.kind": kind})
        with xformer.Model(self.context, tokenizer, {**OPTIONS, **options, "model.norm_epsilon": 1e-5}) as model:
            model.save(self.path("in.xf"))

    def test_sidecar_that_does_not_match(self):
        self.save_model_with_tokenizer("bpe", {})
        there = self.path("there")
        self.assertEqual(self.run_main("to-hf", self.path("in.xf"), there)[0], 0)
        with open(os.path.join(there, "xformer.json")) as file:
            good = json.load(file)
        for field, value in (
            ("format", "other"),
            ("version", 2),
            ("vocab_size", good["exported_vocab_size"] + 1),
            ("vocab_size", "290"),
            ("start_token", -1),
            ("exported_vocab_size", good["exported_vocab_size"] + 1),
            ("tokenizer", {}),
            ("tokenizer", "{}"),
            ("model.languages", 3),
        ):
            with self.subTest(field, value=value):
                self.edit(there, "xformer.json", **{field: value})
                before = sorted(os.listdir(self.folder))
                status, messages = self.run_main("from-hf", there, self.path("back.xf"))
                self.assertEqual((status, messages.count("\n")), (1, 1), messages)
                self.assertTrue("xformer.json" in messages or value == "{}", messages)
                self.assertEqual(sorted(os.listdir(self.folder)), before)
                self.edit(there, "xformer.json", **good)
        os.remove(os.path.join(there, "xformer.json"))
        self.assertEqual(self.run_main("from-hf", there, self.path("back.xf"))[0], 0)

    def test_unsupported_options(self):
        for option, value in (
            ("activation", "swiglu"),
            ("norm", "pre_rms"),
            ("window", 4),
            ("d_k", 2),
            ("norm_epsilon", 1e-3),
        ):
            with self.subTest(option):
                status, messages = self.model(**{option: value})
                self.assertEqual((status, messages.count("\n")), (1, 1), messages)
                self.assertIn("model." + option, messages)
                self.assertFalse(os.path.exists(self.path("there")))

    def test_existing_folder(self):
        self.assertEqual(self.model()[0], 0)
        status, messages = self.run_main("to-hf", self.path("in.xf"), self.path("there"))
        self.assertEqual((status, "not empty" in messages), (1, True))
        self.assertTrue(os.path.exists(self.path("there", "config.json")))
        with unittest.mock.patch(
            "xformer.convert.to_hf._write_json", side_effect=OSError(28, "No space left on device")
        ):
            status, messages = self.run_main("to-hf", self.path("in.xf"), self.path("other"))
        self.assertEqual((status, messages.count("\n"), os.path.exists(self.path("other"))), (1, 1, False))
        with open(self.path("file"), "w"):
            pass
        for name in ("file", "nowhere/there"):
            status, messages = self.run_main("to-hf", self.path("in.xf"), self.path(name))
            self.assertEqual((status, messages.count("\n"), self.path(name) in messages), (1, 1, True), messages)
        with open(self.path("in.xf"), "r+b") as file:
            file.truncate(2000)
        status, messages = self.run_main("to-hf", self.path("in.xf"), self.path("other"))
        self.assertEqual((status, os.path.exists(self.path("other"))), (1, False))

    def test_interruption(self):
        """After a full disk or Ctrl-C during writing, the folder is as before."""
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
                        status, messages = self.run_main(*arguments)
                    self.assertEqual((status, messages.count("\n")), expected, messages)
                    self.assertEqual(sorted(os.listdir(self.folder)), before)
                    self.assertEqual(os.listdir(self.path("empty")), [])


if __name__ == "__main__":
    unittest.main()
