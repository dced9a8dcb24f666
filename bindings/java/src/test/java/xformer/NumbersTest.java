/* Ids and parameters in arrays and in buffers. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.Collections;
import java.util.List;
import org.junit.Test;

public class NumbersTest extends WorldTest {
    private static IntBuffer direct(ByteOrder order, int... values) {
        IntBuffer buffer = ByteBuffer.allocateDirect(4 * values.length + 8).order(order).asIntBuffer();
        buffer.position(2);
        return buffer.put(values).position(2);
    }

    private static LongBuffer longs(ByteOrder order, long... values) {
        return ByteBuffer.allocateDirect(8 * values.length).order(order).asLongBuffer().put(values).rewind();
    }

    private static FloatBuffer floats(ByteOrder order, int count) {
        return ByteBuffer.allocateDirect(4 * count).order(order).asFloatBuffer();
    }

    @Test
    public void batchesFromArraysAndBuffers() {
        int[] ids = {260, 5, 1, 6, 1};
        long[] offsets = {0, 3, 5};
        double[] expected = w.decoder.score(new Batch(ids, offsets, ids, offsets));
        assertEquals(2, expected.length);
        ByteOrder own = ByteOrder.nativeOrder();
        ByteOrder other = own == ByteOrder.LITTLE_ENDIAN ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
        for (IntBuffer i : List.of(IntBuffer.wrap(ids), IntBuffer.wrap(ids).asReadOnlyBuffer(), direct(own, ids),
                direct(other, ids), direct(own, ids).asReadOnlyBuffer())) {
            LongBuffer o = longs(own, offsets);
            Batch batch = new Batch(i, o, i, o);
            assertEquals(IntBuffer.wrap(ids), batch.srcIds());
            assertEquals(LongBuffer.wrap(offsets), batch.tgtOffsets());
            assertTrue(batch.hasTargets());
            assertArrayEquals(expected, w.decoder.score(batch), 0);
            assertEquals(ids.length, i.remaining());
        }
        Batch sources = new Batch(ids, offsets);
        assertFalse(sources.hasTargets());
        assertEquals(0, sources.tgtIds().remaining() + sources.tgtOffsets().remaining()
                + sources.pairIndex().remaining());
        assertEquals(2, w.decoder.decode(sources).size());
        assertEquals(2, w.decoder.decode(new Batch(direct(own, ids), longs(other, offsets))).size());
    }

    @Test
    public void aDirectBufferIsUsedInPlaceAndOffsetsAreNot() {
        IntBuffer ids = direct(ByteOrder.nativeOrder(), 3, 1, 4, 1);
        long[] offsets = {0, 2, 4};
        Batch batch = new Batch(ids, LongBuffer.wrap(offsets), ids, LongBuffer.wrap(offsets));
        double[] before = w.decoder.score(batch);
        ids.put(ids.position(), 4);
        offsets[1] = 300;
        double[] after = w.decoder.score(batch);
        assertNotEquals(before[0], after[0], 0);
        assertEquals(before[1], after[1], 0);
        assertEquals(after[0], after[1], 0);
    }

    @Test
    public void wrongBatches() {
        int[] one = {1};
        long[] whole = {0, 1};
        for (long[] wrong : new long[][] {{}, {0}, {1, 1}, {0, 2}, {0, 5, 1}, {0, 1, 1, 0, 1}}) {
            assertThrows(IllegalArgumentException.class, () -> new Batch(one, wrong));
            assertThrows(IllegalArgumentException.class, () -> new Batch(one, whole, one, wrong));
        }
        assertThrows(IllegalArgumentException.class, () -> new Batch(one, whole, one, new long[] {0, 0, 1}));
        assertThrows(NullPointerException.class, () -> new Batch(one, whole, null, null));
        World.refused(Status.INVALID_ARGUMENT, () -> w.trainer.step(List.of()));
        World.refused(Status.INVALID_ARGUMENT, () -> w.trainer.step(new Batch(one, whole)));
        assertThrows(NullPointerException.class, () -> w.trainer.step((Batch) null));
        assertThrows(NullPointerException.class, () -> w.decoder.decode(null));
        assertThrows(NullPointerException.class, () -> w.trainer.step(Collections.singletonList(null)));
        Batch empty = Batch.fromIds(List.of());
        assertEquals(0, empty.size());
        assertEquals(List.of(), w.decoder.decode(empty));
        Batch small = new Batch(new int[] {5, 1}, new long[] {0, 2}, new int[] {5, 1}, new long[] {0, 2});
        assertEquals(500, w.trainer.step(Collections.nCopies(500, small)).sentences());
    }

    @Test
    public void parameters() {
        TensorInfo info = w.model.tensors().get(0);
        float[] values = w.model.read(0);
        assertEquals(info.size(), values.length);
        assertEquals(List.of((long) w.vocabSize(), 16L), info.shape());
        assertEquals(DataType.FP32, info.type());
        assertEquals(0, w.model.indexOf(info.name()));
        World.refused(Status.NOT_FOUND, () -> w.model.indexOf("no.such"));

        ByteOrder own = ByteOrder.nativeOrder();
        ByteOrder other = own == ByteOrder.LITTLE_ENDIAN ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
        for (FloatBuffer out : List.of(floats(own, values.length), floats(other, values.length),
                FloatBuffer.allocate(values.length))) {
            w.model.read(0, out);
            assertEquals(FloatBuffer.wrap(values), out);
            out.put(0, 0.5f + out.capacity());
            w.model.write(0, out);
            assertEquals(0.5f + out.capacity(), w.model.read(0)[0], 0);
            w.model.write(0, values);
            assertArrayEquals(values, w.model.read(0), 0);
            w.model.write(0, out.asReadOnlyBuffer());
            assertEquals(out.get(0), w.model.read(0)[0], 0);
            w.model.write(0, values);
            assertThrows(ReadOnlyBufferException.class, () -> w.model.read(0, out.asReadOnlyBuffer()));
        }
        FloatBuffer wide = floats(own, values.length + 3).position(1).limit(values.length + 1);
        w.model.write(0, values);
        w.model.read(0, wide);
        assertEquals(1, wide.position());
        assertEquals(FloatBuffer.wrap(values), wide);
        assertEquals(0, wide.get(0), 0);

        World.refused(Status.INVALID_ARGUMENT, () -> w.model.read(0, FloatBuffer.allocate(1)));
        World.refused(Status.INVALID_ARGUMENT, () -> w.model.read(0, floats(own, values.length + 1)));
        World.refused(Status.INVALID_ARGUMENT, () -> w.model.write(0, new float[0]));
        float[] broken = values.clone();
        broken[3] = Float.NaN;
        World.refused(Status.INVALID_ARGUMENT, () -> w.model.write(0, broken));
        assertArrayEquals(values, w.model.read(0), 0);
        for (int index : new int[] {-1, w.model.tensors().size(), Integer.MAX_VALUE}) {
            assertThrows(IndexOutOfBoundsException.class, () -> w.model.read(index));
            assertThrows(IndexOutOfBoundsException.class, () -> w.model.write(index, values));
            assertThrows(IndexOutOfBoundsException.class, () -> Experimental.gradient(w.trainer, index));
        }
    }
}
