#!/usr/bin/env python3
"""planted.py - the tests of this folder find what they are for: each fault planted here is reported, sound text is not.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys
import tempfile
import unittest

import header_comments
import links
import pages
import run_code
import shown_code

sys.path.insert(0, str(pages.ROOT / "docs/site"))
import check  # noqa: E402
import filter as site_filter  # noqa: E402

FENCE = "```"
FUNCTION = """/**
 * @brief Counts things.
 * @param thing [in] what
 * @param err [out] NULL allowed
 * @return their number
 * @threads any
 * @since 0.1
 */
XF_API enum xf_status xf_count(const xf_thing *thing, xf_error *err);
"""
STRUCT = """/** @brief A thing. @since 0.1 */
typedef struct xf_thing {
    /** Its size. */
    size_t struct_size;
    /** Makes one; see above. */
    void *(*make)(void *user, size_t size);
} xf_thing;
"""


class HeaderComments(unittest.TestCase):
    def test_sound(self):
        self.assertEqual(header_comments.check(FUNCTION + STRUCT), ([], 2))

    def test_each_fault_of_a_function(self):
        for right, wrong in [("@brief", "Says:"), ("@param thing [in]", "@param thing"),
                             ("@param thing [in] what", "what"), ("@param err", "@param error"),
                             ("@return", "Gives"), ("@threads any", "@threads some"), ("@threads any", ""),
                             ("@since", "From")]:
            self.assertEqual(len(header_comments.check(FUNCTION.replace(right, wrong))[0]), 1, (right, wrong))
        self.assertTrue(header_comments.check(FUNCTION.replace("enum xf_status xf", "void xf"))[0])
        self.assertTrue(header_comments.check("XF_API void xf_bare(void);\n")[0])

    def test_each_fault_of_a_struct(self):
        for wrong in ("@brief", "@since", "/** Its size. */", "/** Makes one; see above. */"):
            self.assertEqual(len(header_comments.check(STRUCT.replace(wrong, ""))[0]), 1, wrong)
        values = "/** @brief A. @since 0.1 */\nenum xf_a {\n    /** One. */\n    XF_ONE = 1,\n    XF_TWO = 2\n};\n"
        self.assertEqual(header_comments.check(values)[0], ["enum xf_a: no comment before 'XF_TWO = 2'"])
        self.assertTrue(header_comments.check("#define XF_BARE 1\n")[0])


class Links(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name).resolve()
        (self.root / "other.md").write_text("# A `code` heading\n\n## Twice\n\n## Twice\n", encoding="utf-8")
        self.page = self.root / "page.md"

    def tearDown(self):
        self.folder.cleanup()

    def faults(self, text):
        self.page.write_text(text, encoding="utf-8")
        return links.broken_links(self.page, text, self.root)

    def test_links(self):
        sound = ("# Top\n[a](other.md) [b](other.md#a-code-heading) [c](#top) [d](other.md#twice-1)\n"
                 f"[e](https://example.org/x) `[f](none.md)`\n\n{FENCE}c\na[0](none)\n{FENCE}\n")
        self.assertEqual(self.faults(sound), [])
        for wrong in ("[a](none.md)", "[a](other.md#none)", "[a](#none)", "[a](/etc)", "[a](../page.md)",
                      "[a]: none.md", "[a](other.md#twice-2)"):
            self.assertEqual(len(self.faults(wrong)), 1, wrong)

    def test_names(self):
        known = {"xf_known", "XF_KNOWN"}, {"train.dropout", "decode.beam"}
        sound = "`xf_known()` XF_KNOWN xf_* `train.dropout` train.tsv [x](train.md)"
        self.assertEqual(links.unknown_names("p", sound, *known), [])
        for wrong in ("xf_unknown()", "XF_UNKNOWN", "`train.droput`", "decode.bean,"):
            self.assertEqual(len(links.unknown_names("p", wrong, *known)), 1, wrong)

    def test_files(self):
        (self.root / "lib").mkdir()
        (self.root / "lib/a.cpp").touch()
        self.assertEqual(links.missing_files("p", "`lib/a.cpp` `lib/xformer/plugin.so`", self.root), [])
        self.assertEqual(len(links.missing_files("p", "`lib/b.cpp`", self.root)), 1)

    def test_operations(self):
        header = "#define XF_FOR_EACH_REQUIRED_OP(X) \\\n    X(add, xf_add) \\\n    X(add_bwd, xf_add_bwd)\n"
        self.assertEqual(links.operations(header), ["add", "add_bwd"])
        self.assertEqual(links.unexplained(header, "| [add](add.md) | `add` `add_bwd` |"), [])
        self.assertEqual(len(links.unexplained(header, "| [add](add.md) | `add` |\n`add_bwd`")), 1)


class ShownCode(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.page = pathlib.Path(self.folder.name).resolve() / "page.md"
        program = "/* [part] */\n    int a;\n/* [part] */\nint b;\n"
        (self.page.parent / "program.c").write_text(program, encoding="utf-8")

    def tearDown(self):
        self.folder.cleanup()

    def faults(self, mark, body, language="c"):
        return shown_code.check_guide(self.page, f"{mark}\n{FENCE}{language}\n{body}{FENCE}\n")

    def test_blocks(self):
        self.assertEqual(self.faults("<!-- program.c -->", "    int a;\nint b;\n"), [])
        self.assertEqual(self.faults("<!-- program.c: part -->", "int a;\n"), [])
        self.assertEqual(self.faults("<!-- run -->", "true\n", "sh"), [])
        self.assertEqual(self.faults("<!-- not run: why -->", "true\n", "sh"), [])
        self.assertTrue(self.faults("<!-- program.c -->", "int a;\nint b;\n"))
        self.assertTrue(self.faults("<!-- program.c: part -->", "int c;\n"))
        self.assertTrue(self.faults("<!-- program.c: none -->", "int a;\n"))
        self.assertTrue(self.faults("<!-- none.c -->", "int a;\n"))
        self.assertTrue(self.faults("", "int a;\n"))
        self.assertTrue(self.faults("<!-- run -->", "int a;\n"))
        self.assertTrue(self.faults("<!-- output -->", "a\n", "text"))
        self.assertTrue(self.faults("", "a\n", ""))
        with self.assertRaises(ValueError):
            pages.blocks(f"{FENCE}c\nint a;\n")

    def test_update(self):
        stale = f"<!-- program.c: part -->\n{FENCE}c\nint old;\nint older;\n{FENCE}\nend\n"
        right = f"<!-- program.c: part -->\n{FENCE}c\nint a;\n{FENCE}\nend\n"
        self.assertEqual(shown_code.updated(self.page, stale), right)

    def test_readme(self):
        text = f"{FENCE}c\nint a;\n{FENCE}\n"
        self.assertEqual(shown_code.check_readme(text, ["// top\nint a;\n"]), [])
        self.assertEqual(len(shown_code.check_readme(text, ["int b;\n"])), 1)
        self.assertEqual(len(shown_code.check_filled("p", "it is @VALUE@ large")), 1)


class Output(unittest.TestCase):
    def test_compare(self):
        self.assertEqual(run_code.compare("step 3  loss 0.913\na ... c\n", "step 3  loss 1.2\na b c\n"), [])
        for wrong in ("step 4  loss 1.2\na b c\n", "step 3  loss nan\na b c\n", "step 3  loss 1.2\na b\n",
                      "step 3  loss 1.2\n", "step 3  loss 1.2\na b c\nmore\n", ""):
            self.assertTrue(run_code.compare("step 3  loss 0.913\na ... c\n", wrong), wrong)

    def test_run(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder).resolve() / "page.md"
            for command, output, faults in [("echo 1", "1", 0), ("echo 1", "2", 1), ("false\ntrue", "", 1)]:
                run, shown = f"{FENCE}sh\n{command}\n{FENCE}", f"{FENCE}text\n{output}\n{FENCE}"
                page.write_text(f"<!-- run -->\n{run}\n\n<!-- output -->\n{shown}\n", encoding="utf-8")
                self.assertEqual(len(run_code.run(page, folder, None)[0]), faults, command)


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
