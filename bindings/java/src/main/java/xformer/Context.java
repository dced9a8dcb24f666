/* The root object: device, threads, memory, log. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The root of all objects: an open device with its threads, its memory account, and its log. */
public final class Context extends NativeObject {
    /** Creates a context with all defaults: the best available device, and one thread per processor. */
    public Context() {
        this(Map.of());
    }

    /** Creates a context. Reads the options of the group "context.". */
    public Context(Map<String, ?> options) {
        this(options, new Host());
    }

    /** Creates a context with services of the program. Later changes of the host have no effect. */
    public Context(Map<String, ?> options, Host host) {
        this(options, host.services());
    }

    private Context(Map<String, ?> options, Services services) {
        super(Handle.Kind.CONTEXT, services, (f, out) ->
                Native.xf_context_create(f.config(options), services.host(f), out, f.err()));
    }

    /**
     * Cancels all calls that are running on this context and its objects. Later calls are not affected. Intended for
     * shutdown; to cancel one call, use a {@link CancelToken}. May be called from any thread and any listener.
     */
    public void cancel() {
        try (Frame f = new Frame()) {
            Native.xf_context_cancel(f.use(this));
        }
    }

    /** {@return the properties of this context} */
    public ContextInfo info() {
        return Frame.read(Abi.xf_context_info.SIZE,
                (f, out) -> Native.xf_context_get_info(f.use(this), out, f.err()),
                c -> new ContextInfo(c.text(Abi.xf_context_info.description), c.text(Abi.xf_context_info.backend),
                        c.text(Abi.xf_context_info.device), c.text(Abi.xf_context_info.arithmetic),
                        c.constant(Abi.xf_context_info.precision, DataType.values()),
                        c.getInt(Abi.xf_context_info.threads), c.getInt(Abi.xf_context_info.rank),
                        c.getInt(Abi.xf_context_info.rank_count)));
    }

    /** {@return the memory account, also while calls are running} */
    public MemoryStats memory() {
        return Frame.read(Abi.xf_memory_stats.SIZE,
                (f, out) -> Native.xf_context_get_memory(f.use(this), out, f.err()),
                s -> new MemoryStats(s.getLong(Abi.xf_memory_stats.current), s.getLong(Abi.xf_memory_stats.peak),
                        s.getLong(Abi.xf_memory_stats.budget), s.getLong(Abi.xf_memory_stats.allocations)));
    }

    /** {@return the backends that the library supports, available or not} Opens none. */
    public List<BackendInfo> backends() {
        long count = Frame.get(f -> Native.xf_context_backend_count(f.use(this)));
        List<BackendInfo> found = new ArrayList<>();
        for (long i = 0; i < count; ++i) {
            long index = i;
            found.add(Frame.read(Abi.xf_backend_info.SIZE,
                    (f, out) -> Native.xf_context_get_backend(f.use(this), index, out, f.err()),
                    b -> new BackendInfo(b.text(Abi.xf_backend_info.name), b.text(Abi.xf_backend_info.version),
                            b.text(Abi.xf_backend_info.path), b.text(Abi.xf_backend_info.kind),
                            b.constant(Abi.xf_backend_info.state, BackendState.values()),
                            b.getInt(Abi.xf_backend_info.device_count), b.text(Abi.xf_backend_info.reason))));
        }
        return List.copyOf(found);
    }
}
