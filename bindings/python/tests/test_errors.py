"""Each error that can be provoked is its exception, with status, code and sentence; and using closed objects.

SPDX-License-Identifier: Apache-2.0
"""
import copy
import ctypes
import errno
import gc
import os
import pickle
import unittest

from support import World, WorldTest, xformer
from xformer import _abi, errors



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

    def test_an_unknown_status_and_pickling(self):
        error = errors.make(-12345, 7, "something new")
        self.assertEqual((type(error), error.status, error.native_code), (xformer.XformerError, -12345, 7))
        for status, kind in errors.BY_STATUS.items():
            error = pickle.loads(pickle.dumps(errors.make(status, 3, "a sentence")))
            found = (type(error), error.status, error.native_code, str(error))
            self.assertEqual(found, (kind, status, 3, "a sentence"))


class Closed(WorldTest):
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
