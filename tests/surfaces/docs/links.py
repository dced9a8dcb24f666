#!/usr/bin/env python3
"""links.py - checks that the links, anchors, functions, options, and files that the Markdown pages name exist, and that
docs/ops names every operation.

SPDX-License-Identifier: Apache-2.0
"""
import re
import sys

import pages

# Suffixes of file names, which look like options.
NO_OPTION = {"c", "h", "cpp", "py", "md", "tsv", "json", "xf", "safetensors", "bpe", "sh", "txt"}
SHOWN_AS_UNKNOWN = {"train.dropuot", "context.magic"}  # by programs of the guides
CODE_FOLDERS = ("include", "lib", "cpu", "cuda", "examples", "tests", "bindings", "docs")
CODE_SUFFIXES = {".c", ".h", ".hpp", ".cpp", ".cu", ".cuh", ".inl", ".py", ".txt", ".map", ".sh", ".rs", ".go", ".java",
                 ".toml", ".tsv"}


def broken_links(page, text, root):
    """Returns relative links of a page whose target does not exist."""
    faults = []
    for link in pages.links(text):
        if re.match(r"[a-z]+:", link.target):
            continue
        path, _, anchor = link.target.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or not target.is_relative_to(root):
            faults.append(f"{page.relative_to(root)}:{link.line}: there is no {link.target}")
        elif anchor and target.suffix == ".md" and anchor not in pages.anchors(target.read_text(encoding="utf-8")):
            faults.append(f"{page.relative_to(root)}:{link.line}: {path or 'this page'} has no heading for #{anchor}")
    return faults


def unknown_names(name, text, identifiers, options):
    """Returns functions, constants, and options that no source defines."""
    faults = []
    for number, line in enumerate(text.split("\n"), 1):
        line = re.sub(r"\]\([^)]*\)", "]", line)  # targets of links are files
        for word in re.findall(r"\b(?:xf|XF|xformer)_\w*[A-Za-z0-9]\b(?!\*)", line):
            if word not in identifiers:
                faults.append(f"{name}:{number}: no source knows {word}")
        groups = "|".join(sorted({key.split(".")[0] for key in options}))
        for match in re.finditer(rf"(?<![\w/.{{-])({groups})\.([a-z0-9_]+)\b(?![(/])", line):
            file = match[2] in NO_OPTION or line[match.end():].startswith(".")
            if not file and match[0] not in options | SHOWN_AS_UNKNOWN:
                faults.append(f"{name}:{number}: there is no option {match[0]}")
    return faults


def missing_files(name, text, root):
    """Paths between backticks that begin with a folder of the repository and aren't there."""
    tops = "|".join(CODE_FOLDERS)
    installed = re.compile(r"lib/(?:xformer|x86_64-linux-gnu|pkgconfig|cmake)(?:/|$)|include/xformer$")
    return [f"{name}: there is no {path}" for path in re.findall(rf"`((?:{tops})/[\w./-]+)`", text)
            if not (root / path).exists() and not installed.match(path)]


def operations(header):
    """The operations of plugin_abi.h, from the lists of XF_FOR_EACH_REQUIRED_OP and XF_FOR_EACH_OPTIONAL_OP."""
    return re.findall(r"^ +X\((\w+), xf_\w+\)", header, re.M)


def unexplained(header, overview):
    """Operations that the table of docs/ops/overview.md doesn't name."""
    rows = "\n".join(line for line in overview.split("\n") if line.startswith("| ["))
    return [f"docs/ops/overview.md: no page has the operation {name}" for name in operations(header)
            if f"`{name}`" not in rows]


def sources(root):
    for folder in CODE_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in CODE_SUFFIXES or path.name == "Makefile":
                yield path
    yield root / "CMakeLists.txt"


def known(root):
    """Every identifier of the sources, and every option."""
    identifiers = set()
    for path in sources(root):
        identifiers.add(path.stem)
        identifiers |= set(re.findall(r"\w+", path.read_text(encoding="utf-8", errors="replace")))
    table = (root / "lib/core/option_table.cpp").read_text(encoding="utf-8")
    return identifiers, set(re.findall(r'^    \{"(\w+\.\w+)",', table, re.M))


def main():
    root = pages.ROOT
    identifiers, options = known(root)
    faults, count = [], 0
    for page in pages.pages(root):
        text = page.read_text(encoding="utf-8")
        name = page.relative_to(root)
        count += len(pages.links(text))
        faults += broken_links(page, text, root) + unknown_names(name, text, identifiers, options)
        faults += missing_files(name, text, root)
    header = (root / "lib/backend/plugin_abi.h").read_text(encoding="utf-8")
    faults += unexplained(header, (root / "docs/ops/overview.md").read_text(encoding="utf-8"))
    if len(options) < 30 or count < 30 or len(operations(header)) < 10:
        faults.append(f"only {len(options)} options, {count} links and {len(operations(header))} operations were seen")
    print("\n".join(faults) or f"{count} links, {len(options)} options")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
