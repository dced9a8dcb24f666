/* The struct xf_hypothesis of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.Arrays;
import java.util.Objects;

/**
 * One hypothesis. Two hypotheses are equal if all their values are.
 *
 * @param text the translation; null if the model has no tokenizer
 * @param ids target ids without start and end symbol, including a prefix
 * @param tokenLogProbabilities natural logarithm of each token's probability; if finished, the last is the end symbol's
 * @param logProbability sum of tokenLogProbabilities
 * @param score logProbability divided by the length penalty
 * @param finished whether it ended with the end symbol; otherwise a limit cut it off or no token could follow
 * @param complete whether the search was completed; otherwise the deadline ended it
 * @param alignment index of the source token to which each id is aligned, -1: none; empty without "decode.alignment"
 * @param textEnds size of the text of the ids up to each one, in bytes of UTF-8; empty without "decode.alignment"
 */
public record Hypothesis(String text, int[] ids, float[] tokenLogProbabilities, double logProbability, double score,
        boolean finished, boolean complete, int[] alignment, long[] textEnds) {
    @Override
    public boolean equals(Object other) {
        return other instanceof Hypothesis o && toString().equals(o.toString()) && Objects.equals(text, o.text);
    }

    @Override
    public int hashCode() {
        return Objects.hash(text, Arrays.hashCode(ids), logProbability);
    }

    @Override
    public String toString() {
        return "Hypothesis[text=" + text + ", ids=" + Arrays.toString(ids) + ", tokenLogProbabilities="
                + Arrays.toString(tokenLogProbabilities) + ", logProbability=" + logProbability + ", score=" + score
                + ", finished=" + finished + ", complete=" + complete + ", alignment=" + Arrays.toString(alignment) + ", textEnds="
                + Arrays.toString(textEnds) + "]";
    }
}
