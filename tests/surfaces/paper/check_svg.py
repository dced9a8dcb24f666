"""Checks that SVG files are well-formed XML with finite numbers and TSV files have rows of equal length; for tables.sh.

SPDX-License-Identifier: Apache-2.0
"""
import re
import sys
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"

for path in sys.argv[1:]:
    text = open(path, encoding="utf-8").read()
    if path.endswith(".svg"):
        root = xml.etree.ElementTree.fromstring(text)
        assert root.tag == SVG + "svg", root.tag
        assert root.find(SVG + "title").text, path + ": no title"
        marks = [e for e in root.iter() if re.fullmatch(r"s\d", e.get("class", ""))]
        assert len(marks) >= 4, "%s: %d marks" % (path, len(marks))
        assert "prefers-color-scheme:dark" in text
        assert not re.search(r'"[^"<>]*\b(nan|inf)\b[^"<>]*"', text), path + ": a number is not finite"
        assert "http" not in text.replace("http://www.w3.org/2000/svg", ""), path + ": it asks the network"
    elif path.endswith(".tsv"):
        widths = {line.count("\t") for line in text.splitlines()}
        assert len(widths) == 1 and len(text.splitlines()) > 1, "%s: %s" % (path, widths)
    else:
        tables = [line for line in text.splitlines() if line.startswith("|")]
        assert len(tables) > 2, path + ": no table"
        assert all(line.endswith("|") for line in tables), path
