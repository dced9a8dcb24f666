/* The parameters of a Transformer, in memory and in files. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The parameters of a Transformer, its configuration, and optionally a tokenizer. Any number of decoders may use one
 * model.
 *
 * <p>The option "model.weights" selects the type of the matrices when a model is loaded, copied, or saved: "same",
 * "fp32", "fp16", "bf16", or "int8". Only a model with fp32 matrices can be trained.
 *
 * <p>Parameter tensors are numbered in the order of the file; {@link #indexOf} finds a name. Buffers are used from
 * position to limit, which do not change; a direct buffer with the native byte order is used without a copy.
 */
public final class Model extends NativeObject {
    Model(Services services, Frame.Output creator) {
        super(Handle.Kind.MODEL, services, creator);
    }

    /** A model that a trainer owns. */
    Model(Trainer trainer, long pointer) {
        super(Handle.Kind.MODEL, trainer, pointer);
    }

    /** Creates a model with random parameters. Reads the options of the group "model.". */
    public Model(Context context, Tokenizer tokenizer, Map<String, ?> options) {
        this(context.services, (f, out) ->
                Native.xf_model_create(f.use(context), f.use(tokenizer), f.config(options), out, f.err()));
    }

    /** Creates a model with random parameters that works on ids; "model.vocab_size" must be set. */
    public Model(Context context, Map<String, ?> options) {
        this(context.services, (f, out) ->
                Native.xf_model_create(f.use(context), 0, f.config(options), out, f.err()));
    }

    /** Loads a model or a checkpoint, as {@link #load(Context, Source, Map, Call)}. */
    public static Model load(Context context, Path path) {
        return load(context, Source.of(path));
    }

    /** Loads a model or a checkpoint, as {@link #load(Context, Source, Map, Call)}. */
    public static Model load(Context context, Source source) {
        return load(context, source, Map.of(), new Call());
    }

    /** Loads a model or a checkpoint. The content is validated before it is used. Reads "model.weights". */
    public static Model load(Context context, Source source, Map<String, ?> options, Call call) {
        return new Model(context.services, (f, out) -> Native.xf_model_load(
                f.use(context), f.source(source), f.config(options), f.call(call), out, f.err()));
    }

    /**
     * Reports the contents and memory requirements of a model file. Reads only its header. For the estimates, reads
     * "model.weights" and the options of the groups "decode." and "data.".
     */
    public static ModelSummary inspect(Context context, Source source, Map<String, ?> options) {
        return Frame.read(Abi.xf_model_summary.SIZE, (f, out) -> Native.xf_model_inspect(
                f.use(context), f.source(source), f.config(options), out, f.err()),
                s -> new ModelSummary(s.getLong(Abi.xf_model_summary.parameters),
                        s.getLong(Abi.xf_model_summary.vocab_size), s.getLong(Abi.xf_model_summary.file_bytes),
                        s.getLong(Abi.xf_model_summary.decode_bytes), s.getLong(Abi.xf_model_summary.train_bytes),
                        s.getLong(Abi.xf_model_summary.step), s.getBoolean(Abi.xf_model_summary.has_tokenizer),
                        s.constant(Abi.xf_model_summary.weights, DataType.values())));
    }

    /** Averages models or checkpoints, as {@link #average(Context, List, Call)}. */
    public static Model average(Context context, List<Source> sources) {
        return average(context, sources, new Call());
    }

    /**
     * Averages the parameters of models or checkpoints of the same configuration, at least one. The result is fp32,
     * with tokenizer and metadata of the first.
     */
    public static Model average(Context context, List<Source> sources, Call call) {
        return new Model(context.services, (f, out) -> Native.xf_model_average(
                f.use(context), f.sources(sources), sources.size(), f.call(call), out, f.err()));
    }

    /** {@return a copy with tokenizer and metadata, in the same context} */
    public Model copy() {
        return copy(Map.of());
    }

    /** {@return a copy in the same context, with the type of matrices that "model.weights" selects} */
    public Model copy(Map<String, ?> options) {
        return new Model(services, (f, out) ->
                Native.xf_model_copy(f.use(this), 0, f.config(options), 0, out, f.err()));
    }

