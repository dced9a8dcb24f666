"""python -m xformer.convert: tokenizers of SentencePiece. tests/convert/make_models.py made the files.

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

MODELS = os.path.join(ROOT, "tests", "convert", "models")
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
        """The status and what was said."""
        with open(self.path("in.model"), "wb") as file:
            file.write(data)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = main(["from-sentencepiece", self.path("in.model"), self.path(out)])
        return status, said.getvalue()

    def refused(self, data, *words):
        status, said = self.convert(data)
        self.assertEqual(status, 1, said)
        self.assertEqual(said.count("\n"), 1, said)
        for word in ("in.model", *words):
            self.assertIn(word, said)
        self.assertEqual(os.listdir(self.folder), ["in.model"])

    def test_the_same_ids_and_texts(self):
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

    def test_a_model_trains_with_one_and_keeps_it(self):
        for name in ("unigram", "bpe-symbols"):
            path = os.path.join(MODELS, name + ".json")
            with xformer.Context({"context.device": "cpu", "context.threads": 1}) as context:
                tokenizer = xformer.Tokenizer.load(context, path)
                corpus = xformer.Corpus.from_pairs(context, PAIRS)
                batcher = xformer.Batcher(corpus, tokenizer, OPTIONS)
                model = xformer.Model(context, OPTIONS, tokenizer)
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

    def test_what_a_file_leaves_out_has_its_default(self):
        self.assertEqual(self.convert(GOOD)[0], 0)
        model = SentencePieceModel.read(self.path("in.model"))
        self.assertEqual((model.kind, model.id_of(model.start), model.id_of(model.end)), ("unigram", -1, 1))
        self.assertEqual([p.score for p in model.pieces], [0, 0, -1.5, struct.unpack("<f", struct.pack("<f", -0.1))[0]])
        self.assertTrue(model.flags["add_dummy_prefix"] and not model.flags["byte_fallback"])
        with open(self.path("out.json"), encoding="utf-8") as file:
            self.assertIn('["\u2581",-0.1,1]', file.read())
        # Messages one after another are one.
        self.assertEqual(self.convert(GOOD + field(3, b"\x18\x00") + field(3, b"\x20\x00"))[0], 0)
        rules = SentencePieceModel.read(self.path("in.model")).flags
        self.assertFalse(rules["add_dummy_prefix"] or rules["remove_extra_whitespaces"])
        self.assertTrue(rules["escape_whitespaces"])

    def test_what_cannot_be_carried_is_refused_by_name(self):
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
        # The library looks at what is written, and refuses the rest.
        self.refused(GOOD + piece(b"a", 0), "piece 4 is a duplicate")
        self.refused(GOOD + piece(b"x", 0, 2), "pieces 0 and 4 are both unknown")
        self.refused(GOOD + field(2, varint(35 << 3) + b"\1"), "byte")
        self.refused(GOOD + field(3, field(2, b"map")), "character map")
        self.refused(GOOD + piece(b"b" * 257, 0), "piece 4")

    def test_broken_files(self):
        self.refused(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "field 1")  # a length of -1
        self.refused(b"\x0a" + b"\xff" * 11, "64 bits")
        self.refused(b"\x0a\x05abc", "field 1", "3 are there")
        self.refused(b"\x0b\x0c", "wire type 3")
        self.refused(b"\x0a", "ends within")
        self.refused(b"PK\x03\x04 no model at all")

    def test_prefixes_and_flipped_bits(self):
        data = contents("bpe-symbols.model")
        whole = self.path("in.model")
        told = 0
        for size in [*range(0, 200), *range(200, len(data), 61)]:
            with open(whole, "wb") as file:
                file.write(data[:size])
            try:
                SentencePieceModel.read(whole)
            except ConvertError as error:
                self.assertIn(whole, str(error))
                told += 1
        self.assertGreater(told, 150)
        for bit in range(0, len(data) * 8, 71):
            damaged = bytearray(data)
            damaged[bit // 8] ^= 1 << bit % 8
            status, said = self.convert(bytes(damaged))
            self.assertEqual((status, said.count("\n")), (1, 1) if status else (0, 0), said)


if __name__ == "__main__":
    unittest.main()
