/* XF_ERROR_STATE. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** The call is not allowed in the object's present state. */
public class StateException extends XformerException {
    private static final long serialVersionUID = 1L;

    StateException(int nativeCode, String message) {
        super(Status.STATE.code(), nativeCode, message);
    }
}
