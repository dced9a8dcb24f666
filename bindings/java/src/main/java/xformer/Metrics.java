/* BLEU and chrF. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.List;

/** Translation metrics: corpus-level scores with one reference per segment, equal to those of sacreBLEU 2.x. */
public final class Metrics {
    /** How BLEU splits text into words. */
    public enum Tokenize {
        /** mteval-v13a, the default of sacreBLEU: for raw text. */
        MTEVAL_13A,
        /** At white space, for tokenized text. */
        NONE,
        /**
         * For tokenized text: at white space and around a hyphen within a word; a precision of zero is not smoothed.
         * This is the score of the paper's Table 2.
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
        check(hypotheses, references);
        return Frame.read(Abi.xf_bleu_score.SIZE, (f, out) -> {
            Frame.Texts h = f.texts(hypotheses);
            Frame.Texts r = f.texts(references);
            return Native.xf_bleu(h.pointers(), h.lengths(), r.pointers(), r.lengths(), h.count(), tokenize.ordinal(),
                    out, f.err());
        }, s -> {
            int precisions = Abi.xf_bleu_score.precisions;
            return new BleuScore(s.getDouble(Abi.xf_bleu_score.score),
                    List.of(s.getDouble(precisions), s.getDouble(precisions + 8), s.getDouble(precisions + 16),
                            s.getDouble(precisions + 24)),
                    s.getDouble(Abi.xf_bleu_score.brevity_penalty), s.getLong(Abi.xf_bleu_score.hypothesis_length),
                    s.getLong(Abi.xf_bleu_score.reference_length),
                    Text.at(s.address() + Abi.xf_bleu_score.signature));
        });
    }

    /** Computes corpus chrF2: character n-grams up to 6, beta 2, white space removed. */
    public static ChrfScore chrf(List<String> hypotheses, List<String> references) {
        check(hypotheses, references);
        return Frame.read(Abi.xf_chrf_score.SIZE, (f, out) -> {
            Frame.Texts h = f.texts(hypotheses);
            Frame.Texts r = f.texts(references);
            return Native.xf_chrf(h.pointers(), h.lengths(), r.pointers(), r.lengths(), h.count(), out, f.err());
        }, s -> new ChrfScore(
                s.getDouble(Abi.xf_chrf_score.score), Text.at(s.address() + Abi.xf_chrf_score.signature)));
    }

    private static void check(List<String> hypotheses, List<String> references) {
        if (hypotheses.size() != references.size()) {
            throw new IllegalArgumentException("found " + hypotheses.size() + " hypotheses and " + references.size()
                    + " references, expected equal numbers");
        }
    }
}
