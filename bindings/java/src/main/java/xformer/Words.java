/*
 * Memory of C in words of 8 bytes: a struct, an array of pointers, a result. A member of 4 bytes is the low or the high
 * half of its word.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

record Words(long address, ByteBuffer memory) {
    Words {
        memory.order(ByteOrder.nativeOrder());
    }

    static Words at(long address, long bytes) {
        return new Words(address, bytes == 0 ? ByteBuffer.allocate(0) : Native.view(address, bytes));
    }

    long get(int word) {
        return memory.getLong(8 * word);
    }

    int count(int word) {
        return Math.toIntExact(get(word));
    }

    double real(int word) {
        return memory.getDouble(8 * word);
    }

    int low(int word) {
        return memory.getInt(8 * word);
    }

    int high(int word) {
        return memory.getInt(8 * word + 4);
    }

    Words set(int word, long value) {
        memory.putLong(8 * word, value);
        return this;
    }

    /** The string that a word points at. */
    String text(int word) {
        return Text.at(get(word));
    }

    byte[] bytes(int word, int count) {
        return Words.at(get(word), count).bytes();
    }

    /** The numbers that a word points at. */
    int[] ints(int word, int count) {
        return at(get(word), 4L * count).ints();
    }

    float[] floats(int word, int count) {
        return at(get(word), 4L * count).floats();
    }

    /** All of this memory. */
    byte[] bytes() {
        byte[] values = new byte[memory.capacity()];
        memory.get(0, values);
        return values;
    }

    int[] ints() {
        int[] values = new int[memory.capacity() / 4];
        memory.asIntBuffer().get(values);
        return values;
    }

    float[] floats() {
        float[] values = new float[memory.capacity() / 4];
        memory.asFloatBuffer().get(values);
        return values;
    }
}
