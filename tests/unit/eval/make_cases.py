#!/usr/bin/env python3
"""Writes cases.tsv: segments and what sacreBLEU 2 says of them. SPDX-License-Identifier: Apache-2.0

Needed only to make the cases anew, never to run the tests: pip install sacrebleu; ./make_cases.py > cases.tsv
A case is "case<TAB>name", then lines "pair<TAB>hypothesis<TAB>reference" with \\\\ \\t \\n \\r escaped, then its scores:
"13a", "none" (no tokenizer, no smoothing) and "hyphens" (the same after the paper's split of compounds): score, 4 precisions, brevity penalty, lengths, 4 counts, 4 totals;
"chrf": score. The generator is seeded: the same sacreBLEU gives the same file, or, with a seed and a size as
arguments, another and longer one.
"""
import random
import re
import sys

import sacrebleu
from sacrebleu.metrics import BLEU, CHRF

PIECES = ["the", "The", "a", "cat", "Katze", "Straße", "naïve", "日本語", "中文。", "мир", "é", "e\u0301", "😀", "1", "42",
          "1,000.50", "3.14", ".5", "5.", "1.2.3", "10-20", "7-", "-7", "well-known", "--", "—", "–", "-", "…", "...",
          ".", ",", ",,", "!", "?", ";", ":", "/", "and/or", "'", "don't", "’", "“x”", "\"", "&quot;", "&amp;", "&lt;",
          "&gt;", "&amp;lt;", "&apos;", "&", "<skipped>", "<b>", "</b>", "<", ">", "(", ")", "[x]", "{", "}", "~", "|",
          "^", "_", "`", "@", "@-@", "#", "$5", "5%", "€18.10", "*", "+", "=", "\\", "x.y", "a,b", "u.s.a.", "e.g.,",
          "١٢٣", "٣.٥", "１．５", "①", "½", "\u2028", "\u200b", "\u00ad", "%", "٫", "«", "»", "¿", "¡", "·", "x", "y"]
BLANKS = [" "] * 40 + ["", "", "  ", "\t", "\u00a0", "\u3000", "\u2009", "\u0085", "\x1c", "\x1f", "\x0b", "\r", "\n",
                       "-\n", "\u202f", "\u205f", "\ufeff"]


def escape(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def split_hyphens(text):
    """As perl -ple 's{(\\S)-(\\S)}{$1 ##AT##-##AT## $2}g' and then multi-bleu.perl's split, which look at bytes and know
    ASCII's blanks. sacreBLEU knows more blanks: so that it finds the same words, each goes as hexadecimal digits."""
    split = re.sub(rb"(\S)-(\S)", rb"\1 ##AT##-##AT## \2", text.encode())
    return " ".join(word.hex() for word in split.split())


def sentence(rng, words):
    return "".join(rng.choice(PIECES) + rng.choice(BLANKS) for _ in range(words))


def disturb(rng, text):
    words = text.split(" ")
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(words))
        words[at:at + 1] = rng.choice([[], [rng.choice(PIECES)], [words[at], rng.choice(PIECES)]])
        words = words or [""]
    return " ".join(words)


def random_case(rng):
    pairs = []
    for _ in range(rng.choice([1, 1, 2, 3, 5, 8])):
        ref = sentence(rng, rng.choice([0, 1, 2, 3, 4, 5, 8, 13, 20]))
        hyp = rng.choice([disturb(rng, ref), disturb(rng, ref), ref, sentence(rng, rng.randrange(12)), ""])
        pairs.append((hyp, ref))
    return pairs


FIXED = {
    "plain": [("the cat sat on the mat .", "the cat is on the mat.")],
    "equal": [("Es gibt 1,000.50 Gründe, nicht wahr?", "Es gibt 1,000.50 Gründe, nicht wahr?")],
    "both_empty": [("", "")],
    "hypothesis_empty": [("", "a reference of five words")],
    "reference_empty": [("a hypothesis", "")],
    "nothing_shared": [("aa bb cc dd ee", "ff gg hh ii jj")],
    "short": [("one two", "one two")],
    "no_4gram_match": [("a b c x d e f", "a b c y d e f")],
    "brevity": [("a b c d e", "a b c d e f g h i j")],
    "clipped": [("the the the the the the the", "the cat is on the mat")],
    "entities": [("&quot;A&quot; &amp; B &lt;c&gt; &amp;lt;", '"A" & B <c> <')],
    "skipped": [("<skipped> a b c d", "a b c d <skipped>")],
    "dashes": [("10-20 well-known 7- -7 3-4-5", "10 - 20 well-known 7 - - 7 3 -4-5")],
    "periods": [("U.S. 1.5 .5 5. 1,2,3 a,b .,., ...", "U.S . 1.5 . 5 5 . 1,2,3 a , b . , . , . . .")],
    "unicode_digits": [("٣.٥ １．５ ٣,٥", "٣ . ٥ １．５ ٣ , ٥")],
    "compounds": [("a-b-c well-known - x- -y a--b \t-z --", "a - b-c well - known - x- -y a - -b -z --")],
    "blanks_of_unicode": [("ein\u00a0Wort \u3000 x\u2009- zwei\u0085 drei", "ein Wort x - zwei drei \u3000")],
    "line_break": [("a trans-\nlated line\nof text-\n", "a translated line of text-")],
}


def main():
    seed, count = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (1, 200)
    rng = random.Random(seed)
    cases = dict(FIXED)
    cases.update((f"random_{i}", random_case(rng)) for i in range(count))
    print(f"# made by make_cases.py with sacrebleu {sacrebleu.__version__}, seed {seed}")
    for name, pairs in cases.items():
        hyps, refs = [p[0] for p in pairs], [p[1] for p in pairs]
        print(f"case\t{name}")
        for hyp, ref in pairs:
            print(f"pair\t{escape(hyp)}\t{escape(ref)}")
        none = BLEU(tokenize="none", smooth_method="none")
        for label, metric, change in (("13a", BLEU(), str), ("none", none, str), ("hyphens", none, split_hyphens)):
            s = metric.corpus_score([change(hyp) for hyp in hyps], [[change(ref) for ref in refs]])
            numbers = [s.score, *s.precisions, s.bp, s.sys_len, s.ref_len, *s.counts, *s.totals]
            print("\t".join([label] + [repr(x) for x in numbers]))
        print("chrf\t" + repr(CHRF().corpus_score(hyps, [refs]).score))


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    main()
