#!/usr/bin/env python3
"""Compares bindings/api.tsv, the names of each function of the library in each language, with the sources.

    api_check.py ROOT

The rows must be the functions of lib/xformer.map in its order, each with the @since of its header. A cell contains the
names of the function in a language: "function", "Type.function" ("Type::function"), "new Type", or "Type (drop)" if the
end of an object calls it. A note in parentheses may follow. Each name must be defined in the sources of that language,
and the sources must use the function, not only declare it (as xformer-sys, Native.java, and _declarations.py do). A
cell "- (reason)" means that the language does not use the function.

SPDX-License-Identifier: Apache-2.0
"""
import ast
import glob
import json
import os
import re
import sys


class Language:
    """The sources of a language, and patterns of the definitions of a type, a function of a type, and a function
    without a type. A type also has the functions of the types that its declaration names (a base class, a member).
    Functions of a type are searched in the files that declare these types; if the pattern contains the type, in all."""

    comment = r"/\*.*?\*/|//[^\n]*"

    def __init__(self, files, type_="", member="", function="", skip=()):
        self.files, self.skip = files, skip
        self.type, self.member, self.function = type_, member, function

    def read(self, root):
        paths = {path for pattern in self.files for path in glob.glob(os.path.join(root, pattern), recursive=True)}
        self.code = []
        for path in sorted(path for path in paths if not path.endswith(self.skip)):
            with open(path, encoding="utf-8") as file:
                self.code.append(self.clean(file.read()))
        self.index()

    def clean(self, code):
        return re.sub(self.comment, " ", code, flags=re.S)

    def index(self):
        """Collects the types: the files that declare them, and the words of the declaration up to its first block."""
        self.types = {}
        for code in self.code:
            for name, rest in re.findall(self.type + r"(?=(.*?(?:\}|;|\Z)))", code, flags=re.S | re.M):
                self.types.setdefault(name, []).append((code, set(re.findall(r"\w+", rest))))

    def uses(self):
        return {name for code in self.code for name in re.findall(r"\bxf_[a-z0-9_]+\b", code)}

    def has_type(self, name):
        return name in self.types

    def defines(self, owner, name):
        if not owner:
            return any(re.search(self.function % re.escape(name), code, flags=re.M) for code in self.code)
        related = {owner} | {word for _, words in self.types.get(owner, ()) for word in words}
        related &= set(self.types)
        pattern = self.member % {"type": "(?:%s)" % "|".join(sorted(related)), "name": re.escape(name)}
        near = {code for type_ in related for code, _ in self.types[type_]}
        every = "%(type)s" in self.member and owner in self.types
        return any(re.search(pattern, code, flags=re.M) for code in (self.code if every else near))


class Python(Language):
    """Python has its own parser."""

    def clean(self, code):
        return ast.parse(code)

    def index(self):
        self.types = {}
        for node in (node for tree in self.code for node in ast.walk(tree)):
            if isinstance(node, ast.ClassDef):
                self.types[node.name] = node

    def uses(self):
        return {node.attr for tree in self.code for node in ast.walk(tree) if isinstance(node, ast.Attribute)}

    def defines(self, owner, name):
        if not owner:
            bodies = [tree.body for tree in self.code]
        elif owner in self.types:
            bases = [base.id for base in self.types[owner].bases if isinstance(base, ast.Name)]
            bodies = [self.types[type_].body for type_ in [owner, *bases] if type_ in self.types]
        else:
            bodies = []
        return any(isinstance(node, ast.FunctionDef) and node.name == name for body in bodies for node in body)


LANGUAGES = {
    "C++": Language(["include/xformer/*.hpp"], r"\b(?:class|struct) (\w+)", r"\b%(name)s\(", r"^[\w:<> ]+ %s\("),
    "Rust": Language(
        ["bindings/rust/xformer/src/**/*.rs"], r"\b(?:struct|enum) (\w+)", r"\bfn %(name)s\b", r"^pub fn %s\b"
    ),
    "Go": Language(
        ["bindings/go/*.go", "bindings/go/*.c"],
        r"^type (\w+)",
        r"^func \(\w+ \*?%(type)s\) %(name)s\(",
        r"^func %s\(",
        skip="_test.go",
    ),
    "Java": Language(
        ["bindings/java/src/main/**/*.java"],
        r"\b(?:class|record|enum|interface) (\w+)",
        r"\b%(name)s\(",
        r"\Z.%s",  # Java has none
        skip="/Native.java",
    ),
    "Python": Python(["bindings/python/xformer/*.py"], skip="/_declarations.py"),
}


def functions_of_the_map(root):
    with open(os.path.join(root, "lib", "xformer.map"), encoding="utf-8") as file:
        return re.findall(r"^\s*(xf_\w+);", file.read(), flags=re.M)


def since_of_the_headers(root):
    with open(os.path.join(root, "bindings", "api.json"), encoding="utf-8") as file:
        return {function["name"]: function["since"] for function in json.load(file)["functions"]}


def check_rows(root, rows):
    expected, listed = functions_of_the_map(root), [row["function"] for row in rows]
    yield from ("%s is in lib/xformer.map but not in api.tsv" % name for name in expected if name not in listed)
    yield from ("%s is in api.tsv but not in lib/xformer.map" % name for name in listed if name not in expected)
    if sorted(set(expected)) == sorted(set(listed)) and listed != expected:
        yield "the rows are not in the order of lib/xformer.map, or one is duplicated"
    since = since_of_the_headers(root)
    for row in rows:
        if row["since"] != since.get(row["function"]):
            yield "%s: since is %s, its header says %s" % (row["function"], row["since"], since.get(row["function"]))


def check_language(name, language, rows):
    used = language.uses()
    for row in rows:
        function, cell = row["function"], row[name]
        where = "%s: %s" % (name, function)
        if cell.startswith("-"):
            if not re.fullmatch(r"- \([^()]+\)", cell):
                yield "%s has the cell '%s', expected '- (reason)'" % (where, cell)
            if function in used:
                yield "%s is used, but its cell says '%s'" % (where, cell)
            continue
        if function not in used:
            yield "%s is not used, but its cell says '%s'" % (where, cell)
        for part in cell.split(", "):
            plain = re.sub(r" \([^()]+\)$", "", part)
            made = re.sub(r"^new (\w+)$", r"\1.\1", plain)
            owner, _, member = made.replace("::", ".").rpartition(".")
            if not (language.defines(owner, member) or (plain != part and language.has_type(plain))):
                yield "%s: '%s' is not defined" % (where, part)


def main():
    root = sys.argv[1]
    with open(os.path.join(root, "bindings", "api.tsv"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    columns = ["function", "since", *LANGUAGES]
    if rows[0] != columns:
        sys.exit("the columns are %s, expected %s" % (rows[0], columns))
    short = [row for row in rows if len(row) != len(columns)]
    faults = ["%s: %d cells, expected %d" % (row[0], len(row), len(columns)) for row in short]
    rows = [dict(zip(columns, row)) for row in rows[1:] if len(row) == len(columns)]
    faults += check_rows(root, rows)
    for name, language in LANGUAGES.items():
        language.read(root)
        faults += check_language(name, language, rows)
    if faults:
        sys.exit("\n".join(faults))
    bound = sum(not row[name].startswith("-") for row in rows for name in LANGUAGES)
    print("%d functions, %d of %d cells bound" % (len(rows), bound, len(rows) * len(LANGUAGES)))


main()
