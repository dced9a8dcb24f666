/*
 * The callbacks of a context. C identifies the services of a context by a number. The objects of a context keep them
 * alive; this table does not, so a listener that refers to its context does not keep both alive.
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
    private final Executor executor;

    Services(LogListener log, LogLevel level, Executor executor) {
        this.log = log;
        this.level = level;
        this.executor = executor;
        Long key = id;
        ALL.put(key, new WeakReference<>(this));
        Handle.CLEANER.register(this, () -> ALL.remove(key));
    }

    /** The address of an xf_host. */
    long host(Frame f) {
        Memory host = f.struct(Abi.xf_host.SIZE).setInt(Abi.xf_host.log_level, level.ordinal() + 1);
        if (log != null) host.set(Abi.xf_host.log_user, id).set(Abi.xf_host.log, Native.callback(Native.LOG));
        if (executor != null) {
            host.set(Abi.xf_host.parallel_user, id).set(Abi.xf_host.parallel, Native.callback(Native.PARALLEL));
        }
        return host.address();
    }

    private static Services of(long id) {
        WeakReference<Services> found = ALL.get(id);
        return found == null ? null : found.get();
    }

    /** The xf_log_fn. */
    @SuppressWarnings("unused")
    private static int log(long id, long line) {
        Services to = of(id);
        if (to == null) return 0; // the Cleaner is freeing objects that were not closed
        return Frame.guarded(() -> {
            Memory l = Memory.at(line, Abi.xf_log_line.SIZE);
            to.log.log(l.constant(Abi.xf_log_line.level, LogLevel.values()), l.text(Abi.xf_log_line.component),
                    l.text(Abi.xf_log_line.message));
        });
    }

    /**
     * The xf_parallel_fn: runs tasks on the executor and on this thread, which runs every task that the executor has
     * not begun. Therefore it also ends if the executor is busy or closed. It throws only before it has begun a task.
     */
    @SuppressWarnings("unused")
    private static int parallel(long id, long job) {
        Memory j = Memory.at(job, Abi.xf_job.SIZE);
        long run = j.getLong(Abi.xf_job.run);
        long arg = j.getLong(Abi.xf_job.arg);
        int count = j.getInt(Abi.xf_job.count);
        AtomicInteger next = new AtomicInteger();
        CountDownLatch left = new CountDownLatch(count);
        Runnable work = () -> {
            for (int i; (i = next.getAndIncrement()) < count; left.countDown()) Native.runTask(run, arg, i);
        };
        Services to = of(id);
        try {
            for (int i = 1; to != null && i < count; ++i) to.executor.execute(work);
        } catch (Throwable refused) {
            // This thread runs the remaining tasks.
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
