/* The struct xf_batcher_stats of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * Position and contents of a batcher. Numbers of tokens include end symbols.
 *
 * @param epoch epoch of the next batch, from 0
 * @param batch index of the next batch in its epoch, from 0
 * @param batches batches in this epoch
 * @param pairs pairs in this epoch
 * @param tooLong pairs that are skipped because a side has more tokens than "data.max_tokens" or "data.batch_tokens"
 * @param empty pairs that are skipped because a side has no token
 * @param srcTokens source tokens in this epoch
 * @param tgtTokens target tokens in this epoch
 */
public record BatcherStats(long epoch, long batch, long batches, long pairs, long tooLong, long empty, long srcTokens,
        long tgtTokens) {}
