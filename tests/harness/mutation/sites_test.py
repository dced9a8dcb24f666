#!/usr/bin/env python3
"""sites_test.py - checks that sites.py finds the sites of a small source and can parse every source that is mutated.

    tests/harness/mutation/sites_test.py ROOT

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys

import sites
import tree

SOURCE = """// a < b is no code
#include <vector>
namespace xf {
constexpr int kTwice(int a) { return a * 2; }
const int table[] = {1, 2, 3};
int f(const std::vector<int> &v, bool *done) {
    XF_CHECK(v.size() < 9 && done, XF_ERROR_LIMIT, "%d < %d", 1, 2);
    const int last = v.size() - 1, other = 3;
    const char *const name = pick(v, true);
    for (size_t i = 0; i < v.size(); ++i) {
        if (v[i] == 0) continue;
        const auto each = [&](int x) { return x + last; };
        *done = !done;  // or not
    }
    if (const auto *p = find(v)) return *p;
    log(done, 5);
    std::sort(v.begin(), v.end(), [](int a, int b) {
        return a < b;
    });
    return std::min<int>(last,
                         other);
}
}  // namespace xf
"""

WANTED = [
    ("check", 'XF_CHECK(v.size() < 9 && done, XF_ERROR_LIMIT, "%d < %d", 1, 2);',
     {"check removed", "< to <=", "< to >=", "&& to ||", "number +1", "number -1"}),
    ("value", "pick(v, true)", {"true to false"}),
    ("value", "0", {"number +1"}),
    ("condition", "i < v.size()", {"condition negated", "< to <=", "< to >="}),
    ("condition", "v[i] == 0", {"condition negated", "== to !=", "number +1"}),
    ("statement", "continue;", {"jump changed"}),
    ("statement", "return x + last;", {"+ to -"}),
    ("statement", "*done = !done;", {"statement removed", "! dropped"}),
    ("statement", "return a < b;", {"< to <=", "< to >="}),
    ("statement", "return std::min<int>(last, other);", {"std::min to std::max"}),
]


def main():
    root = pathlib.Path(sys.argv[1])
    bare, regions = sites.regions(SOURCE)
    found = [(kind, " ".join(bare[begin:end].split()), {edit[0] for edit in edits})
             for kind, begin, end, edits in regions]
    if found != WANTED:
        sys.exit("FAILED: found\n" + "\n".join(map(str, found)))
    mutants = []
    for number, (kind, begin, end, edits) in enumerate(regions, 1):
        _, first, last, new = edits[-1]
        whole = bare[begin:end]
        changed = f"!({whole})" if new is None else bare[begin:first] + new + bare[last:end]
        mutants.append({"number": number, "kind": kind, "begin": begin, "end": end, "from": whole,
                        "to": " ".join(changed.split())})
    text = tree.instrument(SOURCE, mutants)
    assert text.count("\n") == SOURCE.count("\n"), "lines have other numbers"
    for piece in ("(xf_mutation::on(4) ? (i >= v.size()) : ( i < v.size()))",
                  "{ if (xf_mutation::on(8)) { *done = done; } else { *done = !done; } }"):
        assert piece in text, f"no {piece} in\n{text}"
    chosen, places = tree.choose(root, 1, 400)
    again, _ = tree.choose(root, 1, 400)
    assert chosen == again and chosen != tree.choose(root, 2, 400)[0], "a seed is one choice"
    assert places > 3000 and len({m["file"] for m in chosen}) > 50, f"only {places} places were found"
    print(f"{places} places")


if __name__ == "__main__":
    main()
