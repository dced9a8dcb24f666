/* Where a batcher stood. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * Position of a batcher.
 *
 * @param epoch from 0
 * @param batch number of the next batch in that epoch, from 0
 */
public record Position(long epoch, long batch) {}
