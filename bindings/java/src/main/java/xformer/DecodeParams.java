/* The struct xf_decode_params of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Parameters of one call of {@link Decoder#translate(List, DecodeParams)} or
 * {@link Decoder#decode(Batch, DecodeParams)}. Each is optional.
 */
public final class DecodeParams {
    private Map<String, ?> options = Map.of();
    private List<String> prefixes;
    private List<int[]> prefixIds;
    private Experimental.Constraint constraint;

    /** Creates parameters that change nothing. */
    public DecodeParams() {}

    /** Sets options of the groups "decode." and "text." that override the decoder's own during the call. */
    public DecodeParams options(Map<String, ?> values) {
        options = Objects.requireNonNull(values, "values");
        return this;
    }

    /** Sets, for each text, the text with which its translations begin; "" for none. */
    public DecodeParams prefixes(List<String> texts) {
        prefixes = Objects.requireNonNull(texts, "texts");
        return this;
    }

    /** Sets, for each sentence of a batch, the ids with which its hypotheses begin, without start and end symbol. */
    public DecodeParams prefixIds(List<int[]> ids) {
        prefixIds = Objects.requireNonNull(ids, "ids");
        return this;
    }

    /**
     * Restricts the tokens that may follow a hypothesis; experimental. A forbidden token is never selected. The
     * remaining tokens compete as usual; probabilities are not renormalized. If all hypotheses of a sentence are
     * dropped, it has one that is not finished, with a logProbability of minus infinity. On a GPU each step waits for
     * the constraint.
     */
    public DecodeParams constraint(Experimental.Constraint restricts) {
        constraint = Objects.requireNonNull(restricts, "restricts");
        return this;
    }

    /** The address of an xf_decode_params for so many texts, or sentences of ids; NULL if nothing is set. */
    long write(Frame f, int sentences, boolean texts) {
        List<?> given = texts ? prefixes : prefixIds;
        if ((texts ? prefixIds : prefixes) != null) {
            throw new IllegalArgumentException(texts ? "prefixIds are for decode()" : "prefixes are for translate()");
        }
        if (given != null && given.size() != sentences) {
            throw new IllegalArgumentException(
                    "found " + given.size() + " prefixes, expected one for each of " + sentences + " sentences");
        }
        if (options.isEmpty() && given == null && constraint == null) return 0;
        Memory params = f.struct(Abi.xf_decode_params.SIZE).set(Abi.xf_decode_params.config, f.config(options));
        if (prefixes != null) {
            Frame.Texts all = f.texts(prefixes);
            params.set(Abi.xf_decode_params.prefixes, all.pointers())
                    .set(Abi.xf_decode_params.prefix_lengths, all.lengths());
        } else if (prefixIds != null) {
            Batch.Packed packed = new Batch.Packed(prefixIds);
            params.set(Abi.xf_decode_params.prefix_ids, f.ints(packed.ids))
                    .set(Abi.xf_decode_params.prefix_offsets, f.array(packed.offsets));
        }
        if (constraint != null) {
            f.constraint(constraint);
            Memory to = f.struct(Abi.xf_constraint.SIZE)
                    .set(Abi.xf_constraint.function, Native.callback(Native.CONSTRAINT));
            params.set(Abi.xf_decode_params.constraint, to.address());
        }
        return params.address();
    }
}
