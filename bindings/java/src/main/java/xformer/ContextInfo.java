/* The struct xf_context_info of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * Properties of a context.
 *
 * @param description one line for people
 * @param backend "ref", "openblas", or "cuda"
 * @param device in the form of "context.device", for example "cpu:openblas" or "cuda:0"
 * @param arithmetic what the bits of results depend on besides backend and precision; see {@code xf_context_info}
 * @param precision type of activations and matrix products: FP32 or BF16
 * @param threads number of CPU threads that compute
 * @param rank rank of this process in its training job; 0 for a single process
 * @param rankCount number of ranks of the training job; 1 for a single process
 */
public record ContextInfo(String description, String backend, String device, String arithmetic, DataType precision,
        int threads, int rank, int rankCount) {}
