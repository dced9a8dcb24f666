/* What became of one sentence. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.List;

/**
 * What became of one sentence of a call: its hypotheses, or why there are none.
 *
 * @param hypotheses best first; none when there is an error
 * @param error null when there are hypotheses; of status DATA (the text is no Unicode), OUT_OF_RANGE (an id, a source
 *        that is too long), DEADLINE (it was not begun)
 */
public record Answer(List<Hypothesis> hypotheses, XformerException error) {
    /** {@return the best hypothesis; when there is none, the error is thrown} */
    public Hypothesis best() {
        if (error != null) throw error;
        return hypotheses.get(0);
    }

    /** {@return the text of the best hypothesis; when there is none, the error is thrown} */
    public String text() {
        return best().text();
    }
}
