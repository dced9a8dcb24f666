"""Arguments of wrong types: the error names the argument or the option, and no internals of this package.

SPDX-License-Identifier: Apache-2.0
"""
import unittest
from array import array

from support import WorldTest, xformer
from xformer.experimental import all_gather, attention_weights


class Arguments(WorldTest):
    def refused(self, kind, sentence, function, *args, **named):
        with self.assertRaises(kind) as caught:
            function(*args, **named)
        self.assertIn(sentence, str(caught.exception))
        self.assertNotRegex(str(caught.exception), r"_c\b|attribute|ctypes")

    def test_objects(self):
        w, batch = self.world, xformer.Batch.from_ids([[2, 1]], [[3, 1]])
        for wrong in (None, "x", 5, [1]):
            be = " must be a %s, not " + type(wrong).__name__
            for make in (xformer.Decoder, xformer.Trainer):
                self.refused(TypeError, "model" + be % "Model", make, wrong)
            for function, *args in (
                (xformer.Model,),
                (xformer.Model.load, b""),
                (xformer.Model.inspect, b""),
                (xformer.Model.average, []),
                (xformer.Corpus.open, "x"),
                (xformer.Corpus.open, "x", "y"),
                (xformer.Corpus.from_pairs, []),
                (xformer.Corpus.from_ids, batch),
                (xformer.Tokenizer.train, w.corpus),
                (xformer.Tokenizer.load, "x"),
                (xformer.Trainer.resume, "x"),
            ):
                self.refused(TypeError, "context" + be % "Context", function, wrong, *args)
            self.refused(TypeError, "corpus" + be % "Corpus", xformer.Batcher, wrong, w.tokenizer)
            self.refused(TypeError, "corpus" + be % "Corpus", xformer.Tokenizer.train, w.context, wrong)
            self.refused(TypeError, "model" + be % "Model", xformer.Batch.from_texts, wrong, ["x"])
            self.refused(TypeError, "trainer" + be % "Trainer", w.batcher.resume, wrong)
            train = [w.trainer.next, w.decoder.evaluate, lambda batcher: next(w.trainer.train(batcher))]
            for function in train:
                self.refused(TypeError, "batcher" + be % "Batcher", function, wrong)
            for function in (w.decoder.score, w.trainer.accumulate):
                self.refused(TypeError, "batch" + be % "Batch", function, wrong)
            self.refused(TypeError, "pair" + be % "Batch", attention_weights, w.decoder, wrong, 1, 0)
            self.refused(TypeError, "decoder" + be % "Decoder", attention_weights, wrong, batch, 1, 0)
            self.refused(TypeError, "pairs" + be % "Batch", xformer.Corpus.from_ids, w.context, wrong)
            if wrong is not None:
                self.refused(TypeError, "context" + be % "Context", w.model.copy, wrong)
                self.refused(TypeError, "batcher" + be % "Batcher", w.trainer.save, self.path("x"), wrong)
                self.refused(TypeError, "tokenizer" + be % "Tokenizer", xformer.Model, w.context, wrong)
                self.refused(TypeError, "tokenizer" + be % "Tokenizer", xformer.Batcher, w.corpus, wrong)
        with xformer.Engine(w.model, w.config) as engine:
            for function in (xformer.Decoder, xformer.Engine, engine.set_model):
                self.refused(TypeError, "ensemble must be several models, not Model", function, w.model, ensemble=w.model)
                self.refused(TypeError, "ensemble[1] must be a Model", function, w.model, ensemble=[w.model, None])
                self.refused(TypeError, "draft must be a Model, not int", function, w.model, draft=5)
        self.refused(TypeError, "batches[1] must be a Batch, not int", w.trainer.step, [batch, 1])
        self.refused(TypeError, "batches must be a Batch or several, not int", w.trainer.step, 5)
        self.refused(TypeError, "sources[1] must be", xformer.Model.average, w.context, ["x", None])
        self.refused(TypeError, "sources must be several sources", xformer.Model.average, w.context, "x")
        self.refused(TypeError, "comm must be a Comm", xformer.Context, comm=5)
        for name in ("progress", "cancel"):
            self.refused(TypeError, name + " must be a ", w.decoder.translate, ["x"], **{name: 5})

    def test_texts(self):
        w = self.world
        for function in (w.decoder.translate, lambda texts: xformer.translate(w.model, texts)):
            for wrong in ("x", b"x", bytearray(b"x"), 5, None):
                self.refused(TypeError, "texts must be several texts", function, wrong)
            self.refused(TypeError, "texts[1] must be str or bytes, not int", function, ["x", 5])
        self.refused(TypeError, "prefixes must be several texts, not int", w.decoder.translate, ["x"], prefixes=5)
        self.refused(TypeError, "prefixes must be several texts", w.decoder.translate, ["x"], prefixes="x")
        self.refused(TypeError, "prefixes[0] must be", w.decoder.translate, ["x"], prefixes=[0])
        self.refused(ValueError, "2 prefixes for 1 texts", w.decoder.translate, ["x"], prefixes=["x", None])
        self.refused(TypeError, "constraint must be a function", w.decoder.translate, ["x"], constraint=5)
        self.refused(TypeError, "hypotheses must be several texts", xformer.bleu, "a b", "a b")
        self.refused(TypeError, "references must be several texts", xformer.chrf, ["a b"], "a b")
        self.refused(TypeError, "references[0] must be str", xformer.chrf, ["a b"], [5])
        self.refused(TypeError, "text must be str or bytes, not int", w.tokenizer.encode, 5)
        self.refused(TypeError, "targets[0] must be", xformer.Batch.from_texts, w.model, ["x"], [5])
        self.refused(TypeError, "sources must be several", xformer.Batch.from_texts, w.model, "x")
        pairs = xformer.Corpus.from_pairs
        self.refused(TypeError, "pairs must be", pairs, w.context, 5)
        self.refused(TypeError, "pairs[1] must be (source, target), not int", pairs, w.context, [("a", "b"), 5])
        self.refused(TypeError, "pairs[0] must be (source, target), not str", pairs, w.context, ["ab"])
        self.refused(ValueError, "pairs[0] must be (source, target), it has 3", pairs, w.context, [("a", "b", "c")])
        self.refused(TypeError, "pairs[0][1] must be str or bytes, not int", pairs, w.context, [("a", 5)])
        self.refused(TypeError, "key must be", w.model.metadata.__setitem__, 5, "x")
        self.refused(TypeError, "value must be", w.model.metadata.__setitem__, "x", 5)
        self.refused(ValueError, "value: ", w.model.metadata.__setitem__, "x", "\ud800")

    def test_ids(self):
        w = self.world
        source = w.model.encode("one two")
        expected = w.decoder.translate(["one two", "one two"])
        for sources in ([source] * 2, (tuple(source), array("q", source)), iter([source, array("i", source)])):
            self.assertEqual(w.decoder.decode(sources), expected)
        self.refused(TypeError, "batch must be sequences of ids, not int", w.decoder.decode, 5)
        self.refused(TypeError, "batch[0]: 'int' object is not iterable", w.decoder.decode, [2, 1])
        self.refused(TypeError, "batch[1]: ", w.decoder.decode, [[2, 1], "one"])
        self.refused(OverflowError, "batch[0]: ", w.decoder.decode, [[1 << 40, 1]])
        self.refused(TypeError, "prefixes must be sequences of ids", w.decoder.decode, [source], prefixes=5)
        self.refused(ValueError, "2 prefixes for 1 sentences", w.decoder.decode, [source], prefixes=[[2], [3]])
        self.refused(TypeError, "targets[0]: ", xformer.Batch.from_ids, [[2, 1]], [["x"]])
        for name, *args in (("src_ids", ["x"], [0, 1]), ("tgt_offsets", [1], [0, 1], [1], ["x"])):
            self.refused(TypeError, name + ": ", xformer.Batch, *args)
        self.refused(TypeError, "ids: ", w.tokenizer.decode, "one")
        self.refused(OverflowError, "ids: ", w.tokenizer.decode, [1 << 40])

    def test_numbers(self):
        w, huge = self.world, 10**30
        for name, function in (
            ("held_out", w.corpus.split),
            ("seed", lambda value: w.corpus.split(1, value)),
            ("epoch", w.batcher.seek),
            ("batch", lambda value: w.batcher.seek(0, value)),
            ("id", w.tokenizer.piece),
            ("index", lambda value: w.corpus[value]),
            ("tensor", w.model.read),
            ("value", lambda value: all_gather(w.context, value)),
            ("status", xformer.status_name),
            ("steps", lambda value: next(w.trainer.train(w.batcher, value))),
            ("layer", lambda value: attention_weights(w.decoder, xformer.Batch([1], [0, 1], [1], [0, 1]), 1, value)),
        ):
            self.refused(TypeError, name + " must be an int, not float", function, 2.5)
            self.refused(OverflowError, name + " does not fit in ", function, huge)
        self.refused(TypeError, "indices: ", w.corpus.subset, ["x"])
        self.refused(TypeError, "values: ", w.model.write, 0, "x")
        self.refused(TypeError, "out must be a buffer", w.model.read, 0, 5)

    def test_options(self):
        w = self.world
        for values, kind, sentence in (
            ({"decode.beam": 2.5}, TypeError, "decode.beam must be an int, not float"),
            ({"decode.beam": 10**30}, OverflowError, "decode.beam does not fit in 64 bits"),
            ({"decode.beam": None}, TypeError, "decode.beam must be an int, not NoneType"),
            ({"decode.beam": True}, TypeError, "decode.beam must be an int, not bool"),
            ({"decode.alpha": [1]}, TypeError, "decode.alpha must be a number, not list"),
            ({"decode.alpha": b"1"}, TypeError, "decode.alpha must be a number, not bytes"),
            ({"decode.alpha": 10**400}, OverflowError, "decode.alpha does not fit in a float"),
            ({"decode.alpha": True}, TypeError, "decode.alpha must be a number, not bool"),
            ({"model.norm": 3}, TypeError, "model.norm must be str, not int"),
            ({"model.norm": "a\0b"}, ValueError, "model.norm contains a NUL"),
            ({"model.norm": "\ud800"}, ValueError, "model.norm: "),
            ({5: 1}, TypeError, "the key of an option must be str"),
        ):
            self.refused(kind, sentence, xformer.Config, values)
        self.refused(TypeError, "values must be a mapping of options, not list", xformer.Config, [1])
        self.refused(TypeError, "preset must be str", xformer.Config, preset=5)
        self.assertEqual(xformer.Config({"decode.alpha": 1})["decode.alpha"], 1.0)
        for function in (
            lambda config: w.decoder.translate(["x"], config),
            lambda config: w.decoder.decode([[2, 1]], config),
            lambda config: xformer.Decoder(w.model, config),
            lambda config: xformer.Model.inspect(w.context, b"", config),
            xformer.Context,
        ):
            self.refused(TypeError, "config must be a Config, a mapping of options or None, not int", function, 5)
        self.refused(TypeError, "log must be a function or None, not int", xformer.Context, log=5)

