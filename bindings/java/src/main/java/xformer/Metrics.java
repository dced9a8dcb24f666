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

    /** Computes corpus BLEU of raw text. */
    public static BleuScore bleu(List<String> hypotheses, List<String> references) {
        return bleu(hypotheses, references, Tokenize.MTEVAL_13A);
    }

    /** Computes corpus BLEU. */
    public static BleuScore bleu(List<String> hypotheses, List<String> references, Tokenize tokenize) {
        same(hypotheses, references);
        return Frame.read(21, (f, out) -> Native.xf_bleu(segments(f, hypotheses), segments(f, references),
                hypotheses.size(), tokenize.ordinal(), out, f.err()),
                s -> new BleuScore(s.real(1), List.of(s.real(2), s.real(3), s.real(4), s.real(5)), s.real(6), s.get(7),
                        s.get(8), Text.at(s.address() + 72)));
    }

    /** Computes corpus chrF2, 0 to 100: character n-grams to 6, beta 2, white space removed. */
    public static double chrf(List<String> hypotheses, List<String> references) {
        same(hypotheses, references);
        return Frame.read(1, (f, out) -> Native.xf_chrf(segments(f, hypotheses), segments(f, references),
                hypotheses.size(), out, f.err()), s -> s.real(0));
    }

    private static long segments(Frame f, List<String> texts) {
        for (int i = 0; i < texts.size(); ++i) {
            if (texts.get(i).indexOf(0) >= 0) {
                throw new IllegalArgumentException("segment " + i + " holds a NUL character");
            }
        }
        return f.texts(Text.utf8(texts)).pointers();
    }

    private static void same(List<String> hypotheses, List<String> references) {
        if (hypotheses.size() != references.size()) {
            throw new IllegalArgumentException(
                    hypotheses.size() + " hypotheses and " + references.size() + " references");
        }
    }
}
