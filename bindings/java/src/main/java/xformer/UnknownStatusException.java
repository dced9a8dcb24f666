/* For a library that is newer than this package. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** A call failed with a status that this version of the package does not know; {@link #statusCode()} is its number. */
public final class UnknownStatusException extends XformerException {
    private static final long serialVersionUID = 1L;

    UnknownStatusException(int statusCode, int nativeCode, String message) {
        super(statusCode, nativeCode, message);
    }
}
