/* The struct xf_decode_params of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.IntBuffer;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * What holds for one call of {@link Decoder#translate(List, DecodeParams)} or
 * {@link Decoder#decode(Batch, DecodeParams)}. With a constraint a device that searches by itself is waited for at each
 * step; with prefixes it is not.
 */
public final class DecodeParams {
    private Map<String, ?> options = Map.of();
    private List<String> prefixes;
    private List<int[]> prefixIds;
    private Constraint constraint;

    /** Makes parameters that change nothing. */
    public DecodeParams() {}

    /** Sets options of the group "decode." in place of the decoder's own: another beam needs no other decoder. */
    public DecodeParams options(Map<String, ?> values) {
        options = Objects.requireNonNull(values, "values");
        return this;
    }

    /** Gives, for each text to translate, the text that its answers begin with; "" for one without. */
    public DecodeParams prefixes(List<String> texts) {
        prefixes = Objects.requireNonNull(texts, "texts");
        return this;
    }

    /** Gives, for each sentence of a batch, the tokens that its answers begin with, without start and end symbol. */
    public DecodeParams prefixIds(List<int[]> ids) {
        prefixIds = Objects.requireNonNull(ids, "ids");
        return this;
    }

    /**
     * Holds the answers to what a constraint allows. It works inside beam search: a forbidden token is never chosen,
     * what is allowed competes as ever, and scores stay the model's own. A sentence without an allowed answer has one
     * that is not finished, with a logProbability of minus infinity.
     */
    public DecodeParams constraint(Constraint allows) {
        constraint = Objects.requireNonNull(allows, "allows");
        return this;
    }

    /** The struct for a call on so many sentences, given as texts or as ids; 0 when it would be empty. */
    long write(Frame f, int sentences, boolean texts) {
        List<?> given = texts ? prefixes : prefixIds;
        if ((texts ? prefixIds : prefixes) != null) {
            throw new IllegalArgumentException(texts ? "prefixIds are for decode()" : "prefixes are for translate()");
        }
        if (given != null && given.size() != sentences) {
            throw new IllegalArgumentException(given.size() + " prefixes for " + sentences + " sentences");
        }
        if (options.isEmpty() && given == null && constraint == null) return 0;
        Words params = f.struct(8).set(1, f.config(options)).set(6, f.constraint(constraint));
        if (prefixes != null) {
            Frame.Texts all = f.texts(Text.utf8(prefixes));
            params.set(2, all.pointers()).set(3, all.lengths());
        } else if (prefixIds != null) {
            Batch.Side side = new Batch.Side(prefixIds);
            params.set(4, f.ints(IntBuffer.wrap(side.ids))).set(5, f.ints(side.offsets));
        }
        return params.address();
    }
}
