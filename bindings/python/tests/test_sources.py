"""Sources and sinks: file names, content, open files, objects that read or write, callbacks, and invalid ones.

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
    """An os.PathLike."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return self.path


class Reads:
    """An object that has only read()."""

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
        doubled = bytearray(byte for byte in self.data for _ in range(2))
        for data in (self.data, bytearray(self.data), memoryview(self.data), memoryview(doubled)[::2]):
            self.loads(data)
            self.assertEqual(xformer.Model.inspect(self.world.context, data).file_bytes, len(self.data))
        with open(self.file, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            self.loads(mapped)
        # Bytes are never a file name, not even that of an existing file.
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
        with gzip.open(self.path("model.gz")) as file:  # its descriptor is that of the compressed file
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
            with self.assertRaisesRegex(TypeError, r"source.read\(\) must return bytes"):
                self.loads(Reads(given))

    def test_open_files(self):
        for mode, buffering in (("rb", -1), ("rb", 0), ("r+b", -1), ("r", -1)):
            with open(self.file, mode, buffering) as file:
                if "b" in mode:
                    file.read(10)
                self.loads(file)  # whole, whatever the position
                self.loads(file.fileno())
        with tempfile.NamedTemporaryFile() as file:
            file.write(self.data)  # partly in Python's buffer
            self.loads(file)
        with tempfile.SpooledTemporaryFile() as file:
            file.write(self.data)
            file.seek(0)
            self.loads(file)
        self.assertRaises(ValueError, self.loads, file)  # closed
        reading, writing = os.pipe()
        with open(reading, "rb") as source:
            os.write(writing, b"not a model")  # not a regular file, but it has read()
            os.close(writing)
            self.assertRaises(xformer.CorruptError, self.loads, source)

        class HasDescriptor:
            def __init__(self, file):
                self.fileno = file.fileno

        with open(self.file, "rb") as file:
            self.loads(HasDescriptor(file))

    def test_invalid_sources(self):
        for wrong in (None, 2.5, [self.file], True, object()):
            with self.assertRaisesRegex(TypeError, "source must be .*, not %s" % type(wrong).__name__):
                self.loads(wrong)
        self.assertRaisesRegex(ValueError, "source .* -1", self.loads, -1)
        self.assertRaisesRegex(OverflowError, "source", self.loads, 1 << 40)
        self.assertRaisesRegex(ValueError, "source contains a NUL", self.loads, "a\0b")

    def test_callbacks(self):
        calls = []

        def read(offset, count):
            calls.append((offset, count))
            return self.data[offset : offset + count]

        self.loads(xformer.CallbackSource(read, len(self.data)))
        self.assertTrue(calls)

        def fail(offset, count):
            raise RuntimeError("from within")

        for function, kind in ((fail, RuntimeError), (lambda offset, count: b"", ValueError)):
            with self.assertRaises(kind):
                self.loads(xformer.CallbackSource(function, len(self.data)))
        self.assertRaisesRegex(TypeError, "read must be a function", xformer.CallbackSource, 5, 5)
        self.assertRaisesRegex(TypeError, "write must be a function", xformer.CallbackSink, 5)

        stored = bytearray(len(self.data))

        def write(offset, data):
            stored[offset : offset + len(data)] = data

        self.world.model.save(xformer.CallbackSink(write))
        self.assertEqual(stored, self.data)

        def full(offset, data):
            raise OSError("full")

        with self.assertRaisesRegex(OSError, "full"):
            self.world.model.save(xformer.CallbackSink(full))

    def test_sinks(self):
        model = self.world.model
        for name in (self.path("a.xf"), pathlib.Path(self.path("a.xf")), Name(self.path("a.xf"))):
            model.save(name)
            self.loads(self.path("a.xf"))
        for mode, buffering in (("wb", -1), ("wb", 0), ("w+b", -1)):
            with open(self.path("b.xf"), mode, buffering) as file:
                file.write(b"replaced")
                model.save(file)
                self.assertEqual(file.tell(), len(self.data))
            self.loads(self.path("b.xf"))
        with open(self.path("c.xf"), "wb") as file:
            model.save(file.fileno())
        self.loads(self.path("c.xf"))
        memory = io.BytesIO()
        model.save(memory)
        self.assertEqual(memory.getvalue(), self.data)
        with gzip.open(self.path("d.gz"), "wb") as file:
            model.save(file)
        with gzip.open(self.path("d.gz")) as file:
            self.loads(file)
        for wrong in (None, 2.5, b"x", True, object()):
            with self.assertRaisesRegex(TypeError, "sink must be .*, not %s" % type(wrong).__name__):
                model.save(wrong)


class Others(WorldTest):
    def test_corpora(self):
        w, path = self.world, self.path("pairs")
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join("%s\t%s\n" % pair for pair in PAIRS))
        for name in (path, pathlib.Path(path), Name(path)):
            self.assertEqual(list(xformer.Corpus.open(w.context, name)), PAIRS)
        for wrong in (b"x", 5, None, io.BytesIO(b"x")):
            self.assertRaisesRegex(TypeError, "source must be", xformer.Corpus.open, w.context, wrong)
        self.assertRaisesRegex(TypeError, "target must be", xformer.Corpus.open, w.context, path, b"x")
        self.assertRaisesRegex(TypeError, "sources must be several", xformer.Model.average, w.context, "x")


if __name__ == "__main__":
    unittest.main()
