/* The enum xf_attention_kind of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** The three uses of attention (paper s. 3.2.3). */
public enum AttentionKind {
    /** Encoder self-attention: queries and keys are the source's tokens. */
    ENCODER,
    /** Decoder self-attention: queries and keys are the target's positions; none looks ahead. */
    DECODER,
    /** Encoder-decoder attention: queries are the target's positions, keys the source's tokens. */
    CROSS
}
