/* The struct xf_sink of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * The destination of a model, tokenizer, or checkpoint to save.
 *
 * <p>A path is replaced atomically: after an error or a crash the old file is intact, and after a success it remains as
 * "PATH.prev". Other destinations are written in place, so after an error their content is undefined.
 */
public final class Sink {
    /** Writes parts of a file. */
    @FunctionalInterface
    public interface Writer {
        /**
         * Stores the bytes of {@code src}, which is read-only, at {@code offset}. Bytes at the start of the file are
         * written again at the end. Called on the thread that made the call. The call throws what this method throws;
         * an {@link IOException} is wrapped in an {@link java.io.UncheckedIOException}.
         */
        void write(long offset, ByteBuffer src) throws IOException;
    }

    /** A file in memory. */
    private static final class Bytes implements Writer {
        byte[] data = new byte[0];
        int size;

        @Override
        public void write(long offset, ByteBuffer src) throws IOException {
            if (offset + src.remaining() > Integer.MAX_VALUE - 8) throw new IOException("the file exceeds 2 GiB");
            int end = (int) offset + src.remaining();
            if (end > data.length) {
                data = Arrays.copyOf(data, (int) Math.max(end, Math.min(2L * data.length, Integer.MAX_VALUE - 8)));
            }
            src.get(data, (int) offset, src.remaining());
            size = Math.max(size, end);
        }
    }

    private final Path path;
    private final ByteBuffer memory;
    private final Writer writer;

    private Sink(Path path, ByteBuffer memory, Writer writer) {
        this.path = path;
        this.memory = memory;
        this.writer = writer;
    }

    /** {@return a file of the operating system} */
    public static Sink of(Path path) {
        return new Sink(Objects.requireNonNull(path, "path"), null, null);
    }

    /**
     * {@return the memory of a direct buffer from its position to its limit} A call that succeeds moves the position to
     * the end of the file. If the file does not fit, the call fails with {@link Status#BUFFER_TOO_SMALL}.
     */
    public static Sink of(ByteBuffer memory) {
        if (!memory.isDirect() || memory.isReadOnly()) {
            throw new IllegalArgumentException("the buffer is not direct or is read-only; use toBytes()");
        }
        return new Sink(null, memory, null);
    }

    /**
     * {@return a channel, of which only positional writes are used} It should be empty, because it is not truncated. It
     * is neither closed nor forced to the device.
     */
    public static Sink of(FileChannel channel) {
        Objects.requireNonNull(channel, "channel");
        return of((offset, src) -> {
            while (src.hasRemaining()) offset += channel.write(src, offset);
        });
    }

    /** {@return a destination that a callback writes} */
    public static Sink of(Writer writer) {
        return new Sink(null, null, Objects.requireNonNull(writer, "writer"));
    }

    /** {@return the bytes that a method writes, for example {@code Sink.toBytes(model::save)}} */
    public static byte[] toBytes(Consumer<Sink> save) {
        Bytes bytes = new Bytes();
        save.accept(of(bytes));
        return Arrays.copyOf(bytes.data, bytes.size);
    }

    void write(Frame f, Memory to) {
        if (path != null) {
            to.setInt(Abi.xf_sink.kind, Abi.XF_IO_PATH).set(Abi.xf_sink.path, f.path(path));
        } else if (memory != null) {
            Memory size = f.memory(8);
            to.setInt(Abi.xf_sink.kind, Abi.XF_IO_MEMORY).set(Abi.xf_sink.data, f.address(memory))
                    .set(Abi.xf_sink.capacity, memory.remaining()).set(Abi.xf_sink.size, size.address());
            f.onSuccess(() -> memory.position(memory.position() + size.count(0)));
        } else {
            f.writer(writer);
            to.setInt(Abi.xf_sink.kind, Abi.XF_IO_CALLBACK).set(Abi.xf_sink.write, Native.callback(Native.WRITE));
        }
    }
}
