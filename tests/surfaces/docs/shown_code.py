#!/usr/bin/env python3
"""shown_code.py - a page shows the programs that are compiled and run, word for word.

    shown_code.py [--update]      --update copies the programs into the pages

Guides: each block is marked with its kind (see pages.py). README.md: each C, C++, and Python block is part of a file that
is compiled or run. No page contains placeholders.

SPDX-License-Identifier: Apache-2.0
"""
import difflib
import re
import sys

import pages

CODE = {"c", "cpp", "python", "sh", "cmake", "text"}
SOURCES = (".c", ".h", ".hpp", ".cpp", ".py", ".go", ".rs", ".java")
RUN_FOLDERS = ("examples", "tests", "bindings", "docs/guide/code")


def wanted(page, block):
    """Returns the expected text of a block, or None if its mark does not name a file."""
    shown = pages.shown_file(page, block.mark)
    if shown is None:
        return None
    path, part = shown
    return pages.file_text(path) if part is None else pages.region_text(path, part)


def check_guide(page, text):
    """The faults of a guide's blocks, as lines."""
    faults, was_run = [], False
    for block in pages.blocks(text):
        where = f"{page.name}:{block.line}"
        if block.language not in CODE:
            faults.append(f"{where}: a block of language '{block.language}', expected one of {sorted(CODE)}")
        elif block.mark in ("run", "output"):
            language = {"run": "sh", "output": "text"}[block.mark]
            if block.language != language:
                faults.append(f"{where}: '{block.mark}' marks {block.language}, expected {language}")
            if block.mark == "output" and not was_run:
                faults.append(f"{where}: output of nothing that was run")
            was_run = True
        elif block.mark.startswith("not run: "):
            pass
        elif block.language == "text":
            faults.append(f"{where}: say 'output' or 'not run: REASON' above this block")
        else:
            try:
                right = wanted(page, block)
            except (OSError, ValueError) as error:
                faults.append(f"{where}: {error}")
                continue
            if right is None:
                faults.append(f"{where}: nothing above this block says what it is")
            elif right != block.text:
                faults.append(f"{where}: differs from {block.mark}")
                faults += difflib.unified_diff(right.splitlines(), block.text.splitlines(), "file", "page", lineterm="")
    return faults


def updated(page, text):
    """A page with its blocks as the programs are."""
    lines = text.split("\n")
    for block in reversed(pages.blocks(text)):
        right = wanted(page, block)
        if right is not None:
            lines[block.line:block.line + block.text.count("\n")] = right.split("\n")[:-1]
    return "\n".join(lines)


def check_readme(text, sources):
    """Checks that each block in a compiled language is part of one of the sources."""
    return [f"README.md:{block.line}: this {block.language} is in no file that the tests compile or run"
            for block in pages.blocks(text)
            if block.language in ("c", "cpp", "python") and not any(block.text in source for source in sources)]


def sources():
    found = []
    for folder in RUN_FOLDERS:
        for path in sorted((pages.ROOT / folder).rglob("*")):
            # The tests of a binding run the examples of its README.
            if path.suffix in SOURCES or path.name == "README.md" and folder == "bindings":
                found.append(path.read_text(encoding="utf-8"))
    return found


def check_filled(name, text):
    return [f"{name}: a place that was not filled: {place}" for place in re.findall(r"@[A-Z]+@", text)]


def main():
    guides = sorted((pages.ROOT / "docs/guide").glob("*.md"))
    faults, count = [], 0
    for page in guides:
        text = page.read_text(encoding="utf-8")
        if "--update" in sys.argv[1:]:
            page.write_text(updated(page, text), encoding="utf-8")
            text = page.read_text(encoding="utf-8")
        faults += check_guide(page, text)
        count += len(pages.blocks(text))
    faults += check_readme((pages.ROOT / "README.md").read_text(encoding="utf-8"), sources())
    for page in pages.pages():
        faults += check_filled(page.relative_to(pages.ROOT), page.read_text(encoding="utf-8"))
    print("\n".join(faults) or f"{len(guides)} guides, {count} blocks")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
