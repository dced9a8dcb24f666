/* The struct xf_engine_info of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * State and counters of an {@link Engine}.
 *
 * @param waiting requests that have not begun
 * @param active requests in the search
 * @param events results that were not yet delivered
 * @param submitted requests since the engine was created
 * @param completed requests that succeeded
 * @param cancelled requests that were cancelled
 * @param failed requests that failed
 * @param steps steps of the search
 * @param rows hypotheses of the active requests, summed over all steps; rows / steps is the mean batch size
 * @param encoderPasses passes of the encoder
 * @param restarts requests that began again because memory was exhausted
 * @param modelHash hash of the options and weights of the current model; equal models have equal hashes
 * @param modelCount models in use: the current one, and earlier ones with active requests
 */
public record EngineInfo(long waiting, long active, long events, long submitted, long completed, long cancelled,
        long failed, long steps, long rows, long encoderPasses, long restarts, long modelHash, int modelCount) {
    static EngineInfo of(Memory i) {
        return new EngineInfo(i.getLong(Abi.xf_engine_info.waiting), i.getLong(Abi.xf_engine_info.active),
                i.getLong(Abi.xf_engine_info.events), i.getLong(Abi.xf_engine_info.submitted),
                i.getLong(Abi.xf_engine_info.completed), i.getLong(Abi.xf_engine_info.cancelled),
                i.getLong(Abi.xf_engine_info.failed), i.getLong(Abi.xf_engine_info.steps),
                i.getLong(Abi.xf_engine_info.rows), i.getLong(Abi.xf_engine_info.encoder_passes),
                i.getLong(Abi.xf_engine_info.restarts), i.getLong(Abi.xf_engine_info.model_hash),
                i.getInt(Abi.xf_engine_info.model_count));
    }
}
