/* Training: loss, gradients, Adam, checkpoints. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Trains a model. After any error, also a {@link CancelledException}, parameters, moments, and step number are as
 * before the call. A call of a trainer uses its model exclusively: calls of its decoders then fail with {@link
 * Status#BUSY}.
 */
public final class Trainer extends NativeObject {
    /** Creates a trainer at step 0, with all defaults. */
    public Trainer(Model model) {
        this(model, Map.of());
    }

    /** Creates a trainer at step 0. Reads the options of the group "train.". */
    public Trainer(Model model, Map<String, ?> options) {
        this(model.services, (f, out) -> Native.xf_trainer_create(f.use(model), f.config(options), out, f.err()));
    }

    private Trainer(Services services, Frame.Output creator) {
        super(Handle.Kind.TRAINER, services, creator);
    }

    /** Creates a trainer and its model from a checkpoint, in the state in which they were saved. */
    public static Trainer resume(Context context, Path path) {
        return resume(context, Source.of(path), Map.of(), new Call());
    }

    /**
     * Creates a trainer and its model from a checkpoint. Options of the group "train." override the saved ones;
     * changing one on which the saved state depends, for example "train.seed", is an error with {@link Status#STATE}.
     */
    public static Trainer resume(Context context, Source source, Map<String, ?> options, Call call) {
        return new Trainer(context.services, (f, out) -> Native.xf_trainer_resume(
                f.use(context), f.source(source), f.config(options), f.call(call), out, f.err()));
    }

    /** {@return the trainer's model, which can be used until the trainer is closed} Its decoders remain usable. */
    public Model model() {
        return new Model(this, Frame.get(f -> Native.xf_trainer_model(f.use(this))));
    }

    /** Returns a new model with the exponential moving average of the parameters; see "train.ema". */
    public Model copyAverage() {
        return copyAverage(new Call());
    }

    /** Returns a new model with the average of the parameters, as {@link #copyAverage()}. */
    public Model copyAverage(Call call) {
        return new Model(services, (f, out) ->
                Native.xf_trainer_copy_average(f.use(this), f.call(call), out, f.err()));
    }

    /** {@return a copy of the options of the group "train." that are in effect, also after a resume} */
    public Config config() {
        return Frame.get(f -> new Config(f, Native.xf_trainer_config(f.use(this))));
    }

    /** {@return the number of updates so far} */
    public long steps() {
        return Frame.get(f -> Native.xf_trainer_step_count(f.use(this)));
    }

    /** Updates the model once, from one batch. */
    public StepStats step(Batch batch) {
        return step(List.of(batch));
    }

    /** Updates the model once, from the sum of the gradients of several batches. */
    public StepStats step(List<Batch> batches) {
        return step(batches, new Call());
    }

    /** Updates the model once, as {@link #step(List)}. */
    public StepStats step(List<Batch> batches, Call call) {
        return StepStats.read((f, out) -> Native.xf_train_step(
                f.use(this), f.batches(batches), batches.size(), f.call(call), out, f.err()));
    }

    /** Updates the model once, as {@link #next(Batcher, Call)}. */
    public Optional<StepStats> next(Batcher batcher) {
        return next(batcher, new Call());
    }

    /**
     * Updates the model once from the next batches of a batcher: "train.accumulate" batches for each of "train.shards".
     * If the call fails or is cancelled, the batcher keeps its position.
     *
     * @return the statistics of the step; empty at the end of an epoch, where no step is made
     */
    public Optional<StepStats> next(Batcher batcher, Call call) {
        return Frame.get(f -> {
            Memory stats = f.struct(Abi.xf_step_stats.SIZE);
            int status = f.check(Native.xf_train_next(
                    f.use(this), f.use(batcher), f.call(call), stats.address(), f.err()));
            return status == Abi.XF_DONE ? Optional.empty() : Optional.of(StepStats.of(stats));
        });
    }

    /** Updates the model repeatedly, as {@link #train(Batcher, long, Call, StepListener)}. */
    public void train(Batcher batcher, long steps, StepListener listener) {
        train(batcher, steps, new Call(), listener);
    }

    /**
     * Updates the model repeatedly, over as many epochs as the steps require. The listener receives the statistics of
     * each step and may end the training. Cancelling the token of {@code call} ends it with a
     * {@link CancelledException}, and so does interrupting the thread, which is checked between steps. The deadline
     * of {@code call} applies to each step.
     */
    public void train(Batcher batcher, long steps, Call call, StepListener listener) {
        for (long made = 0; made < steps;) {
            if (Thread.currentThread().isInterrupted()) throw new CancelledException(0, "the thread was interrupted");
            Optional<StepStats> stats = next(batcher, call);
            if (stats.isEmpty()) continue;
            ++made;
            if (!listener.step(stats.get())) return;
        }
    }

    /** First half of a step, as {@link #accumulate(Batch, Call)}. */
    public StepStats accumulate(Batch batch) {
        return accumulate(batch, new Call());
    }

    /**
     * First half of a step: adds the gradients of a batch to the pending gradients.
     *
     * @return the statistics of this batch; step, learning rate, and gradient norm are 0
     */
    public StepStats accumulate(Batch batch, Call call) {
        return StepStats.read((f, out) ->
                Native.xf_train_accumulate(f.use(this), f.batch(batch), f.call(call), out, f.err()));
    }

    /** Second half of a step: updates the parameters from the pending gradients. */
    public StepStats update() {
        return StepStats.read((f, out) -> Native.xf_train_update(f.use(this), out, f.err()));
    }

    /** Saves a checkpoint without the position of a batcher, as {@link #save(Sink, Batcher, Call)}. */
    public void save(Path path) {
        save(Sink.of(path), null, new Call());
    }

    /** Saves a checkpoint, as {@link #save(Sink, Batcher, Call)}. */
    public void save(Path path, Batcher batcher) {
        save(Sink.of(path), batcher, new Call());
    }

    /**
     * Saves a checkpoint: model, tokenizer, metadata, options, moments, average, step, and the position of a batcher.
     * {@link Model#load(Context, Path)} can also read it.
     *
     * @param batcher null: no position is saved
     */
    public void save(Sink sink, Batcher batcher, Call call) {
        Frame.run(f -> Native.xf_trainer_save(
                f.use(this), batcher == null ? 0 : f.use(batcher), f.call(call), f.sink(sink), f.err()));
    }
}
