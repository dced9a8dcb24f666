/* The methods of each object. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.Test;

public class PartsTest extends WorldTest {
    @Test
    public void config() {
        Config config = Config.preset("tiny",
                Map.of("model.d_model", 64, "train.dropout", "1e-1", "data.strict", true));
        assertEquals(64L, config.get("model.d_model"));
        assertEquals(64, config.getLong("model.d_model"));
        assertEquals("64", config.getString("model.d_model"));
        assertEquals(0.1, config.getDouble("train.dropout"), 0);
        assertTrue(config.getBoolean("data.strict"));
        assertEquals("auto", config.get("context.device"));
        assertNull(config.get("no.such"));
        assertNull(config.get(3));
        assertFalse(config.containsKey("no.such"));
        assertEquals(config.keySet(), Config.options().keySet());
        assertThrows(UnsupportedOperationException.class, config::clear);

        Config copy = config.copy();
        assertEquals(config, copy);
        assertEquals(new HashMap<>(config), copy);
        assertEquals(true, copy.put("data.strict", false));
        assertTrue(config.getBoolean("data.strict"));
        assertNotEquals(config, copy);
        for (Map.Entry<String, Object> entry : copy.entrySet()) {
            if (entry.getKey().equals("model.norm")) assertEquals("post", entry.setValue("pre"));
        }
        assertEquals("pre", copy.get("model.norm"));
        copy.put("train.learning_rate", 2);
        copy.put("model.seed", (short) 7);
        copy.put("train.dropout", 0.5f);
        assertEquals(2, copy.getDouble("train.learning_rate"), 0);
        assertEquals(7L, copy.get("model.seed"));
        assertEquals(0.5, copy.get("train.dropout"));
        assertEquals(new Config(copy), copy);
        assertTrue(copy.toString().contains("model.norm=pre"));

        assertThrows(NullPointerException.class, () -> config.put("model.d_model", null));
        assertThrows(IllegalArgumentException.class, () -> config.put("model.d_model", List.of()));
        assertThrows(IllegalArgumentException.class, () -> config.put("model.norm", "po\0st"));
        for (Object value : new Object[] {1.5, true}) {
            World.refused(Status.INVALID_ARGUMENT, () -> config.put("model.d_model", value));
        }
        World.refused(Status.INVALID_ARGUMENT, () -> config.put("model.norm", 3));
        World.refused(Status.NOT_FOUND, () -> config.getLong("no.such"));

        OptionInfo row = Config.options().get("model.norm");
        assertEquals(List.of("post", "pre", "post_rms", "pre_rms"), row.choices());
        assertEquals(row, Config.option("model.norm"));
        XformerException error = World.refused(Status.NOT_FOUND, () -> Config.option("model.nrom"));
        assertTrue(error.getMessage(), error.getMessage().contains("model.norm"));
        assertEquals(List.of("post", OptionType.TEXT, "0.1"), List.of(row.defaultValue(), row.type(), row.since()));
        assertEquals(0.95, Config.options().get("train.dropout").maximum(), 0);
        Map<OptionType, Class<?>> kinds = Map.of(OptionType.INTEGER, Long.class, OptionType.REAL, Double.class,
                OptionType.BOOL, Boolean.class, OptionType.TEXT, String.class);
        for (OptionInfo info : Config.options().values()) {
            assertFalse(info.key(), info.doc().isEmpty());
            Object value = config.get(info.key());
            assertEquals(info.key(), kinds.get(info.type()), value.getClass());
            assertEquals(value, config.put(info.key(), value));
            assertEquals(value, config.get(info.key()));
        }
        config.close();
        assertEquals("{closed}", config.toString());
    }

    @Test
    public void modelsInMemory() throws IOException {
        w.model.metadata().put("license", "CC0 \ud83d\ude42");
        w.model.save(path("model.xf"));
        byte[] bytes = Sink.toBytes(w.model::save);
        assertArrayEquals(Files.readAllBytes(path("model.xf")), bytes);
        ByteBuffer direct = ByteBuffer.allocateDirect(bytes.length + 5).put(5, bytes).position(5);
        for (ByteBuffer from : List.of(ByteBuffer.wrap(bytes), direct, direct.asReadOnlyBuffer())) {
            try (Model loaded = Model.load(w.context, Source.of(from));
                    Model copy = loaded.copy(new Context(World.OPTIONS), Map.of(), new Call())) {
                assertArrayEquals(w.model.read(0), copy.read(0), 0);
                assertEquals(w.model.metadata(), copy.metadata());
                assertEquals(w.vocabSize(), copy.tokenizer().orElseThrow().info().vocabSize());
            }
            assertEquals(bytes.length, from.remaining());
        }
        assertThrows(IllegalArgumentException.class, () -> Sink.of(ByteBuffer.allocate(9)));
        assertThrows(IllegalArgumentException.class, () -> Sink.of(direct.asReadOnlyBuffer()));
        ModelSummary summary = Model.inspect(w.context, Source.of(path("model.xf")), Map.of());
        assertEquals(summary, Model.inspect(w.context, Source.of(bytes), Map.of()));
        assertEquals(w.model.tensors().stream().mapToLong(TensorInfo::size).sum(), summary.parameters());
        assertEquals(List.of((long) w.vocabSize(), (long) bytes.length, -1L, true, DataType.FP32), List.of(
                summary.vocabSize(), summary.fileBytes(), summary.step(), summary.hasTokenizer(), summary.weights()));
        assertTrue(summary.decodeBytes() > 4 * summary.parameters());
        assertTrue(summary.trainBytes() > 16 * summary.parameters());
        w.train(2);
        w.trainer.save(path("run.ckpt"));
        assertEquals(2, Model.inspect(w.context, Source.of(path("run.ckpt")), Map.of()).step());
    }

    @Test
    public void callbacksOfSourcesAndSinks() {
        byte[] bytes = Sink.toBytes(w.model::save);
        Source good = Source.of(bytes.length, (offset, dst) -> dst.put(bytes, (int) offset, dst.remaining()));
        Model.load(w.context, good).close();
        World.refused(Status.CORRUPT, () -> Model.load(w.context, Source.of(0, (offset, dst) -> {})));
        UncheckedIOException error = assertThrows(UncheckedIOException.class,
                () -> Model.load(w.context, Source.of(bytes.length, (offset, dst) -> {})));
        assertTrue(error.getMessage(), error.getMessage().contains("returned 0 bytes"));
        IOException own = new IOException("from the callback");
        error = assertThrows(UncheckedIOException.class,
                () -> Model.average(w.context, List.of(good, Source.of(bytes.length, (offset, dst) -> {
                    throw own;
                }))));
        assertSame(own, error.getCause());
        assertEquals(0, error.getSuppressed().length);
        error = assertThrows(UncheckedIOException.class, () -> w.model.save(Sink.of((offset, src) -> {
            throw own;
        })));
        assertSame(own, error.getCause());
        assertThrows(IllegalArgumentException.class, () -> Source.of(-1, (offset, dst) -> {}));
    }

    @Test
    public void metadata() {
        Metadata metadata = w.model.metadata();
        assertTrue(metadata.isEmpty());
        assertNull(metadata.put("b", "1"));
        metadata.putAll(Map.of("a", "2", "c", ""));
        assertEquals(Map.of("a", "2", "b", "1", "c", ""), metadata);
        assertEquals(List.of("a", "b", "c"), new ArrayList<>(metadata.keySet()));
        assertEquals("1", metadata.put("b", "3"));
        metadata.entrySet().iterator().next().setValue("4");
        assertEquals("4", metadata.get("a"));
        assertEquals("3", metadata.remove("b"));
        assertNull(metadata.remove("b"));
        assertNull(metadata.get(7));
        assertFalse(metadata.containsKey("b"));
        World.refused(Status.INVALID_ARGUMENT, () -> metadata.put("", "x"));
        metadata.put("c", "\u00e4".repeat(1000));
        assertEquals(2000, metadata.get("c").getBytes(StandardCharsets.UTF_8).length);
        metadata.put("c", "");
        assertEquals("", metadata.remove("c"));
        assertEquals(Map.of("a", "4"), w.model.metadata());
        metadata.clear();
        assertTrue(w.trainer.model().metadata().isEmpty());
    }

    @Test
    public void textsOfAllPlanes() {
        w.tokenizer.save(path("words.json"));
        try (Tokenizer loaded = Tokenizer.load(w.context, path("words.json"))) {
            for (Tokenizer tokenizer : List.of(w.tokenizer, loaded, w.model.tokenizer().orElseThrow())) {
                for (String text : List.of("one two", "", "Z\u00fcrich \u6771\u4eac \ud83d\ude42\ud83c\udfff", "a\0b\0",
                        "\0")) {
                    int[] ids = tokenizer.encode(text);
                    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
                    assertArrayEquals(ids, tokenizer.encode(utf8));
                    assertEquals(text, tokenizer.decode(ids));
                    assertArrayEquals(utf8, tokenizer.decodeBytes(ids));
                    assertEquals(text, tokenizer.decode(java.nio.IntBuffer.wrap(ids)));
                }
                // Normalization makes this longer than the estimated capacity.
                assertTrue(tokenizer.encode("\ufdfa".repeat(50)).length > 150 + 16);
                assertEquals("</s>", tokenizer.piece(World.END));
                assertEquals("<s>", tokenizer.piece(World.START));
            }
        }
        try (Config config = w.model.config()) {
            assertEquals(w.vocabSize(), config.getLong("model.vocab_size"));
        }
        // Texts that differ in "modified" UTF-8.
        String strange = "\0\ud83d\ude42\u0800";
        try (Corpus corpus = Corpus.fromPairs(w.context, List.of(new Pair("\ud83d\ude42", "\u0800")))) {
            assertEquals(new Pair("\ud83d\ude42", "\u0800"), corpus.get(0));
        }
        assertEquals(strange, w.tokenizer.decode(w.tokenizer.encode(strange)));
        assertEquals(1, w.decoder.translate(List.of(strange)).size());
    }

    @Test
    public void bytesThatAreNoText() {
        byte[] bytes = {(byte) 0xff, 'a', (byte) 0xc0, 0, (byte) 0xed, (byte) 0xa0, (byte) 0x80};
        World.refused(Status.DATA, () -> w.tokenizer.encode(bytes));
        try (Tokenizer any = Tokenizer.train(w.context, w.corpus, World.options("tokenizer.normalization", "none"))) {
            assertArrayEquals(bytes, any.decodeBytes(any.encode(bytes)));
        }
        for (String half : List.of("a\ud800", "\udc00\ud800", "\ud83d\ud83d\ude42")) {
            XformerException error = World.refused(Status.DATA, () -> w.tokenizer.encode(half));
            assertTrue(error.getMessage(), error.getMessage().contains("UTF-8"));
            assertThrows(IllegalArgumentException.class, () -> w.config.put("model.norm", half));
        }
    }

    @Test
    public void library() throws Exception {
        int number = Xformer.versionNumber();
        assertEquals((number >> 16) + "." + (number >> 8 & 0xFF) + "." + (number & 0xFF), Xformer.version());
        assertFalse(Xformer.buildInfo().isEmpty());
        for (Status status : Status.values()) {
            String expected = switch (status) {
                case OK, DONE -> "XF_" + status;
                case UNKNOWN -> "XF_STATUS_UNKNOWN";
                default -> "XF_ERROR_" + status;
            };
            assertEquals(expected, Xformer.statusName(status.code()));
        }
        assertEquals(Status.UNKNOWN, Status.of(-12345));
        Map<String, Enum<?>[]> enums = Map.of("XF_LOG_", LogLevel.values(), "XF_TYPE_", DataType.values(), "XF_SIDE_",
                Side.values(), "XF_BACKEND_", BackendState.values(), "XF_OPTION_", OptionType.values(), "XF_STEP_",
                StepStats.Outcome.values(), "XF_ATTENTION_", Experimental.AttentionKind.values());
        for (Map.Entry<String, Enum<?>[]> entry : enums.entrySet()) {
            for (Enum<?> constant : entry.getValue()) {
                assertEquals(constant.ordinal() + 1,
                        Abi.class.getDeclaredField(entry.getKey() + constant.name()).getInt(null));
            }
        }
    }

    /** A file name that is not valid in any locale can be opened. */
    @Test
    public void namesInBytes() throws Exception {
        w.model.save(path("model.xf"));
        Files.createDirectory(path("strange"));
        Process copy = new ProcessBuilder("sh", "-c", "cp \"$1\" \"$2/$(printf 'm\\303\\244\\377%%25 x')\"", "sh",
                path("model.xf").toString(), path("strange").toString()).inheritIO().start();
        assertEquals(0, copy.waitFor());
        try (Stream<Path> files = Files.list(path("strange"))) {
            Model.load(w.context, files.findFirst().orElseThrow()).close();
        }
        Path relative = Path.of("").toAbsolutePath().relativize(path("model.xf"));
        Model.load(w.context, relative).close();
    }
}
