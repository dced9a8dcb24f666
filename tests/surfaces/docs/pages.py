"""pages.py - shared code of the tests in this folder: the Markdown pages of the repository with their code blocks,
links, and headings.

A code block of a guide is marked by a comment on the line above it, which no reader sees:

    <!-- code/train.c -->            the block is that file, word for word
    <!-- code/training.c: loop -->   the block is the part of that file between two comments /* [loop] */
    <!-- run -->                     the block is shell that run_code.py runs
    <!-- output -->                  the block is what the block run before it prints
    <!-- not run: REASON -->         the block is neither

SPDX-License-Identifier: Apache-2.0
"""
import collections
import os
import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[3]

Block = collections.namedtuple("Block", "language text line mark")  # line: of the fence, from 1
Link = collections.namedtuple("Link", "target line")


def pages(root=ROOT):
    """Every Markdown page of the source tree, as a path; builds and hidden folders are none of it."""
    found = []
    for folder, names, files in os.walk(root):
        names[:] = sorted(n for n in names if not n.startswith((".", "build")) and n not in ("target", "__pycache__"))
        found += [pathlib.Path(folder, name) for name in sorted(files) if name.endswith(".md")]
    return found


def blocks(text):
    """The fenced code blocks of a page."""
    found, start, mark = [], None, ""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        fence = re.match(r"\s*```(\S*)\s*$", line)
        if start is None and fence:
            above = lines[number - 1] if number else ""
            comment = re.fullmatch(r"<!-- (.*) -->", above.strip())
            start, language, mark = number, fence[1], comment[1] if comment else ""
        elif start is not None and fence and not fence[1]:
            body = textwrap.dedent("".join(row + "\n" for row in lines[start + 1:number]))
            found.append(Block(language, body, start + 1, mark))
            start = None
    if start is not None:
        raise ValueError(f"the code block of line {start + 1} does not end")
    return found


def prose(text):
    """Returns the lines of a page without code blocks and text between backticks."""
    lines, inside = [], False
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        lines.append("" if inside or fence else re.sub(r"`[^`]*`", "``", line))
        inside ^= fence
    return lines


def links(text):
    found = []
    for number, line in enumerate(prose(text), 1):
        found += [Link(target, number) for target in re.findall(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)", line)]
        found += [Link(target, number) for target in re.findall(r"^\s*\[[^\]]+\]:\s*(\S+)", line)]
    return found


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    found, inside = set(), False
    for line in text.split("\n"):
        inside ^= line.lstrip().startswith("```")
        heading = None if inside else re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if heading:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            name, again = slug, 0
            while name in found:
                again += 1
                name = f"{slug}-{again}"
            found.add(name)
    return found


REGION = re.compile(r"^\s*(?:/\*|#) \[(\w+)\](?: \*/)?$")


def file_text(path):
    """A program as a page shows it: whole, without the lines that mark its parts."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return "\n".join(line for line in lines if not REGION.match(line))


def region_text(path, name):
    """The part of a program between two marks, moved to the left margin."""
    parts, inside = [], False
    for line in path.read_text(encoding="utf-8").split("\n"):
        mark = REGION.match(line)
        if mark and mark[1] == name:
            inside = not inside
            parts.append("")
        elif inside and not mark:
            parts.append(line + "\n")
    if parts.count("") != 2:
        raise ValueError(f"{path.name} has {parts.count('')} marks [{name}], expected 2")
    return textwrap.dedent("".join(parts))


def shown_file(page, mark):
    """(file, part or None) of a mark that names one, or None."""
    match = re.fullmatch(r"(\S+\.(?:c|h|cpp|py|sh))(?:: (\w+))?", mark)
    return ((page.parent / match[1]).resolve(), match[2]) if match else None
