#!/usr/bin/env python3
"""Counts phrases in comments, documentation, and messages that are not plain English.

    prose.py ROOT              the test: fails if a folder has more hits per 1,000 words than its limit
    prose.py --list PATH...    prints each hit with a suggestion

The patterns find known habits, not all odd sentences: text without a hit can still be wrong. zstd, libuv, CTranslate2,
Highway, simdjson, and llm.c have 0 to 0.7 hits per 1,000 words.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import sys

# Largest number of hits per 1,000 words. The goal is 0.7 everywhere: lower a limit when a folder improves.
LIMITS = {
    "include": 0.7,
    "lib": 0.7,
    "cpu": 0.7,
    "cuda": 0.7,
    "bindings": 0.7,
    "examples": 0.7,
    "docs": 0.7,
    "tests": 0.7,
    "README.md": 0.7,
    "CONTRIBUTING.md": 0.7,
    "CHANGELOG.md": 0.7,
    "SECURITY.md": 0.7,
}

# Pattern, what to write instead.
PATTERNS = [
    (r"(?:^|(?<=[.;:] ))(?:Who|What|Whoever|Whatever|Whether|That which|Where from)\b(?![^.?]*\?)",
     "a subject: 'Callers that ...', 'Returns whether ...'"),
    (r"(?i)\bbehind\b(?! (?:the scenes|schedule|a (?:flag|lock|mutex|proxy)))", "after, following"),
    (r"(?i)\bone (?:behind|after) (?:the other|another)\b", "concatenated, consecutive"),
    (r"(?i)\b(?:becomes?|became|comes?|came) of\b", "the result of, the status of"),
    (r"(?i)\b(?:stands?|stood|standing)\b(?! (?:alone|for)\b)(?<!stands out)", "is, is defined in, remains"),
    (r"(?i)\b(?:is|are|was|were|be|being|been) told\b|\bhears?\b|\bheard\b", "receives, is notified"),
    (r"(?i)\bof (?:its|their|his|our|your) own\b", "its own X, a separate X"),
    (r"(?i)\b(?:nobody|anybody|whoever|no one) \w+", "the component: 'no thread waits'"),
    (r"(?i)\bmend(?:s|ed|ing)?\b", "fix"),
    (r"(?i)\b(?:to|can|can't|may|could) be had\b", "is available"),
    (r"(?i)\bbut for\b|\bnothing but\b|\ball but\b", "except, only"),
    (r"(?i)\bas ever\b|\bfor ever\b|\bfor good\b", "as usual, permanently"),
    (r"(?i)\b(?:is|are) of (?:fp\d+|bf16|int8|one|two|that|this|the|no|its|ids)\b", "has type fp32, belongs to"),
    (r"(?i)\bthat (?:is|are) none\b|\bnot? (?:one|a single) (?:is|was) (?:left|there)\b", "no X remains, invalid"),
    (r"(?i)\b(?!stands? |left |leave |run |runs )[a-z']+(?<!stand)(?<!left)(?<!leave) alone\b(?=[ ,.;:)])", "only"),
    (r"(?i)\b(?:goes|go|went|going) on\b", "continues"),
    (r"(?i)\bgives? (?:it|them|what|up|one|none)\b|\b(?:is|was|are|were) given(?! (?:by|as|in)\b)", "returns, passes"),
    (r"(?i)\b(?:nobody|it|host|caller|library|model|trainer|who|which|that) "
     r"(?:likes?|wishes|knows of|wants to know)\b", "requires, supports"),
    (r"(?i)\b(?:is|are|was|were) there(?:[.;,)]|$)", "exists, is available"),
    (r"(?i)\bis no (?:multiple|file|handle|token|part|power|number|place|\w+ of)\b", "is not a"),
]
COMPILED = [(re.compile(pattern), instead) for pattern, instead in PATTERNS]

CODE = {".c", ".cpp", ".h", ".hpp", ".cu", ".cuh", ".inl", ".go", ".rs", ".java"}
SCRIPTS = {".py", ".sh", ".cmake", ".toml", ".yaml", ".yml"}
COMMENTS_OF_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.S)
COMMENTS_OF_SCRIPTS = re.compile(r'"""(?:.|\n)*?"""|#[^\n]*|"(?:[^"\\\n]|\\.)*"')
SKIPPED = {"__pycache__", "build", "data", "golden", "target"}
PLANTED = "// Who frees a handle is told what became of it.\n"


def prose(name, text):
    """Yields (line number, text) of comments, docstrings, and strings of more than four words, or of Markdown."""
    if name.endswith(".md"):
        fenced = False
        for number, line in enumerate(text.split("\n"), 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            elif not fenced:
                yield number, re.sub(r"`[^`]*`|\]\([^)]*\)", " x ", line)
        return
    comments = COMMENTS_OF_CODE if pathlib.PurePath(name).suffix in CODE else COMMENTS_OF_SCRIPTS
    for match in comments.finditer(text):
        piece = match.group(0)
        if piece[0] == '"' and not piece.startswith('"""') and piece.count(" ") < 4:
            continue
        first = text.count("\n", 0, match.start()) + 1
        for offset, line in enumerate(piece.split("\n")):
            yield first + offset, re.sub(r'^\s*(?:/\*\*?|\*/?|//[/!]?|#+|"+)\s?', "", line)


def count(name, text):
    """Returns the number of words and a list of hits (line number, phrase, suggestion)."""
    words, hits = 0, []
    for number, line in prose(name, text):
        words += len(line.split())
        hits += [(number, match.group(0), instead) for pattern, instead in COMPILED for match in pattern.finditer(line)]
    return words, hits


def files_of(path):
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*")
                  if (file.suffix in CODE | SCRIPTS | {".md"} or file.name == "CMakeLists.txt") and file.is_file()
                  and not SKIPPED & set(file.relative_to(path).parts) and file != pathlib.Path(__file__).resolve())


def rate_of(path, show):
    words, hits = 0, 0
    for file in files_of(path):
        more, found = count(file.name, file.read_text(encoding="utf-8", errors="replace"))
        words += more
        hits += len(found)
        for number, phrase, instead in found if show else ():
            print(f"{file}:{number}: '{phrase}'; write: {instead}")
    return 1000 * hits / max(1, words), hits, words


def test(root):
    failures = 0
    if len(count("planted.c", PLANTED)[1]) != 3:
        print("the checker does not find the phrases of a planted sentence")
        failures += 1
    for name, limit in LIMITS.items():
        rate, hits, words = rate_of(root / name, False)
        print(f"{name:16} {rate:6.2f} hits per 1,000 words, limit {limit:5.2f} ({hits} in {words} words)")
        if rate > limit or words == 0:
            print(f"FAILED: python3 tests/surfaces/style/prose.py --list {name} prints the hits")
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--list":
        for argument in sys.argv[2:]:
            print("%s: %.2f hits per 1,000 words (%d in %d)" %
                  (argument, *rate_of(pathlib.Path(argument).resolve(), True)))
        sys.exit(0)
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(test(pathlib.Path(sys.argv[1]).resolve()))
