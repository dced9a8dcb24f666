/* Log, progress, exceptions of listeners, and executors. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadPoolExecutor;
import org.junit.Test;

public class LogTest extends WorldTest {
    private static final String ONE_BAD = "a\tb\nbad\n";
    private static final String TWO_BAD = "a\tb\nbad\nworse\n";

    private static Context context(LogLevel level, LogListener listener) {
        return new Context(World.OPTIONS, new Host().log(level, listener));
    }

    private Corpus corpus(Context context, String text) {
        try {
            Files.writeString(path("some \u00e4 text"), text);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return Corpus.open(context, path("some \u00e4 text"));
    }

    @Test
    public void linesArriveOnTheThreadOfTheCall() {
        List<String> lines = new ArrayList<>();
        try (Context context = context(LogLevel.WARNING, (level, component, line) -> {
            assertSame(LogLevel.WARNING, level);
            lines.add(Thread.currentThread().getName() + " " + component + " " + line);
        })) {
            corpus(context, ONE_BAD).close();
            assertTrue(lines.get(0), lines.get(0).startsWith(Thread.currentThread().getName() + " data "));
            assertTrue(lines.get(0), lines.get(0).contains("some \u00e4 text"));
        }
        lines.clear();
        try (Context context = context(LogLevel.ERROR, (level, component, line) -> lines.add(line))) {
            corpus(context, ONE_BAD).close();
            assertEquals(List.of(), lines);
        }
        try (Context context = context(LogLevel.INFO, (level, component, line) -> lines.add(line))) {
            assertFalse("the creation of the context is logged", lines.isEmpty());
            assertEquals(1, corpus(context, ONE_BAD).size());
        }
    }

    @Test
    public void anExceptionIsThrownWhenTheCallIsOver() {
        List<String> lines = new ArrayList<>();
        Throwable[] own = {new IllegalStateException("from the listener")};
        try (Context context = context(LogLevel.WARNING, (level, component, line) -> {
            lines.add(line);
            if (own[0] instanceof RuntimeException error) throw error;
            if (own[0] instanceof Error error) throw error;
        })) {
            for (int i = 1; i <= 2000; ++i) {
                assertSame(own[0], assertThrows(IllegalStateException.class, () -> corpus(context, TWO_BAD)));
                assertEquals(i, lines.size()); // the second line of each call is dropped
            }
            // When the call fails as well, its exception is not lost. An Error is kept like an exception.
            own[0] = new StackOverflowError();
            assertSame(own[0], assertThrows(StackOverflowError.class, () -> corpus(context, "bad\n")));
            assertEquals(1, own[0].getSuppressed().length);
            assertEquals(Status.DATA, ((XformerException) own[0].getSuppressed()[0]).status());

            own[0] = null;
            assertEquals(1, corpus(context, ONE_BAD).size()); // nothing is kept
        }
    }

    @Test
    public void aListenerMayUseOtherContextsCancelAndClose() {
        List<String> found = new ArrayList<>();
        Context[] own = new Context[1];
        own[0] = context(LogLevel.WARNING, (level, component, line) -> {
            if (!found.isEmpty()) return;
            found.add(w.decoder.translate("one").text() == null ? "no text" : "text");
            World.refused(Status.NOT_FOUND, () -> Model.load(w.context, path("none")));
            own[0].close(); // takes effect after the call
            found.add(String.valueOf(own[0].isClosed()));
        });
        Corpus made = corpus(own[0], ONE_BAD);
        assertEquals(List.of("text", "true"), found);
        assertEquals(1, made.size());
        made.close();

        own[0] = context(LogLevel.WARNING, (level, component, line) -> own[0].cancel());
        World.refused(Status.CANCELLED, () -> corpus(own[0], "a\tb\nbad\n".repeat(100_000)));
        own[0].close();
    }

    @Test
    public void aListenerOutlivesItsContext() {
        List<String> lines = new ArrayList<>();
        try (World world = new World(new Host().log(LogLevel.DEBUG, (level, component, line) -> lines.add(line)))) {
            world.context.close();
            System.gc();
            lines.clear();
            world.decoder.translate(World.SOURCES);
            world.trainer.step(world.batch());
            world.trainer.save(path("run.ckpt"));
            assertFalse(lines.isEmpty());
        }
    }

    @Test
    public void workRunsOnTheExecutorWithTheSameBits() {
        Map<String, ?> two = World.options("context.threads", 2, "model.vocab_size", 300, "model.d_model", 64);
        Batch batch = Batch.fromIds(Collections.nCopies(400, new int[] {5, 6, 7, 8, 1}));
        ExecutorService pool = Executors.newFixedThreadPool(2);
        ExecutorService closed = Executors.newFixedThreadPool(2);
        closed.shutdown();
        List<List<Translation>> found = new ArrayList<>();
        for (Host host : List.of(new Host(), new Host().executor(pool), new Host().executor(closed))) {
            try (Context context = new Context(two, host);
                    Model model = new Model(context, two);
                    Decoder decoder = new Decoder(model, two)) {
                found.add(decoder.decode(batch));
            }
        }
        assertEquals(found.get(0), found.get(1));
        assertEquals(found.get(0), found.get(2));
        assertTrue(((ThreadPoolExecutor) pool).getTaskCount() > 0);
        pool.shutdown();
    }
}
