#!/usr/bin/env python3
"""The programs of docs/site: the links of the pages that they check, and the Markdown and headers that they convert.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys
import tempfile
import unittest

import pages

sys.path.insert(0, str(pages.ROOT / "docs/site"))
import check  # noqa: E402
import filter as site_filter  # noqa: E402

FENCE = "```"


class Site(unittest.TestCase):
    def test_links(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "other.html").write_text('<a id="place"></a>', encoding="utf-8")
            for link, faults in [("other.html", 0), ("other.html#place", 0), ("https://example.org", 0),
                                 ("none.html", 1), ("other.html#none", 1), ("#none", 1), ("page.md", 1)]:
                (root / "page.html").write_text(f'<p><a class="el" href="{link}">x</a></p>', encoding="utf-8")
                self.assertEqual(len(check.broken(root)[0]), faults, link)

    def test_pages(self):
        page = pages.ROOT / "docs/guide/training.md"
        for text, right in [("# A b", "# A b {#docs-guide-training}"),
                            ("## A `b`", "## A `b` {#docs-guide-training--a-b}"),
                            ("[x](data.md)", '@ref docs-guide-data "x"'),
                            ("[x\ny](data.md#scores)", '@ref docs-guide-data--scores "x y"'),
                            ("[x](#sizes)", '@ref docs-guide-training--sizes "x"'),
                            ("[x](code/train.c)", "x"), ("[x](https://example.org)", "[x](https://example.org)"),
                            ("[x](README.md)", "[x](index.html)"),
                            ("[x](../../include/xformer/data.h)", '@ref xformer/data.h "x"'),
                            (f"<!-- run -->\n{FENCE}sh\n# [x](data.md)\n{FENCE}",
                             f"{FENCE}sh\n# [x](data.md)\n{FENCE}")]:
            self.assertEqual(site_filter.converted(page, text), right)

    def test_headers(self):
        header = "/*\n * xformer/a.h - what.\n *\n * SPDX-License-Identifier: X\n */\nint a;\n"
        self.assertEqual(site_filter.header(header), "/**\n * @file xformer/a.h\n * @brief what.\n *\n */\nint a;\n")


if __name__ == "__main__":
    unittest.main()
