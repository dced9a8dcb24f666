/* Memory of C: a struct, an array, or a result. Offsets are in bytes (Abi.java). SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

record Memory(long address, ByteBuffer buffer) {
    Memory {
        buffer.order(ByteOrder.nativeOrder());
    }

    static Memory at(long address, long bytes) {
        return new Memory(address, bytes == 0 ? ByteBuffer.allocate(0) : Native.view(address, bytes));
    }

    long getLong(int offset) {
        return buffer.getLong(offset);
    }

    int getInt(int offset) {
        return buffer.getInt(offset);
    }

    boolean getBoolean(int offset) {
        return getInt(offset) != 0;
    }

    double getDouble(int offset) {
        return buffer.getDouble(offset);
    }

    /** A 64-bit number that Java uses as an int. */
    int count(int offset) {
        return Math.toIntExact(getLong(offset));
    }

    /**
     * A constant of C, where the first enum constant is 1. A number of a later version becomes the nearest constant.
     */
    <E> E constant(int offset, E[] values) {
        return values[Math.max(1, Math.min(getInt(offset), values.length)) - 1];
    }

    Memory set(int offset, long value) {
        buffer.putLong(offset, value);
        return this;
    }

    Memory setInt(int offset, int value) {
        buffer.putInt(offset, value);
        return this;
    }

    /** The string to which the pointer at offset points; null for NULL. */
    String text(int offset) {
        return Text.at(getLong(offset));
    }

    /** The array to which the pointer at offset points. */
    Memory array(int offset, long bytes) {
        return at(getLong(offset), bytes);
    }

    byte[] bytes() {
        byte[] values = new byte[buffer.capacity()];
        buffer.get(0, values);
        return values;
    }

    int[] ints() {
        int[] values = new int[buffer.capacity() / 4];
        buffer.asIntBuffer().get(values);
        return values;
    }

    long[] longs() {
        long[] values = new long[buffer.capacity() / 8];
        buffer.asLongBuffer().get(values);
        return values;
    }

    float[] floats() {
        float[] values = new float[buffer.capacity() / 4];
        buffer.asFloatBuffer().get(values);
        return values;
    }

    double[] doubles() {
        double[] values = new double[buffer.capacity() / 8];
        buffer.asDoubleBuffer().get(values);
        return values;
    }
}
