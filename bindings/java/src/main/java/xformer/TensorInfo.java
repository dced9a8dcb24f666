/* The struct xf_tensor_info of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.FloatBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.Arrays;
import java.util.List;

/**
 * One parameter tensor.
 *
 * @param name module path, for example "encoder.0.self_attention.q.weight"
 * @param type type in memory
 * @param shape sizes of the dimensions, slowest first: [outputs, inputs] of a linear map, [ids, d_model] of an
 *        embedding
 */
public record TensorInfo(String name, DataType type, List<Long> shape) {
    /** A function of C that copies a tensor. */
    @FunctionalInterface
    interface Reader {
        int read(long object, long index, long values, long count, long err);
    }

    static TensorInfo read(long model, int index) {
        long count = Native.xf_model_tensor_count(model);
        if (index < 0 || index >= count) throw new IndexOutOfBoundsException("tensor " + index + " of " + count);
        return Frame.read(Abi.xf_tensor_info.SIZE,
                (f, out) -> Native.xf_model_get_tensor(model, index, out, f.err()), t -> {
                    Long[] shape = new Long[t.getInt(Abi.xf_tensor_info.dims)];
                    Arrays.setAll(shape, i -> t.getLong(Abi.xf_tensor_info.shape + 8 * i));
                    return new TensorInfo(t.text(Abi.xf_tensor_info.name),
                            t.constant(Abi.xf_tensor_info.type, DataType.values()), List.of(shape));
                });
    }

    /** Fills a buffer from its position to its limit, which do not change; a direct buffer in place. */
    static int fill(Frame f, long object, int index, FloatBuffer out, Reader reader) {
        if (out.isReadOnly()) throw new ReadOnlyBufferException();
        int count = out.remaining();
        boolean inPlace = Frame.inPlace(out, out.order());
        long values = inPlace ? f.address(out) : f.allocate(4L * count);
        f.check(reader.read(object, index, values, count, f.err()));
        if (!inPlace) out.duplicate().put(Memory.at(values, 4L * count).buffer().asFloatBuffer());
        return count;
    }

    /** {@return the number of elements: the product of the shape} */
    public int size() {
        return Math.toIntExact(shape.stream().reduce(1L, Math::multiplyExact));
    }
}
