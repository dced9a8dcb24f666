"""The engine: waiting in threads and in asyncio, streams, cancellation, deadlines, and the end of the process.

SPDX-License-Identifier: Apache-2.0
"""
import asyncio
import gc
import os
import threading
import time
import unittest
import weakref

from support import OPTIONS, PAIRS, WorldTest, run_python, xformer

SOURCES = [s for s, _ in PAIRS]
LONG = {"decode.max_extra_tokens": 40, "decode.min_tokens": 40}


class EngineTest(WorldTest):
    def setUp(self):
        super().setUp()
        self.engine = self.open()
        self.expected = [found[0] for found in self.world.decoder.translate(SOURCES)]

    def open(self, **options):
        engine = xformer.Engine(self.world.model, {**OPTIONS, **{k.replace("__", "."): v for k, v in options.items()}})
        self.addCleanup(engine.close)
        return engine

    def idle(self, engine):
        end = time.monotonic() + 20
        while engine.info.waiting + engine.info.active and time.monotonic() < end:
            time.sleep(0.001)
        return engine.info


class Waiting(EngineTest):
    def test_events(self):
        wanted = dict(zip(map(self.engine.submit, SOURCES), self.expected))
        batch = xformer.Batch.from_texts(self.world.model, SOURCES[:1])
        wanted[self.engine.submit(list(batch.src_ids))] = self.expected[0]
        events = [self.engine.next() for _ in wanted]
        self.assertEqual({event.id: event.hypotheses[0] for event in events}, wanted)
        self.assertEqual({event.model_hash for event in events}, {self.engine.info.model_hash})
        self.assertIsNone(self.engine.next(0))
        self.assertIsNone(self.engine.next(timeout=0.03))
        prefixed = self.world.decoder.translate(["four one"], {"decode.beam": 2}, prefixes=["vier"])[0]
        self.assertEqual(self.engine.translate("four one", {"decode.beam": 2}, prefix="vier"), prefixed)
        self.assertEqual(self.engine.info.completed, len(wanted) + 1)

    def test_threads(self):
        """All threads wait at the same time, one of them in next()."""
        found, events = {}, []
        work = [threading.Thread(target=lambda s=s: found.update({s: self.engine.translate(s)[0]})) for s in SOURCES]
        work.append(threading.Thread(target=lambda: events.append(self.engine.next())))
        for thread in work:
            thread.start()
        self.engine.submit("two")
        for thread in work:
            thread.join(60)
        self.assertEqual([found[source] for source in SOURCES], self.expected)
        self.assertEqual(events[0].text, self.expected[SOURCES.index("two")].text)

    def test_streams_only_grow(self):
        self.engine.close()
        list(self.world.trainer.train(self.world.batcher, 60))
        copy = self.world.model.copy()
        engine = xformer.Engine(copy, {**OPTIONS, "decode.beam": 1, "decode.min_tokens": 6, "engine.thread": False})
        expected = xformer.Decoder(copy, {**OPTIONS, "decode.beam": 1, "decode.min_tokens": 6}).translate(SOURCES)

        async def collect(source):
            return [event async for event in engine.stream(source)]

        partial = 0
        for source, best in zip(SOURCES, expected):
            events = list(engine.stream(source))
            self.assertEqual([event.text for event in asyncio.run(collect(source))], [event.text for event in events])
            self.assertEqual([event.last for event in events], [False] * (len(events) - 1) + [True])
            for before, event in zip(events, events[1:]):
                self.assertTrue(event.text.startswith(before.text))
            self.assertEqual(events[-1].hypotheses, best)
            partial += len(events) - 1
        self.assertGreater(partial, len(SOURCES))

    def test_requests_that_fail(self):
        class Enough(Exception):
            pass

        def refuse(step):
            raise Enough

        letter = 2 + ord("a")

        def spell(step):
            return [[letter if len(partial.ids) < 3 else 1] for partial in step.partials]

        self.assertEqual(self.engine.translate("one", constraint=spell)[0].text, "aaa")
        self.assertRaises(Enough, self.engine.translate, "one", constraint=refuse)
        self.assertRaises(xformer.DataError, self.engine.translate, b"\xff")
        self.assertRaises(TypeError, self.engine.submit, 5)
        self.assertRaises(TypeError, self.engine.submit, "one", constraint=5)
        self.assertRaises(xformer.NotFoundError, self.engine.cancel, 99999)
        self.assertRaises(xformer.StateError, self.engine.step)
        slow = self.engine.translate("one", LONG, constraint=lambda step: time.sleep(0.1), deadline=1)
        self.assertFalse(slow[0].complete)
        self.assertEqual(self.engine.translate(SOURCES[0])[0], self.expected[0])

    def test_a_full_queue(self):
        engine = self.open(engine__max_requests=2, engine__thread=False)
        self.assertTrue(engine.cancel(engine.submit("one")))
        id = engine.submit("two", deadline=1e-9)
        time.sleep(0.005)
        self.assertRaises(xformer.BusyError, engine.submit, "three")
        while engine.step():
            pass
        self.assertFalse(engine.cancel(id))
        found = [type(engine.next(0).hypotheses.error) for _ in range(2)]
        self.assertEqual(found, [xformer.CancelledError, xformer.DeadlineError])
        # A stream that is not read to its end does not occupy the engine.
        for _ in range(5):
            next(engine.stream("one", LONG))
            gc.collect()
        self.assertEqual(engine.translate(SOURCES[0])[0], self.expected[0])

    def test_a_new_model(self):
        first = self.engine.info
        other = xformer.Model(self.world.context, self.world.tokenizer, {**OPTIONS, "model.seed": 77})
        self.engine.set_model(other)
        self.assertNotEqual(self.engine.info.model_hash, first.model_hash)
        expected = xformer.Decoder(other, OPTIONS).translate(["one two"])[0]
        self.assertEqual(self.engine.translate("one two"), expected)
        with xformer.Context(OPTIONS) as context:
            self.assertRaises(ValueError, self.engine.set_model, self.world.model.copy(context=context))

    def test_closing(self):
        reasons, engine = [], self.open(engine__thread=False)

        def wait():
            try:
                engine.next()
            except xformer.ClosedError as error:
                reasons.append(str(error))

        waiting = [threading.Thread(target=wait) for _ in range(3)]
        for thread in waiting:
            thread.start()
        engine.submit("one")
        stream = engine.stream("one")
        engine.close()
        for thread in waiting:
            thread.join(20)
        self.assertEqual(reasons, ["the engine is closed"] * 3)
        self.assertRaises(xformer.ClosedError, next, stream)
        self.assertRaises(xformer.ClosedError, engine.submit, "one")

    def test_a_cycle_is_collected_on_the_thread_of_the_engine(self):
        for _ in range(5):
            engine, gone = xformer.Engine(self.world.model, OPTIONS), threading.Event()
            collected = weakref.ref(engine, lambda _, gone=gone: gone.set())

            def constraint(step):
                time.sleep(0.01)  # the main thread continues
                gc.collect()

            engine.submit("one", LONG, constraint=constraint)
            gc.disable()
            engine.itself = engine
            del engine
            gc.enable()
            self.assertTrue(gone.wait(20))
            self.assertIsNone(collected())


