/* XF_ERROR_VERSION. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** The file or the plugin was written for another version of the library. */
public final class VersionException extends XformerException {
    private static final long serialVersionUID = 1L;

    VersionException(int nativeCode, String message) {
        super(Status.VERSION.code(), nativeCode, message);
    }
}
