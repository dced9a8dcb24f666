/* The struct xf_hypothesis of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.Arrays;
import java.util.Objects;

/**
 * One answer, the caller's own. Two are equal when all their values are.
 *
 * @param text the translation; null when the model has no tokenizer
 * @param ids target ids, without start and end symbol; a prefix is part of them
 * @param tokenLogProbabilities natural logarithm of each token's probability, the end symbol's last when finished
 * @param logProbability their sum
 * @param score logProbability divided by the length penalty
 * @param finished whether the end symbol ended it; else a limit cut it off, or nothing could follow it
 * @param complete whether the search ran to its end, so that no answer within its beam is better; else the deadline
 *        ended it
 */
public record Hypothesis(String text, int[] ids, float[] tokenLogProbabilities, double logProbability, double score,
        boolean finished, boolean complete) {
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
                + ", finished=" + finished + ", complete=" + complete + "]";
    }
}
