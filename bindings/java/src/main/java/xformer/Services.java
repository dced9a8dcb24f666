/*
 * Where callbacks arrive from C. C knows the services of a context by a number only, so that none can be called that is
 * gone: the objects of a context hold them, this table does not, and a listener that holds its context keeps neither.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

final class Services {
    private static final Map<Long, WeakReference<Services>> ALL = new ConcurrentHashMap<>();
    private static final AtomicLong LAST = new AtomicLong();

    private final long id = LAST.incrementAndGet();
    private final LogListener log;
    private final LogLevel level;
    private final ProgressListener progress;
    private final Executor executor;

    Services(LogListener log, LogLevel level, ProgressListener progress, Executor executor) {
        this.log = log;
        this.level = level;
        this.progress = progress;
        this.executor = executor;
        Long key = id;
        ALL.put(key, new WeakReference<>(this));
        Handle.CLEANER.register(this, () -> ALL.remove(key));
    }

    /** The struct xf_host. */
    long host(Frame f) {
        Words host = f.struct(14);
        if (log != null) host.set(4, id).set(5, Native.callback(Native.LOG));
        host.memory().putInt(48, level.ordinal());
        if (progress != null) host.set(7, id).set(8, Native.callback(Native.PROGRESS));
        if (executor != null) host.set(9, id).set(10, Native.callback(Native.PARALLEL));
        return host.address();
    }

    private static Services of(long id) {
        WeakReference<Services> found = ALL.get(id);
        return found == null ? null : found.get();
    }

    @SuppressWarnings("unused")
    private static int log(long id, long level, long component, long message) {
        Services to = of(id);
        if (to == null) return 0; // objects are being freed that nobody closed
        return Frame.guarded(() -> to.log.log(LogLevel.of((int) level), Text.at(component), Text.at(message))) ? 1 : 0;
    }

    @SuppressWarnings("unused")
    private static int progress(long id, long task, long done, long total) {
        Services to = of(id);
        return to != null && Frame.guarded(() -> to.progress.progress(Text.at(task), done, total)) ? 1 : 0;
    }

    /**
     * Runs tasks on the host's executor and on this thread, which takes all that nobody else has taken: so it ends on a
     * pool that is full or closed, too. It throws only before it has begun a task.
     */
    @SuppressWarnings("unused")
    private static int parallel(long id, long count, long task, long arg) {
        AtomicInteger next = new AtomicInteger();
        CountDownLatch left = new CountDownLatch((int) count);
        Runnable work = () -> {
            for (int i; (i = next.getAndIncrement()) < count; left.countDown()) Native.runTask(task, arg, i);
        };
        Services to = of(id);
        try {
            for (int i = 1; to != null && i < count; ++i) to.executor.execute(work);
        } catch (Throwable refused) {
            // This thread does the rest.
        }
        work.run();
        boolean interrupted = false;
        while (left.getCount() > 0) {
            try {
                left.await();
            } catch (InterruptedException later) {
                interrupted = true;
            }
        }
        if (interrupted) Thread.currentThread().interrupt();
        return 0;
    }
}
