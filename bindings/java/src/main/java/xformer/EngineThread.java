/*
 * The requests of an engine, and the thread that computes. The library has no thread for it: callbacks of C arrive only
 * on threads of Java. This object does not refer to its engine except by requests, so a forgotten engine without
 * requests is freed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

final class EngineThread implements Runnable {
    /** A request until its last event. */
    abstract static class Pending {
        private final Engine engine; // reachable until then
        private final Experimental.Constraint constraint;
        private Throwable thrown;

        Pending(Engine engine, EngineRequest request) {
            this.engine = engine;
            constraint = request.constraint();
        }

        abstract void event(EngineEvent event);

        abstract void failed(Throwable error);
    }

    private final Map<Long, Pending> pending = new ConcurrentHashMap<>();
    private final AtomicLong lastKey = new AtomicLong();
    private final Handle handle;
    private boolean work;

    EngineThread(Handle handle) {
        this.handle = handle;
    }

    /** Submits a request and returns its id. */
    long submit(EngineRequest request, boolean stream, Pending as) {
        Long key = lastKey.incrementAndGet();
        pending.put(key, as);
        try {
            return Frame.get(f -> {
                Memory id = f.memory(8);
                f.check(Native.xf_engine_submit(
                        f.use(as.engine), request.write(f, key, stream), id.address(), f.err()));
                return id.getLong(0);
            });
        } catch (Throwable error) {
            pending.remove(key);
            throw error;
        } finally {
            wake();
        }
    }

    void close() {
        handle.close();
        wake();
    }

    private synchronized void wake() {
        work = true;
        notifyAll();
    }

    @Override
    public void run() {
        while (!handle.closed()) {
            try {
                synchronized (this) {
                    while (!work) wait();
                    work = false;
                }
                while (!handle.closed() && step()) continue;
            } catch (Throwable error) { // of a log listener, or an error of the machine
                if (handle.closed()) break;
                Thread self = Thread.currentThread();
                self.getUncaughtExceptionHandler().uncaughtException(self, error);
                wake();
            }
        }
        failAll();
    }

    /** Ends all requests of a closed engine. */
    void failAll() {
        for (Long key : pending.keySet()) {
            Pending request = pending.remove(key);
            if (request != null) request.failed(new IllegalStateException("the engine is closed"));
        }
    }

    /** Computes one step and delivers its events. Returns whether requests are left. */
    boolean step() {
        return Frame.get(f -> {
            long engine = f.use(handle);
            f.engine(this);
            int status = Native.xf_engine_step(engine, f.err());
            XformerException failure = status < 0 ? f.failure(status) : null;
            Memory event = f.struct(Abi.xf_event.SIZE);
            Memory info = f.struct(Abi.xf_sentence_info.SIZE);
            Memory hypothesis = f.struct(Abi.xf_hypothesis.SIZE);
            while (Native.xf_engine_next(engine, 0, 0, event.address(), f.err()) == Abi.XF_OK) {
                deliver(f, event, info, hypothesis);
            }
            if (failure != null) throw failure;
            f.check(0); // what a log listener threw
            return status == Abi.XF_OK;
        });
    }

    private void deliver(Frame f, Memory event, Memory info, Memory hypothesis) {
        boolean last = event.getBoolean(Abi.xf_event.last);
        Long key = event.getLong(Abi.xf_event.user);
        Pending request = last ? pending.remove(key) : pending.get(key);
        long found = event.getLong(Abi.xf_event.hypotheses);
        try {
            Translation translation = Decoder.result(f, found, 0, info, hypothesis);
            if (request == null) return; // the engine was closed
            if (translation.error() != null && request.thrown != null) translation.error().initCause(request.thrown);
            request.event(new EngineEvent(translation, last, event.getLong(Abi.xf_event.model_hash)));
        } catch (Throwable error) {
            if (request != null) request.failed(error);
        } finally {
            Native.xf_hypotheses_free(found);
        }
    }

    /** The xf_constraint_fn during step(). An exception ends only its request. */
    int restrict(long key, long step) {
        Pending request = pending.get(key);
        if (request == null || request.thrown != null) return 1;
        try {
            Experimental.restrict(request.constraint, step);
            return 0;
        } catch (Throwable error) {
            request.thrown = error;
            return 1;
        }
    }
}
