/* Errors and their exceptions. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static xformer.World.refused;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.Test;

public class ErrorsTest extends WorldTest {
    private static final int ENOENT = 2;

    @Test
    public void wrongArguments() {
        refused(Status.INVALID_ARGUMENT, () -> new Config(Map.of("model.d_model", "wide")));
        refused(Status.INVALID_ARGUMENT,
                () -> new Decoder(w.model, Map.of("decode.beam", 2, "decode.n_best", 3)));
        refused(Status.INVALID_ARGUMENT, () -> Metrics.bleu(List.of(), List.of()));
        assertThrows(IllegalArgumentException.class, () -> Metrics.bleu(List.of("a"), List.of()));
        assertThrows(IllegalArgumentException.class, () -> Metrics.chrf(List.of("a"), List.of()));
        assertThrows(NullPointerException.class, () -> new Context(null));
        assertThrows(NullPointerException.class, () -> new Model(null, Map.of()));
        assertThrows(NullPointerException.class, () -> new Model(w.context, null, w.config));
        assertThrows(NullPointerException.class, () -> w.decoder.translate((String) null));
        assertThrows(NullPointerException.class, () -> w.decoder.translate(Arrays.asList("a", null)));
        assertThrows(NullPointerException.class, () -> w.tokenizer.encode((byte[]) null));
        assertThrows(NullPointerException.class, () -> w.tokenizer.decode((int[]) null));
        assertThrows(NullPointerException.class, () -> w.model.write(0, (float[]) null));
        assertThrows(NullPointerException.class, () -> w.model.save((Sink) null));
        assertThrows(NullPointerException.class, () -> new Host().log(null, (level, component, line) -> {}));
        assertThrows(NullPointerException.class, () -> Source.of((byte[]) null));
        assertThrows(NullPointerException.class, () -> w.decoder.translate(List.of(), new DecodeParams(), null));
        assertThrows(IllegalArgumentException.class, () -> new Call().deadline(java.time.Duration.ZERO));
        refused(Status.OUT_OF_RANGE, () -> w.config.put("model.seed", Long.MAX_VALUE));
        assertThrows(IllegalArgumentException.class, () -> w.config.getLong("train.label_smoothing"));
    }

    @Test
    public void outOfRange() {
        refused(Status.OUT_OF_RANGE, () -> new Config(Map.of("model.norm", "sideways")));
        XformerException error = refused(Status.OUT_OF_RANGE, () -> w.config.put("train.dropout", 2.0));
        assertTrue(error.getMessage(), error.getMessage().contains("0.95"));
        Batch negative = Batch.fromIds(List.of(new int[] {-1, 1}), List.of(new int[] {2, 1}));
        refused(Status.OUT_OF_RANGE, () -> w.trainer.step(negative));
        refused(Status.OUT_OF_RANGE, () -> w.tokenizer.decode(1 << 30));
        refused(Status.OUT_OF_RANGE, () -> w.tokenizer.piece(-1));
        refused(Status.OUT_OF_RANGE, () -> w.batcher.seek(0, 1L << 40));
        assertEquals(0, w.trainer.steps());
    }

    @Test
    public void namesAndFiles() throws Exception {
        XformerException error =
                refused(Status.NOT_FOUND, () -> new Config(Map.of("model.d_modle", 3)));
        assertTrue(error.getMessage(), error.getMessage().contains("model.d_model"));
        refused(Status.NOT_FOUND, () -> Config.preset("gigantic"));
        refused(Status.NOT_FOUND, () -> new Context(Map.of("context.device", "cpu:none")));
        List<java.util.function.Consumer<java.nio.file.Path>> loads = List.of(p -> Model.load(w.context, p),
                p -> Trainer.resume(w.context, p), p -> Tokenizer.load(w.context, p), p -> Corpus.open(w.context, p));
        java.nio.file.Path empty = Files.createDirectory(path("empty"));
        for (var load : loads) {
            assertEquals(ENOENT, refused(Status.NOT_FOUND, () -> load.accept(path("none"))).nativeCode());
            // A corpus may be a folder, but this one has no files.
            boolean corpus = load == loads.get(loads.size() - 1);
            refused(corpus ? Status.DATA : Status.IO, () -> load.accept(empty));
        }
        refused(Status.NOT_FOUND, () -> w.model.save(path("no/folder")));
        try (FileSystem zip = FileSystems.newFileSystem(
                URI.create("jar:" + path("a.zip").toUri()), Map.of("create", "true"))) {
            assertThrows(IllegalArgumentException.class, () -> Model.load(w.context, zip.getPath("/model.xf")));
        }
    }

    @Test
    public void damagedFiles() throws Exception {
        w.model.save(path("model.xf"));
        refused(Status.INVALID_ARGUMENT, () -> Trainer.resume(w.context, path("model.xf")));
        byte[] good = Files.readAllBytes(path("model.xf"));
        byte[] flipped = good.clone();
        flipped[flipped.length / 2] ^= 1;
        Files.write(path("damaged"), flipped);
        refused(Status.CORRUPT, () -> Model.load(w.context, path("damaged")));
        for (int size : new int[] {0, 1, 8, 100, good.length / 2, good.length - 1}) {
            Files.write(path("damaged"), Arrays.copyOf(good, size));
            refused(Status.CORRUPT, () -> Model.load(w.context, path("damaged")));
            refused(Status.CORRUPT, () -> Trainer.resume(w.context, path("damaged")));
        }
        Files.writeString(path("other"), "not a model, but text".repeat(9));
        refused(Status.CORRUPT, () -> Model.load(w.context, path("other")));
        refused(Status.CORRUPT, () -> Tokenizer.load(w.context, path("other")));

        w.tokenizer.save(path("words.json"));
        String json = Files.readString(path("words.json"));
        String newer = json.replaceFirst("(\"version\"\\s*:\\s*)1", "$199");
        assertTrue(!newer.equals(json));
        Files.writeString(path("newer.json"), newer);
        refused(Status.VERSION, () -> Tokenizer.load(w.context, path("newer.json")));
    }

    @Test
    public void budgetLimitsAndDevices() {
        try (Context small = new Context(World.options("context.memory_budget", 1 << 20))) {
            refused(Status.NO_MEMORY, () -> new Model(small, Map.of("model.vocab_size", 9000)));
            assertEquals(1 << 20, small.memory().budget());
            new Model(small, World.options("model.vocab_size", 9)).close(); // the context remains usable
        }
        refused(Status.LIMIT,
                () -> new Model(w.context, World.options("model.vocab_size", 300, "model.d_model", 65536,
                        "model.max_length", 1048576)));
        refused(Status.UNSUPPORTED,
                () -> new Context(World.options("context.device", "cpu:ref", "context.precision", "bf16")));
    }

    @Test
    public void dataAndStates() {
        refused(Status.DATA, () -> w.tokenizer.encode(new byte[] {(byte) 0xff}));
        refused(Status.DATA, () -> Corpus.fromPairs(w.context, List.of()));
        refused(Status.STATE, w.trainer::update);
        refused(Status.STATE, () -> w.batcher.resume(w.trainer));
        w.trainer.accumulate(w.batch());
        refused(Status.STATE, () -> w.trainer.save(path("waiting")));
    }

    @Test
    public void nonfinite() {
        try (Model model = new Model(w.context, w.tokenizer, w.config);
                Trainer trainer = new Trainer(model, Map.of("train.schedule", "constant", "train.warmup_steps", 1))) {
            List<TensorInfo> params = model.tensors();
            for (int i = 0; i < params.size(); ++i) {
                float[] huge = new float[params.get(i).size()];
                Arrays.fill(huge, 3e38f);
                if (params.get(i).shape().size() > 1) model.write(i, huge);
            }
            float[] before = model.read(1);
            refused(Status.NONFINITE, () -> trainer.step(w.batch()));
            assertArrayEquals(before, model.read(1), 0);
            assertEquals(0, trainer.steps());
        }
    }

    @Test
    public void cancellingAContextDoesNotAffectLaterCalls() {
        w.context.cancel();
        w.trainer.step(w.batch());
        assertEquals(1, w.trainer.steps());
        assertNotNull(w.decoder.translate("one"));
    }

    @Test
    public void everyNumberHasItsStatus() throws Exception {
        for (Status status : Status.values()) {
            if (status.code() >= 0 || status == Status.UNKNOWN) continue;
            XformerException error = XformerException.of(status.code(), 7, "a sentence, \u00e4");
            assertEquals(status == Status.CANCELLED, error instanceof CancelledException);
            assertSame(status, error.status());
            assertEquals(status.code(), error.statusCode());
            assertEquals(7, error.nativeCode());
            assertEquals("a sentence, \u00e4", error.getMessage());
            same(error);
        }
        XformerException unknown = XformerException.of(-12345, 7, "something new");
        assertSame(Status.UNKNOWN, unknown.status());
        assertEquals(-12345, unknown.statusCode());
        same(unknown);
    }

    private static void same(XformerException error) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(error);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            XformerException again = (XformerException) in.readObject();
            assertSame(error.getClass(), again.getClass());
            assertEquals(error.statusCode(), again.statusCode());
            assertEquals(error.nativeCode(), again.nativeCode());
            assertNotNull(again.getMessage());
        }
    }
}
