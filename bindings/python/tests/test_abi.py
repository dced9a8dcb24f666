"""The declarations against a C compiler and the library, and which library is loaded.

SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import types
import unittest
import unittest.mock

from support import PYTHON, ROOT, run_python, xformer
from xformer import _abi, _library, errors, eval, experimental, text
from xformer._abi import abi


class Declarations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, "bindings", "api.json"), encoding="utf-8") as file:
            cls.api = json.load(file)
        cls.constants = {constant["name"]: constant["value"] for constant in cls.api["constants"]}

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_layout(self):
        rows = ['printf("%%d\\n", (int)%s);' % name for name in self.constants]
        expected = list(self.constants.values())
        for struct in self.api["structs"]:
            kind = getattr(abi, struct["name"])
            rows.append('printf("%%zu\\n", sizeof(%s));' % struct["name"])
            expected.append(ctypes.sizeof(kind))
            for field in struct["fields"]:
                rows.append('printf("%%zu\\n", offsetof(%s, %s));' % (struct["name"], field["name"]))
                expected.append(getattr(kind, field["name"]).offset)
        program = '#include <stdio.h>\n#include "xformer/xformer.h"\n#include "xformer/experimental.h"\n'
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "layout.c"), "w", encoding="utf-8") as file:
                file.write(program + "int main(void) {\n%s\nreturn 0;\n}\n" % "\n".join(rows))
            include = os.path.join(ROOT, "include")
            subprocess.run(["cc", "-I" + include, "-o", "layout", "layout.c"], cwd=folder, check=True)
            found = subprocess.run([os.path.join(folder, "layout")], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(list(map(int, found.split())), expected)

    def test_every_function_is_used(self):
        used = ""
        for path in glob.glob(os.path.join(os.path.dirname(xformer.__file__), "*.py")):
            if not path.endswith("_declarations.py"):
                with open(path, encoding="utf-8") as file:
                    used += file.read()
        called = set(re.findall(r"\b(?:_?lib|library)\.(xf_\w+)", used))
        self.assertEqual(called, {function["name"] for function in self.api["functions"]})

    def test_constants(self):
        for status in errors.Status:
            name = "XF_" + status.name if status >= 0 else "XF_ERROR_" + status.name
            self.assertEqual(self.constants[name], status)
            self.assertEqual(xformer.status_name(status), name)
            self.assertTrue(status >= 0 or status in errors.BY_STATUS)
        negative = [name for name in self.constants if name.startswith("XF_ERROR_") and self.constants[name] < 0]
        self.assertEqual(len(negative), len(errors.BY_STATUS))
        enums = {"XF_LOG_": xformer.LogLevel, "XF_OPTION_": xformer.OptionType, "XF_STEP_": xformer.Outcome}
        enums.update({"XF_BACKEND_": xformer.BackendState, "XF_ATTENTION_": experimental.AttentionKind})
        for prefix, enum in enums.items():
            self.assertEqual({e.name: e.value for e in enum}, self.with_prefix(prefix))
        for prefix, values in (("XF_BLEU_", eval._TOKENIZE), ("XF_SIDE_", text.SIDES)):
            self.assertEqual({name.upper(): value for name, value in values.items()}, self.with_prefix(prefix))

    def with_prefix(self, prefix):
        return {name[len(prefix) :]: value for name, value in self.constants.items() if name.startswith(prefix)}


class StructSizes(unittest.TestCase):
    def test_an_older_and_a_newer_caller(self):
        size = ctypes.sizeof(abi.xf_option_info)
        for given in (size - 8, size, size + 64):
            raw = (ctypes.c_char * (size + 64))(*b"\xa5" * (size + 64))
            row = ctypes.cast(raw, ctypes.POINTER(abi.xf_option_info))
            row.contents.struct_size = given
            try:
                _abi.call(_abi.lib.xf_option_get, 0, row)
            except xformer.InvalidArgumentError:
                self.assertLess(given, size)  # smaller than in the first version
                continue
            self.assertEqual(row.contents.key, b"context.device")
            # Members that the library does not know are zeroed; bytes after the caller's struct are unchanged.
            self.assertEqual(raw.raw[size:given], b"\0" * (given - size if given > size else 0))
            self.assertEqual(raw.raw[given:], b"\xa5" * (size + 64 - given))

    def test_a_newer_batch_is_rejected(self):
        class newer(abi.Sized):
            _fields_ = abi.xf_batch._fields_ + [("more", ctypes.c_int64)]

        ids, offsets = (ctypes.c_int32 * 1)(1), (ctypes.c_int64 * 2)(0, 1)
        with xformer.Context({"context.threads": 1}) as context:
            with xformer.Model(context, None, {"model.vocab_size": 4, "model.encoder_layers": 1}) as model:
                decoder = xformer.Decoder(model, {"decode.max_extra_tokens": 0})
                for more, status in ((0, None), (1, xformer.UnsupportedError)):
                    batch = newer(1, ids, offsets, ids, offsets, more=more)
                    pointer = ctypes.cast(ctypes.byref(batch), ctypes.POINTER(abi.xf_batch))
                    score = (ctypes.c_double * 1)()
                    if status is None:
                        _abi.call(_abi.lib.xf_score, decoder._c, pointer, None, score)
                        self.assertLess(score[0], 0)
                    else:
                        self.assertRaises(status, _abi.call, _abi.lib.xf_score, decoder._c, pointer, None, score)


class Loading(unittest.TestCase):
    def test_a_missing_library(self):
        done = run_python("import xformer", environment={"XFORMER_LIBRARY": "/nowhere/libxformer.so"})
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "ImportError: libxformer was not found .*/nowhere/libxformer.so.*XFORMER_LIBRARY")

    def test_another_library(self):
        import _ctypes

        if not getattr(_ctypes, "__file__", None):
            self.skipTest("_ctypes is not a shared library here")
        done = run_python("import xformer", environment={"XFORMER_LIBRARY": _ctypes.__file__})
        self.assertIn("is not libxformer", done.stderr)

    def test_a_library_of_another_version(self):
        for number, found in ((0x000200, "0.2"), (0x010100, "1.1")):
            other = types.SimpleNamespace(xf_version_num=lambda: number)
            with unittest.mock.patch.object(ctypes, "CDLL", return_value=other):
                with self.assertRaisesRegex(ImportError, "is libxformer %s; this package requires 0.1" % found):
                    _library.load()

    def test_the_version_of_the_headers(self):
        self.assertEqual(_library.ABI_VERSION, (abi.XF_VERSION_MAJOR, abi.XF_VERSION_MINOR))
        self.assertEqual(_library.SONAME, "libxformer.so.%d" % abi.XF_VERSION_MAJOR)
        version = "%d.%d.%d" % (abi.XF_VERSION_MAJOR, abi.XF_VERSION_MINOR, abi.XF_VERSION_PATCH)
        self.assertEqual(xformer.__version__, version)
        with open(os.path.join(PYTHON, "pyproject.toml"), encoding="utf-8") as file:
            self.assertIn('\nversion = "%s"\n' % xformer.__version__, file.read())

    def test_versions(self):
        self.assertRegex(xformer.version(), r"^\d+\.\d+\.\d+$")
        major, minor, patch = map(int, xformer.version().split("."))
        self.assertEqual(xformer.version_num(), major << 16 | minor << 8 | patch)
        self.assertTrue(xformer.build_info())
        self.assertEqual(xformer.status_name(12345), "XF_STATUS_UNKNOWN")


if __name__ == "__main__":
    unittest.main()
