/* The Transformer's parameters, in memory and in a file. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A Transformer's parameters with their configuration and, perhaps, a tokenizer. Many decoders may share a model.
 *
 * <p>Parameter tensors are numbered in the order of the file; {@link #indexOf} finds a name. Buffers are used from
 * position to limit, which stay where they are; direct ones in the native byte order without a copy.
 */
public final class Model extends NativeObject {
    Model(Services services, Frame.Call maker) {
        super(Handle.Kind.MODEL, services, maker);
    }

    /** A model that belongs to a trainer. */
    Model(Trainer trainer, long pointer) {
        super(Handle.Kind.MODEL, trainer, pointer);
    }

    /** Makes a model with fresh parameters, by the options of the group "model.", and a tokenizer. */
    public Model(Context context, Map<String, ?> options, Tokenizer tokenizer) {
        this(context.services, (f, out) ->
                Native.xf_model_create(f.use(context), f.config(options), f.use(tokenizer), out, f.err()));
    }

    /** Makes a model with fresh parameters that knows only ids; "model.vocab_size" must be set. */
    public Model(Context context, Map<String, ?> options) {
        this(context.services, (f, out) ->
                Native.xf_model_create(f.use(context), f.config(options), 0, out, f.err()));
    }

    /** Loads what {@link #save} or {@link Trainer#save} wrote. The file is checked before it is used. */
    public static Model load(Context context, Path path) {
        return new Model(context.services, (f, out) ->
                Native.xf_model_load(f.use(context), f.path(path), out, f.err()));
    }

    /** Loads a model from memory, from position to limit; a direct or mapped buffer is read in place. */
    public static Model load(Context context, ByteBuffer bytes) {
        return new Model(context.services, (f, out) ->
                Native.xf_model_load_from(f.use(context), source(f, null, bytes), out, f.err()));
    }

    /** Tells what a model file holds and needs, by its header alone; for the estimates reads "decode." and "data.". */
    public static ModelSummary inspect(Context context, Path path, Map<String, ?> options) {
        return inspect(context, path, null, options);
    }

    /** Tells the same of a model in memory. */
    public static ModelSummary inspect(Context context, ByteBuffer bytes, Map<String, ?> options) {
        return inspect(context, null, bytes, options);
    }

    private static ModelSummary inspect(Context context, Path path, ByteBuffer bytes, Map<String, ?> options) {
        return Frame.read(10, (f, out) -> Native.xf_model_inspect(
                f.use(context), f.config(options), source(f, path, bytes), out, f.err()),
                s -> new ModelSummary(s.get(1), s.get(2), s.get(3), s.get(4), s.get(5), s.get(6), s.low(7) != 0,
                        Text.at(s.address() + 64)));
    }

    private static long source(Frame f, Path path, ByteBuffer bytes) {
        Words source = f.struct(7);
        source.memory().putInt(48, -1); // no descriptor
        if (bytes != null) source.set(2, f.data(bytes)).set(3, bytes.remaining());
        else source.set(1, f.path(path));
        return source.address();
    }

    /** Averages the parameters of models. The first gives tokenizer and metadata. */
    public static Model average(List<Model> models) {
        if (models.isEmpty()) throw new IllegalArgumentException("there is no model to average");
        return new Model(models.get(0).services, (f, out) -> Native.xf_model_average(
                f.array(models.stream().mapToLong(f::use).toArray()), models.size(), out, f.err()));
    }

    /** Averages the parameters of files of the same configuration, at least one, with the memory of two models. */
    public static Model averageFiles(Context context, List<Path> paths) {
        return new Model(context.services, (f, out) -> Native.xf_model_average_files(
                f.use(context), f.array(paths.stream().mapToLong(f::path).toArray()), paths.size(), out, f.err()));
    }

    /** {@return a copy with tokenizer and metadata, in the same context} */
    public Model copy() {
        return new Model(services, (f, out) -> Native.xf_model_copy(f.use(this), 0, out, f.err()));
    }

    /** Copies the model with tokenizer and metadata, to another device if need be. */
    public Model copy(Context context) {
        return new Model(context.services, (f, out) ->
                Native.xf_model_copy(f.use(this), f.use(context), out, f.err()));
    }

    /** Saves it, replacing an old file at once or not at all; the old one stays as "PATH.prev". */
    public void save(Path path) {
        save(path, Map.of());
    }

    /** Saves it by "file.precision": "fp16" or "bf16" halves the file, "int8" quarters it; numbers are rounded. */
    public void save(Path path, Map<String, ?> options) {
        Frame.run(f -> Native.xf_model_save(f.use(this), f.config(options), f.path(path), f.err()));
    }

    /** Gives what {@link #save(Path, Map)} writes to a file, byte for byte. */
    public byte[] toBytes(Map<String, ?> options) {
        return Frame.fill(0, 1, (f, buffer, capacity, size) -> Native.xf_model_save_memory(
                f.use(this), f.config(options), buffer, capacity, size, f.err()), Words::bytes);
    }

    /** {@return a copy of the configuration the model was made with, "model.vocab_size" filled in} */
    public Config config() {
        return Frame.get(f -> new Config(f, Native.xf_model_config(f.use(this))));
    }

    /** {@return the model's tokenizer, usable until the model is closed; empty when it has none} */
    public Optional<Tokenizer> tokenizer() {
        long pointer = Frame.get(f -> Native.xf_model_tokenizer(f.use(this)));
        return pointer == 0 ? Optional.empty() : Optional.of(new Tokenizer(this, pointer));
    }

    /** {@return the texts that are kept with the model: a view, by which they are read and changed} */
    public Metadata metadata() {
        return new Metadata(this);
    }

    /** {@return name and shape of each parameter tensor} */
    public List<TensorInfo> tensors() {
        return Frame.get(f -> {
            long model = f.use(this);
            List<TensorInfo> found = new ArrayList<>();
            for (int i = 0; i < Native.xf_model_tensor_count(model); ++i) found.add(TensorInfo.read(model, i));
            return List.copyOf(found);
        });
    }

    /** Finds a parameter tensor. */
    public int indexOf(String name) {
        List<TensorInfo> all = tensors();
        for (int i = 0; i < all.size(); ++i) {
            if (all.get(i).name().equals(name)) return i;
        }
        throw XformerException.of(Status.NOT_FOUND, "there is no tensor \"" + name + "\", expected a name like \""
                + all.get(0).name() + "\"");
    }

    /** Copies a parameter tensor out. */
    public float[] read(int index) {
        float[] values = new float[Frame.get(f -> TensorInfo.read(f.use(this), index).size())];
        read(index, FloatBuffer.wrap(values));
        return values;
    }

    /** Copies a parameter tensor, row-major, into a buffer with room for exactly rows * columns numbers. */
    public void read(int index, FloatBuffer out) {
        Frame.get(f -> {
            long model = f.use(this);
            TensorInfo.read(model, index);
            return TensorInfo.fill(f, model, index, out, Native::xf_model_read_tensor);
        });
    }

    /** Replaces a parameter tensor by rows * columns finite numbers, row-major. No other call may use the model. */
    public void write(int index, float[] values) {
        write(index, FloatBuffer.wrap(values));
    }

    /** Replaces a parameter tensor by the numbers of a buffer, as {@link #write(int, float[])}. */
    public void write(int index, FloatBuffer values) {
        Frame.run(f -> {
            long model = f.use(this);
            TensorInfo.read(model, index);
            return Native.xf_model_write_tensor(model, index, f.floats(values), values.remaining(), f.err());
        });
    }
}
