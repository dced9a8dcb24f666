"""sites.py - where a source file can be changed, and how.

A region is code that can have two variants: a statement, the condition of an if, a loop, or an XF_CHECK, or the value
of a declaration. An edit is one small change in a region. The sources are formatted by clang-format, so a binary
operator has spaces on both sides, unlike the bracket of a template, the star of a pointer, or a reference.

SPDX-License-Identifier: Apache-2.0
"""
import re

SWAPS = {
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="],
    "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"], "<<": [">>"], ">>": ["<<"], "&": ["|"], "|": ["&"],
    "^": ["|"], "&&": ["||"], "||": ["&&"], "+=": ["-="], "-=": ["+="], "*=": ["/="], "|=": ["&="], "&=": ["|="],
}
BINARY = re.compile(r"(?<=[ \n])(?:<<|>>|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|\|=|&=|[-<>+*/%&|^])(?=[ \n])")
WORDS = {"true": "false", "false": "true", "std::min": "std::max", "std::max": "std::min"}
WORD = re.compile(r"\btrue\b|\bfalse\b|std::min(?=[<(])|std::max(?=[<(])")
NUMBER = re.compile(r"(?<![\w.'<])\d+(?![\w.'])")
STEP = re.compile(r"\+\+|--")
NOT = re.compile(r"!(?=[\w(*:])")
# Two adjacent names: a type and what is declared.
DECLARED = re.compile(r"(?:(?:const|static|constexpr|thread_local|unsigned|signed|long|short) )*[A-Za-z_][\w:]*(?:<.*?>)?(?:::\w+)*(?: const)?"
                      r"(?: [*&]*(?:const )?|[*&]+ ?)[A-Za-z_]\w*\s*(?:=(?!=)|\(|\{|;|,|\[)", re.S)
NO_STATEMENT = re.compile(r"(?:struct|class|enum|union|using|static_assert|template|typedef|goto|static|constexpr|"
                          r"thread_local|asm|friend)\b")
LOGS = re.compile(r"(?:[\w.>-]*(?:log|warn)|static_cast<void>)\(")


def mask(text):
    """Returns the text without comments, and the same with literals and preprocessor lines blanked, too."""
    bare, masked, at = [], [], 0
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|(?<![\w])\'(?:\\.|[^\'\\\n])*\''
                       r"|^[ \t]*#(?:[^\n\\]|\\.)*", re.S | re.M)
    blank = lambda piece: re.sub(r"[^\n]", " ", piece)
    for match in token.finditer(text):
        piece, before = match.group(), text[at:match.start()]
        comment = piece.startswith(("//", "/*"))
        bare += [before, blank(piece) if comment else piece]
        literal = not comment and not piece.lstrip().startswith("#")
        masked += [before, '"' + re.sub(r"[^\n]", "_", piece[1:-1]) + '"' if literal else blank(piece)]
        at = match.end()
    return "".join(bare + [text[at:]]), "".join(masked + [text[at:]])


