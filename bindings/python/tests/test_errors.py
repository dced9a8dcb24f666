"""Each error that can be provoked is its exception, with status, code and sentence; and using closed objects.

SPDX-License-Identifier: Apache-2.0
"""
import copy
import ctypes
import errno
import gc
import json
import os
import pickle
import random
import unittest

from support import OPTIONS, World, WorldTest, xformer
from xformer import _abi, errors
from xformer._abi import abi


class Provoked(WorldTest):
    def refused(self, kind, function, *args, **named):
        with self.assertRaises(kind) as caught:
            function(*args, **named)
        error = caught.exception
        self.assertIs(type(error), kind)
        self.assertTrue(issubclass(kind, errors.BY_STATUS[error.status]))
        self.assertTrue(error.message)
        self.assertEqual(str(error), error.message)
        return error

    def test_wrong_arguments(self):
        w = self.world
        self.refused(xformer.InvalidArgumentError, xformer.Config, {"model.d_model": "wide"})
        self.refused(xformer.InvalidArgumentError, xformer.Decoder, w.model, {"decode.beam": 2, "decode.n_best": 3})
        self.refused(xformer.InvalidArgumentError, xformer.bleu, [], [])
        self.assertRaises(ValueError, xformer.Config, {"model.d_model": "wide"})
        self.assertRaises(ValueError, xformer.bleu, ["a"], [])
        self.assertRaises(ValueError, xformer.bleu, ["a"], ["a"], tokenize="other")
        self.assertRaises(ValueError, w.model.save, "a\0b")
        self.assertRaises(ValueError, xformer.Context, log=print, log_level=77)
        for kind in (xformer.Corpus, xformer.Tokenizer):
            self.assertRaises(TypeError, kind)

    def test_out_of_range(self):
        w = self.world
        self.refused(xformer.OutOfRangeError, xformer.Config, {"model.norm": "sideways"})
        error = self.refused(xformer.OutOfRangeError, xformer.Config, {"train.dropout": 2.0})
        self.assertIn("0.95", error.message)
        self.refused(xformer.OutOfRangeError, w.decoder.score, xformer.Batch.from_ids([[5000, 1]], [[2, 1]]))
        self.refused(xformer.OutOfRangeError, w.trainer.step, xformer.Batch.from_ids([[-1, 1]], [[2, 1]]))
        self.refused(xformer.OutOfRangeError, w.tokenizer.decode, [1 << 30])
        self.refused(xformer.OutOfRangeError, w.batcher.seek, 0, 1 << 40)
        self.assertEqual(w.trainer.steps, 0)

    def test_names_and_files(self):
        w = self.world
        error = self.refused(xformer.NotFoundError, xformer.Config, {"model.d_modle": 3})
        self.assertIn("model.d_model", error.message)
        self.assertRaises(LookupError, lambda: w.config["model.d_modle"])
        self.refused(xformer.NotFoundError, xformer.Config, preset="gigantic")
        self.refused(xformer.NotFoundError, xformer.Context, {"context.device": "cpu:none"})
        for load in (xformer.Model.load, xformer.Trainer.resume, xformer.Tokenizer.load, xformer.Corpus.open):
            error = self.refused(xformer.NoFileError, load, w.context, self.path("none"))
            self.assertEqual(error.native_code, errno.ENOENT)
            # A corpus may be a folder, of files.
            kind = xformer.DataError if load == xformer.Corpus.open else xformer.IoError
            error = self.refused(kind, load, w.context, self.folder)
        self.refused(xformer.NoFileError, w.model.save, self.path("no/folder"))

    def test_what_python_programs_catch(self):
        w = self.world
        missing = self.path("none")
        with self.assertRaises(FileNotFoundError) as caught:
            xformer.Model.load(w.context, missing)
        error = caught.exception
        self.assertIsInstance(error, xformer.NotFoundError)
        self.assertEqual((error.errno, error.strerror), (errno.ENOENT, os.strerror(errno.ENOENT)))
        self.assertIn(missing, str(error))
        for made in (lambda: xformer.Context({"context.device": "cpu:none"}), lambda: w.config["model.d_modle"]):
            with self.assertRaises(xformer.NotFoundError) as caught:
                made()
            self.assertNotIsInstance(caught.exception, OSError)
        with self.assertRaises(OSError) as caught:
            xformer.Model.load(w.context, self.folder)
        self.assertEqual((type(caught.exception), caught.exception.errno), (xformer.IoError, errno.EISDIR))

    def test_what_the_system_said(self):
        for status, code, kind, builtin in (
            (xformer.Status.NOT_FOUND, errno.ENOENT, xformer.NoFileError, FileNotFoundError),
            (xformer.Status.NOT_FOUND, 0, xformer.NotFoundError, LookupError),
            (xformer.Status.NOT_FOUND, errno.ENODEV, xformer.NotFoundError, LookupError),
            (xformer.Status.BACKEND, errno.ENOENT, xformer.BackendError, xformer.XformerError),
            (xformer.Status.IO, errno.EACCES, xformer.NoAccessError, PermissionError),
            (xformer.Status.IO, errno.EPERM, xformer.NoAccessError, PermissionError),
            (xformer.Status.IO, errno.ENOSPC, xformer.IoError, OSError),
            (xformer.Status.IO, 0, xformer.IoError, OSError),
        ):
            made = errors.make(status, code, "a sentence")
            for error in (made, pickle.loads(pickle.dumps(made)), copy.copy(made)):
                self.assertIs(type(error), kind)
                self.assertIsInstance(error, builtin)
                self.assertEqual(isinstance(error, OSError), issubclass(builtin, OSError))
                self.assertEqual((error.status, error.native_code, str(error)), (status, code, "a sentence"))
                if isinstance(error, OSError):
                    self.assertEqual(error.errno, code or None)
                    self.assertEqual(error.strerror, os.strerror(code) if code else "a sentence")

    def test_names_follow_the_statuses(self):
        for status, kind in errors.BY_STATUS.items():
            words = errors.Status(status).name.title().split("_")
            self.assertEqual(kind.__name__, "".join(words) + "Error")
            self.assertIs(getattr(xformer, kind.__name__), kind)

    def test_damaged_files(self):
        w = self.world
        w.model.save(self.path("model.xf"))
        self.refused(xformer.InvalidArgumentError, xformer.Trainer.resume, w.context, self.path("model.xf"))
        with open(self.path("model.xf"), "rb") as file:
            data = bytearray(file.read())
        data[len(data) // 2] ^= 1
        for name, content in (("flipped", data), ("cut", data[:-9]), ("other", b"not a model, but text" * 9)):
            with open(self.path(name), "wb") as file:
                file.write(content)
            self.refused(xformer.CorruptError, xformer.Model.load, w.context, self.path(name))
        self.refused(xformer.CorruptError, xformer.Tokenizer.load, w.context, self.path("other"))

    def test_budget(self):
        with xformer.Context({**OPTIONS, "context.memory_budget": 1 << 20}) as context:
            error = self.refused(xformer.NoMemoryError, xformer.Model, context, None, {"model.vocab_size": 9000})
            self.assertIsInstance(error, MemoryError)
            self.assertEqual(context.memory.budget, 1 << 20)
            with xformer.Model(context, None, {**OPTIONS, "model.vocab_size": 9}):  # the context remains usable
                pass

    def test_data(self):
        w = self.world
        self.refused(xformer.DataError, w.tokenizer.encode, b"\xff")
        self.refused(xformer.DataError, xformer.translate, w.model, ["one", b"\xff"])
        self.refused(xformer.DataError, xformer.Corpus.from_pairs, w.context, [])
        self.refused(xformer.DataError, w.decoder.score_texts, ["one", b"\xff"], ["eins", "zwei"])
        scores = w.decoder.score_texts(["one", b"\xff"], ["eins", "zwei"], on_error="nan")
        self.assertEqual([score != score for score in scores], [False, True])
        self.assertRaises(ValueError, w.decoder.score_texts, ["one"], [])
        self.assertRaises(ValueError, w.decoder.score_texts, [], [], on_error="skip")
        self.refused(xformer.DataError, w.tokenizer.encode, "\ud800")

    def test_limits_and_versions(self):
        w = self.world
        wide = {**OPTIONS, "model.vocab_size": 9, "model.d_model": 256, "model.max_length": 1 << 20}
        self.refused(xformer.LimitError, xformer.Model, w.context, None, wide)
        w.tokenizer.save(self.path("words.json"))
        with open(self.path("words.json"), encoding="utf-8") as file:
            words = json.load(file)
        words["version"] += 1
        with open(self.path("newer.json"), "w", encoding="utf-8") as file:
            json.dump(words, file)
        self.refused(xformer.VersionError, xformer.Tokenizer.load, w.context, self.path("newer.json"))

    def test_a_buffer_that_is_too_small(self):
        count, ids = ctypes.c_size_t(), (ctypes.c_int32 * 1)()
        given = (self.world.tokenizer._c, b"one two three", 13, ids, 1, ctypes.byref(count))
        self.refused(xformer.BufferTooSmallError, _abi.call, _abi.lib.xf_tokenizer_encode, *given)
        self.assertEqual(count.value, len(self.world.tokenizer.encode("one two three")))

    def test_a_callback_that_stops(self):
        params, found = abi.xf_decode_params(), ctypes.c_void_p()
        constraint = abi.xf_constraint(abi.xf_constraint_fn(lambda user, step: 17))
        params.constraint = ctypes.pointer(constraint)
        texts = (ctypes.c_char_p * 1)(b"one")
        given = (self.world.decoder._c, texts, None, 1, ctypes.byref(params), None, ctypes.byref(found))
        error = self.refused(xformer.CallbackError, _abi.call, _abi.lib.xf_translate, *given)
        self.assertIn("17", error.message)

    def test_one_bad_sentence(self):
        w = self.world
        good, bad, last = w.decoder.translate(["one two", b"\xff", "three"])
        self.assertEqual([good, last], w.decoder.translate(["one two", "three"]))
        self.assertEqual((len(bad), type(bad.error)), (0, xformer.DataError))
        self.assertTrue(bad.error.message)
        self.refused(xformer.DataError, lambda: bad[0])
        self.assertIsNone(good.error)
        found = w.decoder.decode(xformer.Batch.from_ids([[5, 1], [5000, 1], [2] * 70 + [1]]))
        self.assertIsNone(found[0].error)
        for hypotheses in found[1:]:
            self.assertIsInstance(hypotheses.error, xformer.OutOfRangeError)

    def test_a_deadline(self):
        w = self.world
        translated = w.decoder.translate(["one two"] * 3000, {"decode.batch_sentences": 1}, deadline=0.001)
        late = [found.error for found in translated if found.error is not None]
        self.assertTrue(late)
        self.assertEqual({type(error) for error in late}, {xformer.DeadlineError})
        for deadline in (None, 1e12, float("inf"), 60):
            self.assertTrue(w.decoder.translate(["one two"], deadline=deadline)[0][0].complete)
        batch = xformer.Batch.from_ids([[5, 6, 7, 1]] * 20000, [[5, 6, 7, 1]] * 20000)
        for deadline in (0.001, 0, -5):
            self.refused(xformer.DeadlineError, w.decoder.score, batch, deadline=deadline)
        self.assertRaisesRegex(TypeError, "deadline must be", w.decoder.score, batch, deadline="1")
        self.assertRaisesRegex(ValueError, "deadline", w.decoder.score, batch, deadline=float("nan"))

    def test_nonfinite(self):
        w = self.world
        model = xformer.Model(w.context, w.tokenizer, w.config)
        trainer = xformer.Trainer(model, {"train.schedule": "constant", "train.warmup_steps": 1})
        for index, info in enumerate(model.tensors):
            if len(info.shape) > 1:
                model.write(index, [3e38] * info.size)
        before = model.read(1).tolist()
        self.refused(xformer.NonfiniteError, trainer.step, w.batcher.next())
        self.assertEqual((model.read(1).tolist(), trainer.steps), (before, 0))

    def test_state(self):
        w = self.world
        self.refused(xformer.StateError, w.trainer.update)
        self.refused(xformer.StateError, w.batcher.resume, w.trainer)
        w.trainer.accumulate(w.batcher.next())
        self.refused(xformer.StateError, w.trainer.save, self.path("waiting"))

    def test_an_unknown_status_and_pickling(self):
        error = errors.make(-12345, 7, "something new")
        self.assertEqual((type(error), error.status, error.native_code), (xformer.XformerError, -12345, 7))
        for status, kind in errors.BY_STATUS.items():
            error = pickle.loads(pickle.dumps(errors.make(status, 3, "a sentence")))
            found = (type(error), error.status, error.native_code, str(error))
            self.assertEqual(found, (kind, status, 3, "a sentence"))


class Closed(WorldTest):
    def calls(self):
        """Something of each object."""
        w = self.world
        path = self.path("late")
        batch = xformer.Batch.from_ids([[2, 1]], [[3, 1]])
        return {
            "config": [lambda: w.config["model.d_model"], lambda: xformer.Context(w.config)],
            "context": [
                lambda: w.context.memory,
                lambda: w.context.info,
                w.context.cancel,
                lambda: xformer.Model.load(w.context, path),
            ],
            "corpus": [lambda: len(w.corpus), lambda: xformer.Batcher(w.corpus, w.tokenizer)],
            "tokenizer": [lambda: w.tokenizer.encode("x"), lambda: w.tokenizer.save(path)],
            "batcher": [w.batcher.next, lambda: list(w.batcher), lambda: w.batcher.stats],
            "model": [lambda: w.model.tensors, lambda: w.model.read(0), lambda: xformer.Decoder(w.model)],
            "trainer": [lambda: w.trainer.step(batch), lambda: w.trainer.steps, lambda: w.trainer.model],
            "decoder": [lambda: w.decoder.translate(["x"]), lambda: w.decoder.score(batch)],
        }

    def test_use_after_close(self):
        for name, functions in self.calls().items():
            thing = self.world.objects()[name]
            self.assertFalse(thing.closed)
            thing.close()
            thing.close()
            self.assertTrue(thing.closed)
            for function in functions:
                with self.assertRaisesRegex(xformer.ClosedError, "the .* is closed"):
                    function()
            with self.assertRaises(xformer.ClosedError):
                with thing:
                    pass
        self.assertEqual(repr(self.world.config), "<Config closed>")

    def test_a_borrowed_object_holds_its_owner(self):
        tokenizer, model = self.world.model.tokenizer, self.world.trainer.model
        self.world.model.close()
        self.world.trainer.close()
        self.assertTrue(tokenizer.encode("one"))
        self.assertTrue(model.tokenizer.encode("one"))
        model.close()
        self.assertRaises(xformer.ClosedError, lambda: model.tokenizer)

    def test_created_objects_remain_usable(self):
        w = self.world
        batch = w.batcher.next()
        for thing in (w.config, w.context, w.corpus, w.tokenizer, w.model):
            thing.close()
        w.trainer.step(batch)
        self.assertTrue(w.decoder.translate(["one two"]))
        self.assertIsNotNone(w.batcher.next())

    def test_any_order_of_closing(self):
        order = random.Random(1)
        for _ in range(30):
            things = list(World().objects().values())
            order.shuffle(things)
            while things:
                things.pop().close()
                for thing in things:
                    if isinstance(thing, xformer.Decoder):
                        self.assertTrue(thing.translate(["one two"]))
                    elif isinstance(thing, xformer.Trainer):
                        self.assertGreater(thing.step(xformer.Batch.from_ids([[2, 1]], [[3, 1]])).loss, 0)

    def test_parents_live_as_long_as_children(self):
        world = World()
        decoder = world.decoder
        del world
        gc.collect()
        self.assertTrue(decoder.translate(["one two"]))

    def test_constructors_that_fail(self):
        for kind, args in ((xformer.Config, ({"x": 1},)), (xformer.Context, ({"context.device": "cpu:none"},))):
            self.assertRaises(xformer.NotFoundError, kind, *args)
        self.assertRaises(TypeError, xformer.Model)
        self.assertRaises(TypeError, xformer.Model, None)

    def test_no_copies(self):
        for thing in self.world.objects().values():
            for function in (copy.copy, copy.deepcopy, pickle.dumps):
                if (thing, function) != (self.world.config, copy.copy):
                    self.assertRaises(TypeError, function, thing)


@unittest.skipUnless(hasattr(os, "geteuid") and os.geteuid(), "root may write everywhere")
class NotRoot(WorldTest):
    def test_a_folder_that_may_not_be_written(self):
        os.chmod(self.folder, 0o500)
        self.addCleanup(os.chmod, self.folder, 0o700)
        with self.assertRaises(PermissionError) as caught:
            self.world.model.save(self.path("model.xf"))
        self.assertIs(type(caught.exception), xformer.NoAccessError)
        self.assertEqual(caught.exception.native_code, errno.EACCES)


if __name__ == "__main__":
    unittest.main()
