/* The struct xf_batcher_stats of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * Where a batcher stands and what it holds; tokens count end symbols.
 *
 * @param epoch epoch of the next batch, from 0
 * @param batch number of the next batch in its epoch, from 0
 * @param batches batches in this epoch
 * @param pairs pairs in an epoch
 * @param tooLong pairs left out because a side has more than "data.max_tokens" tokens
 * @param empty pairs left out because a side has no token
 * @param srcTokens source tokens in an epoch
 * @param tgtTokens target tokens in an epoch
 */
public record BatcherStats(long epoch, long batch, long batches, long pairs, long tooLong, long empty, long srcTokens,
        long tgtTokens) {}
