/* Sentences of a text. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.ArrayList;
import java.util.List;

/** Finds the sentences of a text, because a model translates single sentences. */
public final class Sentences {
    private Sentences() {}

    /** Finds sentences with the abbreviations of all languages, as {@link #split(String, String, int)}. */
    public static List<Span> split(String text) {
        return split(text, null, 0);
    }

    /**
     * Finds sentences. They exclude the white space around them, and all text between them is white space. A line end
     * always ends a sentence. A text with an unpaired surrogate is an error with {@link Status#DATA}.
     *
     * @param text the text
     * @param language an ISO 639-1 code, such as "de"; null: the abbreviations of all languages
     * @param maxCharacters longer sentences are divided; in code points, 0: no limit
     * @return the sentences, in order
     */
    public static List<Span> split(String text, String language, int maxCharacters) {
        if (maxCharacters < 0) {
            throw new IllegalArgumentException("maxCharacters is " + maxCharacters + ", expected 0 or more");
        }
        byte[] utf8 = Text.utf8(text);
        long[] offsets = Frame.fill(utf8.length / 32 + 8, Abi.xf_span.SIZE, (f, spans, capacity, count) ->
                Native.xf_split_sentences(f.bytes(utf8), utf8.length, language == null ? 0 : f.name(language),
                        maxCharacters, spans, capacity, count, f.err()), Memory::longs);
        List<Span> sentences = new ArrayList<>(offsets.length / 2);
        int[] indices = new int[offsets.length];
        long offset = 0;
        int index = 0;
        for (int i = 0; i < offsets.length; ++i) {
            for (int code; offset < offsets[i]; index += Character.charCount(code)) {
                code = text.codePointAt(index);
                offset += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
            }
            indices[i] = index;
        }
        for (int i = 0; i < indices.length; i += 2) sentences.add(new Span(indices[i], indices[i + 1]));
        return sentences;
    }
}
