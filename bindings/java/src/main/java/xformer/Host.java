/* The struct xf_host of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.Objects;
import java.util.concurrent.Executor;

/** Services that a program provides to a {@link Context}. Each is optional. */
public final class Host {
    private LogListener log;
    private LogLevel level = LogLevel.WARNING;
    private Executor executor;

    /** Creates a host without services: nothing is logged, and the context creates its own worker threads. */
    public Host() {}

    /** Receives the log, including that of the creation of the context, up to the least severe level. */
    public Host log(LogLevel least, LogListener listener) {
        level = Objects.requireNonNull(least, "least");
        log = Objects.requireNonNull(listener, "listener");
        return this;
    }

    /**
     * Runs the tasks of the library on an executor, at most "context.threads" - 1 at a time; the library then creates
     * no threads. The thread of a call executes all tasks that the executor has not begun, so an executor that is busy
     * delays nothing. Results do not depend on the executor.
     */
    public Host executor(Executor pool) {
        executor = Objects.requireNonNull(pool, "pool");
        return this;
    }

    Services services() {
        return new Services(log, level, executor);
    }
}
