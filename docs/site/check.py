#!/usr/bin/env python3
"""check.py - checks the site that Doxygen generated: check.py HTML_FOLDER

Every link within the site must lead to an existing page and anchor, every guide must be a page, and every public
function must have an entry.

SPDX-License-Identifier: Apache-2.0
"""
import html
import pathlib
import re
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read(path):
    return path.read_text(encoding="utf-8")


def anchors(text):
    return set(re.findall(r'\b(?:id|name)="([^"]+)"', text))


def broken(folder):
    """Broken links of the pages, and the number of all links."""
    texts = {path.name: read(path) for path in sorted(folder.glob("*.html"))}
    known = {name: anchors(text) for name, text in texts.items()}
    faults, count = set(), 0
    for name, text in texts.items():
        # Doxygen's summary line at the top of a class links to private sections that it does not generate.
        text = re.sub(r'<div class="summary">.*?</div>', "", text, flags=re.S)
        for link in re.findall(r'<a\b[^>]*\bhref="([^"]+)"', text):
            target, _, anchor = urllib.parse.unquote(html.unescape(link)).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            count += 1
            target = target or name
            if not (folder / target).exists():
                faults.add(f"{name}: {target} does not exist")
            elif anchor and target in known and anchor not in known[target]:
                faults.add(f"{name}: {target} has no anchor #{anchor}")
    return sorted(faults), count


def main():
    folder = pathlib.Path(sys.argv[1])
    faults, count = broken(folder)
    text = "".join(read(path) for path in folder.glob("*.html"))
    for guide in sorted((ROOT / "docs/guide").glob("*.md")):
        # Compared by file name, because a group of functions may have the same title.
        if guide.name != "README.md" and not (folder / f"docs-guide-{guide.stem}.html").exists():
            faults.append(f"{guide.name} is not a page of the site")
    functions = re.findall(r"^\s+(xf_\w+);", read(ROOT / "lib/xformer.map"), re.M)
    faults += [f"{name} has no entry on the site" for name in functions if f"</a></span>{name}()</h2>" not in text]
    if count < 1000 or len(functions) < 80:
        faults.append(f"found {count} links and {len(functions)} functions, expected at least 1000 and 80")
    print("\n".join(faults) or f"{count} links, {len(functions)} functions")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
