"""Constraints of the search, and attention weights: what the callback is told, what it may answer and raise, shapes.

SPDX-License-Identifier: Apache-2.0
"""
import math
import signal
import sys
import time
import unittest

from support import WorldTest, xformer

try:
    import numpy
except ImportError:
    numpy = None


class Constraints(WorldTest):
    TEXTS = ["one two", "", "three"]

    def spell(self, asked):
        """The text of each sentence is as many letters a as its number and one more."""
        letter = 2 + ord("a")
        self.assertEqual(asked.ids, (letter,) * len(asked.ids))
        self.assertEqual(asked.vocab_size, len(self.world.tokenizer))
        self.assertGreaterEqual(asked.remaining, 1)
        self.seen.add(asked.sentence)
        return letter if len(asked.ids) <= asked.sentence else xformer.TOKEN_END

    def test_ids_and_masks(self):
        decoder, self.seen = self.world.decoder, set()
        free = decoder.translate(self.TEXTS)
        size = (len(self.world.tokenizer) + 7) // 8
        answers = [
            lambda asked: [self.spell(asked)],
            lambda asked: {self.spell(asked), xformer.TOKEN_START},  # which is never chosen
            lambda asked: (1 << self.spell(asked)).to_bytes(size, "little"),
            lambda asked: bytearray((1 << self.spell(asked)).to_bytes(size + 5, "little")),
        ]
        if numpy is not None:

            def packed(asked):
                allowed = numpy.zeros(asked.vocab_size, bool)
                allowed[self.spell(asked)] = True
                return numpy.packbits(allowed, bitorder="little").tobytes()

            answers.append(packed)
        for constraint in answers:
            self.seen.clear()
            found = decoder.translate(self.TEXTS, constraint=constraint)
            self.assertEqual([h[0].text for h in found], ["a", "", "aaa"])
            self.assertTrue(all(h[0].finished and math.isfinite(h[0].score) for h in found))
            self.assertEqual(self.seen, {0, 2})  # an empty text is not asked about
        self.assertEqual(decoder.translate(self.TEXTS, constraint=lambda asked: None), free)
        nothing = decoder.translate(["one"], constraint=lambda asked: [])[0][0]
        self.assertEqual((nothing.finished, nothing.log_probability), (False, -math.inf))
        self.assertEqual(decoder.translate(self.TEXTS), free)

    def test_small_integers(self):
        """Of NumPy, whose own arithmetic has as many bits."""
        if numpy is None:
            self.skipTest("numpy is not installed")
        decoder = self.world.decoder
        for kind in (numpy.int16, numpy.uint16, numpy.int64):
            for id in (15, 17, 40):
                answers = decoder.translate(
                    ["one"], constraint=lambda asked: [kind(id if not asked.ids else xformer.TOKEN_END)]
                )
                self.assertEqual(answers[0][0].ids, (id,), kind)
        with self.assertRaises(TypeError):
            decoder.translate(["one"], constraint=lambda asked: [3.0])

    def test_a_signal(self):
        """What a signal's handler raises ends the call, also when Python runs it on the way into the constraint."""

        class Alarm(Exception):
            pass

        def raising(number, frame):
            while frame is not None:
                if frame.f_code.co_name == "__del__":  # Python drops what is raised in there: ring again
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
                        for answer in decoder.translate(["one two"] * 64, constraint=lambda asked: [letter]):
                            self.assertLessEqual(set(answer[0].ids), {letter})
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

        def refuse(asked):
            raise Enough from cause

        for constraint, kind in (
            (refuse, Enough),
            (lambda asked: [len(self.world.tokenizer)], ValueError),
            (lambda asked: [-1], ValueError),
            (lambda asked: b"\xff", ValueError),
            (lambda asked: 5, TypeError),
            (lambda asked: decoder.translate(["one"]), xformer.BusyError),
        ):
            for function, given in ((decoder.decode, batch), (decoder.translate, ["one"])):
                with self.assertRaises(kind) as caught:
                    function(given, constraint=constraint)
                if kind is Enough:
                    self.assertIs(caught.exception.__cause__, cause)
        self.assertEqual(len(decoder.decode(batch)), 1)

    def test_a_given_beginning(self):
        """Forced decoding, by a constraint or by a prefix, gives the score of the target."""
        w = self.world
        target = w.tokenizer.encode("vier zwei", end=True)
        answer = w.decoder.translate(["four two"], constraint=lambda asked: [target[len(asked.ids)]])[0][0]
        self.assertEqual(answer.text, "vier zwei")
        batch = xformer.Batch.from_texts(w.tokenizer, ["four two"], ["vier zwei"])
        self.assertAlmostEqual(w.decoder.score(batch)[0], answer.log_probability, 4)
        self.assertAlmostEqual(sum(answer.token_log_probabilities), answer.log_probability, 4)

        begun = w.decoder.translate(["four two", "one"], prefixes=["vier zwei", None])
        self.assertTrue(begun[0][0].text.startswith("vier zwei"))
        self.assertEqual(begun[1], w.decoder.translate(["one"])[0])
        self.assertEqual(begun[0][0].token_log_probabilities[:2], answer.token_log_probabilities[:2])
        ids = w.decoder.decode(xformer.Batch.from_texts(w.tokenizer, ["four two"]), prefixes=[target[:-1]])
        self.assertEqual(ids[0], begun[0])
        self.assertRaises(ValueError, w.decoder.translate, ["one"], prefixes=["a", "b"])

    def test_options_of_a_call(self):
        w = self.world
        for _ in w.trainer.train(w.batcher, 100):  # so that answers end by themselves
            pass
        one = w.decoder.translate(["one two"])
        three = w.decoder.translate(["one two"], {"decode.n_best": 3})
        self.assertEqual(([len(a) for a in three], three[0][0]), ([3], one[0][0]))
        long = w.decoder.translate(["one two"], {"decode.min_tokens": 5})
        self.assertGreaterEqual(len(long[0][0].ids), 5)
        self.assertEqual(w.decoder.translate(["one two"]), one)


class Attention(WorldTest):
    def test_weights(self):
        w = self.world
        pair = xformer.Batch.from_ids([[5, 6, 1]], [[9, 8, 7, 1]])
        shapes = {"ENCODER": (2, 3, 3), "DECODER": (2, 4, 4), "CROSS": (2, 4, 3)}
        for kind in xformer.AttentionKind:
            weights = w.decoder.attention_weights(pair, kind, 0)
            self.assertEqual((weights.shape, weights.format), (shapes[kind.name], "f"))
            for head in weights.tolist():
                for query, row in enumerate(head):
                    self.assertAlmostEqual(sum(row), 1, 5)
                    if kind == xformer.AttentionKind.DECODER:
                        self.assertEqual(row[query + 1 :], [0] * (3 - query))
            self.assertRaises(xformer.OutOfRangeError, w.decoder.attention_weights, pair, kind, 1)
        if numpy is not None:
            self.assertEqual(numpy.asarray(weights).shape, (2, 4, 3))
        self.assertRaises(ValueError, w.decoder.attention_weights, pair, 3, 0)
        self.assertRaises(OverflowError, w.decoder.attention_weights, pair, 0, 1 << 40)
        two = xformer.Batch.from_ids([[5, 1], [6, 1]], [[5, 1], [6, 1]])
        for wrong in (two, xformer.Batch.from_ids([[5, 1]]), xformer.Batch.from_ids([], [])):
            self.assertRaises(xformer.InvalidArgumentError, w.decoder.attention_weights, wrong, 2, 0)


if __name__ == "__main__":
    unittest.main()
