"""Where models and corpora come from: names, content, open files, objects that read; and what can't be one.

SPDX-License-Identifier: Apache-2.0
"""
import gzip
import io
import mmap
import os
import pathlib
import tempfile
import unittest
import zipfile

from support import PAIRS, WorldTest, xformer


class Name:
    """A path of nobody's class."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return self.path


class Reads:
    """An object with read() and nothing else."""

    def __init__(self, given):
        self.given = given

    def read(self):
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


class Models(WorldTest):
    def setUp(self):
        super().setUp()
        self.data = bytes(self.world.model.to_bytes())
        self.parameters = self.world.model.read(1).tolist()
        self.file = self.path("model.xf")
        self.world.model.save(self.file)

    def loads(self, source):
        with xformer.Model.load(self.world.context, source) as model:
            self.assertEqual(model.read(1).tolist(), self.parameters)

    def test_names(self):
        for name in (self.file, pathlib.Path(self.file), Name(self.file), Name(os.fsencode(self.file))):
            self.loads(name)
            self.assertEqual(xformer.Model.inspect(self.world.context, name).file_bytes, len(self.data))

    def test_content(self):
        wide = bytearray(byte for byte in self.data for _ in range(2))
        for data in (self.data, bytearray(self.data), memoryview(self.data), memoryview(wide)[::2]):
            self.loads(data)
            self.assertEqual(xformer.Model.inspect(self.world.context, data).file_bytes, len(self.data))
        with open(self.file, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            self.loads(mapped)
        # Bytes are never a name: not even of a file that is there.
        for data in (b"", b"abc", os.fsencode(self.file), bytearray(9)):
            self.assertRaises(xformer.CorruptError, xformer.Model.load, self.world.context, data)

    def test_objects_that_read(self):
        with gzip.open(self.path("model.gz"), "wb") as file:
            file.write(self.data)
        with zipfile.ZipFile(self.path("models.zip"), "w") as archive:
            archive.writestr("model.xf", self.data)
        self.loads(io.BytesIO(self.data))
        self.loads(io.BufferedReader(io.BytesIO(self.data)))
        self.loads(Reads(self.data))
        self.loads(Reads(bytearray(self.data)))
        with gzip.open(self.path("model.gz")) as file:  # whose descriptor is that of what it decompresses
            self.loads(file)
        with zipfile.ZipFile(self.path("models.zip")) as archive, archive.open("model.xf") as file:
            self.loads(file)
        late = io.BytesIO(b"before" + self.data)
        late.seek(6)
        self.loads(late)
        self.assertEqual(late.read(), b"")
        with self.assertRaisesRegex(RuntimeError, "from within"):
            self.loads(Reads(RuntimeError("from within")))
        for given in ("text", None, 5):
            with self.assertRaisesRegex(TypeError, r"source.read\(\) must give bytes"):
                self.loads(Reads(given))

    def test_open_files(self):
        for mode, buffering in (("rb", -1), ("rb", 0), ("r+b", -1), ("r", -1)):
            with open(self.file, mode, buffering) as file:
                if "b" in mode:
                    file.read(10)
                self.loads(file)  # whole, wherever it stands
                self.loads(file.fileno())
        with tempfile.NamedTemporaryFile() as file:
            file.write(self.data)  # some of which is in Python's buffer still
            self.loads(file)
        with tempfile.SpooledTemporaryFile() as file:
            file.write(self.data)
            file.seek(0)
            self.loads(file)
        self.assertRaises(ValueError, self.loads, file)  # closed
        reading, writing = os.pipe()
        with open(reading, "rb") as source:
            os.write(writing, b"not a model")  # a pipe's descriptor is of no use, but it reads
            os.close(writing)
            self.assertRaises(xformer.CorruptError, self.loads, source)

        class HasDescriptor:
            def __init__(self, file):
                self.fileno = file.fileno

        with open(self.file, "rb") as file:
            self.loads(HasDescriptor(file))

    def test_what_is_none(self):
        for wrong in (None, 2.5, [self.file], True, object()):
            with self.assertRaisesRegex(TypeError, "source must be .*, not %s" % type(wrong).__name__):
                self.loads(wrong)
        self.assertRaisesRegex(ValueError, "source .* -1", self.loads, -1)
        self.assertRaisesRegex(OverflowError, "source", self.loads, 1 << 40)
        self.assertRaisesRegex(ValueError, "path holds a NUL", self.loads, "a\0b")

    def test_one_call(self):
        expected = xformer.translate(self.world.model, ["one two"])
        for source in (self.data, io.BytesIO(self.data), pathlib.Path(self.file)):
            self.assertEqual(xformer.translate(source, ["one two"]), expected)


class Corpora(WorldTest):
    def test_every_form(self):
        w, path = self.world, self.path("pairs")
        text = "".join("%s\t%s\n" % pair for pair in PAIRS)
        data = text.encode()
        with open(path, "wb") as file:
            file.write(data)
        with open(path, "rb") as binary, open(path, encoding="utf-8") as characters:
            for source in (
                path,
                pathlib.Path(path),
                data,
                bytearray(data),
                memoryview(data),
                io.BytesIO(data),
                io.StringIO(text),
                binary,
                characters,
            ):
                self.assertEqual(list(xformer.Corpus.open(w.context, source)), PAIRS)
        for given in (text, data, bytearray(data), memoryview(data)):
            self.assertEqual(list(xformer.Corpus.from_text(w.context, given)), PAIRS)
        for wrong in (None, 5, [path]):
            self.assertRaisesRegex(TypeError, "source must be", xformer.Corpus.open, w.context, wrong)

    def test_messages_name_the_file(self):
        lines = []
        with xformer.Context({"context.threads": 1}, log=lambda *line: lines.append(line)) as context:
            with open(self.path("some pairs"), "w+") as file:
                file.write("a\tb\nbad\n")
                file.seek(0)
                self.assertEqual(len(xformer.Corpus.open(context, file)), 1)
        self.assertTrue(any("some pairs" in text for _, _, text in lines), lines)


class Names(WorldTest):
    def test_where_only_a_name_can_be_given(self):
        w = self.world
        w.tokenizer.save(pathlib.Path(self.path("words.json")))
        self.assertEqual(len(xformer.Tokenizer.load(w.context, Name(self.path("words.json")))), len(w.tokenizer))
        calls = {
            "source": lambda path: xformer.Corpus.open_parallel(w.context, path, self.path("x")),
            "target": lambda path: xformer.Corpus.open_parallel(w.context, self.path("x"), path),
            r"paths\[1\]": lambda path: xformer.Model.average_files(w.context, [self.path("x"), path]),
            "path": w.model.save,
            "path ": w.trainer.save,
            "path must": lambda path: xformer.Trainer.resume(w.context, path),
            "path must be": lambda path: xformer.Tokenizer.load(w.context, path),
            "path must be str": w.tokenizer.save,
        }
        for name, call in calls.items():
            for wrong in (os.fsencode(self.path("x")), bytearray(b"x"), io.BytesIO(b"x"), 5, None):
                with self.assertRaisesRegex(TypeError, "^%s.*not %s" % (name, type(wrong).__name__)):
                    call(wrong)
        self.assertEqual(os.listdir(self.folder), ["words.json"])


if __name__ == "__main__":
    unittest.main()