class Parser:
    """Finds the regions of one file: (kind, begin, end) with kind one of statement, condition, check, value."""

    def __init__(self, masked):
        self.text, self.regions = masked, []
        self.outer(0, len(masked))

    def close(self, at):
        """Returns the position after the bracket that closes the one at `at`."""
        depth = 0
        while at < len(self.text):
            depth += self.text[at] in "([{"
            depth -= self.text[at] in ")]}"
            at += 1
            if depth == 0:
                return at
        raise ValueError("a bracket is not closed")

    def space(self, at):
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        return at

    def outer(self, at, end):
        """Namespaces and classes."""
        head = at
        while at < end:
            c = self.text[at]
            if c in ";}":
                head = at + 1
            elif c == "(":
                at = self.close(at)
                continue
            elif c == "{":
                chunk, close = self.text[head:at].strip(), self.close(at)
                before = chunk[-1:]
                if re.match(r"(inline )?namespace\b|extern\b", chunk):
                    self.outer(at + 1, close - 1)
                    head = close
                elif re.match(r"(template <[^{]*> )?(struct|class|union)\b", chunk) and before != ")":
                    self.outer(at + 1, close - 1)
                elif before == ")" or re.search(r"\b(const|noexcept|override|mutable)$|-> [\w:<>*& ]+$", chunk) and (
                        ")" in chunk):
                    if not re.search(r"\bconstexpr\b|\bconsteval\b", chunk):
                        self.block(at + 1)
                    head = close
                at = close
                continue
            at += 1

    def block(self, at):
        """Parses statements up to the closing brace; returns the position after it."""
        while True:
            at = self.space(at)
            if self.text[at] == "}":
                return at + 1
            at = self.statement(at)

    def statement(self, at):
        at = self.space(at)
        text = self.text
        if text[at] == "{":
            return self.block(at + 1)
        if text[at] == ";":
            return at + 1
        word = re.compile(r"[A-Za-z_]\w*").match(text, at)
        name = word.group() if word else ""
        if name in ("if", "while", "switch"):
            begin = text.index("(", at)
            end = self.close(begin)
            constant = re.match(r"\s*constexpr", text[word.end():begin + 1])
            if not constant and name != "switch":
                self.region("condition", begin + 1, end - 1)
            at = self.statement(end)
            after = self.space(at)
            if name == "if" and re.compile(r"else\b").match(text, after):
                return self.statement(after + 4)
            return at
        if name == "for":
            begin = text.index("(", at)
            end = self.close(begin)
            parts = self.split(begin + 1, end - 1, ";")
            if len(parts) == 3:
                first = text[parts[0][0]:parts[0][1]]
                equals = re.search(r"(?<=\w) = ", first)
                if equals and "," not in first:
                    self.region("value", parts[0][0] + equals.end(), parts[0][1])
                self.region("condition", *parts[1])
            return self.statement(end)
        if name == "do":
            at = self.statement(word.end())
            begin = text.index("(", at)
            end = self.close(begin)
            self.region("condition", begin + 1, end - 1)
            return text.index(";", end) + 1
        if name in ("try", "else"):
            return self.statement(word.end())
        if name == "catch":
            return self.statement(self.close(text.index("(", at)))
        if name in ("case", "default"):
            return re.compile(r"(?<!:):(?!:)").search(text, at).end()
        return self.simple(at)

    def simple(self, at):
        """A statement that ends with a semicolon."""
        begin, inner = at, False
        while self.text[at] != ";":
            c = self.text[at]
            if c == "{":
                if re.search(r"(\)|\]|\bmutable|\bnoexcept|-> [\w:<>*& ]+)\s*$", self.text[begin:at]):
                    at, inner = self.block(at + 1), True
                else:
                    at = self.close(at)  # a list of values
                continue
            if c == "}":
                raise ValueError("a statement has no end")
            at += 1
        end = at + 1
        statement = self.text[begin:end]
        if inner or NO_STATEMENT.match(statement) or LOGS.match(statement):
            return end
        if statement.startswith("XF_CHECK("):
            self.region("check", begin, end)
        elif re.match(r"(return|throw|break|continue|delete)\b", statement) or not DECLARED.match(statement):
            self.region("statement", begin, end)
        else:
            equals = re.search(r"(?<=[\w\]]) = ", statement)
            if equals and len(self.split(begin + equals.end(), end - 1, ",")) == 1:
                self.region("value", begin + equals.end(), end - 1)
        return end

    def split(self, begin, end, separator):
        parts, depth, start = [], 0, begin
        for at in range(begin, end):
            depth += self.text[at] in "([{"
            depth -= self.text[at] in ")]}"
            if depth == 0 and self.text[at] == separator:
                parts.append((start, at))
                start = at + 1
        return parts + [(start, end)]

    def region(self, kind, begin, end):
        piece = self.text[begin:end]
        if not piece.strip() or (kind != "statement" and re.match(r"\s*[\[{]", piece)):
            return
        if kind == "condition" and (DECLARED.match(piece.strip()) or re.search(r"(?<![=<>!+*/|&-])=(?!=)|;", piece)):
            return
        self.regions.append((kind, begin, end))


def edits(masked, kind, begin, end):
    """Returns (operator, from, to, new text) of each change that the region allows."""
    found, last = [], end
    piece = masked[begin:end]
    if kind == "check":
        found.append(("check removed", begin, end, ";"))
        begin += len("XF_CHECK(")
        depth = 0
        for last in range(begin, end):
            depth += masked[last] in "([{"
            depth -= masked[last] in ")]}"
            if depth == 0 and masked[last] == ",":
                break
    elif kind == "condition":
        found.append(("condition negated", begin, end, None))
    elif piece.startswith(("fail(", "throw", "delete")) or piece == "return;":
        return [("statement removed", begin, end, ";")]
    elif piece in ("break;", "continue;"):
        return [("jump changed", begin, end, ";" if piece == "break;" else "break;")]
    elif kind == "statement" and not piece.startswith("return"):
        found.append(("statement removed", begin, end, ";"))
    piece = masked[begin:last]
    for match in BINARY.finditer(piece):
        for other in SWAPS[match.group()]:
            found.append((f"{match.group()} to {other}", begin + match.start(), begin + match.end(), other))
    for match in WORD.finditer(piece):
        other = WORDS[match.group()]
        found.append((f"{match.group()} to {other}", begin + match.start(), begin + match.end(), other))
    for match in NUMBER.finditer(piece):
        value = int(match.group(), 8 if match.group().startswith("0") else 10)
        for other in (value + 1, value - 1)[:1 + (value > 0)]:
            found.append((f"number {other - value:+}", begin + match.start(), begin + match.end(), str(other)))
    for match in STEP.finditer(piece):
        other = "--" if match.group() == "++" else "++"
        found.append((f"{match.group()} to {other}", begin + match.start(), begin + match.end(), other))
    for match in NOT.finditer(piece):
        found.append(("! dropped", begin + match.start(), begin + match.end(), ""))
    return found


def regions(text):
    """Returns the text of a source file without comments, and its regions: [(kind, begin, end, edits)]."""
    bare, masked = mask(text)
    assert len(bare) == len(masked) == len(text)
    listed = []
    for kind, begin, end in Parser(masked).regions:
        possible = edits(masked, kind, begin, end)
        if possible:
            listed.append((kind, begin, end, possible))
    return bare, listed
