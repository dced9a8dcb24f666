#!/usr/bin/env python3
"""Prints every number that public headers compile into programs: macros and enumerators, one fact per line.

    constants.py INCLUDE_FOLDER C_COMPILER >constants.txt

Debug information has no macros, and only the enumerations that a function takes. constants.txt has all of them:

    XF_ERROR_MESSAGE_SIZE = 248                 a macro that is a number, computed by the compiler
    XF_BATCH_INIT 0 = sizeof(xf_batch)          an initializer, value by value, so that values can be appended
    XF_API = __attribute__((...))               another macro, as text
    enum - XF_DONE = 1                          an enumerator
    sizeof xf_error = 256                       a struct that must not grow

Include guards, the parts of the version, and experimental.h are omitted.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def headers(include):
    found = sorted(set(pathlib.Path(include, "xformer").glob("*.h")) - {pathlib.Path(include, "xformer/experimental.h")})
    if not found:
        sys.exit(f"constants.py: no headers in {include}/xformer")
    return found


def without_comments(path):
    return re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)


def enumerators(include):
    """(enumeration, name) of each; an enumeration without a name is called "-"."""
    for path in headers(include):
        for tag, body in re.findall(r"\benum\s*(\w*)\s*\{(.*?)\}", without_comments(path), flags=re.S):
            for item in body.split(","):
                name = item.split("=")[0].strip()
                if name:
                    yield tag or "-", name


def macros(include, compiler):
    """Name to text, of the macros that our headers define."""
    own = set()
    for path in headers(include):
        guard = re.search(r"#ifndef (\w+)\n#define \1\n", path.read_text(encoding="utf-8"))
        own.update(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", without_comments(path), flags=re.M))
        own.discard(guard.group(1) if guard else None)
    source = "".join(f'#include "xformer/{path.name}"\n' for path in headers(include))
    text = subprocess.run([compiler, "-std=c11", "-E", "-dM", "-I", include, "-x", "c", "-"], input=source,
                          capture_output=True, text=True, check=True).stdout
    defined = re.findall(r"^#define (\w+)(\([^)]*\))?[ \t]*(.*)$", text, flags=re.M)
    return {name: (arguments + " " + value).strip() for name, arguments, value in defined if name in own}


def values(include, compiler, expressions):
    """Returns the value that the compiler computes for each integer expression."""
    lines = "".join(f'    printf("%lld\\n", (long long)({e}));\n' for e in expressions)
    with tempfile.TemporaryDirectory() as work:
        source = pathlib.Path(work, "values.c")
        source.write_text(f'#include <stdio.h>\n#include "xformer/xformer.h"\nint main(void) {{\n{lines}    return 0;\n}}\n',
                          encoding="utf-8")
        program = pathlib.Path(work, "values")
        subprocess.run([compiler, "-std=c11", "-I", include, str(source), "-o", str(program)], check=True)
        output = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    return [int(line) for line in output.split()]


def constants(include, compiler):
    lines, numbers = [], []
    for name, text in macros(include, compiler).items():
        if re.fullmatch(r"XF_VERSION_(MAJOR|MINOR|PATCH|NUM)", name):
            continue
        if re.fullmatch(r"[-+(]*\d.*|\(.*\)", text):
            numbers.append((name, name))
        elif re.fullmatch(r"\{.*\}", text):
            lines += [f"{name} {i} = {value.strip()}" for i, value in enumerate(text[1:-1].split(","))]
        else:
            lines.append(f"{name} = {text}")
    numbers += [(f"enum {tag} {name}", name) for tag, name in enumerators(include)]
    numbers += [("sizeof xf_error", "sizeof(xf_error)")]
    lines += [f"{label} = {value}" for (label, _), value in
              zip(numbers, values(include, compiler, [expression for _, expression in numbers]))]
    return sorted(lines)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print("\n".join(constants(sys.argv[1], sys.argv[2])))
