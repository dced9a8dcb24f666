"""python -m xformer.convert in a separate process: progress bar, closed standard error, interruption.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import PYTHON, ROOT, xformer

try:
    import numpy
except ImportError:
    numpy = None

MARIAN = os.path.join(ROOT, "tests", "surfaces", "convert", "checkpoints", "marian")
RUN = """
import os, runpy, signal, sys
sys.argv[0] = "convert"
%s
runpy.run_module("xformer.convert", run_name="__main__")
"""
# Ctrl-C in the middle of the temporary file.
CONTROL_C = """
import xformer.convert.model_file as model_file
add = model_file.Progress.add
def stop_half_way(self, count):
    add(self, count)
    if 2 * self._done > self._total:
        signal.raise_signal(signal.SIGINT)
model_file.Progress.add = stop_half_way
"""
# The terminal is closed while the progress bar is visible.
HANG_UP = """
import time, xformer.convert.model_file as model_file
add = model_file.Progress.add
def wait(self, count):
    add(self, count)
    while os.isatty(2):
        time.sleep(0.01)
model_file.Progress.add = wait
"""


class ProcessTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = os.path.join(self.folder, "out.xf")

    def start(self, before, *arguments, stderr=subprocess.PIPE, **environment):
        package = os.path.dirname(os.path.dirname(xformer.__file__))
        path = os.pathsep.join([os.path.join(PYTHON, "tests"), package])
        given = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        return subprocess.Popen(
            [sys.executable, "-B", "-c", RUN % before, *(arguments or ("from-hf", MARIAN, self.out))],
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**given, "PYTHONPATH": path, **environment},
            universal_newlines=True,
        )

    def convert(self, before="", *arguments, **more):
        """Returns the exit status and standard error."""
        process = self.start(before, *arguments, **more)
        messages = process.communicate(timeout=240)
        self.assertEqual(messages[0], "")
        return process.returncode, messages[1]

    def left(self):
        return sorted(os.listdir(self.folder))


class Exits(ProcessTest):
    def test_without_numpy(self):
        status, messages = self.convert("sys.modules['numpy'] = None")
        self.assertEqual((status, messages.count("\n")), (1, 1), messages)
        self.assertIn("pip install xformer[convert]", messages)
        self.assertEqual(self.left(), [])

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_control_c(self):
        status, messages = self.convert(CONTROL_C)
        self.assertEqual((status, messages, self.left()), (130, "", []))

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_closed_standard_error(self):
        self.assertEqual(self.convert("os.close(1); os.close(2); sys.stdout = sys.stderr = None"), (0, ""))
        self.assertEqual(self.left(), ["out.xf"])
        reading, writing = os.pipe()
        os.close(reading)
        for stderr in (writing, os.open("/dev/full", os.O_WRONLY)):
            os.remove(self.out)
            self.assertEqual(self.convert(stderr=stderr)[0], 0)
            self.assertEqual(self.left(), ["out.xf"])
            self.assertEqual(self.convert("", "from-hf", self.folder, self.out, stderr=stderr)[0], 1)
            os.close(stderr)


@unittest.skipIf(numpy is None, "needs numpy")
class Terminal(ProcessTest):
    """Tests the bytes that are sent to a terminal."""

    def show(self, before="", *arguments, **environment):
        reading, writing = pty.openpty()
        process = self.start(before, *arguments, stderr=writing, **environment)
        os.close(writing)
        shown = b""
        try:
            while True:
                shown += os.read(reading, 4096)
        except OSError:  # the process has exited
            os.close(reading)
        self.assertEqual(process.communicate(timeout=240)[0], "")
        shown = shown.decode()
        self.assertNotIn("\x1b", shown)
        bar, _, rest = shown.partition("\r\n")
        first, *drawn = bar.split("\r")
        self.assertEqual(first, "")
        percents = [int(re.search(r"(\d+) %$", text).group(1)) for text in drawn]
        self.assertEqual(percents, sorted(set(percents)))
        self.assertGreater(len(percents), 2)
        return process.returncode, drawn, rest

    def test_the_bar_overwrites_one_line(self):
        for environment, columns in (({}, 80), ({"COLUMNS": "20"}, 20), ({"COLUMNS": "9"}, 9), ({"COLUMNS": "x"}, 80)):
            with self.subTest(columns):
                status, drawn, rest = self.show(**environment)
                self.assertEqual((status, len(set(map(len, drawn)))), (0, 1))
                width = min(25, columns - 10)
                bar = "[" + "#" * width + "] " if width > 0 else ""
                self.assertEqual(drawn[-1], bar + "100 %")
                self.assertLess(len(drawn[-1]), columns)
                self.assertEqual(rest.count("\r\n"), 1)
                self.assertIn("search settings", rest)

    def test_an_error_begins_a_new_line(self):
        folder = os.path.join(self.folder, "marian")
        shutil.copytree(MARIAN, folder)
        path = os.path.join(folder, "model.safetensors")
        with open(path, "r+b") as file:
            size = int.from_bytes(file.read(8), "little")
            at = json.loads(file.read(size))["model.encoder.layers.0.fc2.bias"]["data_offsets"][0]
            file.seek(8 + size + at)
            file.write(b"\xff\xff\xff\xff")
        status, drawn, rest = self.show("", "from-hf", folder, self.out)
        self.assertEqual((status, rest.count("\r\n")), (1, 1))
        self.assertNotIn("100 %", drawn[-1])
        self.assertTrue(rest.startswith("python -m xformer.convert: ") and "NaN" in rest, rest)
        self.assertEqual(self.left(), ["marian"])

    def test_control_c(self):
        status, drawn, rest = self.show(CONTROL_C)
        self.assertEqual((status, rest, self.left()), (130, "", []))
        self.assertNotIn("100 %", drawn[-1])

    def test_closed_terminal(self):
        reading, writing = pty.openpty()
        process = self.start(HANG_UP, stderr=writing)
        os.close(writing)
        shown = b""
        while b"%" not in shown:
            shown += os.read(reading, 4096)
        os.close(reading)
        self.assertEqual((process.communicate(timeout=240)[0], process.returncode), ("", 0))
        self.assertEqual(self.left(), ["out.xf"])

    def test_no_terminal(self):
        status, messages = self.convert()
        self.assertEqual((status, messages.count("\n"), "\r" in messages or "%" in messages), (0, 1, False), messages)


if __name__ == "__main__":
    unittest.main()
