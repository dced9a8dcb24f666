/* The enum xf_backend_state of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** What a context knows of a backend. */
public enum BackendState {
    /** There is no file of that name. */
    ABSENT,
    /** The file is there; the context's device did not need it, so it was not opened. */
    FOUND,
    /** It was opened and can't serve; the reason says why. */
    UNUSABLE,
    /** It was opened and could serve. */
    USABLE,
    /** The context computes with it. */
    ACTIVE;

    static BackendState of(int number) {
        return values()[Math.max(0, Math.min(number, ACTIVE.ordinal()))];
    }
}
