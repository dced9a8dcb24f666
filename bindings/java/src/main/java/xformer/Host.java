/* The struct xf_host of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.Objects;
import java.util.concurrent.Executor;

/** What a program does for a {@link Context}: it hears its log and its progress, and runs its work. */
public final class Host {
    private LogListener log;
    private LogLevel level = LogLevel.WARNING;
    private ProgressListener progress;
    private Executor executor;

    /** Makes a host that does nothing: nothing is printed anywhere, and the context starts threads of its own. */
    public Host() {}

    /** Hears the log, also that of the context's creation, from the least severe level wanted on. */
    public Host log(LogLevel least, LogListener listener) {
        level = Objects.requireNonNull(least, "least");
        log = Objects.requireNonNull(listener, "listener");
        return this;
    }

    /** Hears how far long calls have come. */
    public Host progress(ProgressListener listener) {
        progress = Objects.requireNonNull(listener, "listener");
        return this;
    }

    /**
     * Runs the library's work, at most "context.threads" - 1 tasks of a call at a time, and the library starts no
     * threads. The thread of a call takes part in its work, so a pool may be full, and results do not depend on it.
     */
    public Host executor(Executor pool) {
        executor = Objects.requireNonNull(pool, "pool");
        return this;
    }

    Services services() {
        return new Services(log, level, progress, executor);
    }
}
