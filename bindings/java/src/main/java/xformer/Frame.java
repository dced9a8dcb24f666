/*
 * One call of the library: the C memory of its arguments and results, the objects that it uses, and its outcome. All
 * calls of the binding use a frame:
 *
 *     Frame.run(f -> Native.xf_batcher_seek(f.use(this), epoch, batch, f.call(call), f.err()));
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ToIntFunction;

final class Frame implements AutoCloseable {
    private static final int BLOCK = 2048;
    /** The innermost call of each thread. The library makes its callbacks within it. */
    private static final ThreadLocal<Frame> CURRENT = new ThreadLocal<>();

    private final Frame outer = CURRENT.get();
    private final List<Handle> used = new ArrayList<>(4);
    // Objects that must not be collected before the call returns.
    private final List<Object> kept = new ArrayList<>(4);
    private final List<Long> blocks = new ArrayList<>(2);
    private final List<Source.Reader> readers = new ArrayList<>(0);
    private final ByteBuffer memory;
    private final long start;
    private int next = Abi.xf_error.SIZE;
    private Throwable thrown;
    private Sink.Writer writer;
    private ProgressListener progress;
    private Experimental.Constraint constraint;
    private EngineThread engine;
    private Runnable onSuccess = () -> {};

    Frame() {
        start = block(BLOCK);
        memory = Native.view(start, BLOCK);
        CURRENT.set(this);
    }

    /** A function of C that writes its result to a pointer. */
    @FunctionalInterface
    interface Output {
        int call(Frame f, long out);
    }

    /** A function of C that fills a buffer and reports the required size, also if the buffer is too small. */
    @FunctionalInterface
    interface Fill {
        int call(Frame f, long buffer, long capacity, long count);
    }

    static int run(ToIntFunction<Frame> call) {
        try (Frame f = new Frame()) {
            int status = f.check(call.applyAsInt(f));
            f.onSuccess.run();
            return status;
        }
    }

    static <T> T get(Function<Frame, T> call) {
        try (Frame f = new Frame()) {
            return call.apply(f);
        }
    }

    /** Reads a struct, or other results, of the given size in bytes. */
    static <T> T read(int size, Output call, Function<Memory, T> result) {
        try (Frame f = new Frame()) {
            Memory out = f.struct(size);
            f.check(call.call(f, out.address()));
            return result.apply(out);
        }
    }

    /** Calls with a buffer of an estimated capacity, and again with the required one. Returns null for XF_DONE. */
    static <T> T fill(long estimate, int elementSize, Fill call, Function<Memory, T> result) {
        try (Frame f = new Frame()) {
            Memory count = f.memory(8);
            for (long capacity = estimate;; capacity = count.getLong(0) + 1) {
                long buffer = f.allocate(capacity * elementSize);
                int status = call.call(f, buffer, capacity, count.address());
                if (status == Abi.XF_ERROR_BUFFER_TOO_SMALL && f.thrown == null) continue;
                if (f.check(status) == Abi.XF_DONE) return null;
                return result.apply(Memory.at(buffer, count.getLong(0) * elementSize));
            }
        }
    }

    // Outcome.

    /** The xf_error of this call. */
    long err() {
        return start;
    }

    boolean failed(int status) {
        return status < 0 || thrown != null;
    }

    /** The exception for a status, with the message of the library. */
    XformerException failure(int status) {
        int code = memory.order(ByteOrder.nativeOrder()).getInt(Abi.xf_error.native_code);
        return XformerException.of(status, code, Text.at(start + Abi.xf_error.message));
    }

    /** Throws if a call failed. An exception of a callback takes precedence. */
    int check(int status) {
        if (!failed(status)) return status;
        if (thrown == null) throw failure(status);
        // The callback's own exception already explains these.
        boolean io = writer != null || !readers.isEmpty();
        boolean explained = status == Abi.XF_ERROR_CALLBACK || status == Abi.XF_ERROR_IO && io;
        if (status < 0 && !explained) thrown.addSuppressed(failure(status));
        throw Frame.<RuntimeException>as(thrown);
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E as(Throwable any) throws E {
        throw (E) any;
    }

    // Callbacks of the library. Their exceptions are kept until the call returns.

    /** Code of a callback. */
    @FunctionalInterface
    interface Callback {
        void run() throws IOException;
    }

    /** Runs a callback; returns 1 if it threw, otherwise 0. */
    static int guarded(Callback callback) {
        Frame f = CURRENT.get();
        if (f != null && f.thrown != null) return 0; // only the first exception is kept
        try {
            callback.run();
            return 0;
        } catch (IOException error) {
            if (f != null) f.thrown = new UncheckedIOException(error);
        } catch (Throwable error) {
            if (f != null) f.thrown = error;
        }
        return 1;
    }

    private static int required(Callback callback) {
        return CURRENT.get().thrown != null ? 1 : guarded(callback);
    }

    /** The xf_progress_fn. */
    @SuppressWarnings("unused")
    private static int progress(long user, long progress) {
        return guarded(() -> {
            Memory p = Memory.at(progress, Abi.xf_progress.SIZE);
            CURRENT.get().progress.progress(
                    p.text(Abi.xf_progress.task), p.getLong(Abi.xf_progress.done), p.getLong(Abi.xf_progress.total));
        });
    }

    /** The xf_constraint_fn. */
    @SuppressWarnings("unused")
    private static int restrict(long user, long step) {
        EngineThread engine = CURRENT.get().engine;
        if (engine != null) return engine.restrict(user, step);
        return required(() -> Experimental.restrict(CURRENT.get().constraint, step));
    }

    /** xf_source::read; user is the index of the reader. */
    @SuppressWarnings("unused")
    private static int read(long user, long offset, long dst, long bytes) {
        return required(() -> {
            ByteBuffer to = Native.view(dst, bytes);
            CURRENT.get().readers.get((int) user).read(offset, to);
            if (to.hasRemaining()) {
                throw new IOException("the reader returned " + (bytes - to.remaining()) + " bytes at offset " + offset
                        + ", expected " + bytes);
            }
        });
    }

    /** xf_sink::write. */
    @SuppressWarnings("unused")
    private static int write(long user, long offset, long src, long bytes) {
        return required(() -> CURRENT.get().writer.write(offset, Native.view(src, bytes).asReadOnlyBuffer()));
    }

    /** The address of an xf_call. */
    long call(Call call) {
        Memory to = struct(Abi.xf_call.SIZE);
        call.write(this, to);
        return to.address();
    }

    void progress(ProgressListener listener) {
        progress = listener;
    }

    void constraint(Experimental.Constraint asked) {
        constraint = asked;
    }

    /** The requests to which the constraints of this call belong. */
    void engine(EngineThread requests) {
        engine = requests;
    }

    /** The index of a reader, which xf_source::user holds. */
    long reader(Source.Reader reader) {
        readers.add(reader);
        return readers.size() - 1L;
    }

    /** Runs an action at the end of run() if the call succeeds. */
    void onSuccess(Runnable action) {
        onSuccess = action;
    }

    void writer(Sink.Writer sink) {
        writer = sink;
    }

    // Arguments. They are valid until the frame is closed.

    long use(Handle handle) {
        long pointer = handle.begin();
        used.add(handle);
        return pointer;
    }

    long use(NativeObject object) {
        keep(object.services);
        return use(object.handle);
    }

    void keep(Object object) {
        kept.add(object);
    }

    /** The config for any options: a Config's own, or one for this call; NULL if no option is set. */
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

    Memory memory(int size) {
        int offset = next;
        long address = allocate(size);
        return address == start + offset ? new Memory(address, memory.slice(offset, size)) : Memory.at(address, size);
    }

    /** A struct with its struct_size. */
    Memory struct(int size) {
        return memory(size).set(0, size);
    }

    long bytes(byte[] values) {
        long address = allocate(values.length);
        if (values.length > 0) Native.view(address, values.length).put(0, values);
        return address;
    }

    /** A NUL-terminated string. */
    long name(String text) {
        return bytes(Text.name(text));
    }

    long path(Path path) {
        return bytes(Text.path(path));
    }

    /** The bytes of a buffer from its position to its limit: a direct buffer in place, otherwise a copy. */
    long data(ByteBuffer values) {
        if (values.isDirect() && values.hasRemaining()) return address(values);
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

    /** Numbers of 4 bytes: in place, or a copy. */
    private long numbers(Buffer values, ByteOrder order, Consumer<ByteBuffer> copy) {
        if (inPlace(values, order)) return address(values);
        long size = 4L * values.remaining();
        Memory room = Memory.at(allocate(size), size);
        copy.accept(room.buffer());
        return room.address();
    }

    /** The address of a direct buffer at its position. */
    long address(Buffer values) {
        keep(values);
        return Native.address(values.slice());
    }

    static boolean inPlace(Buffer values, ByteOrder order) {
        return values.isDirect() && order == ByteOrder.nativeOrder() && values.hasRemaining();
    }

    /** An array of pointers or other 64-bit numbers. */
    long array(long[] values) {
        Memory all = Memory.at(allocate(8L * values.length), 8L * values.length);
        all.buffer().asLongBuffer().put(values);
        return all.address();
    }

    /** Strings: an array of pointers and an array of lengths. Each string is also NUL-terminated. */
    record Texts(long pointers, long lengths, int count) {}

    Texts texts(List<String> texts) {
        List<byte[]> encoded = texts.stream().map(Text::utf8).toList();
        long size = 0;
        for (byte[] text : encoded) size += text.length + 1L;
        long to = allocate(size);
        long[] pointers = new long[encoded.size()];
        long[] lengths = new long[encoded.size()];
        for (int i = 0; i < pointers.length; ++i) {
            byte[] text = encoded.get(i);
            if (text.length > 0) Native.view(to, text.length).put(0, text);
            pointers[i] = to;
            lengths[i] = text.length;
            to += text.length + 1L;
        }
        return new Texts(array(pointers), array(lengths), pointers.length);
    }

    /** An array of xf_batch. */
    long batches(List<Batch> batches) {
        int size = Abi.xf_batch.SIZE;
        Memory all = memory(size * batches.size());
        for (int i = 0; i < batches.size(); ++i) {
            batches.get(i).write(this, new Memory(all.address() + (long) i * size, all.buffer().slice(i * size, size)));
        }
        return all.address();
    }

    long batch(Batch batch) {
        return batches(List.of(batch));
    }

    /** An array of xf_source. */
    long sources(List<Source> sources) {
        int size = Abi.xf_source.SIZE;
        Memory all = memory(size * sources.size());
        for (int i = 0; i < sources.size(); ++i) {
            sources.get(i).write(this, new Memory(all.address() + (long) i * size, all.buffer().slice(i * size, size)));
        }
        return all.address();
    }

    long source(Source source) {
        return sources(List.of(source));
    }

    long sink(Sink sink) {
        Memory to = struct(Abi.xf_sink.SIZE);
        sink.write(this, to);
        return to.address();
    }

    @Override
    public void close() {
        CURRENT.set(outer);
        for (long block : blocks) Native.release(block);
        for (Handle handle : used) handle.end();
    }
}
