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

    /** The string at an address of C; null for NULL. */
    static String at(long address) {
        return address == 0 ? null : string(Words.at(address, Native.length(address)).bytes());
    }

    static String string(byte[] utf8) {
        return new String(utf8, StandardCharsets.UTF_8);
    }

    /** Where half of a surrogate pair stands, which no UTF-8 can say and Java would turn into a '?'; -1: nowhere. */
    private static int half(String text) {
        for (int i = 0; i < text.length(); ++i) {
            if (!Character.isSurrogate(text.charAt(i))) continue;
            if (Character.charCount(text.codePointAt(i)) == 1) return i;
            ++i;
        }
        return -1;
    }

    /** UTF-8 of a text; half of a surrogate pair is a byte that the library refuses like all that is no UTF-8. */
    static byte[] utf8(String text) {
        int half = half(text);
        if (half < 0) return text.getBytes(StandardCharsets.UTF_8);
        byte[] begin = text.substring(0, half).getBytes(StandardCharsets.UTF_8);
        byte[] broken = Arrays.copyOf(begin, begin.length + 1);
        broken[begin.length] = (byte) 0xFF;
        return broken;
    }

    static List<byte[]> utf8(Collection<String> texts) {
        return texts.stream().map(Text::utf8).toList();
    }

    /** UTF-8 with a NUL at its end, for a parameter that ends at the first one. */
    static byte[] name(String text) {
        if (half(text) >= 0) throw new IllegalArgumentException("the text holds half of a surrogate pair");
        return terminated(text.getBytes(StandardCharsets.UTF_8));
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
        if (name.chars().allMatch(c -> c < 0x80)) return name(name);
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
}
