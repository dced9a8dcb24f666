"""Text to tokenizer to model to training to file to translation to scores, and what each object gives.

SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import gc
import math
import pathlib
import threading
import unittest
from array import array

from support import OPTIONS, PAIRS, World, WorldTest, xformer
from xformer.experimental import all_gather, gradient, loopback

try:
    import numpy
except ImportError:
    numpy = None

SOURCES, TARGETS = [s for s, _ in PAIRS], [t for _, t in PAIRS]


class Journey(WorldTest):
    def test_changed_options_and_the_moving_average(self):
        w = self.world
        trainer = xformer.Trainer(w.model, {**OPTIONS, "train.ema": 0.5})
        trainer.next(w.batcher)
        before = trainer.copy_average().read(0)[3, 2]
        self.assertNotEqual(before, w.model.read(0)[3, 2])
        trainer.save(self.path("run.ckpt"), w.batcher)
        other = {"train.learning_rate": 0.5, "train.accumulate": 2}
        resumed = xformer.Trainer.resume(w.context, self.path("run.ckpt"), other)
        self.assertEqual((resumed.config["train.learning_rate"], resumed.copy_average().read(0)[3, 2]), (0.5, before))
        with self.assertRaisesRegex(xformer.StateError, "train.seed"):
            xformer.Trainer.resume(w.context, self.path("run.ckpt"), {"train.seed": 77})
        self.assertRaises(xformer.StateError, w.trainer.copy_average)

    def test_bytes_files_and_metadata(self):
        w = self.world
        w.model.metadata["license"] = "CC0"
        w.model.metadata["languages"] = "en-de \N{SNOWMAN}"
        self.assertEqual(dict(w.model.metadata), {"license": "CC0", "languages": "en-de \N{SNOWMAN}"})
        data = w.model.to_bytes()
        w.model.save(self.path("model.xf"))
        with open(self.path("model.xf"), "rb") as file:
            self.assertEqual(file.read(), data)
            models = [xformer.Model.load(w.context, source) for source in (data, memoryview(data), file)]
        for model in models + [w.model.copy()]:
            self.assertEqual(model.read(1).tolist(), w.model.read(1).tolist())
            self.assertEqual(dict(model.metadata), dict(w.model.metadata))
        del w.model.metadata["license"]
        self.assertEqual(list(w.model.metadata), ["languages"])
        self.assertRaises(KeyError, lambda: w.model.metadata["license"])
        self.assertEqual(models[0].metadata["license"], "CC0")
        data[len(data) // 2] ^= 1
        self.assertRaises(xformer.CorruptError, xformer.Model.load, w.context, data)
        summary = xformer.Model.inspect(w.context, self.path("model.xf"))
        self.assertEqual(summary.parameters, sum(t.size for t in w.model.tensors))
        self.assertEqual((summary.vocab_size, summary.weights, summary.step), (len(w.tokenizer), "fp32", -1))
        self.assertTrue(summary.has_tokenizer and summary.train_bytes > summary.decode_bytes > 0)

    def test_beam_scores_and_evaluation_agree(self):
        w = self.world
        for _ in w.trainer.train(w.batcher, 100):
            pass
        decoder = xformer.Decoder(w.model, {**OPTIONS, "decode.beam": 5, "decode.n_best": 3, "decode.alpha": 0.6})
        translated = decoder.translate(SOURCES + [""])
        self.assertEqual(translated.pop(), [xformer.Hypothesis("", (), (0.0,), 0.0, 0.0, True, True)])
        for found in translated:
            self.assertEqual(len(found), 3)
            self.assertEqual([h.score for h in found], sorted((h.score for h in found), reverse=True))
            for h in found:
                self.assertAlmostEqual(h.score, h.log_probability / ((5 + len(h.ids) + h.finished) / 6) ** 0.6, 5)
                self.assertEqual(h.text, w.tokenizer.decode(h.ids))
        ended = [(s, found[0]) for s, found in zip(SOURCES, translated) if found[0].finished]
        batch = xformer.Batch.from_ids(
            [w.model.encode(s) for s, _ in ended], [h.ids + (w.tokenizer.info.end_token,) for _, h in ended]
        )
        for score, (_, h) in zip(decoder.score(batch), ended):
            self.assertAlmostEqual(score, h.log_probability, 4)
        texts = decoder.score_texts([s for s, _ in ended], [h.text for _, h in ended])
        for score, (_, h) in zip(texts, ended):
            self.assertLessEqual(score, 0)
        pairs = xformer.Corpus.from_ids(w.context, batch)
        stats = decoder.evaluate(xformer.Batcher(pairs, None, OPTIONS))
        self.assertEqual(stats.sentences, len(ended))
        self.assertAlmostEqual(stats.nll, -sum(decoder.score(batch)) / stats.tgt_tokens, 9)
        self.assertAlmostEqual(stats.perplexity, math.exp(stats.nll), 9)

    def test_one_call(self):
        w = self.world
        for _ in w.trainer.train(w.batcher, 20):
            pass
        expected = [found[0].text for found in w.decoder.translate(SOURCES)]
        self.assertEqual(xformer.translate(w.model, SOURCES, w.config), expected)
        w.model.save(self.path("model.xf"))
        self.assertEqual(xformer.translate(self.path("model.xf"), iter(SOURCES), OPTIONS), expected)
        greedy = {**OPTIONS, "decode.beam": 1}
        expected = [found[0].text for found in xformer.Decoder(w.model, greedy).translate(SOURCES)]
        self.assertEqual(xformer.translate(w.model, SOURCES, greedy), expected)
        self.assertEqual(xformer.translate(w.model, []), [])
        self.assertRaises(TypeError, xformer.translate, w.model, "one two")
        self.assertRaises(xformer.NotFoundError, xformer.translate, self.path("none"), SOURCES)

    def test_two_halves_are_a_step(self):
        w, other = self.world, World()
        self.addCleanup(other.close)
        batches = [batch for batch in (w.batcher.next() for _ in range(4)) if batch is not None][:3]
        whole = other.trainer.step(batches)
        for batch in batches:
            self.assertEqual(w.trainer.accumulate(batch).sentences, len(batch))
        name = w.model.tensors[1].name
        by_name, by_index = gradient(w.trainer, name), gradient(w.trainer, 1)
        self.assertEqual(by_name.tolist(), by_index.tolist())
        self.assertTrue(any(x for row in by_name.tolist() for x in row))
        self.assertEqual(w.trainer.update(), whole)
        self.assertRaises(xformer.StateError, w.trainer.update)


class Parts(WorldTest):
    def test_config(self):
        config = xformer.Config({"model.d_model": 64, "train.dropout": "1e-1", "data.strict": True}, preset="tiny")
        self.assertEqual(config["model.d_model"], 64)
        self.assertEqual(config.text("model.d_model"), "64")
        self.assertEqual(config["train.dropout"], 0.1)
        self.assertIs(config["data.strict"], True)
        self.assertEqual(config["context.device"], "auto")
        self.assertEqual(config.get("no.such", 5), 5)
        self.assertNotIn("no.such", config)
        self.assertEqual(set(config), set(xformer.options()))
        copy = config.copy()
        self.assertEqual(dict(copy), dict(config))
        copy["data.strict"] = False
        copy.update({"model.norm": "pre"})
        self.assertIs(config["data.strict"], True)
        self.assertEqual(eval(repr(copy), vars(xformer)), copy)
        for value, error in ((1.5, TypeError), (True, TypeError), (None, TypeError), (1 << 70, OverflowError)):
            with self.assertRaises(error):
                config["model.d_model"] = value
        with self.assertRaises(TypeError):
            config["model.norm"] = 3
        row = xformer.options()["model.norm"]
        self.assertEqual((row.type, row.default), (xformer.OptionType.TEXT, "post"))
        self.assertEqual(row.choices, ("post", "pre", "post_rms", "pre_rms"))
        for key, row in xformer.options().items():
            kind = {1: int, 2: float, 3: bool, 4: str}[row.type]
            self.assertIs(type(config[key]), kind, key)
            config[key] = config[key]

    def test_corpus(self):
        w = self.world
        self.assertEqual(list(w.corpus), PAIRS)
        self.assertEqual(w.corpus[-1], PAIRS[-1])
        self.assertRaises(IndexError, lambda: w.corpus[len(PAIRS)])
        files = {"pairs": "a\tb\nbad\nä\tß\n", "source": "a\nb\n", "target": "c\nd\n", "short": "c\n"}
        for name, text in files.items():
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
        opened = xformer.Corpus.open(w.context, pathlib.Path(self.path("pairs")))
        self.assertEqual(list(opened), [("a", "b"), ("ä", "ß")])
        self.assertEqual((opened.stats.lines, opened.stats.kept, opened.stats.bad_columns), (3, 2, 1))
        two = [self.path("source"), self.path("target")]
        self.assertEqual(list(xformer.Corpus.open(w.context, *two)), [("a", "c"), ("b", "d")])
        two[1] = self.path("short")
        self.assertRaises(xformer.DataError, xformer.Corpus.open, w.context, *two)
        with self.assertRaises(xformer.DataError):
            xformer.Corpus.open(w.context, self.path("pairs"), config={"data.strict": True})
        strange = [("a\tb", "c\nd"), ("e\r", "f")]
        self.assertEqual(list(xformer.Corpus.from_pairs(w.context, strange)), strange)
        self.assertEqual(list(w.corpus.subset([3, 0])), [PAIRS[3], PAIRS[0]])
        self.assertRaises(xformer.OutOfRangeError, w.corpus.subset, [len(PAIRS)])
        rest, held_out = w.corpus.split(4, seed=2)
        self.assertEqual((len(held_out), sorted([*rest, *held_out])), (4, sorted(PAIRS)))
        ids = xformer.Corpus.from_ids(w.context, xformer.Batch.from_ids([[5, 1], [6, 1]], [[7, 1], [8, 1]]))
        self.assertEqual(xformer.Batcher(ids, None, OPTIONS).stats.pairs, 2)
        self.assertRaises(xformer.StateError, lambda: ids[0])

    def test_tokenizer(self):
        w = self.world
        w.tokenizer.save(self.path("words.json"))
        loaded = xformer.Tokenizer.load(w.context, self.path("words.json"))
        for tokenizer in (w.tokenizer, loaded, w.model.tokenizer):
            self.assertEqual(len(tokenizer), w.model.config["model.vocab_size"])
            for text in ("one two", "", "Zürich 東京 🙂", "a\0b", "ﷺ" * 50):
                ids = tokenizer.encode(text)
                self.assertEqual(ids, tokenizer.encode(text.encode()))
                if "ﷺ" not in text:  # which normalization makes longer
                    self.assertEqual(tokenizer.decode(ids), text)
                self.assertEqual(tokenizer.decode(array("i", ids)), tokenizer.decode(tuple(ids)))
            self.assertEqual(tokenizer.info, ("bpe", len(tokenizer), 0, 1))
            self.assertEqual((tokenizer.piece(0), tokenizer.piece(1)), ("<s>", "</s>"))
            self.assertEqual(tokenizer.source.encode("one"), tokenizer.target.encode("one"))
        self.assertEqual(w.model.encode(" one "), [*w.tokenizer.encode("one"), 1])
        self.assertEqual(w.model.encode("one", "target"), w.model.encode("one"))
        self.assertRaisesRegex(ValueError, "side is 'left'; expected", w.model.encode, "one", "left")
        self.assertRaises(OverflowError, w.tokenizer.piece, 1 << 40)

    def test_batcher(self):
        w = self.world
        first, second = list(w.batcher), list(w.batcher)
        for epoch in (first, second):
            self.assertEqual(sorted(i for batch in epoch for i in batch.pair_index), list(range(len(PAIRS))))
        self.assertEqual(w.batcher.stats.epoch, 2)
        w.batcher.seek(0, 1)
        again = w.batcher.next()
        for name in ("src_ids", "src_offsets", "tgt_ids", "tgt_offsets", "pair_index"):
            self.assertEqual(getattr(again, name), getattr(first[1], name))
        text = w.tokenizer.decode(again.src_ids[: again.src_offsets[1]])
        self.assertEqual(text, PAIRS[again.pair_index[0]][0])
        self.assertRaises(OverflowError, w.batcher.seek, 1 << 70)

    def test_context(self):
        w = self.world
        info = w.context.info
        self.assertIn("cpu", info.description)
        self.assertEqual((info.device.split(":")[0], info.threads, info.precision), ("cpu", 1, "fp32"))
        self.assertGreater(w.context.memory.peak, 0)
        self.assertEqual((info.rank, info.rank_count, all_gather(w.context, -7)), (0, 1, (-7,)))
        names = [b.name for b in w.context.backends]
        self.assertIn("ref", names)
        states = [b.state for b in w.context.backends]
        self.assertEqual(states.count(xformer.BackendState.ACTIVE), 1)


    def test_ranks(self):
        comms, found = loopback(2), {}

        def rank(index):
            with xformer.Context(OPTIONS, comm=comms[index]) as context:
                found[index] = (context.info.rank, context.info.rank_count, all_gather(context, 10 + index))

        threads = [threading.Thread(target=rank, args=(index,)) for index in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, {0: (0, 2, (10, 11)), 1: (1, 2, (10, 11))})
        self.assertRaises(xformer.StateError, xformer.Context, OPTIONS, comm=comms[0])
        self.assertRaises(xformer.OutOfRangeError, loopback, 0)
        loopback(3)  # closed without a context

    def test_option(self):
        self.assertEqual(xformer.option("decode.beam"), xformer.options()["decode.beam"])
        self.assertRaisesRegex(xformer.NotFoundError, "decode.beam", xformer.option, "decode.bean")


class Buffers(WorldTest):
    def test_batches_from_buffers(self):
        w = self.world
        ids, offsets = array("i", [260, 5, 1, 6, 1]), array("q", [0, 3, 5])
        expected = w.decoder.score(xformer.Batch(ids, offsets, ids, offsets))
        others = [
            (list(ids), list(offsets)),
            (tuple(ids), memoryview(offsets).toreadonly()),
            (array("q", ids), array("h", offsets)),
            ((ctypes.c_int32 * 5)(*ids), (ctypes.c_int64 * 3)(*offsets)),
            (memoryview(array("i", [x for i in ids for x in (i, 0)]))[::2], offsets),
        ]
        if numpy is not None:
            others.append((numpy.array(ids, numpy.int32), numpy.array(offsets, numpy.int64)))
        for i, o in others:
            batch = xformer.Batch(i, o, i, o)
            self.assertEqual(batch.src_ids.tolist(), list(ids))
            self.assertEqual(batch.tgt_offsets.tolist(), list(offsets))
            self.assertEqual(w.decoder.score(batch), expected)

    def test_no_copy_and_no_dangling_pointer(self):
        ids, offsets = array("i", [2, 3, 1]), array("q", [0, 3])
        batch = xformer.Batch(ids, offsets)
        ids[0] = 7
        self.assertEqual(batch.src_ids[0], 7)
        self.assertRaises(BufferError, ids.append, 1)  # a batch points to it
        offsets[1] = 300
        self.assertRaises(ValueError, self.world.decoder.decode, batch)

        def thrown_away():
            for _ in range(20):
                gc.collect()
                yield xformer.Batch.from_ids([[2, 3, 1]] * 9, [[4, 1]] * 9)

        self.assertEqual(self.world.trainer.step(thrown_away()).sentences, 180)

    def test_wrong_batches(self):
        for args in (
            ([1], [0]),
            ([1], [1, 1]),
            ([1], []),
            ([1], [0, 2]),
            ([1], [0, 1], [1]),
            ([1], [0, 1], [1, 1], [0, 1, 2]),
            ([1], [0, 1], [1], [0, 1], [0, 1]),
        ):
            self.assertRaises(ValueError, xformer.Batch, *args)
        self.assertRaises(TypeError, xformer.Batch, [1.5], [0, 1])
        self.assertRaises(OverflowError, xformer.Batch, [1 << 40], [0, 1])
        falling = xformer.Batch([1, 1], [0, 5, 2])
        self.assertRaises(xformer.InvalidArgumentError, self.world.decoder.decode, falling)
        self.assertRaises(xformer.XformerError, self.world.trainer.step, [])
        self.assertRaises(xformer.XformerError, self.world.trainer.step, xformer.Batch([1], [0, 1]))
        empty = xformer.Batch.from_ids([])
        self.assertEqual((len(empty), self.world.decoder.decode(empty)), (0, []))

    def test_parameters(self):
        model = self.world.model
        info = model.tensors[0]
        values = model.read(0)
        self.assertEqual(values.shape, info.shape)
        self.assertEqual(model.read(info.name).tolist(), values.tolist())
        vector = next(tensor for tensor in model.tensors if len(tensor.shape) == 1)
        self.assertEqual(len(list(model.read(vector.name))), vector.size)
        room = array("f", bytes(values.nbytes))
        self.assertEqual(model.read(0, out=room).tolist(), values.tolist())
        self.assertEqual(room[info.shape[1]], values[1, 0])
        room[0] = 0.5
        model.write(info.name, room)
        self.assertEqual(model.read(0)[0, 0], 0.5)
        model.write(0, values)
        model.write(0, values.tolist())
        model.write(0, array("d", room))
        if numpy is not None:
            matrix = numpy.asarray(values)
            self.assertEqual((matrix.dtype, matrix.shape), (numpy.float32, values.shape))
            model.write(0, matrix.T.copy().T)
            self.assertEqual(model.read(0).tolist(), values.tolist())
            model.write(0, matrix.astype(numpy.float64))
            filled = numpy.zeros(values.shape, numpy.float32)
            model.read(0, out=filled)
            self.assertTrue((filled == matrix).all())
        self.assertRaises(TypeError, model.read, 0, out=bytes(values.nbytes))
        self.assertRaises(TypeError, model.read, 0, out=array("d", room))
        self.assertRaises(xformer.InvalidArgumentError, model.read, 0, out=array("f", [0]))
        self.assertRaises(xformer.InvalidArgumentError, model.write, 0, [1.0])
        self.assertRaises(xformer.XformerError, model.write, 0, [math.nan] * len(room))
        self.assertRaises(IndexError, model.read, -1)
        self.assertRaises(KeyError, model.read, "no.such")


if __name__ == "__main__":
    unittest.main()
