/* The Transformer's parameters, in memory and in a file. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * A Transformer's parameters with their configuration and, perhaps, a tokenizer. Many decoders may share a model.
 *
 * <p>Parameters are numbered in the order of the file; {@link #indexOf} finds a name. Buffers are used from position to
 * limit, which stay where they are; direct ones in the native byte order without a copy.
 */
public final class Model extends NativeObject {
    final Context context;
    // A borrowed model ends with its trainer, which therefore must not be collected before.
    private final NativeObject keep;

    private Model(Context context) {
        super(Kind.MODEL, context.root(), context.peer.guard);
        this.context = context;
        keep = context;
    }

    /** A model that belongs to a trainer. */
    Model(Trainer trainer, Context context, long pointer, Guard guard) {
        super(Peer.borrowed(Kind.MODEL, trainer.peer, pointer, guard, context.peer.guard));
        this.context = context;
        keep = trainer;
    }

    /**
     * Makes a model with fresh parameters and a tokenizer.
     *
     * @param context the context
     * @param options of which the group "model." is read
     * @param tokenizer the tokenizer
     */
    public Model(Context context, Map<String, ?> options, Tokenizer tokenizer) {
        this(context);
        try (Call c = context.peer.read();
                Config.Use config = Config.of(options);
                Call words = tokenizer.peer.read()) {
            peer.open(Native.modelCreate(c.pointer(), config.pointer(), words.pointer()));
        }
    }

    /**
     * Makes a model with fresh parameters that knows only ids.
     *
     * @param context the context
     * @param options of which the group "model." is read; "model.vocab_size" must be set
     */
    public Model(Context context, Map<String, ?> options) {
        this(context);
        try (Call c = context.peer.read();
                Config.Use config = Config.of(options)) {
            peer.open(Native.modelCreate(c.pointer(), config.pointer(), 0));
        }
    }

    /**
     * Loads what {@link #save} or {@link Trainer#save} wrote. The file is checked before it is used.
     *
     * @param context the context
     * @param path file name
     * @return the model
     */
    public static Model load(Context context, Path path) {
        byte[] name = Text.path(path);
        Model model = new Model(context);
        try (Call c = context.peer.read()) {
            model.peer.open(Native.modelLoad(c.pointer(), name));
        }
        return model;
    }

    /**
     * Loads several files of one model and averages their parameters.
     *
     * @param context the context
     * @param paths file names of models or checkpoints of the same configuration, at least one
     * @return the model
     */
    public static Model average(Context context, List<Path> paths) {
        Text.Packed names = Text.packedPaths(paths);
        Model model = new Model(context);
        try (Call c = context.peer.read()) {
            model.peer.open(Native.modelAverage(c.pointer(), names.bytes(), names.starts()));
        }
        return model;
    }

    /**
     * Saves it, replacing an old file at once or not at all; the old one stays as "PATH.prev".
     *
     * @param path file name
     */
    public void save(Path path) {
        byte[] name = Text.path(path);
        try (Call model = peer.read()) {
            Native.modelSave(model.pointer(), name);
        }
    }

    /**
     * Writes it with numbers as the options say: half as wide, the file is half as large. Numbers are rounded to
     * nearest; {@link #load} widens them.
     *
     * @param path file name
     * @param options of which the group "file." is read: "file.precision" is "fp32", "fp16" or "bf16"
     */
    public void export(Path path, Map<String, ?> options) {
        byte[] name = Text.path(path);
        try (Call model = peer.read();
                Config.Use config = Config.of(options)) {
            Native.modelExport(model.pointer(), config.pointer(), name);
        }
    }

    /**
     * Copies the configuration the model was made with.
     *
     * @return a config of the caller's own, "model.vocab_size" filled in
     */
    public Config config() {
        try (Call model = peer.read()) {
            return Config.adopted(Native.modelConfig(model.pointer()));
        }
    }

    /**
     * Gives the model's tokenizer.
     *
     * @return the tokenizer, usable until the model is closed; empty when it has none
     */
    public Optional<Tokenizer> tokenizer() {
        try (Call model = peer.read()) {
            long pointer = Native.modelTokenizer(model.pointer());
            return pointer == 0 ? Optional.empty() : Optional.of(new Tokenizer(this, context, pointer));
        }
    }

    /**
     * Lists the parameter tensors.
     *
     * @return name and shape of each
     */
    public List<ParamInfo> params() {
        try (Call model = peer.read()) {
            return params(model.pointer());
        }
    }

    static List<ParamInfo> params(long model) {
        int count = Native.paramCount(model);
        List<ParamInfo> found = new ArrayList<>(count);
        for (int i = 0; i < count; ++i) found.add(ParamInfo.read(model, i));
        return List.copyOf(found);
    }

    /**
     * Finds a parameter tensor.
     *
     * @param name its module path
     * @return its number
     */
    public int indexOf(String name) {
        List<ParamInfo> all = params();
        for (int i = 0; i < all.size(); ++i) {
            if (all.get(i).name().equals(name)) return i;
        }
        throw new NotFoundException(0, "there is no parameter \"" + name + "\", expected a name like \""
                + all.get(0).name() + "\"");
    }

    /**
     * Copies a parameter tensor out.
     *
     * @param index which
     * @return its numbers, row-major
     */
    public float[] read(int index) {
        try (Call model = peer.read()) {
            float[] values = new float[ParamInfo.read(model.pointer(), index).size()];
            Native.paramRead(model.pointer(), index, values);
            return values;
        }
    }

    /**
     * Copies a parameter tensor into a buffer.
     *
     * @param index which
     * @param out room for exactly rows * columns numbers, row-major
     */
    public void read(int index, FloatBuffer out) {
        try (Call model = peer.read()) {
            ParamInfo.read(model.pointer(), index);
            Floats.fill(out, values -> Native.paramRead(model.pointer(), index, values));
        }
    }

    /**
     * Replaces a parameter tensor. No trainer or decoder of the model may be in a call.
     *
     * @param index which
     * @param values rows * columns finite numbers, row-major
     */
    public void write(int index, float[] values) {
        put(index, Objects.requireNonNull(values, "values"));
    }

    /**
     * Replaces a parameter tensor. No trainer or decoder of the model may be in a call.
     *
     * @param index which
     * @param values rows * columns finite numbers, row-major
     */
    public void write(int index, FloatBuffer values) {
        put(index, Floats.of(values));
    }

    private void put(int index, Object values) {
        try (Call model = peer.write()) {
            ParamInfo.read(model.pointer(), index);
            Native.paramWrite(model.pointer(), index, values);
        }
    }
}
