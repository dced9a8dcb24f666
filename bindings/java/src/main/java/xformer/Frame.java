/*
 * One call of the library: the memory of C that its arguments and results are in, the objects it uses, and how it
 * ended. All of the binding goes through here:
 *
 *     Frame.run(f -> Native.xf_batcher_seek(f.use(this), epoch, batch, f.err()));
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ToIntFunction;

final class Frame implements AutoCloseable {
    private static final int BLOCK = 2048;
    private static final int ERROR = 256;
    /** The innermost call of each thread: callbacks of the library are within it. */
    private static final ThreadLocal<Frame> CURRENT = new ThreadLocal<>();

    private final Frame outer = CURRENT.get();
    private final List<Handle> used = new ArrayList<>(4);
    // Listeners are heard until the end, whatever is collected before.
    private final List<Services> services = new ArrayList<>(4);
    private final List<Long> blocks = new ArrayList<>(2);
    private final ByteBuffer memory;
    private final long start;
    private int next = ERROR;
    private Throwable thrown;
    private Constraint constraint;

    Frame() {
        start = block(BLOCK);
        memory = Native.view(start, BLOCK);
        CURRENT.set(this);
    }

    /** A call that gives its result through a pointer. */
    @FunctionalInterface
    interface Call {
        int in(Frame f, long out);
    }

    /** A call that fills a buffer and tells how much there is, also when that does not fit. */
    @FunctionalInterface
    interface Filling {
        int in(Frame f, long buffer, long capacity, long count);
    }

    static int run(ToIntFunction<Frame> call) {
        try (Frame f = new Frame()) {
            return f.check(call.applyAsInt(f));
        }
    }

    static <T> T get(Function<Frame, T> call) {
        try (Frame f = new Frame()) {
            return call.apply(f);
        }
    }

    /** Reads a struct of so many words; or one word, which need not be a struct. */
    static <T> T read(int words, Call call, Function<Words, T> result) {
        try (Frame f = new Frame()) {
            Words out = f.words(words).set(0, 8L * words);
            f.check(call.in(f, out.address()));
            return result.apply(out);
        }
    }

    /** Calls with room for a guess, and again with the room that was asked for; width: bytes of each entry. */
    static <T> T fill(long guess, int width, Filling call, Function<Words, T> result) {
        try (Frame f = new Frame()) {
            Words count = f.words(1);
            for (long capacity = guess;; capacity = count.get(0) + 1) {
                long buffer = f.allocate(capacity * width);
                int status = call.in(f, buffer, capacity, count.address());
                if (f.failed(status) && status == Status.BUFFER_TOO_SMALL.code() && f.thrown == null) continue;
                f.check(status);
                return result.apply(Words.at(buffer, count.get(0) * width));
            }
        }
    }

    // How it ended.

    /** The xf_error of this call. */
    long err() {
        return start;
    }

    boolean failed(int status) {
        return status < 0 || thrown != null;
    }

    /** The exception of a status, with the sentence that the library wrote. */
    XformerException failure(int status) {
        return XformerException.of(status, Words.at(start, ERROR).high(0), Text.at(start + 8));
    }

    /** Throws when a call failed; what a callback has thrown stands first. */
    int check(int status) {
        if (!failed(status)) return status;
        if (thrown == null) throw failure(status);
        // That a callback stopped the call is what its exception says already.
        if (status < 0 && status != Status.CALLBACK.code()) thrown.addSuppressed(failure(status));
        throw Frame.<RuntimeException>as(thrown);
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E as(Throwable any) throws E {
        throw (E) any;
    }

    /** Runs a callback; what it throws is kept until the call of the library is over. Tells whether it threw. */
    static boolean guarded(Runnable callback) {
        Frame f = CURRENT.get();
        if (f != null && f.thrown != null) return false; // one is enough
        try {
            callback.run();
            return false;
        } catch (Throwable error) {
            if (f != null) f.thrown = error;
            return true;
        }
    }

    /** Called by C: the xf_constraint_fn of the call that runs. */
    @SuppressWarnings("unused")
    private static int restrict(long prefix, long allowed) {
        Frame f = CURRENT.get();
        return f.thrown != null || guarded(() -> {
            Words p = Words.at(prefix, 48);
            int size = p.low(5);
            BitSet free = new BitSet(size);
            free.set(0, size);
            f.constraint.restrict(new Prefix(p.count(1), p.ints(2, p.count(3)), p.get(4), size), free);
            int words = (size + 31) / 32;
            IntBuffer out = Words.at(allowed, 4L * words).memory().asIntBuffer();
            long[] bits = free.toLongArray();
            for (int i = 0; i < words; ++i) {
                int word = i / 2 < bits.length ? (int) (bits[i / 2] >>> 32 * (i % 2)) : 0;
                out.put(i, out.get(i) & word);
            }
        }) ? 1 : 0;
    }

    /** The address of the function of C that asks a constraint; 0 without one. */
    long constraint(Constraint asked) {
        constraint = asked;
        return asked == null ? 0 : Native.callback(Native.QUESTION);
    }

    // What a call uses. All of it is good until the frame is closed.

    long use(Handle handle) {
        long pointer = handle.begin();
        used.add(handle);
        return pointer;
    }

    long use(NativeObject object) {
        services.add(object.services);
        return use(object.handle);
    }

    /** The config of any options: a Config's own, or one for this call; NULL when nothing is set. */
    long config(Map<String, ?> options) {
        if (options.isEmpty()) return 0;
        Config config = options instanceof Config given ? given : new Config(options);
        long pointer = use(config.handle);
        if (config != options) config.close(); // takes effect at the end of the call
        return pointer;
    }

    private long block(long size) {
        long address = Native.allocate(size);
        if (address == 0) throw new OutOfMemoryError("native memory: " + size + " bytes");
        blocks.add(address);
        return address;
    }

    /** Zeroed memory. */
    long allocate(long size) {
        if (size > BLOCK - next) return block(Math.max(size, 1));
        long address = start + next;
        next += (int) (size + 7 & ~7);
        return address;
    }

    Words words(int count) {
        int offset = next;
        long address = allocate(8L * count);
        return address == start + offset
                ? new Words(address, memory.slice(offset, 8 * count))
                : Words.at(address, 8L * count);
    }

    /** A struct with its size in its first word. */
    Words struct(int words) {
        return words(words).set(0, 8L * words);
    }

    long bytes(byte[] values) {
        long address = allocate(values.length);
        if (values.length > 0) Native.view(address, values.length).put(0, values);
        return address;
    }

    /** A string for a parameter that ends at the first NUL. */
    long name(String text) {
        return bytes(Text.name(text));
    }

    long path(Path path) {
        return bytes(Text.path(path));
    }

    /** The bytes of a buffer from its position to its limit: a direct one in place, or a copy. */
    long data(ByteBuffer values) {
        if (values.isDirect() && values.hasRemaining()) return Native.address(values.slice());
        byte[] copy = new byte[values.remaining()];
        values.duplicate().get(copy);
        return bytes(copy);
    }

    long ints(IntBuffer values) {
        return numbers(values, values.order(), room -> room.asIntBuffer().put(values.duplicate()));
    }

    long ints(int[] values) {
        return ints(IntBuffer.wrap(values));
    }

    long floats(FloatBuffer values) {
        return numbers(values, values.order(), room -> room.asFloatBuffer().put(values.duplicate()));
    }

    /** Numbers of 4 bytes: where they are, or a copy. */
    private long numbers(Buffer values, ByteOrder order, Consumer<ByteBuffer> copy) {
        if (inPlace(values, order)) return Native.address(values.slice());
        long size = 4L * values.remaining();
        Words room = Words.at(allocate(size), size);
        copy.accept(room.memory());
        return room.address();
    }

    static boolean inPlace(Buffer values, ByteOrder order) {
        return values.isDirect() && order == ByteOrder.nativeOrder() && values.hasRemaining();
    }

    /** An array of pointers or other words. */
    long array(long[] values) {
        Words all = words(values.length);
        for (int i = 0; i < values.length; ++i) all.set(i, values[i]);
        return all.address();
    }

    /** Strings: an array of pointers, an array of lengths. Each also has a NUL at its end. */
    record Texts(long pointers, long lengths, int count) {}

    Texts texts(List<byte[]> texts) {
        long size = 0;
        for (byte[] text : texts) size += text == null ? 0 : text.length + 1L;
        long to = allocate(size);
        long[] pointers = new long[texts.size()];
        long[] lengths = new long[texts.size()];
        for (int i = 0; i < pointers.length; ++i) {
            byte[] text = texts.get(i);
            if (text == null) continue;
            if (text.length > 0) Native.view(to, text.length).put(0, text);
            pointers[i] = to;
            lengths[i] = text.length;
            to += text.length + 1L;
        }
        return new Texts(array(pointers), array(lengths), pointers.length);
    }

    /** An array of xf_batch. */
    long batches(List<Batch> batches) {
        Words all = words(7 * batches.size());
        for (int i = 0; i < batches.size(); ++i) batches.get(i).write(this, all, 7 * i);
        return all.address();
    }

    long batch(Batch batch) {
        return batches(List.of(batch));
    }

    @Override
    public void close() {
        CURRENT.set(outer);
        for (long block : blocks) Native.release(block);
        for (Handle handle : used) handle.end();
    }
}
