/* The result of one sentence. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.List;

/**
 * The result of one sentence: its hypotheses, or the error.
 *
 * @param hypotheses best first; empty if there is an error
 * @param error null if there are hypotheses; otherwise with {@link Status#DATA} (the text is not valid Unicode),
 *        {@link Status#OUT_OF_RANGE} (an id, or a source that is too long), or {@link Status#DEADLINE} (not begun in
 *        time)
 * @param sourceEnds offsets in the text where its tokens end, in bytes of UTF-8; empty without "decode.alignment" and for
 *        a source of ids
 */
public record Translation(List<Hypothesis> hypotheses, XformerException error, List<Long> sourceEnds) {
    /** {@return the best hypothesis} Throws {@link #error} if there is none. */
    public Hypothesis best() {
        if (error != null) throw error;
        return hypotheses.get(0);
    }

    /** {@return the text of the best hypothesis} Throws {@link #error} if there is none. */
    public String text() {
        return best().text();
    }
}
