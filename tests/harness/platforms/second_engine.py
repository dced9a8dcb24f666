"""Runs xformer.wasm in wasmtime and prints what second_engine.mjs prints in Node.js, to compare the two engines.

    second_engine.py xformer.wasm en-de.xf small.test.tsv
    second_engine.py --compare FILE FILE        whether both printed the same values

wasmtime (PyPI; tried: 50.0.1) implements exceptions with exnref; emscripten 3.1.6 writes the older instructions.
Binaryen 120 translates them: wasm-opt --all-features --translate-to-exnref xformer.wasm -o new.wasm

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import struct
import sys
import time

try:
    import wasmtime
except ImportError:
    wasmtime = None


class Library:
    """The functions of bindings/js/glue.c, and the memory."""

    def __init__(self, path):
        config = wasmtime.Config()
        config.wasm_exceptions = True
        engine = wasmtime.Engine(config)
        self.store = wasmtime.Store(engine)
        module = wasmtime.Module.from_file(engine, path)
        known = {"clock_time_get": self.clock, "environ_sizes_get": self.sizes, "environ_get": lambda *_: 0,
                 "getentropy": self.entropy, "emscripten_notify_memory_growth": lambda *_: None}
        imports = []
        for one in module.imports:
            missing = -52 if one.module == "env" else 52  # ENOSYS of emscripten and WASI, as in wasm.js
            call = known.get(one.name) or (lambda *_, code=missing: code)
            if not one.type.results:
                call = lambda *_, inner=call: (inner(*_), None)[1]  # noqa: E731
            imports.append(wasmtime.Func(self.store, one.type, call))
        self.exports = wasmtime.Instance(self.store, module, imports).exports(self.store)
        self.memory = self.exports["memory"]
        if "_initialize" in self.exports:
            self("_initialize")

    def __call__(self, name, *values):
        return self.exports[name](self.store, *values)

    def clock(self, _clock, _precision, at):
        """WASI: nanoseconds."""
        self.write(at, struct.pack("<Q", time.monotonic_ns()))
        return 0

    def sizes(self, count, size):
        """WASI: there are no environment variables."""
        self.write(count, bytes(4))
        self.write(size, bytes(4))
        return 0

    def entropy(self, at, size):
        """Random bytes."""
        self.write(at, os.urandom(size))
        return 0

    def read(self, at, size):
        """Bytes of the memory."""
        return bytes(self.memory.read(self.store, at, at + size))

    def write(self, at, content):
        """Changes the memory."""
        self.memory.write(self.store, content, at)

    def unpack(self, form, at):
        """Numbers of the memory."""
        return struct.unpack("<" + form, self.read(at, struct.calcsize("<" + form)))

    def copy(self, content):
        """A copy of bytes in the memory, with a NUL after them; it is never freed."""
        at = self("malloc", len(content) + 1) & 0xffffffff
        self.write(at, content + b"\0")
        return at

    def options(self, **values):
        """Options as glue.c reads them; "__" is a period."""
        text = "".join(f"{key.replace('__', '.')}\0{value}\0" for key, value in values.items())
        return self.copy(text.encode() + b"\0")

    def error(self):
        """The message of the last error."""
        return self.read(self("xfjs_error") + 8, 512).split(b"\0")[0].decode()

    def load(self, model, weights):
        """A handle, or the message of the error."""
        handle = self("xfjs_load", self.copy(model), len(model), self.options(), self.options(model__weights=weights))
        return handle or self.error()

    def translate(self, handle, texts, beam):
        """[text, score] of each text; all of them are decoded together."""
        ids = []
        for text in texts:
            content = text.encode()
            ids.append(self("xfjs_submit", handle, self.copy(content), len(content), self.copy(b""), 0,
                            self.options(decode__beam=beam), 0.0, 0))
        results = {}
        while len(results) < len(ids):
            self("xfjs_step", handle)
            while event := self("xfjs_next", handle):
                identity, = self.unpack("Q", event + 8)
                at = self("xfjs_hypothesis", handle, 0)
                text, length = self.unpack("II", at + 12)
                results[identity] = [self.read(text, length).decode(), self.unpack("d", at + 40)[0]]
        return [results[int(one)] for one in ids]

    def train(self, handle, source, target, steps):
        """The loss of each step, as in xformer.js."""
        texts = [source.encode(), target.encode()]
        lengths = struct.pack("<II", *map(len, texts))
        settings = self.options(train__schedule="constant", train__warmup_steps=1, train__learning_rate=0.0001,
                                data__batch_tokens=1000)
        if self("xfjs_train", handle, self.copy(b"".join(texts)), self.copy(lengths), 1, settings) != 0:
            return self.error()
        losses = [self.unpack("d", self("xfjs_train_step", handle) + 40)[0] for _ in range(steps)]
        self("xfjs_train_end", handle, 1)
        return losses


def compare(paths):
    """Compares the values, not their notation."""
    outputs = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            outputs.append([json.loads(line) for line in file])
    same = [one == other for one, other in zip(*outputs)]
    print(f"wasmtime and Node.js: {sum(same)} of 5 results are equal")
    sys.exit(0 if same == [True] * 5 else 1)


def main():
    """Prints one line of JSON for each part."""
    if sys.argv[1] == "--compare":
        compare(sys.argv[2:])
    if wasmtime is None:
        sys.exit("second_engine.py: the Python package wasmtime was not found; pip install wasmtime")
    library = Library(sys.argv[1])
    with open(sys.argv[2], "rb") as file:
        model = file.read()
    with open(sys.argv[3], encoding="utf-8") as file:
        texts = [line.split("\t")[0] for line in file.readlines()[:40]]
    handle = library.load(model, "int8")
    print(json.dumps(library.translate(handle, texts, 1), ensure_ascii=False))
    print(json.dumps(library.translate(handle, texts[:10], 4), ensure_ascii=False))
    print(json.dumps(library.train(handle, "The printer is out of paper.", "Der Drucker hat kein Papier mehr.", 4)))
    print(json.dumps(library.translate(handle, texts[:10], 1), ensure_ascii=False))
    print(json.dumps([library.load(model[:-1], "same"), library.load(b"x" * 100, "same")]))


main()
