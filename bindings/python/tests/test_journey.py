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
        self.assertEqual(translated.pop(), [xformer.Hypothesis("", (), (0.0,), 0.0, 0.0, True, True, (), ())])
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
