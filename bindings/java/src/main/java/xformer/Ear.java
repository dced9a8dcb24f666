/* Where the log lines of a context arrive from C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

final class Ear {
    private volatile LogListener listener;

    void set(LogListener wanted) {
        listener = wanted;
    }

    /** Called by the glue, which keeps what is thrown here until the call of the library has returned. */
    @SuppressWarnings("unused")
    private void hear(int level, byte[] component, byte[] message) {
        LogListener wanted = listener;
        if (wanted != null) wanted.log(LogLevel.of(level), Text.string(component), Text.string(message));
    }
}
