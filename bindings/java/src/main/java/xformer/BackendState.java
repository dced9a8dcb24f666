/* The constants XF_BACKEND_... of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** State of a backend in a context. */
public enum BackendState {
    /** No file of that name was found. */
    ABSENT,
    /** The file exists; it was not opened because the context's device does not need it. */
    FOUND,
    /** The file was opened but cannot be used; {@link BackendInfo#reason} says why. */
    UNUSABLE,
    /** The file was opened and could be used. */
    USABLE,
    /** The context computes with it. */
    ACTIVE
}
