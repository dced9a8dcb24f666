/* Training: loss, gradients, Adam, checkpoints. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The state of an optimization: gradients, Adam's moments, step. After any error, also {@link CancelledException},
 * parameters, moments and step are as before the call. While a call runs, its model is in use too.
 */
public final class Trainer extends NativeObject {
    private final Context context;
    private final Model model;
    private final Guard modelGuard;

    /**
     * Makes a trainer at step 0, with all defaults.
     *
     * @param model what is trained
     */
    public Trainer(Model model) {
        this(model, Map.of());
    }

    /**
     * Makes a trainer at step 0.
     *
     * @param model what is trained
     * @param options of which the group "train." is read
     */
    public Trainer(Model model, Map<String, ?> options) {
        this(model.context, model, model.peer.guard);
        try (Call m = model.peer.write();
                Config.Use config = Config.of(options)) {
            peer.open(Native.trainerCreate(m.pointer(), config.pointer()));
        }
    }

    private Trainer(Context context, Model model, Guard modelGuard) {
        super(Kind.TRAINER, context.root(), context.peer.guard);
        this.context = context;
        this.model = model;
        this.modelGuard = modelGuard;
    }

    /**
     * Continues from a checkpoint: trainer and model are as they were when {@link #save} was called.
     *
     * @param context the context
     * @param path file name
     * @return the trainer
     */
    public static Trainer resume(Context context, Path path) {
        byte[] name = Text.path(path);
        Trainer trainer = new Trainer(context, null, new Guard(Kind.MODEL));
        try (Call c = context.peer.read()) {
            trainer.peer.open(Native.trainerResume(c.pointer(), name));
        }
        return trainer;
    }

    /**
     * Gives the model that is trained.
     *
     * @return the model; after {@link #resume}, or when the model was closed, it is the trainer's and ends with it,
     *         while decoders made from it go on
     */
    public Model model() {
        try (Call trainer = peer.read()) {
            if (model != null && !model.isClosed()) return model;
            return new Model(this, context, Native.trainerModel(trainer.pointer()), modelGuard);
        }
    }

    /**
     * Copies the options the trainer works with, also after a resume.
     *
     * @return a config of the caller's own
     */
    public Config config() {
        try (Call trainer = peer.read()) {
            return Config.adopted(Native.trainerConfig(trainer.pointer()));
        }
    }

    /**
     * Counts the updates made.
     *
     * @return updates
     */
    public long steps() {
        try (Call trainer = peer.read()) {
            return Native.trainerSteps(trainer.pointer());
        }
    }

    /**
     * Makes one update.
     *
     * @param batch pairs
     * @return what it did
     */
    public StepStats step(Batch batch) {
        return step(List.of(batch));
    }

    /**
     * Makes one update from several batches whose gradients are added.
     *
     * @param batches pairs
     * @return what it did
     */
    public StepStats step(List<Batch> batches) {
        Batch[] rows = Batch.rows(batches);
        long[] counts = new long[4];
        double[] values = new double[4];
        try (Call trainer = peer.write(modelGuard)) {
            Native.trainStep(trainer.pointer(), rows, counts, values);
        }
        return StepStats.of(counts, values);
    }

    /**
     * Makes updates, one from each batch, over as many epochs as that takes.
     *
     * <p>Between two steps it looks whether the thread was interrupted; then it ends in a {@link CancelledException},
     * and the thread stays interrupted. When the step itself is cancelled, the batcher goes back to the batch of that
     * step, so that a checkpoint continues exactly.
     *
     * @param batcher where the batches come from
     * @param steps how many updates to make
     * @param listener hears of each, and may end it early
     */
    public void train(Batcher batcher, long steps, StepListener listener) {
        for (long made = 0; made < steps; ) {
            if (Thread.currentThread().isInterrupted()) throw new CancelledException(0, "the thread was interrupted");
            BatcherStats at = batcher.stats();
            Optional<Batch> batch = batcher.next();
            if (batch.isEmpty()) continue;
            StepStats stats;
            try {
                stats = step(batch.get());
            } catch (CancelledException cancelled) {
                batcher.seek(at.epoch(), at.batch());
                throw cancelled;
            }
            ++made;
            if (!listener.step(stats)) return;
        }
    }

    /**
     * First half of a step: adds a batch's gradients to those that wait for {@link #update()}.
     *
     * @param batch pairs
     * @return of this batch alone; step, learning rate and gradient norm are 0
     */
    public StepStats accumulate(Batch batch) {
        Batch[] one = Batch.rows(List.of(batch));
        long[] counts = new long[4];
        double[] values = new double[4];
        try (Call trainer = peer.write(modelGuard)) {
            Native.trainAccumulate(trainer.pointer(), one, counts, values);
        }
        return StepStats.of(counts, values);
    }

    /**
     * Second half of a step: updates the parameters from the gradients that wait.
     *
     * @return of all the batches together
     */
    public StepStats update() {
        long[] counts = new long[4];
        double[] values = new double[4];
        try (Call trainer = peer.write(modelGuard)) {
            Native.trainUpdate(trainer.pointer(), counts, values);
        }
        return StepStats.of(counts, values);
    }

    /**
     * Copies a waiting gradient out: that of the mean loss per target token so far.
     *
     * @param index number of the parameter, as in {@link Model}
     * @return its numbers, row-major
     */
    public float[] gradient(int index) {
        try (Call trainer = peer.write(modelGuard)) {
            long parameters = Native.trainerModel(trainer.pointer());
            float[] values = new float[ParamInfo.read(parameters, index).size()];
            Native.gradientRead(trainer.pointer(), index, values);
            return values;
        }
    }

    /**
     * Copies a waiting gradient into a buffer.
     *
     * @param index number of the parameter, as in {@link Model}
     * @param out room for exactly rows * columns numbers, row-major
     */
    public void gradient(int index, FloatBuffer out) {
        try (Call trainer = peer.write(modelGuard)) {
            ParamInfo.read(Native.trainerModel(trainer.pointer()), index);
            Floats.fill(out, values -> Native.gradientRead(trainer.pointer(), index, values));
        }
    }

    /**
     * Saves a checkpoint: model, tokenizer, options, moments and step. The old file is replaced at once or not at all
     * and stays as "PATH.prev"; {@link Model#load} reads it too.
     *
     * @param path file name
     */
    public void save(Path path) {
        byte[] name = Text.path(path);
        try (Call trainer = peer.write(modelGuard)) {
            Native.trainerSave(trainer.pointer(), 0, name);
        }
    }

    /**
     * Saves a checkpoint with a batcher's position.
     *
     * @param path file name
     * @param batcher whose position is stored
     */
    public void save(Path path, Batcher batcher) {
        byte[] name = Text.path(path);
        try (Call trainer = peer.write(modelGuard);
                Call position = batcher.peer.read()) {
            Native.trainerSave(trainer.pointer(), position.pointer(), name);
        }
    }

    /**
     * Tells the position of the batcher that was saved with the checkpoint.
     *
     * @return the position; epoch 0, batch 0 when none was saved
     */
    public Position position() {
        long[] position = new long[2];
        try (Call trainer = peer.read()) {
            Native.trainerPosition(trainer.pointer(), position);
        }
        return new Position(position[0], position[1]);
    }

    /**
     * Moves a batcher to the saved position.
     *
     * @param batcher made from the same corpus, tokenizer and options as in the saved run
     */
    public void seek(Batcher batcher) {
        try (Call trainer = peer.read();
                Call moved = batcher.peer.write()) {
            Native.trainerSeek(trainer.pointer(), moved.pointer());
        }
    }
}
