#!/usr/bin/env python3
"""Checks that no exception can leave a function of the API.

    edges.py LIB_FOLDER

Every function that xformer.map lists is defined once, inside extern "C", in lib/api or lib/core, and is one of
  - `return guard(err, ...)`, or `return HELPER(...)` with a HELPER of the same file that is noexcept and is that itself;
  - a void function that only calls free_handle(), which is noexcept, or asks is_handle() first;
  - a getter without xf_error, whose body neither allocates nor throws: it consists of the words listed below.
Functions that take an xf_error return a status, and functions that return a status take an xf_error, except getters.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import sys

# Functions that getters may call because they do not throw. is_handle() has checked the pointer.
HARMLESS = set("""is_handle size start_id end_id c_str count description cancel config entries registry comm rank steps_done param_count
    table model tokenizer get status_name option_count xf_hypotheses_sentence_count host_text find key XF_TEXT XF_NAME defined""".split())
WORDS_THAT_CALL_NOTHING = set("return if switch case default for while sizeof static_cast int32_t size_t int64_t".split())


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def body_at(text, brace):
    depth = 0
    for i in range(brace, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return text[brace + 1:i].strip()
    raise ValueError("unbalanced braces")


def functions(text, pattern):
    """(name, parameters, what follows them, body) of each definition whose name the pattern matches."""
    for match in re.finditer(rf"\b({pattern})\(([^;{{}}]*)\)\s*(noexcept)?\s*\{{", text):
        before = text[:match.start()].rstrip()
        if before.endswith(("=", "return", "(", ",", "!", "&&", "||", "?", ":")):
            continue  # a call
        yield match.group(1), match.group(2), match.group(3), body_at(text, match.end() - 1)


def is_guarded(body, text):
    """The whole body is one guarded call."""
    match = re.match(r"return (\w+)\(", body)
    if not match or not re.fullmatch(r"return \w+\(.*\);", body, flags=re.S) or not ends_with_its_call(body):
        return False
    if match.group(1) == "guard":
        return body.startswith("return guard(err, [&]")
    return any(noexcept and is_guarded(inner, text) for _, _, noexcept, inner in functions(text, match.group(1)))


def ends_with_its_call(body):
    depth = 0
    for i, c in enumerate(body):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(c, 0)
        if c == ")" and depth == 0:
            return body[i:] == ");"
    return False


def fault(parameters, body, text):
    if "xf_error" in parameters:
        return None if is_guarded(body, text) else "is not one guarded call"
    if re.fullmatch(r"free_handle\(\w+\);", body):
        return None
    called = set(re.findall(r"(\w+)\s*(?:<[^<>()]*>)?\(", body)) - WORDS_THAT_CALL_NOTHING
    if called - HARMLESS:
        return "calls what may throw without a guard: " + ", ".join(sorted(called - HARMLESS))
    if re.search(r"\b(new|throw|std::string|std::vector)\b|\.at\(|XF_CHECK", body):
        return "may allocate or throw without a guard"
    return None


def main(lib):
    listed = set(re.findall(r"\bxf_[a-z0-9_]+", re.sub(r"#.*", "", (lib / "xformer.map").read_text(encoding="utf-8"))))
    problems, found = [], {}
    for path in sorted([*(lib / "api").glob("*.cpp"), *(lib / "core").glob("*.cpp")]):
        text = without_comments(path.read_text(encoding="utf-8"))
        for name, parameters, _, body in functions(text, r"xf_[a-z0-9_]+"):
            if name not in listed:
                continue
            where = f"{path.relative_to(lib.parent)}: {name}"
            if name in found:
                problems.append(f"{where} is defined in {found[name]} too")
            found[name] = path.name
            if 'extern "C"' not in text:
                problems.append(f'{where} does not stand in extern "C"')
            problem = fault(parameters, body, text)
            if problem:
                problems.append(f"{where} {problem}")
    problems += [f"{name} is listed in xformer.map and defined nowhere in lib/api and lib/core"
                 for name in sorted(listed - set(found))]
    guard = without_comments((lib / "api" / "guard.h").read_text(encoding="utf-8"))
    for name in ("guard", "free_handle", "report"):
        if not re.search(rf"\b{name}\([^;{{}}]*\)\s*noexcept", guard):
            problems.append(f"lib/api/guard.h: {name}() is not noexcept")
    if "catch (...)" not in guard or "std::bad_alloc" not in guard:
        problems.append("lib/api/guard.h: guard() does not catch everything, or not std::bad_alloc apart")
    print("\n".join(problems + [f"{len(found)} functions were looked at"]))
    return 1 if problems or len(found) < 80 else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1])))
