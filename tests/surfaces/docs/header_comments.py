#!/usr/bin/env python3
"""header_comments.py - checks, beyond Doxygen, that the comment of each public item is complete.

    header_comments.py HEADER...

Functions: @brief, @param with a direction for every parameter and no others, @return unless void, @threads with one of
the three rules, and @since. Every other named entity: @brief and @since, and a comment for each member.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import sys

THREADS = ("exclusive", "shared-read", "any")
DIRECTIONS = ("[in]", "[out]", "[in,out]")


def items(text):
    """(comment, declaration) of each item at the outermost level of a header."""
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n", "", text, flags=re.M | re.S)
    token = re.compile(r"/\*.*?\*/|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$|[^;{/#]*\{[^}]*\}[^;]*;|[^;{/#]+;", re.M | re.S)
    comment = ""
    for match in token.finditer(text):
        part = match[0].strip()
        if part.startswith("/**"):
            comment = "" if "@}" in part or "@defgroup" in part else part
        elif not part.startswith("/*") and (not part.startswith("#") or re.match(r"#\s*define", part)):
            yield comment, part
            comment = ""


def parameters(declaration):
    """The names of a function's parameters."""
    inside = declaration[declaration.index("(") + 1:declaration.rindex(")")]
    return [] if inside.strip() == "void" else [re.findall(r"\w+", part)[-1] for part in inside.split(",")]


def check_function(name, comment, declaration):
    documented = re.findall(r"@param (\w+) (\S+)", comment)
    faults = [f"{name}: @param {p} has no direction, but '{word}'" for p, word in documented if word not in DIRECTIONS]
    names = [p for p, _ in documented]
    if names != parameters(declaration):
        faults.append(f"{name}: @param for {names}, the parameters are {parameters(declaration)}")
    if re.match(r"XF_API void \w", declaration):
        if "@return" in comment:
            faults.append(f"{name}: @return of a function that returns nothing")
    elif "@return" not in comment:
        faults.append(f"{name}: no @return")
    threads = re.findall(r"@threads (\S+)", comment)
    if len(threads) != 1 or threads[0] not in THREADS:
        faults.append(f"{name}: @threads {threads}, expected one of {THREADS}")
    return faults


def check_members(name, declaration):
    """Checks that a comment precedes each member of a struct and each value of an enumeration."""
    inside = declaration[declaration.index("{") + 1:declaration.rindex("}")]
    inside = re.sub(r"\([^()]*\);", ";", inside)  # what a pointer to a function takes
    pieces = re.findall(r"/\*\*.*?\*/|[^,;/]+[,;]?", inside, re.S)
    faults, documented = [], False
    for piece in (p.strip() for p in pieces):
        if piece.startswith("/**"):
            documented = True
        elif piece:
            if not documented:
                faults.append(f"{name}: no comment before '{piece}'")
            documented = False
    return faults


def check(text):
    """(faults, number of items) of a header's text."""
    faults, seen = [], set()
    hidden = re.sub(r"/\*\*.*?\*/", lambda m: re.sub(r"[{};#/]", " ", m[0][3:-2]).join(("/**", "*/")), text, flags=re.S)
    for comment, declaration in items(hidden):
        if declaration.startswith("#"):
            macro = re.match(r"#\s*define (\w+)", declaration)
            if macro[1].endswith("_H") or macro[1] in seen:  # a guard; the other half of an #if
                continue
            name = macro[1]
        else:
            name = (re.search(r"(\w+)\(", declaration) if declaration.startswith("XF_API") else
                    re.search(r"\(\*(\w+)\)|(?:enum|struct) (\w+)|typedef .* \**(\w+);", declaration))
            name = next(group for group in name.groups() if group) if name else declaration[:40]
        seen.add(name)
        faults += [f"{name}: no {tag}" for tag in ("@brief", "@since") if tag not in comment]
        if declaration.startswith("XF_API"):
            faults += check_function(name, comment, declaration)
    for declaration in re.findall(r"^(?:typedef )?(?:struct|enum) \w+ \{.*?^\}", text, re.M | re.S):
        faults += check_members(declaration.split("{")[0].strip(), declaration)
    return faults, len(seen)


def main():
    faults, total = [], 0
    for header in sys.argv[1:]:
        found, count = check(pathlib.Path(header).read_text(encoding="utf-8"))
        faults += [f"{pathlib.Path(header).name}: {fault}" for fault in found]
        total += count
    if total < 100:
        faults.append(f"only {total} items were seen")
    print("\n".join(faults) or f"{total} items in {len(sys.argv) - 1} headers")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
