/* The constants XF_LOG_... of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Severity of a log line. */
public enum LogLevel {
    /** A failure; the call that failed also throws it. */
    ERROR,
    /** Something unexpected that is not an error: a skipped line of a corpus, a changed option of a resumed run. */
    WARNING,
    /** Decisions and completed operations: the selected device, each load, save, and resume. */
    INFO,
    /** Diagnostic detail. */
    DEBUG
}
