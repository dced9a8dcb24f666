/* Memory stays constant while many objects are created, closed, and forgotten. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.Test;

public class LeakTest extends WorldTest {
    private record Loop(int count, Runnable body) {}

    /** Anonymous resident memory. The Java heap has a fixed size in this test. */
    private static long resident() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("RssAnon:")) return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
        }
        throw new IOException("no RssAnon");
    }

    private void refusals() {
        World.refused(Status.NOT_FOUND, () -> Model.load(w.context, Path.of("/none")));
        World.refused(Status.DATA, () -> w.tokenizer.encode(new byte[] {(byte) 0xff}));
        World.refused(Status.NOT_FOUND, () -> new Config(Map.of("none", 1)));
        assertNotNull(w.decoder.decode(Batch.fromIds(List.of(new int[] {5000, 1}))).get(0).error());
    }

    private void logged() {
        Host host = new Host().log(LogLevel.WARNING, (level, component, line) -> {
            throw new IllegalStateException();
        });
        try (Context context = new Context(World.OPTIONS, host)) {
            assertThrows(IllegalStateException.class,
                    () -> Corpus.fromPairs(context, List.of(new Pair("a", "b"), new Pair("", "b"))));
        }
    }

    /** A world that is not closed. Its listener refers to it. */
    private static Handle forgottenWorld() {
        World[] self = new World[1];
        World world = self[0] = new World(new Host().log(LogLevel.DEBUG, (level, component, line) -> {
            if (self[0] != null) self[0].objects();
        }));
        world.trainer.step(world.batch());
        world.decoder.translate(World.SOURCES);
        return world.context.handle;
    }

    private static void closedWorld() {
        try (World world = new World()) {
            world.trainer.step(world.batch());
            world.decoder.translate(World.SOURCES);
            world.model.read(0);
        }
    }

    @Test
    public void noLeak() throws IOException {
        Batch batch = Batch.fromTexts(w.model, World.SOURCES, World.SOURCES);
        Batch pair = Batch.fromTexts(w.model, World.SOURCES.subList(0, 1), World.TARGETS.subList(0, 1));
        IntBuffer ids = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder()).asIntBuffer().put(0, 5).put(1, 1);
        Map<String, Loop> loops = new LinkedHashMap<>();
        loops.put("closed world", new Loop(100, LeakTest::closedWorld));
        loops.put("forgotten world", new Loop(25, () -> ClosingTest.await(forgottenWorld())));
        loops.put("threads", new Loop(100, () -> new Context(Map.of("context.threads", 2)).close()));
        loops.put("refusals", new Loop(2000, this::refusals));
        loops.put("logged", new Loop(400, this::logged));
        loops.put("config", new Loop(2000, () -> {
            try (Config config = new Config(Map.of("model.d_model", 64)); Config copy = config.copy()) {
                copy.put("model.norm", "pre");
            }
        }));
        loops.put("borrowed", new Loop(2000, () -> {
            w.model.config().close();
            w.model.tokenizer().orElseThrow().encode("one");
        }));
        loops.put("decoder", new Loop(400, () -> new Decoder(w.model, w.config).close()));
        loops.put("translations", new Loop(300, () -> w.decoder.translate(World.SOURCES)));
        loops.put("constrained", new Loop(200, () -> {
            DecodeParams params = new DecodeParams().options(Map.of("decode.beam", 2));
            w.decoder.translate(World.SOURCES, params.constraint((all, size) -> all.get(0).allowed().clear(5)));
            params.constraint((all, size) -> {
                throw new IllegalStateException();
            });
            assertThrows(IllegalStateException.class, () -> w.decoder.translate(World.SOURCES, params));
        }));
        loops.put("served", new Loop(100, () -> {
            try (Engine engine = new Engine(w.model, w.config)) {
                engine.submit(new EngineRequest("one").constraint((all, size) -> all.get(0).allowed().clear(5))).join();
                engine.submit(new EngineRequest("two"));
            }
        }));
        loops.put("attention", new Loop(400,
                () -> Experimental.attentionWeights(w.decoder, pair, Experimental.AttentionKind.CROSS, 0)));
        loops.put("scores", new Loop(400, () -> w.decoder.score(batch)));
        loops.put("steps", new Loop(300, () -> w.trainer.step(w.batch())));
        loops.put("direct", new Loop(2000, () -> w.decoder.decode(new Batch(ids, LongBuffer.wrap(new long[] {0, 2})))));
        loops.put("bytes", new Loop(200,
                () -> Model.load(w.context, Source.of(Sink.toBytes(w.model::save))).close()));
        loops.put("calls", new Loop(2000, () -> {
            CancelToken token = new CancelToken();
            token.cancel();
            World.refused(Status.CANCELLED, () -> w.decoder.score(pair, new Call().cancel(token)));
        }));
        loops.put("pairs", new Loop(500, () -> {
            try (Corpus corpus = Corpus.fromPairs(w.context, World.PAIRS)) {
                Corpus.Split split = corpus.split(3, 1);
                split.rest().close();
                split.heldOut().close();
            }
        }));
        loops.put("tensors", new Loop(3000, () -> w.model.write(0, w.model.read(0))));
        for (Map.Entry<String, Loop> loop : loops.entrySet()) {
            // A leak grows in every round. The compiler of the JVM allocates its memory in some of them.
            long least = Long.MAX_VALUE;
            for (int round = 0; round < 8 && least > 1 << 18; ++round) {
                long before = resident();
                for (int i = 0; i < loop.getValue().count(); ++i) loop.getValue().body().run();
                least = Math.min(least, resident() - before);
            }
            assertTrue(loop.getKey() + " grew by " + least + " bytes in each round", least <= 1 << 18);
        }
    }
}
