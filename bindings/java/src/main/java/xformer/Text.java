/*
 * Strings as C has them. Bytes cross the border, never JNI's strings: those are "modified" UTF-8, which writes NUL and
 * characters beyond U+FFFF in other ways.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;

final class Text {
    private Text() {}

    static String string(byte[] utf8) {
        return new String(utf8, StandardCharsets.UTF_8);
    }

    /** UTF-8 of a string; half of a surrogate pair, which Java would turn into a '?', is refused. */
    static byte[] utf8(String text) {
        for (int i = 0; i < text.length(); ++i) {
            if (!Character.isSurrogate(text.charAt(i))) continue;
            if (Character.charCount(text.codePointAt(i)) == 1) {
                throw new DataException(0, String.format(
                        "character %d is U+%04X, half of a surrogate pair", i, (int) text.charAt(i)));
            }
            ++i;
        }
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** UTF-8 with a NUL at its end, for a parameter that ends at the first one. */
    static byte[] terminated(String text) {
        return terminated(utf8(text));
    }

    private static byte[] terminated(byte[] bytes) {
        for (byte b : bytes) {
            if (b == 0) throw new IllegalArgumentException("the text holds a NUL character");
        }
        return Arrays.copyOf(bytes, bytes.length + 1);
    }

    /** A file name as open(2) takes it, with a NUL at its end. */
    static byte[] path(Path path) {
        if (path.getFileSystem() != FileSystems.getDefault()) {
            throw new IllegalArgumentException(path + " is not a file of the operating system");
        }
        String name = path.toString();
        if (name.chars().allMatch(c -> c < 0x80)) return terminated(name);
        // The string was decoded by the locale's rules, which may have lost something; the URI has the very bytes.
        String uri = path.toUri().getRawPath();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int i = 0; i < uri.length(); ++i) {
            if (uri.charAt(i) == '%') {
                bytes.write(Integer.parseInt(uri.substring(i + 1, i + 3), 16));
                i += 2;
            } else {
                bytes.write(uri.charAt(i));
            }
        }
        return terminated(bytes.toByteArray());
    }

    /** Several strings one after the other, each with a NUL at its end; starts has one entry more than there are. */
    record Packed(byte[] bytes, int[] starts) {
        int count() {
            return starts.length - 1;
        }
    }

    private static Packed packedBytes(List<byte[]> texts) {
        int[] starts = new int[texts.size() + 1];
        int next = 0;
        for (int i = 0; i < texts.size(); ++i) {
            long end = next + texts.get(i).length + 1L;
            if (end > Integer.MAX_VALUE) throw new IllegalArgumentException("the texts have more than 2^31 - 1 bytes");
            starts[i + 1] = next = (int) end;
        }
        byte[] bytes = new byte[next];
        for (int i = 0; i < texts.size(); ++i) {
            System.arraycopy(texts.get(i), 0, bytes, starts[i], texts.get(i).length);
        }
        return new Packed(bytes, starts);
    }

    static Packed packed(Collection<String> texts) {
        return packedBytes(texts.stream().map(Text::utf8).toList());
    }

    static Packed packedPaths(Collection<Path> paths) {
        // path() ends each with a NUL of its own; a second one after it does no harm.
        return packedBytes(paths.stream().map(Text::path).toList());
    }
}
