"""python -m xformer.convert from-sentencepiece. tests/surfaces/convert/make_models.py wrote the files.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import io
import os
import shutil
import struct
import tempfile
import unittest

from support import OPTIONS, PAIRS, ROOT, run_python, xformer
from xformer.convert import ConvertError
from xformer.convert.__main__ import main
from xformer.convert.sentencepiece_model import SentencePieceModel

MODELS = os.path.join(ROOT, "tests", "surfaces", "convert", "models")
NAMES = ("unigram", "unigram-symbols", "unigram-suffix", "bpe", "bpe-symbols")


def contents(name):
    with open(os.path.join(MODELS, name), "rb") as file:
        return file.read()


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def piece(text, score=0.0, type_=1):
    return field(1, field(1, text) + b"\x15" + struct.pack("<f", score) + b"\x18" + varint(type_))


GOOD = piece(b"<unk>", 0, 2) + piece(b"</s>", 0, 3) + piece(b"a", -1.5) + piece(b"\xe2\x96\x81", -0.1)


class FromSentencePiece(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def convert(self, data, out="out.json"):
        """Returns the exit status and the messages."""
        with open(self.path("in.model"), "wb") as file:
            file.write(data)
        messages = io.StringIO()
        with contextlib.redirect_stderr(messages):
            status = main(["from-sentencepiece", self.path("in.model"), self.path(out)])
        return status, messages.getvalue()

    def refused(self, data, *words):
        status, messages = self.convert(data)
        self.assertEqual(status, 1, messages)
        self.assertEqual(messages.count("\n"), 1, messages)
        for word in ("in.model", *words):
            self.assertIn(word, messages)
        self.assertEqual(os.listdir(self.folder), ["in.model"])

    def test_ids_and_texts_are_equal(self):
        for name in NAMES:
            self.assertEqual(self.convert(contents(name + ".model")), (0, ""))
            with open(self.path("out.json"), "rb") as file:
                self.assertEqual(file.read(), contents(name + ".json"))
            with xformer.Context({"context.device": "cpu:ref", "context.threads": 1}) as context:
                tokenizer = xformer.Tokenizer.load(context, self.path("out.json"))
                lines = contents(name + ".tsv").decode().splitlines()
                self.assertGreater(len(lines), 100)
                for line in lines:
                    text, ids, decoded = line.split("\t")
                    ids = [int(id_) for id_ in ids.split()]
                    self.assertEqual(tokenizer.encode(bytes.fromhex(text)), ids)
                    self.assertEqual(tokenizer.decode(ids), bytes.fromhex(decoded).decode())
            os.remove(self.path("out.json"))

    def test_training_with_a_converted_tokenizer(self):
        for name in ("unigram", "bpe-symbols"):
            path = os.path.join(MODELS, name + ".json")
            with xformer.Context({"context.device": "cpu", "context.threads": 1}) as context:
                tokenizer = xformer.Tokenizer.load(context, path)
                corpus = xformer.Corpus.from_pairs(context, PAIRS)
                batcher = xformer.Batcher(corpus, tokenizer, OPTIONS)
                model = xformer.Model(context, tokenizer, OPTIONS)
                trainer = xformer.Trainer(model, OPTIONS)
                stats = list(trainer.train(batcher, 60))
                self.assertLess(stats[-1].nll, stats[0].nll / 2)
                model.save(self.path("model.xf"))
                texts = [source for source, _ in PAIRS]
                found = xformer.Decoder(model, OPTIONS).translate(texts)
                loaded = xformer.Model.load(context, self.path("model.xf"))
                self.assertEqual(xformer.Decoder(loaded, OPTIONS).translate(texts), found)
                loaded.tokenizer.save(self.path("again.json"))
                with open(self.path("again.json"), "rb") as file:
                    self.assertEqual(file.read(), contents(name + ".json"))

    def test_as_a_command(self):
        with open(self.path("in.model"), "wb") as file:
            file.write(GOOD)
        program = "import runpy, sys; sys.argv[0] = 'convert'; runpy.run_module('xformer.convert', run_name='__main__')"
        for name, status in (("in.model", 0), ("absent.model", 1)):
            done = run_python(program, "from-sentencepiece", self.path(name), self.path("out.json"))
            self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn("absent.model", done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.model", "out.json"])

    def test_defaults_of_absent_fields(self):
        self.assertEqual(self.convert(GOOD)[0], 0)
        model = SentencePieceModel.read(self.path("in.model"))
        self.assertEqual((model.kind, model.id_of(model.start), model.id_of(model.end)), ("unigram", -1, 1))
        self.assertEqual([p.score for p in model.pieces], [0, 0, -1.5, struct.unpack("<f", struct.pack("<f", -0.1))[0]])
        self.assertTrue(model.flags["add_dummy_prefix"] and not model.flags["byte_fallback"])
        with open(self.path("out.json"), encoding="utf-8") as file:
            self.assertIn('["\u2581",-0.1,1]', file.read())
        # Repeated messages are merged.
        self.assertEqual(self.convert(GOOD + field(3, b"\x18\x00") + field(3, b"\x20\x00"))[0], 0)
        rules = SentencePieceModel.read(self.path("in.model")).flags
        self.assertFalse(rules["add_dummy_prefix"] or rules["remove_extra_whitespaces"])
        self.assertTrue(rules["escape_whitespaces"])

    def test_unsupported_fields_are_named(self):
        self.refused(b"", "pieces")
        self.refused(GOOD + field(2, b"\x18\x03"), "trainer_spec", "model_type", "word")
        self.refused(GOOD + field(2, b"\x18\x04"), "model_type", "char")
        self.refused(GOOD + field(2, b"\x18\x09"), "model_type", "of type 9")
        self.refused(GOOD + field(9, b""), "field 9")
        self.refused(GOOD + field(3, field(7, b"")), "normalizer_spec", "field 7")
        self.refused(GOOD + field(2, varint(99 << 3) + b"\0"), "trainer_spec", "field 99")
        self.refused(GOOD + field(5, field(2, b"map")), "denormalizer_spec", "add_dummy_prefix")
        self.refused(GOOD + piece(b"b", float("nan")), "pieces[4]", "score")
        self.refused(GOOD + piece(b"b", float("inf")), "pieces[4]", "score")
        self.refused(GOOD + piece(b"", 0), "pieces[4]", "piece is empty")
        self.refused(GOOD + piece(b"b", 0, 7), "pieces[4]", "type")
        self.refused(GOOD + piece(b"\xff", 0), "pieces[4]", "piece", "UTF-8")
        self.refused(GOOD + field(1, b"\x10\x01"), "pieces[4]", "score", "wire type")
        # The library refuses these when it loads the output.
        self.refused(GOOD + piece(b"a", 0), "piece 4 is a duplicate")
        self.refused(GOOD + piece(b"x", 0, 2), "pieces 0 and 4 both have the unknown type")
        self.refused(GOOD + field(2, varint(35 << 3) + b"\1"), "byte")
        self.refused(GOOD + field(3, field(2, b"map")), "character map")
        self.refused(GOOD + piece(b"b" * 257, 0), "piece 4")

    def test_broken_files(self):
        self.refused(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "field 1")  # a length of -1
        self.refused(b"\x0a" + b"\xff" * 11, "64 bits")
        self.refused(b"\x0a\x05abc", "field 1", "3 are left")
        self.refused(b"\x0b\x0c", "wire type 3")
        self.refused(b"\x0a", "ends within")
        self.refused(b"PK\x03\x04 no model at all")

    def test_prefixes_and_flipped_bits(self):
        data = contents("bpe-symbols.model")
        whole = self.path("in.model")
        errors = 0
        for size in [*range(0, 200), *range(200, len(data), 61)]:
            with open(whole, "wb") as file:
                file.write(data[:size])
            try:
                SentencePieceModel.read(whole)
            except ConvertError as error:
                self.assertIn(whole, str(error))
                errors += 1
        self.assertGreater(errors, 150)
        for bit in range(0, len(data) * 8, 71):
            damaged = bytearray(data)
            damaged[bit // 8] ^= 1 << bit % 8
            status, messages = self.convert(bytes(damaged))
            self.assertEqual((status, messages.count("\n")), (1, 1) if status else (0, 0), messages)


if __name__ == "__main__":
    unittest.main()
