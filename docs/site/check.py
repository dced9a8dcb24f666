#!/usr/bin/env python3
"""check.py - the site that Doxygen made hangs together: check.py HTML_FOLDER

Every link within the site leads to a page and a place that are there; every guide is a page, every function has its
entry.

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


def places(text):
    return set(re.findall(r'\b(?:id|name)="([^"]+)"', text))


def broken(folder):
    """Links of the pages that lead nowhere, and the number of links."""
    texts = {path.name: read(path) for path in sorted(folder.glob("*.html"))}
    known = {name: places(text) for name, text in texts.items()}
    faults, count = set(), 0
    for name, text in texts.items():
        # Doxygen's own row of links at the top of a class names sections that it then leaves out when they are private.
        text = re.sub(r'<div class="summary">.*?</div>', "", text, flags=re.S)
        for link in re.findall(r'<a\b[^>]*\bhref="([^"]+)"', text):
            target, _, place = urllib.parse.unquote(html.unescape(link)).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            count += 1
            target = target or name
            if not (folder / target).exists():
                faults.add(f"{name}: there is no {target}")
            elif place and target in known and place not in known[target]:
                faults.add(f"{name}: {target} has no #{place}")
    return sorted(faults), count


def main():
    folder = pathlib.Path(sys.argv[1])
    faults, count = broken(folder)
    text = "".join(read(path) for path in folder.glob("*.html"))
    for guide in sorted((ROOT / "docs/guide").glob("*.md")):
        # By its file: a group of functions may have the same title.
        if guide.name != "README.md" and not (folder / f"docs-guide-{guide.stem}.html").exists():
            faults.append(f"{guide.name} is no page of the site")
    functions = re.findall(r"^\s+(xf_\w+);", read(ROOT / "lib/xformer.map"), re.M)
    faults += [f"{name} has no entry" for name in functions if f"</a></span>{name}()</h2>" not in text]
    if count < 1000 or len(functions) < 80:
        faults.append(f"only {count} links and {len(functions)} functions were seen")
    print("\n".join(faults) or f"{count} links, {len(functions)} functions")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
