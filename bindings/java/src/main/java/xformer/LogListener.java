/* Who hears the log of a context. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Receives the log lines of a {@link Context}. */
@FunctionalInterface
public interface LogListener {
    /**
     * Receives a line: within a call of the library, on the thread that made it. It may use other contexts, and of its
     * own only the cancel methods. What it throws does not stop that call: the call goes on without further
     * lines, and when it is over the exception is thrown from it, in place of its result.
     *
     * @param level severity of the line
     * @param component part of the library that speaks
     * @param message the line
     */
    void log(LogLevel level, String component, String message);
}