    /** Copies the model with tokenizer and metadata to a context. Reads "model.weights". */
    public Model copy(Context context, Map<String, ?> options, Call call) {
        return new Model(context.services, (f, out) -> Native.xf_model_copy(
                f.use(this), f.use(context), f.config(options), f.call(call), out, f.err()));
    }

    /** Saves the model to a file, which is replaced atomically; the old file remains as "PATH.prev". */
    public void save(Path path) {
        save(Sink.of(path));
    }

    /** Saves the model. */
    public void save(Sink sink) {
        save(sink, Map.of(), new Call());
    }

    /** Saves the model. Reads "model.weights": "fp16" or "bf16" halves the size, "int8" quarters it. */
    public void save(Sink sink, Map<String, ?> options, Call call) {
        Frame.run(f -> Native.xf_model_save(f.use(this), f.config(options), f.call(call), f.sink(sink), f.err()));
    }

    /** {@return a copy of the configuration: the options of the group "model." with the values in effect} */
    public Config config() {
        return Frame.get(f -> new Config(f, Native.xf_model_config(f.use(this))));
    }

    /** {@return the model's tokenizer, which can be used until the model is closed; empty if it has none} */
    public Optional<Tokenizer> tokenizer() {
        long pointer = Frame.get(f -> Native.xf_model_tokenizer(f.use(this)));
        return pointer == 0 ? Optional.empty() : Optional.of(new Tokenizer(this, pointer));
    }

    /** Encodes a text, as {@link #encode(Side, String, Map)}. */
    public int[] encode(Side side, String text) {
        return encode(side, text, Map.of());
    }

    /**
     * Encodes a text as the ids that a {@link Batch} contains: with the end symbol and language tokens. A multilingual
     * model requires "text.source_language" and "text.target_language".
     */
    public int[] encode(Side side, String text, Map<String, ?> options) {
        byte[] utf8 = Text.utf8(text);
        return Frame.fill(utf8.length + 16L, 4, (f, ids, capacity, count) -> Native.xf_model_encode(
                f.use(this), side.ordinal() + 1, f.bytes(utf8), utf8.length, f.config(options), ids, capacity, count,
                f.err()), Memory::ints);
    }

    /** {@return the texts that are stored with the model: a view} */
    public Metadata metadata() {
        return new Metadata(this);
    }

    /** {@return a description of each parameter tensor} */
    public List<TensorInfo> tensors() {
        return Frame.get(f -> {
            long model = f.use(this);
            List<TensorInfo> found = new ArrayList<>();
            for (int i = 0; i < Native.xf_model_tensor_count(model); ++i) found.add(TensorInfo.read(model, i));
            return List.copyOf(found);
        });
    }

    /** Returns the index of the parameter tensor with the given name. */
    public int indexOf(String name) {
        List<TensorInfo> all = tensors();
        for (int i = 0; i < all.size(); ++i) {
            if (all.get(i).name().equals(name)) return i;
        }
        throw XformerException.of(Abi.XF_ERROR_NOT_FOUND, 0, "the model has no tensor \"" + name
                + "\", expected a name like \"" + all.get(0).name() + "\"");
    }

    /** Returns a copy of a parameter tensor, row-major and converted to fp32. */
    public float[] read(int index) {
        float[] values = new float[Frame.get(f -> TensorInfo.read(f.use(this), index).size())];
        read(index, FloatBuffer.wrap(values));
        return values;
    }

    /** Copies a parameter tensor to a buffer with room for exactly {@link TensorInfo#size()} numbers. */
    public void read(int index, FloatBuffer out) {
        Frame.get(f -> {
            long model = f.use(this);
            TensorInfo.read(model, index);
            return TensorInfo.fill(f, model, index, out, Native::xf_model_read_tensor);
        });
    }

    /** Replaces a parameter tensor. No other call may use the model, and the numbers must be finite. */
    public void write(int index, float[] values) {
        write(index, FloatBuffer.wrap(values));
    }

    /** Replaces a parameter tensor, as {@link #write(int, float[])}. */
    public void write(int index, FloatBuffer values) {
        Frame.run(f -> {
            long model = f.use(this);
            TensorInfo.read(model, index);
            return Native.xf_model_write_tensor(model, index, f.floats(values), values.remaining(), f.err());
        });
    }
}
