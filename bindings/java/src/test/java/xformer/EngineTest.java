/* The engine: futures, publishers, errors of requests, and closing. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.Test;

public class EngineTest extends WorldTest {
    private static final Map<String, ?> LONG = Map.of("decode.max_extra_tokens", 40, "decode.min_tokens", 40);
    private static final Experimental.Constraint SLOW = (partials, vocabSize) -> sleep(5);

    private static void sleep(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException error) {
            throw new AssertionError(error);
        }
    }

    private static <T> T get(Future<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    private static Throwable failure(Future<?> future) {
        return assertThrows(ExecutionException.class, () -> get(future)).getCause();
    }

    private static EngineRequest slow() {
        return new EngineRequest("one").options(LONG).constraint(SLOW);
    }

    /** Collects all results. */
    private static final class Collector implements Flow.Subscriber<EngineEvent> {
        final List<EngineEvent> events = new ArrayList<>();
        final CompletableFuture<List<EngineEvent>> all = new CompletableFuture<>();
        final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();

        @Override
        public void onSubscribe(Flow.Subscription given) {
            subscription.complete(given);
            given.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(EngineEvent event) {
            events.add(event);
        }

        @Override
        public void onError(Throwable error) {
            all.completeExceptionally(error);
        }

        @Override
        public void onComplete() {
            all.complete(events);
        }
    }

    private Collector collect(Engine engine, EngineRequest request) {
        Collector collector = new Collector();
        engine.stream(request).subscribe(collector);
        return collector;
    }

    @Test
    public void resultsAreThoseOfTheDecoder() throws Exception {
        List<Translation> expected = w.decoder.translate(World.SOURCES);
        try (Engine engine = new Engine(w.model, w.config)) {
            List<Future<EngineEvent>> found = new ArrayList<>();
            for (String source : World.SOURCES) found.add(engine.submit(new EngineRequest(source)));
            found.add(engine.submit(new EngineRequest(w.model.encode(Side.SOURCE, World.SOURCES.get(0)))));
            for (int i = 0; i < found.size(); ++i) {
                EngineEvent event = get(found.get(i));
                assertEquals(expected.get(i % expected.size()), event.translation());
                assertTrue(event.last());
                assertEquals(engine.info().modelHash(), event.modelHash());
            }
            DecodeParams params = new DecodeParams().options(Map.of("decode.beam", 2)).prefixes(List.of("vier"));
            EngineRequest prefixed = new EngineRequest("four one").options(Map.of("decode.beam", 2)).prefix("vier");
            assertEquals(w.decoder.translate(List.of("four one"), params).get(0),
                    get(engine.submit(prefixed)).translation());
            assertEquals(found.size() + 1, engine.info().completed());
            assertTrue(w.config.getBoolean("engine.thread"));

            try (Model other = new Model(w.context, w.tokenizer, World.options("model.seed", 77))) {
                engine.setModel(other);
                EngineEvent event = get(engine.submit(new EngineRequest("one two")));
                assertNotEquals(get(found.get(0)).modelHash(), event.modelHash());
                assertEquals(engine.info().modelHash(), event.modelHash());
                try (Decoder decoder = new Decoder(other, w.config)) {
                    assertEquals(decoder.translate(List.of("one two")).get(0), event.translation());
                }
            }
        }
    }

    @Test
    public void partialResultsOnlyGrow() throws Exception {
        w.train(60);
        Map<String, Object> greedy = World.options("decode.beam", 1, "decode.min_tokens", 6, "engine.thread", false);
        int partial = 0;
        try (Engine engine = new Engine(w.model, greedy); Decoder decoder = new Decoder(w.model, greedy)) {
            for (String source : World.SOURCES) {
                Collector collector = collect(engine, new EngineRequest(source));
                while (engine.step()) continue;
                List<EngineEvent> events = get(collector.all);
                for (int i = 1; i < events.size(); ++i) {
                    assertFalse(events.get(i - 1).last());
                    assertTrue(events.get(i).text().startsWith(events.get(i - 1).text()));
                }
                EngineEvent last = events.get(events.size() - 1);
                assertTrue(last.last());
                assertEquals(decoder.translate(List.of(source)).get(0), last.translation());
                partial += events.size() - 1;
            }
        }
        assertTrue(partial > World.SOURCES.size());
    }

    @Test
    public void errorsEndOnlyTheirRequest() throws Exception {
        Error own = new AssertionError("from the constraint");
        try (Engine engine = new Engine(w.model, w.config)) {
            CompletableFuture<?> refused = engine.submit(new EngineRequest("one").constraint((partials, size) -> {
                throw own;
            }));
            EngineRequest spell = new EngineRequest("one").constraint((partials, size) -> {
                for (Experimental.Partial partial : partials) {
                    partial.allowed().clear();
                    partial.allowed().set(partial.ids().length < 3 ? 2 + 'a' : World.END);
                }
            });
            Future<EngineEvent> spelled = engine.submit(spell);
            assertSame(own, failure(refused));
            assertEquals("aaa", get(spelled).text());
            XformerException data = (XformerException) failure(engine.submit(new EngineRequest("\ud800")));
            assertEquals(Status.DATA, data.status());
            EngineRequest slower =
                    new EngineRequest("one").options(LONG).constraint((partials, vocabSize) -> sleep(100));
            EngineEvent late = get(engine.submit(slower.deadline(Duration.ofSeconds(1))));
            assertFalse(late.translation().best().complete());
            World.refused(Status.STATE, engine::step);

            Collector streamed = collect(engine, slow());
            Future<EngineEvent> future = engine.submit(slow());
            get(streamed.subscription).cancel();
            assertTrue(future.cancel(false));
            w.context.cancel();
            CompletableFuture<EngineEvent> after = engine.submit(new EngineRequest("two"));
            assertEquals(w.decoder.translate("two"), get(after).translation().best());
            for (int i = 0; i < 1000 && engine.info().cancelled() < 2; ++i) sleep(1);
            assertEquals(2, engine.info().cancelled());
        }
    }

    @Test
    public void aFullQueue() throws Exception {
        Map<String, Object> options = World.options("engine.thread", false, "engine.max_requests", 1);
        try (Engine engine = new Engine(w.model, options)) {
            Future<EngineEvent> late = engine.submit(new EngineRequest("two").deadline(Duration.ofNanos(1)));
            World.refused(Status.BUSY, () -> engine.submit(new EngineRequest("one")));
            Collector refused = collect(engine, new EngineRequest("one"));
            assertEquals(Status.BUSY, ((XformerException) failure(refused.all)).status());
            sleep(5);
            assertFalse(engine.step());
            assertEquals(Status.DEADLINE, ((XformerException) failure(late)).status());
            engine.submit(new EngineRequest("one"));
        }
    }

    @Test
    public void closingEndsAllRequests() throws Exception {
        for (boolean thread : new boolean[] {true, false}) {
            Engine engine = new Engine(w.model, World.options("engine.thread", thread));
            CompletableFuture<EngineEvent> future = engine.submit(slow());
            Collector streamed = collect(engine, slow());
            engine.close();
            assertEquals("the engine is closed", failure(future).getMessage());
            assertEquals("the engine is closed", failure(streamed.all).getMessage());
            ClosingTest.await(engine.handle);
        }
        // From its own thread.
        Engine engine = new Engine(w.model, w.config);
        assertSame(IllegalStateException.class, failure(engine.submit(new EngineRequest("one").options(LONG)
                .constraint((partials, vocabSize) -> engine.close()))).getClass());
    }

    @Test
    public void aForgottenEngineIsFreedAfterItsRequests() throws Exception {
        CountDownLatch ended = new CountDownLatch(2);
        Handle handle = forgotten(ended);
        assertTrue(ended.await(60, TimeUnit.SECONDS));
        ClosingTest.await(handle);
    }

    private Handle forgotten(CountDownLatch ended) {
        Engine engine = new Engine(w.model, w.config);
        for (int i = 0; i < 2; ++i) engine.submit(slow()).thenRun(ended::countDown);
        System.gc();
        return engine.handle;
    }
}
