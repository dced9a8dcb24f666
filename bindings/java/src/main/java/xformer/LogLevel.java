/* The enum xf_log_level of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Severity of a log line. */
public enum LogLevel {
    /** Something failed; the call that failed also throws it. */
    ERROR,
    /** Something is not as the caller may think: a skipped line, a backend that could not be used. */
    WARNING,
    /** What was chosen and done: the device, each load, save and resume. */
    INFO,
    /** Detail for those who look for a fault. */
    DEBUG;

    static LogLevel of(int number) {
        return values()[Math.max(0, Math.min(number, DEBUG.ordinal()))];
    }
}
