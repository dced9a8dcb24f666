#!/usr/bin/env python3
"""Checks that the sizes, offsets, and numbers of layout.txt are those of the headers.

    layout.py INCLUDE_FOLDER C_COMPILER

A row is an expression, "=" or ">=", and a number; or an initializer, "is a", and its struct.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import subprocess
import sys
import tempfile

ROWS = pathlib.Path(__file__).with_name("layout.txt")
START = """#include "xformer/experimental.h"
#include "xformer/xformer.h"
_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "the numbers are of 64-bit systems");
"""


def expression(name):
    if name.startswith("XF_"):
        return name
    return f"offsetof({name.replace('.', ', ')})" if "." in name else f"sizeof({name})"


def program(rows):
    checks, initializers = START, ""
    for row in rows:
        if " is a " in row:
            value, struct = row.split(" is a ")
            initializers += f"    {{ const {struct} object = {value}; if (object.struct_size != sizeof object) return 1; }}\n"
        else:
            name, relation, number = row.split()
            relation = {"=": "==", ">=": ">="}[relation]
            checks += f'_Static_assert({expression(name)} {relation} ({number}), "expected {row}");\n'
    return f"{checks}int main(void) {{\n{initializers}    return 0;\n}}\n"


def main(include, compiler):
    rows = [row for row in ROWS.read_text(encoding="utf-8").splitlines() if row and not row.startswith("#")]
    with tempfile.TemporaryDirectory() as folder:
        source, binary = pathlib.Path(folder, "layout.c"), pathlib.Path(folder, "layout")
        source.write_text(program(rows), encoding="utf-8")
        for command in ([compiler, "-std=c11", "-Werror", "-I", include, source, "-o", binary], [binary]):
            if subprocess.run(command, check=False).returncode != 0:
                return f"layout.py: {pathlib.Path(command[0]).name} failed"
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 3 else __doc__)
