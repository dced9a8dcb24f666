#!/usr/bin/env python3
"""filter.py - converts a file for Doxygen: filter.py FILE, run by Doxygen for each of its inputs (docs/Doxyfile.in).

Pages are written for readers of the repository, so links name files and headings. The filter adds a label to each
heading and makes links refer to the labels. A link to something that is not on the site (a program, a folder) becomes
plain text, and the marker comments of code blocks are removed. A picture must be on a separate line, in a folder of
IMAGE_PATH. The plain comment at the beginning of a header becomes the documentation of the file.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/surfaces/docs"))
import pages  # noqa: E402

MAIN = ROOT / "docs/guide/README.md"
PARENTS = {ROOT / "docs/ops/overview.md"}  # pages whose tables list their subpages


def site_inputs():
    """The INPUT of docs/Doxyfile.in as absolute paths."""
    text = (ROOT / "docs/Doxyfile.in").read_text(encoding="utf-8")
    names = re.search(r"^INPUT\s*=((?:.*\\\n)*.*)", text, re.M)[1].replace("\\\n", " ")
    return [ROOT / name for name in names.split()]


def on_site(path):
    return path.suffix == ".md" and any(path == i or path.is_relative_to(i) for i in site_inputs())


def label(path, anchor=""):
    """The label of a page or of one of its headings."""
    name = "-".join(path.relative_to(ROOT).with_suffix("").parts).lower()
    return f"{name}--{anchor}" if anchor else name


def reference(page, text, target, chapter):
    """The link on the site for [text](target)."""
    if re.match(r"[a-z]+:", target):
        return f"[{text}]({target})"
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if file == MAIN and not anchor:
        return f"[{text}](index.html)"
    if on_site(file):
        words = text.replace("`", "")
        return f'@{"subpage" if chapter and not anchor else "ref"} {label(file, anchor)} "{words}"'
    if file.suffix in (".h", ".hpp") and file.is_relative_to(ROOT / "include"):
        return f'@ref {file.relative_to(ROOT / "include")} "{text}"'
    return text


def converted(page, text):
    lines, inside, names = [], False, set()
    # A link may span two lines.
    text = re.sub(r"\[([^\]\n]*)\n\s*([^\]\n]*)\]\(([^)\s]+)\)", r"[\1 \2](\3)", text)
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        heading = re.match(r"(#{1,6})\s+(.*)$", line)
        if fence or inside:
            inside ^= fence
            lines.append(line)
        elif re.fullmatch(r"\s*<!--.*-->", line):
            continue
        elif picture := re.fullmatch(r"!\[([^\]]*)\]\(([^)\s]+)\)", line):
            lines.append(f'@image{{inline}} html {pathlib.Path(picture[2]).name} "{picture[1]}"')
        elif heading and len(heading[1]) == 1:
            lines.append(f"{line} {{#{label(page)}}}" if page != MAIN else line)
            if text.count("\n## ") > 3 and page != MAIN:
                lines += ["", "[TOC]"]
        elif heading:
            (slug,) = pages.anchors(line)
            lines.append(f"{line} {{#{label(page, slug)}}}" if slug not in names else line)
            names.add(slug)
        else:
            chapter = page in PARENTS and line.startswith("| ")
            lines.append(re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)",
                                lambda match: reference(page, match[1], match[2], chapter), line))
    return "\n".join(lines)


def header(text):
    comment, end, rest = text.partition("*/\n")
    comment = re.sub(r"^/\*\n \* (xformer/\S+) - ", r"/**\n * @file \1\n * @brief ", comment)
    return re.sub(r" \* SPDX-License-Identifier: .*\n", "", comment) + end + rest


if __name__ == "__main__":
    name = pathlib.Path(sys.argv[1]).resolve()
    sys.stdout.reconfigure(encoding="utf-8")
    content = name.read_text(encoding="utf-8")
    sys.stdout.write(converted(name, content) if name.suffix == ".md" else header(content))
