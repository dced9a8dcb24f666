/* Continuous batching, streaming, and live updates. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.SubmissionPublisher;

/**
 * Decodes requests that arrive at any time, with one copy of the weights. Between two steps of the search, waiting
 * requests begin and finished ones leave. The result of a request is that of a {@link Decoder}.
 *
 * <p>All methods may be called from any thread. A daemon thread computes, together with the threads of the context, and
 * runs constraints and the log listener; results are delivered on the common {@link ForkJoinPool}. With the option
 * "engine.thread" false, {@link #step()} does all this.
 *
 * <p>While an engine uses a model, the model cannot be trained: train a copy, and pass it to {@link #setModel}.
 */
public final class Engine extends NativeObject {
    private final EngineThread requests = new EngineThread(handle);
    private final boolean threaded;
    private final Executor executor;

    private record Settings(Config config, boolean threaded) {
        static Settings of(Map<String, ?> options) {
            Config config = options instanceof Config given ? given.copy() : new Config(options);
            boolean threaded = config.getBoolean("engine.thread");
            config.put("engine.thread", false);
            return new Settings(config, threaded);
        }
    }

    /** Creates an engine with all defaults. */
    public Engine(Model model) {
        this(model, Map.of());
    }

    /** Creates an engine. Reads the options of the groups "engine.", "decode.", and "text.". */
    public Engine(Model model, Map<String, ?> options) {
        this(model, options, new DecodeModels());
    }

    /** Creates an engine with an ensemble or a draft, as {@link Decoder#Decoder(Model, Map, DecodeModels)}. */
    public Engine(Model model, Map<String, ?> options, DecodeModels more) {
        this(model, Settings.of(options), more);
    }

    private Engine(Model model, Settings settings, DecodeModels more) {
        super(Handle.Kind.ENGINE, model.services, (f, out) ->
                Native.xf_engine_create(f.use(model), more.write(f), f.config(settings.config()), out, f.err()));
        settings.config().close();
        threaded = settings.threaded();
        executor = threaded ? ForkJoinPool.commonPool() : Runnable::run;
        EngineThread all = requests;
        Handle.CLEANER.register(this, all::close);
        if (threaded) {
            Thread thread = new Thread(all, "xformer-engine");
            thread.setDaemon(true);
            thread.start();
        }
    }

    /**
     * Submits a request and returns its last result, which will be available later. Never waits for the computation.
     *
     * <p>Canceling the future cancels the request. The future of a request that fails ends with its
     * {@link XformerException}, with what its constraint threw, or with an {@link IllegalStateException} if the engine
     * is closed. Throws an exception with {@link Status#BUSY} if the engine has "engine.max_requests" requests.
     */
    public CompletableFuture<EngineEvent> submit(EngineRequest request) {
        CompletableFuture<EngineEvent> future = new CompletableFuture<>();
        long id = requests.submit(request, false, new EngineThread.Pending(this, request) {
            @Override
            void event(EngineEvent event) {
                XformerException error = event.translation().error();
                if (error != null) failed(reason(error));
                else executor.execute(() -> future.complete(event));
            }

            @Override
            void failed(Throwable error) {
                executor.execute(() -> future.completeExceptionally(error));
            }
        });
        future.whenComplete((event, error) -> {
            if (future.isCancelled()) cancel(id);
        });
        return future;
    }

    /**
     * Returns a publisher of partial results, followed by the last one. Each subscription submits the request, and
     * canceling the subscription cancels it. A subscriber that is slow does not receive every partial result. Errors,
     * also that of a full engine, are passed to {@code onError}.
     */
    public Flow.Publisher<EngineEvent> stream(EngineRequest request) {
        return subscriber -> {
            Stream stream = new Stream(request, subscriber);
            try {
                stream.submitted(requests.submit(request, true, stream));
            } catch (RuntimeException error) {
                stream.failed(error);
            }
        };
    }

    /** One subscription. */
    private final class Stream extends EngineThread.Pending {
        private final SubmissionPublisher<EngineEvent> out =
                new SubmissionPublisher<>(executor, Flow.defaultBufferSize());
        private long id;
        private boolean cancelled;

        Stream(EngineRequest request, Flow.Subscriber<? super EngineEvent> to) {
            super(Engine.this, request);
            out.subscribe(new Flow.Subscriber<EngineEvent>() {
                @Override
                public void onSubscribe(Flow.Subscription given) {
                    to.onSubscribe(new Flow.Subscription() {
                        @Override
                        public void request(long count) {
                            given.request(count);
                        }

                        @Override
                        public void cancel() {
                            given.cancel();
                            submitted(0);
                        }
                    });
                }

                @Override
                public void onNext(EngineEvent event) {
                    to.onNext(event);
                }

                @Override
                public void onError(Throwable error) {
                    to.onError(error);
                }

                @Override
                public void onComplete() {
                    to.onComplete();
                }
            });
        }

        /** The request was submitted, or, if its id is 0, the subscription was cancelled. */
        synchronized void submitted(long number) {
            if (number == 0) cancelled = true;
            else id = number;
            if (cancelled && id != 0) cancel(id);
        }

        @Override
        void event(EngineEvent event) {
            XformerException error = event.translation().error();
            if (error != null) {
                failed(reason(error));
                return;
            }
            // The last result always has room, so this does not wait.
            if (event.last() || out.estimateMaximumLag() < out.getMaxBufferCapacity() / 2) out.submit(event);
            if (event.last()) out.close();
        }

        @Override
        void failed(Throwable error) {
            out.closeExceptionally(error);
        }
    }

    private static Throwable reason(XformerException error) {
        return error.getCause() == null ? error : error.getCause();
    }

    private void cancel(long id) {
        try {
            Frame.run(f -> Native.xf_engine_cancel(f.use(this), id, f.err()));
        } catch (IllegalStateException closed) {
            // All requests end.
        }
    }

    /**
     * Computes one step on this thread and delivers its results. Requires "engine.thread" false.
     *
     * @return whether requests are left
     */
    public boolean step() {
        if (threaded) {
            throw XformerException.of(Abi.XF_ERROR_STATE, 0, "the engine computes on its own thread (engine.thread)");
        }
        return requests.step();
    }

    /** Replaces the model. Requests that begin later use the new one; active requests end with theirs. */
    public void setModel(Model model) {
        setModel(model, new DecodeModels());
    }

    /**
     * Replaces the model, and the ensemble or the draft, as {@link #setModel(Model)}. Throws an exception with
     * {@link Status#INVALID_ARGUMENT} for models that cannot decode together, or for an ensemble with a draft.
     */
    public void setModel(Model model, DecodeModels more) {
        Frame.run(f -> Native.xf_engine_set_model(f.use(this), f.use(model), more.write(f), f.err()));
    }

    /** {@return state and counters} */
    public EngineInfo info() {
        return Frame.read(Abi.xf_engine_info.SIZE, (f, out) -> Native.xf_engine_get_info(f.use(this), out, f.err()),
                EngineInfo::of);
    }

    /** Closes the engine, as {@link NativeObject#close}. Requests that have not ended fail. */
    @Override
    public void close() {
        requests.close();
        if (!threaded) requests.failAll();
    }
}
