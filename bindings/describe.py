#!/usr/bin/env python3
"""Writes bindings/api.json, the description of the C API from which generate.py makes declarations for other languages.

    describe.py ROOT [--check]

Reads include/xformer/*.h and lib/xformer.map. --check writes nothing and fails if api.json is out of date. The headers
must keep to the forms that `Header.declaration` accepts; anything else is an error. Types are C types without "struct".
All lists have the order of the headers, and a header comes after those that it includes.

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import re
import sys


class Api:
    def __init__(self, root):
        self.folder = os.path.join(root, "include", "xformer")
        self.numbers = {}
        self.api = {"functions": [], "aliases": [], "handles": [], "structs": [], "constants": [], "callbacks": []}
        self.headers = {name: Header(self, name) for name in sorted(os.listdir(self.folder)) if name.endswith(".h")}
        self.done = set()
        for header in list(self.headers.values()):
            self.add(header)

    def add(self, header):
        if header.name in self.done:
            return
        self.done.add(header.name)
        for name in header.includes:
            self.add(self.headers[name])
        if header.name != "export.h":  # XF_API, which only C compilers need
            header.read()

    def append(self, kind, entry):
        self.api[kind].append(entry)


class Header:
    def __init__(self, api, name):
        self.api, self.name = api, name
        with open(os.path.join(api.folder, name), encoding="utf-8") as file:
            self.text = file.read()
        self.includes = re.findall(r'^#include "xformer/(\w+\.h)"$', self.text, flags=re.M)

    def read(self):
        declared = re.compile(r"/\*\*((?:(?!\*/).)*)\*/\s*XF_API[^(;]*?\b(xf_\w+)\(", flags=re.S)
        self.since = {name: re.search(r"@since (\S+)", doc).group(1) for doc, name in declared.findall(self.text)}
        text = re.sub(r"/\*.*?\*/", " ", self.text, flags=re.S).replace("\\\n", " ")
        text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n", "", text, flags=re.S | re.M)
        initializers = self.defines(text)
        code = re.sub(r"^#.*\n", "", text, flags=re.M)
        if code.count("{") != code.count("}") or not re.fullmatch(r".*;\s*", code + ";", flags=re.S):
            self.fail("unbalanced braces", code)
        for declaration in re.findall(r"(?:[^;{}]|\{[^{}]*\})+(?=;)", code):
            declaration = " ".join(declaration.split())
            if declaration:
                self.declaration(declaration)
        for struct in self.api.api["structs"]:
            if struct["name"] in initializers:
                struct["initializer"] = initializers[struct["name"]]

    def fail(self, what, text):
        sys.exit("%s: %s: %s" % (self.name, what, " ".join(text.split())))

    def defines(self, text):
        """Adds the constants; returns the names of the initializers by struct, which must set all members to zero."""
        initializers = {}
        for name, value in re.findall(r"^#define (\w+(?:\([^)]*\))?)[ \t]*(.*)$", text, flags=re.M):
            if name.startswith("XFORMER_") or "(" in name:
                continue  # an include guard, or a macro for C sources only
            sized = re.fullmatch(r"\{\s*sizeof\((xf_\w+)\),[\s{},0NUL]*\}", value.strip())
            if sized and name == sized.group(1).upper() + "_INIT":
                initializers[sized.group(1)] = name
            else:
                self.constant(name, value)
        return initializers

    def constant(self, name, value):
        expression = re.sub(r"XF_\w+", lambda other: str(self.api.numbers[other.group()]), value)
        if not name.startswith("XF_") or not re.fullmatch(r"[-0-9 ()<|]+", expression):
            self.fail("expected a constant XF_... with a whole number", "%s %s" % (name, value))
        self.api.numbers[name] = eval(expression)  # digits and operators only
        self.api.append("constants", {"name": name, "header": self.name, "value": self.api.numbers[name]})

    def declaration(self, text):
        if match := re.fullmatch(r"enum \{ (.*?),? \}", text):
            for value in match.group(1).split(","):
                constant = re.fullmatch(r" ?(XF_\w+) = (-?\d+) ?", value)
                if not constant:
                    self.fail("expected XF_NAME = number", value)
                self.constant(*constant.groups())
        elif match := re.fullmatch(r"typedef struct (xf_\w+) \{ (.*); \} \1", text):
            fields = [self.field(field.strip()) for field in match.group(2).split(";")]
            self.api.append("structs", {"name": match.group(1), "header": self.name, "fields": fields})
        elif match := re.fullmatch(r"typedef struct (xf_\w+) \1", text):
            self.api.append("handles", {"name": match.group(1), "header": self.name})
        elif match := re.fullmatch(r"typedef ([a-z]+\d*_t) (xf_\w+)", text):
            self.api.append("aliases", {"name": match.group(2), "header": self.name, "type": match.group(1)})
        elif match := re.fullmatch(r"typedef (.*)\(\*(xf_\w+_fn)\)\((.*)\)", text):
            self.api.append("callbacks", {"name": match.group(2), "header": self.name, **self.signature(match)})
        elif match := re.fullmatch(r"XF_API (.*?)(xf_\w+)\((.*)\)", text):
            entry = {"name": match.group(2), "header": self.name, "since": self.since.get(match.group(2))}
            self.api.append("functions", {**entry, **self.signature(match)})
        elif not re.fullmatch(r"struct xf_\w+", text):
            self.fail("a declaration of an unknown form", text)

    def signature(self, match):
        result, parameters = match.group(1), match.group(3)
        listed = [] if parameters == "void" else [self.variable(one.strip()) for one in parameters.split(",")]
        return {"returns": self.type(result), "parameters": listed}

    def field(self, text):
        if match := re.fullmatch(r"(.*)\(\*(\w+)\)\((.*)\)", text):
            return {"name": match.group(2), "function": self.signature(match)}
        if match := re.fullmatch(r"(.*)\[(\w+)\]", text):
            count = match.group(2)
            return {**self.variable(match.group(1)), "count": self.api.numbers.get(count) or int(count)}
        return self.variable(text)

    def variable(self, text):
        match = re.fullmatch(r"(.*[ *])(\w+)", text)
        if not match:
            self.fail("expected a type and a name", text)
        return {"name": match.group(2), "type": self.type(match.group(1))}

    def type(self, text):
        plain = re.sub(r"\bstruct ", "", text.strip())
        if not re.fullmatch(r"(?:const )?(?:volatile )?[a-z]\w*(?: (?:\*const )*\**)?", plain):
            self.fail("a type of an unknown form", text)
        return plain


def main():
    root = sys.argv[1]
    api = Api(root).api
    with open(os.path.join(root, "lib", "xformer.map"), encoding="utf-8") as file:
        exported = set(re.findall(r"^\s*(xf_\w+);", file.read(), flags=re.M))
    differ = exported ^ {function["name"] for function in api["functions"]}
    if differ:
        sys.exit("in only one of the headers and lib/xformer.map: %s" % ", ".join(sorted(differ)))
    lists = ["%s: [\n  %s\n ]" % (json.dumps(kind), ",\n  ".join(map(json.dumps, api[kind]))) for kind in api]
    text = "{\n %s\n}\n" % ",\n ".join(lists)
    path = os.path.join(root, "bindings", "api.json")
    if "--check" not in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return
    with open(path, encoding="utf-8") as file:
        old = file.read()
    if old != text:
        sys.exit("bindings/api.json is out of date; run: python3 bindings/describe.py . and bindings/generate.py .")


main()