class Surrogates(WorldTest):
    BAD = "one \ud800 two"  # what json.loads and os.fsdecode can give

    def test_one_text_does_not_fail_the_others(self):
        w = self.world
        good = w.decoder.translate(["one two", "three"])
        for bad in (self.BAD, "\udcff"):
            first, refused, last = w.decoder.translate(["one two", bad, "three"])
            self.assertEqual([first, last], good)
            self.assertIs(type(refused.error), xformer.DataError)
            self.assertIn("UTF-8", refused.error.message)
            self.assertRaises(xformer.DataError, lambda: refused[0])
        self.assertRaises(xformer.DataError, xformer.translate, w.model, ["one two", self.BAD])

    def test_pairs_are_skipped_and_counted(self):
        w = self.world
        corpus = xformer.Corpus.from_pairs(w.context, [("a", "b"), (self.BAD, "c"), ("d", self.BAD)])
        self.assertEqual((list(corpus), corpus.stats.invalid_utf8), ([("a", "b")], 2))

    def test_an_invalid_hypothesis_is_not_an_error(self):
        self.assertAlmostEqual(xformer.bleu([self.BAD], [self.BAD], tokenize="none").brevity_penalty, 1)
        self.assertLess(xformer.chrf([self.BAD], ["one two"]).score, 100)


if __name__ == "__main__":
    unittest.main()
