/* The struct xf_memory_stats of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * Memory account of a context, in bytes: tensors, workspaces, and corpora.
 *
 * @param current bytes in use
 * @param peak largest value of current so far
 * @param budget "context.memory_budget"; 0: no limit
 * @param allocations number of allocations so far; it does not change in the steady state of training and decoding
 */
public record MemoryStats(long current, long peak, long budget, long allocations) {}
