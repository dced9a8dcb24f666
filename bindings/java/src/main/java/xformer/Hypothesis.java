/* The struct xf_hypothesis of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.Arrays;
import java.util.Objects;

/**
 * One answer. Two are equal when all their values are.
 *
 * @param text the translation; null when the model has no tokenizer
 * @param ids target ids, without start and end symbol; a copy
 * @param logProbability natural logarithm of the probability, the end symbol's included when finished
 * @param score logProbability divided by the length penalty
 * @param finished whether the end symbol ended it, and not the length limit
 */
public record Hypothesis(String text, int[] ids, double logProbability, double score, boolean finished) {
    /**
     * Makes an answer.
     *
     * @param text the translation, or null
     * @param ids target ids; copied
     * @param logProbability natural logarithm of the probability
     * @param score logProbability divided by the length penalty
     * @param finished whether the end symbol ended it
     */
    public Hypothesis {
        ids = ids.clone();
    }

    /**
     * Gives the target ids.
     *
     * @return a copy
     */
    @Override
    public int[] ids() {
        return ids.clone();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Hypothesis o && Objects.equals(text, o.text) && Arrays.equals(ids, o.ids)
                && Double.compare(logProbability, o.logProbability) == 0 && Double.compare(score, o.score) == 0
                && finished == o.finished;
    }

    @Override
    public int hashCode() {
        return Objects.hash(text, Arrays.hashCode(ids), logProbability, score, finished);
    }

    @Override
    public String toString() {
        return "Hypothesis[text=" + text + ", ids=" + Arrays.toString(ids) + ", logProbability=" + logProbability
                + ", score=" + score + ", finished=" + finished + "]";
    }
}
