/* Buffers of parameters: direct ones are C's to fill, others go by an array. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.function.Consumer;

final class Floats {
    private Floats() {}

    /** Lets C fill a buffer from its position to its limit, which stay. */
    static void fill(FloatBuffer buffer, Consumer<Object> read) {
        if (inPlace(buffer) && !buffer.isReadOnly()) {
            read.accept(buffer.slice());
        } else {
            float[] values = new float[buffer.remaining()];
            read.accept(values);
            buffer.duplicate().put(values);
        }
    }

    /** What C reads in place of a buffer: the buffer from its position to its limit, or a copy. */
    static Object of(FloatBuffer buffer) {
        if (inPlace(buffer)) return buffer.slice();
        float[] values = new float[buffer.remaining()];
        buffer.duplicate().get(values);
        return values;
    }

    private static boolean inPlace(FloatBuffer buffer) {
        return buffer.isDirect() && buffer.order() == ByteOrder.nativeOrder();
    }
}
