/* The struct xf_prefix of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * A hypothesis whose next token is to be chosen.
 *
 * @param sentence which text, or which sentence of the batch, it answers
 * @param ids its tokens so far, without the start symbol
 * @param remaining tokens that may follow, the end symbol counted; at 1, what is not ended now is cut off
 * @param vocabSize how many ids there are
 */
public record Prefix(int sentence, int[] ids, long remaining, int vocabSize) {}
