/* The struct xf_tensor_info of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.FloatBuffer;
import java.nio.ReadOnlyBufferException;

/**
 * One parameter tensor.
 *
 * @param name module path, such as "encoder.0.self_attention.q.weight"
 * @param rows outputs of a linear map, ids of an embedding; 1 for a vector
 * @param columns inputs of a linear map, d_model of an embedding; the length of a vector
 */
public record TensorInfo(String name, long rows, long columns) {
    /** A function of C that copies a tensor's numbers out. */
    @FunctionalInterface
    interface Reader {
        int read(long object, long index, long values, long count, long err);
    }

    static TensorInfo read(long model, int index) {
        long count = Native.xf_model_tensor_count(model);
        if (index < 0 || index >= count) throw new IndexOutOfBoundsException("tensor " + index + " of " + count);
        return Frame.read(4, (f, out) -> Native.xf_model_get_tensor(model, index, out, f.err()),
                t -> new TensorInfo(t.text(1), t.get(2), t.get(3)));
    }

    /** Lets C fill a buffer from its position to its limit, which stay; a direct one in place. */
    static int fill(Frame f, long object, int index, FloatBuffer out, Reader reader) {
        if (out.isReadOnly()) throw new ReadOnlyBufferException();
        int count = out.remaining();
        boolean inPlace = Frame.inPlace(out, out.order());
        long values = inPlace ? Native.address(out.slice()) : f.allocate(4L * count);
        f.check(reader.read(object, index, values, count, f.err()));
        if (!inPlace) out.duplicate().put(Words.at(values, 4L * count).memory().asFloatBuffer());
        return count;
    }

    /** {@return how many numbers it has: rows * columns} */
    public int size() {
        return Math.toIntExact(Math.multiplyExact(rows, columns));
    }
}
