"""_abi.py against lib/xformer.map, the headers and the library: names, prototypes, structures, constants.

SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import glob
import os
import re
import types
import unittest
import unittest.mock

from support import PYTHON, ROOT, run_python, xformer
from xformer import _abi, _library, errors, eval

C_TYPES = {
    "size_t": ctypes.c_size_t,
    "int32_t": ctypes.c_int32,
    "uint64_t": ctypes.c_uint64,
    "int64_t": ctypes.c_int64,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "char": ctypes.c_char,
    "int": ctypes.c_int,
}
#: Of comm.h: ranks are made by a carrier in C, which nobody writes in Python.
NOT_BOUND = {"xf_comm_loopback", "xf_comm", "xf_comm_part"}
STRUCTS = {"xf_error": _abi.xf_error, **vars(_abi.structs)}


def headers():
    text = ""
    for path in sorted(glob.glob(os.path.join(ROOT, "include", "xformer", "*.h"))):
        with open(path, encoding="utf-8") as file:
            text += file.read()
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def words(declaration):
    """A declaration without const and enum: (type with stars, name)."""
    text = re.sub(r"\b(const|enum)\b", " ", declaration).replace("*", " * ")
    match = re.fullmatch(r"\s*(\w+)\s*((?:\*\s*)*)(\w+)\s*", text)
    return match.group(1), match.group(2).replace(" ", ""), match.group(3)


def acceptable(kind, stars):
    """The ctypes that may stand for a C type of a parameter or result."""
    if not stars:
        if kind in ("xf_status", "xf_log_level"):
            return [ctypes.c_int]
        if kind.endswith("_fn"):  # one that is not used here is a pointer
            return [getattr(_abi, kind, ctypes.c_void_p)]
        return [None] if kind == "void" else [C_TYPES[kind]]
    if kind == "char" and stars == "*":
        return [ctypes.c_char_p]
    if kind == "char":
        return [ctypes.POINTER(ctypes.c_char_p), ctypes.c_void_p]
    if kind in STRUCTS:
        return [ctypes.POINTER(STRUCTS[kind])]
    if kind in C_TYPES:
        return [ctypes.POINTER(C_TYPES[kind]), ctypes.c_void_p]
    return [ctypes.c_void_p]


class Headers(unittest.TestCase):
    def test_every_function_of_the_map_is_bound(self):
        with open(os.path.join(ROOT, "lib", "xformer.map"), encoding="utf-8") as file:
            exported = set(re.findall(r"^\s*(xf_\w+);", file.read(), flags=re.M))
        self.assertEqual(exported - NOT_BOUND, set(_abi.PROTOTYPES))

    def test_every_function_is_used(self):
        used = ""
        for path in glob.glob(os.path.join(os.path.dirname(xformer.__file__), "*.py")):
            if not path.endswith("_abi.py"):
                with open(path, encoding="utf-8") as file:
                    used += file.read()
        called = set(re.findall(r"\b(?:_?lib|library)\.(xf_\w+)", used))
        self.assertEqual(called, set(_abi.PROTOTYPES))

    def test_prototypes(self):
        found = re.findall(r"XF_API\s+([^;(]*?)\b(xf_\w+)\(([^;]*)\);", headers())
        found = [function for function in found if function[1] not in NOT_BOUND]
        self.assertEqual({name for _, name, _ in found}, set(_abi.PROTOTYPES))
        for result, name, parameters in found:
            restype, argtypes = _abi.PROTOTYPES[name]
            kind, stars, _ = words(result + " result")
            self.assertIn(restype, acceptable(kind, stars), name)
            declared = [] if parameters.strip() == "void" else parameters.split(",")
            self.assertEqual(len(argtypes), len(declared), name)
            for argument, parameter in zip(argtypes, declared):
                kind, stars, _ = words(parameter)
                self.assertIn(argument, acceptable(kind, stars), "%s: %s" % (name, parameter))

    def test_structures(self):
        found = re.findall(r"typedef struct (xf_\w+) \{(.*?)\} \1;", headers(), flags=re.S)
        found = [struct for struct in found if struct[0] not in NOT_BOUND]
        self.assertEqual({name for name, _ in found}, set(STRUCTS))
        for name, body in found:
            fields = STRUCTS[name]._fields_
            members = [member.strip() for member in body.split(";") if member.strip()]
            self.assertEqual(len(fields), len(members), name)
            for (field, ctype), member in zip(fields, members):
                function = re.fullmatch(r".*\(\*(\w+)\)\(.*\)", member, flags=re.S)
                if function:
                    self.assertEqual(field, function.group(1))
                    continue
                array = re.search(r"\[(\w+)\]", member)
                kind, stars, declared = words(re.sub(r"\[\w+\]", "", member))
                self.assertEqual(field, declared, name)
                if array:
                    size = 248 if array.group(1) == "XF_ERROR_MESSAGE_SIZE" else int(array.group(1))
                    self.assertIs(ctype, C_TYPES[kind] * size)
                else:
                    self.assertIn(ctype, acceptable(kind, stars) + ([ctypes.c_void_p] if stars else []), member)

    def test_constants(self):
        values = {name: int(value) for name, value in re.findall(r"\b(XF_\w+) = (-?\d+)", headers())}
        for status in errors.Status:
            name = "XF_" + status.name if status >= 0 else "XF_ERROR_" + status.name
            self.assertEqual(values[name], status)
            self.assertEqual(xformer.status_name(status), name)
            self.assertTrue(status >= 0 or status in errors.BY_STATUS)
        self.assertEqual(len([n for n in values if n.startswith("XF_ERROR_")]), len(errors.BY_STATUS))
        enums = {"XF_LOG_": xformer.LogLevel, "XF_OPTION_": xformer.OptionType, "XF_ATTENTION_": xformer.AttentionKind}
        enums.update({"XF_STEP_": xformer.Outcome, "XF_BACKEND_": xformer.BackendState})
        for prefix, enum in enums.items():
            expected = {n[len(prefix) :]: v for n, v in values.items() if n.startswith(prefix)}
            self.assertEqual({e.name: e.value for e in enum}, expected)
        bleu = {n[len("XF_BLEU_") :].lower(): v for n, v in values.items() if n.startswith("XF_BLEU_")}
        self.assertEqual(eval._TOKENIZE, bleu)
        self.assertIn("#define XF_TOKEN_START %d" % xformer.TOKEN_START, headers())
        self.assertIn("#define XF_TOKEN_END %d" % xformer.TOKEN_END, headers())


class StructSizes(unittest.TestCase):
    def test_the_error_is_frozen(self):
        self.assertEqual(ctypes.sizeof(_abi.xf_error), 256)

    def test_an_older_and_a_newer_caller(self):
        size = ctypes.sizeof(_abi.structs.xf_option_info)
        for given in (size - 8, size, size + 64):
            raw = (ctypes.c_char * (size + 64))(*b"\xa5" * (size + 64))
            row = ctypes.cast(raw, ctypes.POINTER(_abi.structs.xf_option_info))
            row.contents.struct_size = given
            try:
                _abi.call(_abi.lib.xf_option_get, 0, row)
            except xformer.InvalidArgumentError:
                self.assertLess(given, size)  # smaller than in the first version
                continue
            self.assertEqual(row.contents.key, b"context.device")
            # What the library does not know is zero; what the caller did not give is untouched.
            self.assertEqual(raw.raw[size:given], b"\0" * (given - size if given > size else 0))
            self.assertEqual(raw.raw[given:], b"\xa5" * (size + 64 - given))

    def test_a_newer_batch_is_refused(self):
        class newer(_abi.Sized):
            _fields_ = _abi.structs.xf_batch._fields_ + [("more", ctypes.c_int64)]

        ids, offsets = (ctypes.c_int32 * 1)(1), (ctypes.c_int32 * 2)(0, 1)
        with xformer.Context({"context.threads": 1}) as context:
            with xformer.Model(context, {"model.vocab_size": 4, "model.encoder_layers": 1}) as model:
                decoder = xformer.Decoder(model, {"decode.max_extra_tokens": 0})
                for more, status in ((0, None), (1, xformer.UnsupportedError)):
                    batch = newer(1, ids, offsets, ids, offsets, None, more)
                    pointer = ctypes.cast(ctypes.byref(batch), ctypes.POINTER(_abi.structs.xf_batch))
                    score = (ctypes.c_double * 1)()
                    if status is None:
                        _abi.call(_abi.lib.xf_score, decoder._c, pointer, score)
                        self.assertLess(score[0], 0)
                    else:
                        self.assertRaises(status, _abi.call, _abi.lib.xf_score, decoder._c, pointer, score)


class Loading(unittest.TestCase):
    def test_a_library_that_is_not_there(self):
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
                with self.assertRaisesRegex(ImportError, "is libxformer %s, this package is for 0.1" % found):
                    _library.load()

    def test_the_version_of_the_headers(self):
        major, minor, patch = (
            int(re.search(r"#define XF_VERSION_%s (\d+)" % part, headers()).group(1))
            for part in ("MAJOR", "MINOR", "PATCH")
        )
        self.assertEqual(_library.ABI_VERSION, (major, minor))
        self.assertEqual(_library.SONAME, "libxformer.so.%d" % major)
        self.assertEqual(xformer.__version__, "%d.%d.%d" % (major, minor, patch))
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
