/* The root of everything: device, threads, memory, log, cancel. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The root of all objects: an opened device with its threads, its memory account and its log. */
public final class Context extends NativeObject {
    private final Root root;
    // Held by the context, which all its objects hold; C holds it weakly.
    private final Ear ear = new Ear();

    /** Makes a context with all defaults: the best device that opens, a thread per processor. */
    public Context() {
        this(Map.of());
    }

    /**
     * Makes a context.
     *
     * @param options of which the group "context." is read: device, threads, memory_budget, isa, precision, graphs
     */
    public Context(Map<String, ?> options) {
        this(options, new Root());
    }

    private Context(Map<String, ?> options, Root root) {
        super(Kind.CONTEXT, root);
        this.root = root;
        try (Config.Use config = Config.of(options)) {
            peer.open(Native.contextCreate(config.pointer()));
        }
    }

    Root root() {
        return root;
    }

    /**
     * Sends the log to a listener. Without one nothing is printed anywhere.
     *
     * @param listener who hears it; null is silence
     * @param level the least weighty level that is wanted
     */
    public void setLog(LogListener listener, LogLevel level) {
        Objects.requireNonNull(level, "level");
        try (Call context = peer.write()) {
            Native.contextSetLog(context.pointer(), listener == null ? 0 : root.weak(ear), level.ordinal());
            ear.set(listener);
        }
    }

    /**
     * Asks the long call that runs on this context in another thread, or the next one if none runs, to end in a
     * {@link CancelledException}. Of several calls that run at the same time one takes it: what is to be stopped apart
     * needs a context of its own. May be called from any thread and from a {@link LogListener}.
     */
    public void cancel() {
        try (Call context = peer.any()) {
            Native.contextCancel(context.pointer());
        }
    }

    /**
     * Tells what this context computes with.
     *
     * @return one line, for people
     */
    public String device() {
        try (Call context = peer.read()) {
            return Text.string(Native.contextDevice(context.pointer()));
        }
    }

    /**
     * Reads the memory account; also while calls run.
     *
     * @return the account
     */
    public MemoryStats memory() {
        long[] stats = new long[4];
        try (Call context = peer.any()) {
            Native.contextMemory(context.pointer(), stats);
        }
        return new MemoryStats(stats[0], stats[1], stats[2], stats[3]);
    }

    /**
     * Lists the backends known here, available or not.
     *
     * @return the backends
     */
    public List<BackendInfo> backends() {
        List<BackendInfo> found = new ArrayList<>();
        try (Call context = peer.read()) {
            int count = Native.backendCount(context.pointer());
            for (int i = 0; i < count; ++i) {
                byte[][] texts = new byte[5][];
                int[] numbers = new int[2];
                Native.backend(context.pointer(), i, texts, numbers);
                found.add(new BackendInfo(Text.string(texts[0]), Text.string(texts[1]), Text.string(texts[2]),
                        Text.string(texts[3]), numbers[0], numbers[1] != 0, Text.string(texts[4])));
            }
        }
        return List.copyOf(found);
    }

    /**
     * Loads a plugin from a file, to look it over: it is listed in {@link #backends()} afterwards.
     *
     * @param path file name
     */
    public void loadBackend(Path path) {
        byte[] name = Text.path(path);
        try (Call context = peer.write()) {
            Native.backendLoad(context.pointer(), name);
        }
    }
}
