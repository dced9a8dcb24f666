/* The root of everything: device, threads, memory, log, cancel. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** The root of all objects: an opened device with its threads, its memory account and its log. */
public final class Context extends NativeObject {
    /** Makes a context with all defaults: the best device that opens, a thread per processor. */
    public Context() {
        this(Map.of());
    }

    /** Makes a context by the options of the group "context.": device, threads, memory_budget, backend_path, ... */
    public Context(Map<String, ?> options) {
        this(options, new Host());
    }

    /** Makes a context with services of the program, as they are now: later changes of the host do not count. */
    public Context(Map<String, ?> options, Host host) {
        this(options, host.services());
    }

    private Context(Map<String, ?> options, Services services) {
        super(Handle.Kind.CONTEXT, services, (f, out) ->
                Native.xf_context_create(f.config(options), services.host(f), out, f.err()));
    }

    /**
     * Cancels all calls that run on this context and its objects at the moment: each ends in a
     * {@link CancelledException}, and its object stays usable. While nothing runs it does nothing. May be called from
     * any thread, and from listeners.
     */
    public void cancel() {
        act(Native::xf_context_cancel);
    }

    /** {@return what this context computes with: one line, for people} */
    public String device() {
        return Frame.get(f -> Text.at(Native.xf_context_device(f.use(this))));
    }

    /** {@return the memory account; also while calls run} */
    public MemoryStats memory() {
        return Frame.read(5, (f, out) -> Native.xf_context_get_memory(f.use(this), out, f.err()),
                s -> new MemoryStats(s.get(1), s.get(2), s.get(3), s.get(4)));
    }

    /** {@return this process's number among the ranks of its training job; 0 for one that is alone} */
    public int rank() {
        return Frame.get(f -> (int) Native.xf_context_rank(f.use(this)));
    }

    /** {@return the number of those ranks; 1 for a process that is alone} */
    public int rankCount() {
        return Frame.get(f -> (int) Native.xf_context_rank_count(f.use(this)));
    }

    /**
     * Gives a number to all ranks and gets theirs, in their order. Every rank makes this call, in the same place; with
     * it they decide as one, to stop for instance.
     */
    public long[] allGather(long value) {
        int count = rankCount();
        return Frame.read(count, (f, out) -> Native.xf_context_all_gather(f.use(this), value, out, f.err()),
                all -> IntStream.range(0, count).mapToLong(all::get).toArray());
    }

    /** {@return the backends known here, available or not; opens none} */
    public List<BackendInfo> backends() {
        long count = Frame.get(f -> Native.xf_backend_count(f.use(this)));
        List<BackendInfo> found = new ArrayList<>();
        for (long i = 0; i < count; ++i) {
            long index = i;
            found.add(Frame.read(7, (f, out) -> Native.xf_backend_get(f.use(this), index, out, f.err()),
                    b -> new BackendInfo(b.text(1), b.text(2), b.text(3), b.text(4), BackendState.of(b.low(5)),
                            b.high(5), b.text(6))));
        }
        return List.copyOf(found);
    }
}
