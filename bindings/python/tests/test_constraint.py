"""Constraints of the search, and attention weights: arguments, results, and exceptions of the callback, and shapes.

SPDX-License-Identifier: Apache-2.0
"""
import math
import signal
import sys
import time
import unittest

from support import WorldTest, xformer
from xformer.experimental import AttentionKind, ConstraintStep, Partial, attention_weights

try:
    import numpy
except ImportError:
    numpy = None


START, END = 0, 1  # of the tokenizer


def each(function):
    """A constraint that calls a function for each hypothesis."""
    return lambda step: [function(partial) for partial in step.partials]


class Constraints(WorldTest):
    TEXTS = ["one two", "", "three"]

    def spell(self, partial):
        """Sentence i becomes i + 1 letters a."""
        letter = 2 + ord("a")
        self.assertEqual(partial.ids, (letter,) * len(partial.ids))
        self.assertGreaterEqual(partial.remaining, 1)
        self.seen.add(partial.sentence)
        return letter if len(partial.ids) <= partial.sentence else END

    def test_ids_and_masks(self):
        decoder, self.seen = self.world.decoder, set()
        free = decoder.translate(self.TEXTS)
        size = (len(self.world.tokenizer) + 7) // 8
        constraints = [
            lambda partial: [self.spell(partial)],
            lambda partial: {self.spell(partial), START},  # which is never selected
            lambda partial: (1 << self.spell(partial)).to_bytes(size, "little"),
            lambda partial: bytearray((1 << self.spell(partial)).to_bytes(size + 5, "little")),
        ]
        if numpy is not None:

            def packed(partial):
                allowed = numpy.zeros(len(self.world.tokenizer), bool)
                allowed[self.spell(partial)] = True
                return numpy.packbits(allowed, bitorder="little").tobytes()

            constraints.append(packed)
        for constraint in map(each, constraints):
            self.seen.clear()
            found = decoder.translate(self.TEXTS, constraint=constraint)
            self.assertEqual([h[0].text for h in found], ["a", "", "aaa"])
            self.assertTrue(all(h[0].finished and math.isfinite(h[0].score) for h in found))
            self.assertEqual(self.seen, {0, 2})  # an empty text is not searched
        for everything in (lambda step: None, each(lambda partial: None)):
            self.assertEqual(decoder.translate(self.TEXTS, constraint=everything), free)
        nothing = decoder.translate(["one"], constraint=each(lambda partial: []))[0][0]
        self.assertEqual((nothing.finished, nothing.log_probability), (False, -math.inf))
        self.assertEqual(decoder.translate(self.TEXTS), free)

    def test_small_integers(self):
        """NumPy's small integers have arithmetic of as many bits."""
        if numpy is None:
            self.skipTest("numpy is not installed")
        decoder = self.world.decoder
        for kind in (numpy.int16, numpy.uint16, numpy.int64):
            for id in (15, 17, 40):
                constraint = each(lambda partial: [kind(id if not partial.ids else END)])
                found = decoder.translate(["one"], constraint=constraint)
                self.assertEqual(found[0][0].ids, (id,), kind)
        with self.assertRaises(TypeError):
            decoder.translate(["one"], constraint=each(lambda partial: [3.0]))

    def test_a_signal(self):
        """An exception of a signal handler stops the call, also if Python runs the handler before the constraint."""

        class Alarm(Exception):
            pass

        def raising(number, frame):
            while frame is not None:
                if frame.f_code.co_name == "__del__":  # Python ignores exceptions there: try again
                    signal.setitimer(signal.ITIMER_REAL, 0.001)
                    return
                frame = frame.f_back
            raise Alarm

        decoder, letter, hook = self.world.decoder, 2 + ord("a"), sys.unraisablehook
        handler = signal.signal(signal.SIGALRM, raising)
        try:
            for delay in range(1, 9):
                with self.assertRaises(Alarm):
                    signal.setitimer(signal.ITIMER_REAL, delay / 400)
                    end = time.monotonic() + 20
                    while time.monotonic() < end:
                        constraint = each(lambda partial: [letter])
                        for found in decoder.translate(["one two"] * 64, constraint=constraint):
                            self.assertLessEqual(set(found[0].ids), {letter})
                self.assertIs(sys.unraisablehook, hook)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
        self.assertEqual(len(decoder.translate(["one", "two"])), 2)

    def test_what_it_raises(self):
        class Enough(Exception):
            pass

        decoder, batch = self.world.decoder, xformer.Batch.from_ids([[5, 6, 1]])
        cause = KeyError("cause")

        def refuse(step):
            raise Enough from cause

        for constraint, kind in (
            (refuse, Enough),
            (each(lambda partial: [len(self.world.tokenizer)]), ValueError),
            (each(lambda partial: [-1]), ValueError),
            (each(lambda partial: b"\xff"), ValueError),
            (each(lambda partial: 5), TypeError),
            (lambda step: 5, TypeError),
            (lambda step: [], ValueError),
            (lambda step: decoder.translate(["one"]), xformer.BusyError),
        ):
            for function, given in ((decoder.decode, batch), (decoder.translate, ["one"])):
                with self.assertRaises(kind) as caught:
                    function(given, constraint=constraint)
                if kind is Enough:
                    self.assertIs(caught.exception.__cause__, cause)
        self.assertEqual(len(decoder.decode(batch)), 1)

if __name__ == "__main__":
    unittest.main()
