/* The struct xf_source of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Objects;

/** The bytes of a model, tokenizer, or checkpoint to load. The content is not trusted. */
public final class Source {
    /** Reads parts of a file, for example of an encrypted file or of an object store. */
    @FunctionalInterface
    public interface Reader {
        /**
         * Fills {@code dst} with the bytes of the file that begin at {@code offset}. Offsets come in any order; the
         * range lies within the file. Called on the thread that made the call. The call throws what this method throws;
         * an {@link IOException} is wrapped in an {@link java.io.UncheckedIOException}.
         */
        void read(long offset, ByteBuffer dst) throws IOException;
    }

    private final Path path;
    private final ByteBuffer bytes;
    private final Reader reader;
    private final long size;

    private Source(Path path, ByteBuffer bytes, Reader reader, long size) {
        this.path = path;
        this.bytes = bytes;
        this.reader = reader;
        this.size = size;
    }

    /** {@return a file of the operating system} */
    public static Source of(Path path) {
        return new Source(Objects.requireNonNull(path, "path"), null, null, 0);
    }

    /** {@return the content of an array, which must not change during the call} */
    public static Source of(byte[] bytes) {
        return of(ByteBuffer.wrap(bytes));
    }

    /**
     * {@return the content of a buffer from its position to its limit} It must not change during the call. A direct or
     * mapped buffer is read in place; another is copied.
     */
    public static Source of(ByteBuffer bytes) {
        return new Source(null, bytes.slice(), null, bytes.remaining());
    }

    /** {@return the content of a channel, of which only positional reads are used} The channel is not closed. */
    public static Source of(FileChannel channel) throws IOException {
        return of(channel.size(), (offset, dst) -> {
            while (dst.hasRemaining()) {
                int count = channel.read(dst, offset);
                if (count < 0) throw new EOFException("the file ends at offset " + offset);
                offset += count;
            }
        });
    }

    /** {@return a file of {@code size} bytes that a callback reads} */
    public static Source of(long size, Reader reader) {
        if (size < 0) throw new IllegalArgumentException("the size is " + size);
        return new Source(null, null, Objects.requireNonNull(reader, "reader"), size);
    }

    void write(Frame f, Memory to) {
        to.set(Abi.xf_source.struct_size, Abi.xf_source.SIZE).set(Abi.xf_source.size, size);
        if (path != null) {
            to.setInt(Abi.xf_source.kind, Abi.XF_IO_PATH).set(Abi.xf_source.path, f.path(path));
        } else if (bytes != null) {
            to.setInt(Abi.xf_source.kind, Abi.XF_IO_MEMORY).set(Abi.xf_source.data, f.data(bytes));
        } else {
            to.setInt(Abi.xf_source.kind, Abi.XF_IO_CALLBACK).set(Abi.xf_source.read, Native.callback(Native.READ))
                    .set(Abi.xf_source.user, f.reader(reader));
        }
    }
}
