/* BLEU and chrF. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.List;

/** Translation metrics, equal to sacreBLEU 2.x: corpus level, one reference. */
public final class Metrics {
    /** How BLEU splits text into words. */
    public enum Tokenize {
        /** mteval-v13a, sacreBLEU's default: for raw text. */
        MTEVAL_13A,
        /** At white space only: for text that is tokenised already. */
        NONE,
        /**
         * For text that is tokenised already: at white space and around a hyphen within a word, and a precision of zero
         * is not smoothed, as in the paper's Table 2.
         */
        SPLIT_HYPHENS
    }

    private Metrics() {}

    /**
     * Computes corpus BLEU of raw text.
     *
     * @param hypotheses segments, at least one
     * @param references as many
     * @return the score
     */
    public static BleuScore bleu(List<String> hypotheses, List<String> references) {
        return bleu(hypotheses, references, Tokenize.MTEVAL_13A);
    }

    /**
     * Computes corpus BLEU.
     *
     * @param hypotheses segments, at least one
     * @param references as many
     * @param tokenize how text is split into words
     * @return the score
     */
    public static BleuScore bleu(List<String> hypotheses, List<String> references, Tokenize tokenize) {
        Text.Packed found = segments(hypotheses);
        Text.Packed wanted = segments(references);
        same(found, wanted);
        double[] x = new double[6];
        long[] n = new long[2];
        byte[] signature = Native.bleu(found.bytes(), found.starts(), wanted.bytes(), wanted.starts(),
                tokenize.ordinal(), x, n);
        return new BleuScore(x[0], List.of(x[1], x[2], x[3], x[4]), x[5], n[0], n[1], Text.string(signature));
    }

    /**
     * Computes corpus chrF2: character n-grams to 6, beta 2, white space removed.
     *
     * @param hypotheses segments, at least one
     * @param references as many
     * @return 0 to 100
     */
    public static double chrf(List<String> hypotheses, List<String> references) {
        Text.Packed found = segments(hypotheses);
        Text.Packed wanted = segments(references);
        same(found, wanted);
        return Native.chrf(found.bytes(), found.starts(), wanted.bytes(), wanted.starts());
    }

    private static Text.Packed segments(List<String> texts) {
        for (int i = 0; i < texts.size(); ++i) {
            if (texts.get(i).indexOf(0) >= 0) {
                throw new IllegalArgumentException("segment " + i + " holds a NUL character");
            }
        }
        return Text.packed(texts);
    }

    private static void same(Text.Packed found, Text.Packed wanted) {
        if (found.count() != wanted.count()) {
            throw new IllegalArgumentException(found.count() + " hypotheses and " + wanted.count() + " references");
        }
    }
}
