"""Rare and hostile texts for comparing tokenizers with the sentencepiece package. Deterministic.

SPDX-License-Identifier: Apache-2.0
"""
import random

RANGES = (
    (0x20, 0x7E), (0x20, 0x7E), (0x61, 0x66), (0x00, 0x1F), (0x80, 0x2FF), (0x300, 0x36F), (0x1100, 0x11FF),
    (0x2000, 0x206F), (0x2080, 0x218F), (0x2581, 0x2581), (0x3000, 0x30FF), (0x4E00, 0x4F00), (0xAC00, 0xAD00),
    (0xFB00, 0xFB4F), (0xFE00, 0xFFFF), (0x1F300, 0x1F64F), (0x10000, 0x10FFFF), (0x0, 0x10FFFF),
)  # fmt: skip
SPACES = (" ", "  ", "   ", "\t", "\n", "\u00a0", "\u3000", "\u2581", "\u2581\u2581", "\u200b", "\r\n", "\ufeff")
HAND = [
    b"", b" ", b"  ", b"   ", b"a", b" a", b"a ", b"  a  b   c  ", b"\t", b"\n", b"\0", b"a\0b", b"\0\0 \0",
    "▁".encode(), "▁▁".encode(), " ▁ ".encode(), "▁a▁ ▁b▁".encode(), "a▁".encode(), "⁇ ⁇".encode(), "�".encode(),
    b"<s>", b"</s> <s>", b"<unk>", b"<pad>", b"<0x41>", b"<0x0A><0xE2>", b"<sep>", b"<sep><sep> <sep>", b"<sep",
    b"[CTL]", b"x[CTL]y", b"ing", b"singing", b"inging ing", b"1997, 3.14 and 10,000", b"\xc3", b"\xff\xfe", b"a\xc3b",
    b"\xe2\x96", b"\xe2\x96 a", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xf0\x9f\x91", b"\xef\xbf\xbd\xff",
    "ﬁn ½ １２ ＡＢＣ ﷺ ﷺ".encode(), "naïve naïve e\u0301\u0301 \u0301".encode(), "👩‍💻!👩‍💻".encode(),
    "한글 한글 각".encode(), "中文。日本語テキスト".encode(), "العربية".encode(), "\u2028a\u2029b\u0085c\u200bd\u00ade".encode(),
    "ĲǅŒ ß ẞ İıſ Ω Å".encode(), b"HELLO Hello hello", b"...?!---===\x7f\x1b", "☃☃☃ ☃ a☃b☃".encode(),
]  # fmt: skip


def _unicode(rng, length):
    codes = []
    for _ in range(length):
        c = rng.randint(*rng.choice(RANGES))
        codes.append(c - 0x800 if 0xD800 <= c <= 0xDFFF else c)
    return "".join(map(chr, codes)).encode()


def _damage(rng, line):
    """Returns a line with bytes deleted, inserted, or repeated."""
    data = bytearray(line)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        how = rng.randrange(4)
        if how == 0:
            del data[at : at + rng.randint(1, 5)]
        elif how == 1:
            data[at:at] = rng.choice(SPACES).encode()
        elif how == 2:
            data[at:at] = bytes([rng.randrange(256)])
        else:
            data[at:at] = data[at : at + 7] * rng.randint(1, 5)
    return bytes(data)


def hostile(lines, symbols, count):
    """Returns `count` texts as bytes, made from `lines` and from `symbols` (user-defined and control pieces)."""
    rng = random.Random(20)
    lines = [line for line in lines if line] or [b"a line"]
    texts = list(HAND)
    symbols = [s.encode() for s in symbols] or [b"<s>"]
    while len(texts) < count:
        how = len(texts) % 8
        if how == 0:
            text = _unicode(rng, rng.randint(1, 60))
        elif how == 1:
            text = bytes(rng.randrange(256) for _ in range(rng.randint(1, 60)))
        elif how == 2:
            parts = [rng.choice(symbols + rng.choice(lines).split() + [b"", b" "]) for _ in range(rng.randint(1, 20))]
            text = b"".join(parts)
        elif how == 3:
            text = b"".join(rng.choice(SPACES).encode() + rng.choice(lines)[:4] for _ in range(rng.randint(1, 20)))
        elif how == 4:
            text = rng.choice(lines)[: rng.randint(1, 6)] * rng.randint(1, 300)
        elif how == 5:
            text = b"".join(rng.choice(lines).replace(b" ", b"") for _ in range(rng.randint(1, 8)))
        else:
            text = _damage(rng, rng.choice(lines))
        texts.append(text)
    return texts[:count]


def long(lines):
    """Returns texts that are so long that sums of scores lose precision."""
    rng = random.Random(21)
    lines = [line for line in lines if line] or [b"a line"]
    joined = b" ".join(rng.choice(lines) for _ in range(6000))
    return [joined, joined.replace(b" ", b"")[:200000], b"ab" * 50000, b"a" * 70000, "ü".encode() * 50000]
