/* Errors and their exceptions. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static xformer.World.refused;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.Test;

public class ErrorsTest extends WorldTest {
    @Test
    public void wrongArguments() {
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
    public void filesOfOtherFileSystems() throws Exception {
        try (FileSystem zip = FileSystems.newFileSystem(
                URI.create("jar:" + path("a.zip").toUri()), Map.of("create", "true"))) {
            assertThrows(IllegalArgumentException.class, () -> Model.load(w.context, zip.getPath("/model.xf")));
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
