/* The struct xf_decode_models of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.List;
import java.util.Objects;

/**
 * Further models that decode together with a first one: the others of an ensemble, or a draft. They have the same
 * context, tokenizer, vocabulary, and special tokens as the first one, and may be closed afterwards.
 */
public final class DecodeModels {
    private List<Model> ensemble = List.of();
    private Model draft;

    /** Creates an object without models. */
    public DecodeModels() {}

    /**
     * Sets the other models of an ensemble, at most 7. The log-probability of a token is the mean of those of all
     * models.
     */
    public DecodeModels ensemble(List<Model> models) {
        ensemble = Objects.requireNonNull(models, "models");
        return this;
    }

    /**
     * Sets a smaller model that proposes tokens in greedy search ("decode.beam" 1). It affects only the speed. Not with
     * an ensemble.
     */
    public DecodeModels draft(Model model) {
        draft = Objects.requireNonNull(model, "model");
        return this;
    }

    /** The address of an xf_decode_models. */
    long write(Frame f) {
        long[] others = ensemble.stream().mapToLong(f::use).toArray();
        return f.struct(Abi.xf_decode_models.SIZE).set(Abi.xf_decode_models.ensemble, f.array(others))
                .set(Abi.xf_decode_models.ensemble_count, others.length)
                .set(Abi.xf_decode_models.draft, draft == null ? 0 : f.use(draft)).address();
    }
}
