"""Shared by the tests: the package, and a small set of objects.

An installed package is preferred to the one in the source tree, so that test.sh can test a wheel.

SPDX-License-Identifier: Apache-2.0
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PYTHON = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(PYTHON))
sys.path.append(PYTHON)

import xformer  # noqa: E402 (after the path to it)

PAIRS = [
    ("one two three", "eins zwei drei"),
    ("two three four", "zwei drei vier"),
    ("three four", "drei vier"),
    ("four one", "vier eins"),
    ("one one two", "eins eins zwei"),
    ("four four three two", "vier vier drei zwei"),
    ("two", "zwei"),
    ("three one four two", "drei eins vier zwei"),
    ("one four", "eins vier"),
    ("two two", "zwei zwei"),
    ("three three three", "drei drei drei"),
    ("four two one", "vier zwei eins"),
]
OPTIONS = {
    "context.device": "cpu",
    "context.threads": 1,
    "tokenizer.vocab_size": 290,
    "data.batch_tokens": 40,
    "model.encoder_layers": 1,
    "model.decoder_layers": 1,
    "model.d_model": 16,
    "model.d_ff": 24,
    "model.heads": 2,
    "model.d_k": 8,
    "model.d_v": 8,
    "model.max_length": 64,
    "train.schedule": "constant",
    "train.learning_rate": 0.01,
    "train.warmup_steps": 5,
    "decode.max_extra_tokens": 8,
}


class World:
    """One of each object."""

    def __init__(self, **options):
        self.config = xformer.Config({**OPTIONS, **{k.replace("__", "."): v for k, v in options.items()}})
        self.context = xformer.Context(self.config)
        self.corpus = xformer.Corpus.from_pairs(self.context, PAIRS)
        self.tokenizer = xformer.Tokenizer.train(self.context, self.corpus, self.config)
        self.batcher = xformer.Batcher(self.corpus, self.tokenizer, self.config)
        self.model = xformer.Model(self.context, self.tokenizer, self.config)
        self.trainer = xformer.Trainer(self.model, self.config)
        self.decoder = xformer.Decoder(self.model, self.config)

    def objects(self):
        return {name: thing for name, thing in vars(self).items() if hasattr(thing, "close")}

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        for thing in reversed(list(self.objects().values())):
            thing.close()


class WorldTest(unittest.TestCase):
    """A test case with a world and a temporary folder."""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)


def run_python(program, *args, **more):
    """Runs a program in a new interpreter that finds the same package and the tests."""
    package = os.path.dirname(os.path.dirname(xformer.__file__))
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([os.path.join(PYTHON, "tests"), package]))
    environment.update(more.pop("environment", {}))
    return subprocess.run(
        [sys.executable, "-B", "-c", program, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        timeout=240,
        universal_newlines=True,
        **more,
    )