class Tasks(EngineTest):
    def test_results_cancellation_and_closing(self):
        async def run():
            engine = self.engine
            found = await asyncio.gather(*map(engine.translate_async, SOURCES))
            self.assertEqual([each[0] for each in found], self.expected)
            with self.assertRaises(xformer.DataError):
                await engine.translate_async(b"\xff")
            before = engine.info.cancelled
            slow = {"constraint": lambda step: time.sleep(0.005)}
            for _ in range(5):
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(engine.translate_async("one", LONG, **slow), 0.01)
            engine.stream("one", LONG, **slow)  # collected
            gc.collect()
            self.assertEqual(self.idle(engine).cancelled, before + 6)
            self.assertEqual((await engine.translate_async(SOURCES[0]))[0], self.expected[0])
            self.assertEqual(self.idle(engine).events, 0)
            task = asyncio.ensure_future(engine.translate_async("one", LONG, **slow))
            await asyncio.sleep(0.01)
            engine.close()
            with self.assertRaises(xformer.ClosedError):
                await task

        asyncio.run(run())

    def test_without_a_descriptor(self):
        self.engine._descriptor = -1  # as on Windows
        self.test_results_cancellation_and_closing()


class Processes(unittest.TestCase):
    BEGIN = (
        "import asyncio, os, signal, threading, time, xformer\n"
        "from support import OPTIONS, World\n"
        "w = World()\n"
        "engine = xformer.Engine(w.model, OPTIONS)\n"
        "slow = {'decode.max_extra_tokens': 40, 'decode.min_tokens': 40}\n"
        "for i in range(8): engine.submit('one', slow, constraint=lambda step: time.sleep(0.001))\n"
    )

    def test_the_end_of_the_interpreter(self):
        for rest in (
            "import builtins; builtins.kept = engine",
            "threading.Thread(target=engine.stream('one').__next__).start()",
            "threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "try:\n    while True: engine.next()\nexcept KeyboardInterrupt: pass",
        ):
            done = run_python(self.BEGIN + rest)
            self.assertEqual((done.stdout, done.stderr, done.returncode), ("", "", 0), rest)

    @unittest.skipUnless(hasattr(os, "fork"), "no fork here")
    def test_a_forked_child(self):
        done = run_python(
            self.BEGIN + "threading.Thread(target=engine.next).start()\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    for call in (lambda: engine.submit('one'), engine.next, lambda: engine.translate('one')):\n"
            "        try:\n"
            "            call()\n"
            "            os._exit(1)\n"
            "        except xformer.ForkedError: pass\n"
            "    engine.close()\n"
            "    print(len(xformer.Engine(World().model, OPTIONS).translate('one')) > 0, flush=True)\n"
            "    raise SystemExit(7)\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        )
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("True\n7\n", "", 0))


if __name__ == "__main__":
    unittest.main()
