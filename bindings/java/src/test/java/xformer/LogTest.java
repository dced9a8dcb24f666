/* Log lines, and what listeners throw. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.Test;

public class LogTest extends WorldTest {
    private final byte[] oneBad = "a\tb\nbad\n".getBytes(StandardCharsets.UTF_8);
    private final byte[] twoBad = "a\tb\nbad\nworse\n".getBytes(StandardCharsets.UTF_8);

    private Corpus corpus(String name, byte[] text) {
        return Corpus.fromText(w.context, name, text, Map.of());
    }

    @Test
    public void linesArriveOnTheThreadOfTheCall() {
        List<String> lines = new ArrayList<>();
        w.context.setLog((level, component, line) -> {
            assertSame(LogLevel.WARNING, level);
            lines.add(Thread.currentThread().getName() + " " + component + " " + line);
        }, LogLevel.WARNING);
        corpus("some \ud83d\ude42 text", oneBad).close();
        int count = lines.size(); // the line itself, and a summary
        assertTrue(lines.get(0), lines.get(0).startsWith(Thread.currentThread().getName() + " data "));
        assertTrue(lines.get(0), lines.get(0).contains("some \ud83d\ude42 text"));

        w.context.setLog((level, component, line) -> lines.add(line), LogLevel.ERROR);
        corpus("x", oneBad).close();
        w.context.setLog(null, LogLevel.DEBUG);
        corpus("x", oneBad).close();
        assertEquals(count, lines.size());
    }

    @Test
    public void anExceptionIsThrownWhenTheCallIsOver() {
        List<String> lines = new ArrayList<>();
        RuntimeException own = new IllegalStateException("from the listener");
        w.context.setLog((level, component, line) -> {
            lines.add(line);
            throw own;
        }, LogLevel.WARNING);
        for (int i = 1; i <= 2000; ++i) {
            assertSame(own, assertThrows(IllegalStateException.class, () -> corpus("x", twoBad)));
            assertEquals(i, lines.size()); // the second line of each call is dropped
        }
        // When the call fails as well, its exception is not lost. An Error is kept like an exception.
        StackOverflowError error = new StackOverflowError();
        w.context.setLog((level, component, line) -> {
            throw error;
        }, LogLevel.WARNING);
        byte[] nothingGood = "bad\n".getBytes(StandardCharsets.UTF_8);
        assertSame(error, assertThrows(StackOverflowError.class, () -> corpus("x", nothingGood)));
        assertEquals(1, error.getSuppressed().length);
        assertEquals(DataException.class, error.getSuppressed()[0].getClass());

        w.context.setLog(null, LogLevel.DEBUG);
        assertEquals(1, corpus("x", oneBad).size()); // nothing is left behind
    }

    @Test
    public void aListenerMayUseOtherContextsAndCancel() {
        List<String> found = new ArrayList<>();
        try (World other = new World()) {
            w.context.setLog((level, component, line) -> {
                if (!found.isEmpty()) return;
                found.add(other.decoder.translate("one").text() == null ? "no text" : "text");
                World.refused(BusyException.class, () -> w.context.setLog(null, LogLevel.INFO));
                World.refused(NotFoundException.class, () -> Model.load(other.context, path("none")));
                w.context.close(); // takes effect after the call
                found.add(String.valueOf(w.context.isClosed()));
            }, LogLevel.WARNING);
            Corpus made = corpus("x", oneBad);
            assertEquals(List.of("text", "true"), found);
            assertEquals(1, made.size());
            made.close();
        }
        w.close();
        w = new World();
        w.context.setLog((level, component, line) -> w.context.cancel(), LogLevel.WARNING);
        World.refused(CancelledException.class, () -> corpus("x", "a\tb\nbad\n".repeat(100_000).getBytes()));
    }

    @Test
    public void aListenerOutlivesItsContext() {
        List<String> lines = new ArrayList<>();
        w.context.setLog((level, component, line) -> lines.add(line), LogLevel.DEBUG);
        w.context.close();
        System.gc();
        w.decoder.translate(World.SOURCES);
        w.trainer.step(w.batch());
        w.trainer.save(path("run.ckpt"));
    }
}
