/*
 * Strings of C. They are passed as bytes, because JNI's own strings are "modified" UTF-8, which encodes NUL and
 * characters above U+FFFF differently.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.util.Arrays;

final class Text {
    private Text() {}

    /** The string at an address of C; null for NULL. */
    static String at(long address) {
        return address == 0 ? null : string(Memory.at(address, Native.length(address)).bytes());
    }

    static String string(byte[] utf8) {
        return new String(utf8, StandardCharsets.UTF_8);
    }

    /** The index of an unpaired surrogate, which has no UTF-8 form and which Java would replace by '?'; -1: none. */
    private static int half(String text) {
        for (int i = 0; i < text.length(); ++i) {
            if (!Character.isSurrogate(text.charAt(i))) continue;
            if (Character.charCount(text.codePointAt(i)) == 1) return i;
            ++i;
        }
        return -1;
    }

    /** The UTF-8 form of a text. An unpaired surrogate becomes an invalid byte, which the library rejects. */
    static byte[] utf8(String text) {
        int half = half(text);
        if (half < 0) return text.getBytes(StandardCharsets.UTF_8);
        byte[] begin = text.substring(0, half).getBytes(StandardCharsets.UTF_8);
        byte[] broken = Arrays.copyOf(begin, begin.length + 1);
        broken[begin.length] = (byte) 0xFF;
        return broken;
    }

    /** UTF-8 with a terminating NUL. */
    static byte[] name(String text) {
        if (half(text) >= 0) throw new IllegalArgumentException("the text contains an unpaired surrogate");
        return terminated(text.getBytes(StandardCharsets.UTF_8));
    }

    private static byte[] terminated(byte[] bytes) {
        for (byte b : bytes) {
            if (b == 0) throw new IllegalArgumentException("the text contains a NUL character");
        }
        return Arrays.copyOf(bytes, bytes.length + 1);
    }

    /** A file name for open(2), with a terminating NUL. */
    static byte[] path(Path path) {
        if (path.getFileSystem() != FileSystems.getDefault()) {
            throw new IllegalArgumentException(path + " is not a file of the operating system");
        }
        String name = path.toString();
        if (name.chars().allMatch(c -> c < 0x80)) return name(name);
        // Decoding the name with the locale may have changed it; the URI has the original bytes.
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
}
