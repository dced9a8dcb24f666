/* The struct xf_memory_stats of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * Memory of a context's tensors, in bytes.
 *
 * @param current bytes held now
 * @param peak largest value of current so far
 * @param budget the option "context.memory_budget"; 0 when there is none
 * @param allocations allocations so far: stands still in the steady state of training and decoding
 */
public record MemoryStats(long current, long peak, long budget, long allocations) {}
