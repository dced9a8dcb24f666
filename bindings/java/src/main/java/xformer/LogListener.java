/* Who hears the log of a context. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Receives the log lines of a {@link Context}. */
@FunctionalInterface
public interface LogListener {
    /**
     * Receives a line of a part of the library: within a call of it, on the thread that made it. It may use other
     * contexts, and of its own only the cancel methods. What it throws does not stop that call: the call goes on
     * without further lines, and when it is over the exception is thrown from it, in place of its result.
     */
    void log(LogLevel level, String component, String message);
}
