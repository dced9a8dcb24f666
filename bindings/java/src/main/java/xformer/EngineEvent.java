/* The struct xf_event of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * A result of a request of an {@link Engine}.
 *
 * @param translation the hypotheses; of a partial result, one hypothesis of all tokens that are certain. Later results
 *        of the request begin with them.
 * @param last whether it is the final result
 * @param modelHash {@link EngineInfo#modelHash} of the model that decoded the request; 0 if it never began
 */
public record EngineEvent(Translation translation, boolean last, long modelHash) {
    /** {@return the text of the best hypothesis} */
    public String text() {
        return translation.text();
    }
}
