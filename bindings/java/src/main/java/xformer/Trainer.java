/* Training: loss, gradients, Adam, checkpoints. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The state of an optimization: gradients, Adam's moments, step. After any error, also {@link CancelledException},
 * parameters, moments and step are as before the call. While a call runs, its model is in use too: decoders of it are
 * then refused as {@link Status#BUSY}.
 */
public final class Trainer extends NativeObject {
    /** Makes a trainer at step 0, with all defaults. */
    public Trainer(Model model) {
        this(model, Map.of());
    }

    /** Makes a trainer at step 0, by the options of the group "train.". */
    public Trainer(Model model, Map<String, ?> options) {
        this(model.services, (f, out) -> Native.xf_trainer_create(f.use(model), f.config(options), out, f.err()));
    }

    private Trainer(Services services, Frame.Call maker) {
        super(Handle.Kind.TRAINER, services, maker);
    }

    /** Continues from a checkpoint: trainer and model are as they were when {@link #save} was called. */
    public static Trainer resume(Context context, Path path) {
        return resume(context, path, Map.of());
    }

    /**
     * Continues from a checkpoint with some options of the group "train." changed; one on which the saved state
     * depends, "train.seed" say, is an error of status STATE when it differs.
     */
    public static Trainer resume(Context context, Path path, Map<String, ?> options) {
        return new Trainer(context.services, (f, out) ->
                Native.xf_trainer_resume(f.use(context), f.path(path), f.config(options), out, f.err()));
    }

    /** {@return the model that is trained; this object ends with the trainer, while decoders made from it go on} */
    public Model model() {
        return new Model(this, Frame.get(f -> Native.xf_trainer_model(f.use(this))));
    }

    /** {@return a model of its own with the exponential moving average of the parameters, which "train.ema" keeps} */
    public Model ema() {
        return new Model(services, (f, out) -> Native.xf_trainer_ema(f.use(this), out, f.err()));
    }

    /** {@return a copy of the options the trainer works with, also after a resume} */
    public Config config() {
        return Frame.get(f -> new Config(f, Native.xf_trainer_config(f.use(this))));
    }

    /** {@return the number of updates made} */
    public long steps() {
        return Frame.get(f -> Native.xf_trainer_step_count(f.use(this)));
    }

    /**
     * Cancels the call that runs on this trainer at the moment, which ends in a {@link CancelledException}; others of
     * the context go on. While nothing runs it does nothing. May be called from any thread, and from listeners.
     */
    public void cancel() {
        act(Native::xf_trainer_cancel);
    }

    /** Makes one update. */
    public StepStats step(Batch batch) {
        return step(List.of(batch));
    }

    /** Makes one update from several batches whose gradients are added. */
    public StepStats step(List<Batch> batches) {
        return StepStats.read((f, out) ->
                Native.xf_train_step(f.use(this), f.batches(batches), batches.size(), out, f.err()));
    }

    /**
     * Makes one update from the next batches of a batcher: "train.accumulate" of them. When it fails or is cancelled,
     * the batcher stands where it stood.
     *
     * @return what it did; empty at the end of an epoch, when nothing was done and the next call begins the next epoch
     */
    public Optional<StepStats> next(Batcher batcher) {
        return Frame.get(f -> {
            Words stats = f.struct(10);
            int status = f.check(Native.xf_train_next(f.use(this), f.use(batcher), stats.address(), f.err()));
            return status == Status.DONE.code() ? Optional.empty() : Optional.of(StepStats.of(stats));
        });
    }

    /**
     * Makes updates as {@link #next} does, over as many epochs as that takes; the listener hears of each, and may end
     * it. Between two steps it looks whether the thread was interrupted; then it ends in a {@link CancelledException},
     * and the thread stays interrupted.
     */
    public void train(Batcher batcher, long steps, StepListener listener) {
        for (long made = 0; made < steps;) {
            if (Thread.currentThread().isInterrupted()) throw new CancelledException(0, "the thread was interrupted");
            Optional<StepStats> stats = next(batcher);
            if (stats.isEmpty()) continue;
            ++made;
            if (!listener.step(stats.get())) return;
        }
    }

    /**
     * First half of a step: adds a batch's gradients to those that wait for {@link #update()}; gives the stats of this
     * batch, in which step, learning rate and gradient norm are 0.
     */
    public StepStats accumulate(Batch batch) {
        return StepStats.read((f, out) ->
                Native.xf_train_accumulate(f.use(this), f.batch(batch), out, f.err()));
    }

    /** Second half of a step: updates the parameters from the gradients that wait. */
    public StepStats update() {
        return StepStats.read((f, out) -> Native.xf_train_update(f.use(this), out, f.err()));
    }

    /** Copies a waiting gradient out, by the number of its tensor: of the mean loss per target token so far. */
    public float[] gradient(int index) {
        float[] values = new float[Frame.get(
                f -> TensorInfo.read(Native.xf_trainer_model(f.use(this)), index).size())];
        gradient(index, FloatBuffer.wrap(values));
        return values;
    }

    /** Copies a waiting gradient into a buffer, as {@link Model#read(int, FloatBuffer)}. */
    public void gradient(int index, FloatBuffer out) {
        Frame.get(f -> {
            long trainer = f.use(this);
            TensorInfo.read(Native.xf_trainer_model(trainer), index);
            return TensorInfo.fill(f, trainer, index, out, Native::xf_trainer_read_gradient);
        });
    }

    /**
     * Saves a checkpoint: model, tokenizer, metadata, options, moments, average and step. The old file is replaced at
     * once or not at all and stays as "PATH.prev"; {@link Model#load} reads it too.
     */
    public void save(Path path) {
        Frame.run(f -> Native.xf_trainer_save(f.use(this), 0, f.path(path), f.err()));
    }

    /** Saves a checkpoint with a batcher's position. */
    public void save(Path path, Batcher batcher) {
        Frame.run(f -> Native.xf_trainer_save(f.use(this), f.use(batcher), f.path(path), f.err()));
    }

    /** {@return the position of the batcher that was saved with the checkpoint; epoch 0, batch 0 when none was} */
    public Position position() {
        return Frame.read(2, (f, out) -> Native.xf_trainer_get_position(f.use(this), out, out + 8, f.err()),
                at -> new Position(at.get(0), at.get(1)));
    }

    /**
     * Moves a batcher, made from the same corpus, tokenizer and options, to the saved position; with another
     * "data.batch_tokens", to the same share of the epoch.
     */
    public void seek(Batcher batcher) {
        Frame.run(f -> Native.xf_trainer_seek(f.use(this), f.use(batcher), f.err()));
    }
}
