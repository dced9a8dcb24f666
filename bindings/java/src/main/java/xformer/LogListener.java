/* The xf_log_fn of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Receives the log lines of a {@link Context}. */
@FunctionalInterface
public interface LogListener {
    /**
     * Receives one line. Called on the thread that made the call. Must not use its own context, except
     * {@link Context#cancel()}. An exception does not stop the call: the call continues without further lines, and
     * throws the exception at its end instead of returning a result.
     *
     * @param component the part of the library, for example "model"
     */
    void log(LogLevel level, String component, String message);
}
