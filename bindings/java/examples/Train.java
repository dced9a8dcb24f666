/*
 * Trains from a file with lines "source TAB target", saves checkpoints, and resumes an earlier run:
 *
 *     java -cp xformer.jar -Dxformer.library.path=FOLDER Train.java PAIRS CHECKPOINT STEPS [PRESET]
 *
 * Ctrl-C cancels the current step. The program then saves the checkpoint, from which it continues exactly.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import xformer.Batcher;
import xformer.Call;
import xformer.CancelToken;
import xformer.CancelledException;
import xformer.Config;
import xformer.Context;
import xformer.Corpus;
import xformer.Host;
import xformer.LogLevel;
import xformer.Model;
import xformer.Tokenizer;
import xformer.Trainer;

final class Train {
    private static final int SAVE_EVERY = 1000;

    private Train() {}

    public static void main(String[] args) {
        Path checkpoint = Path.of(args[1]);
        long steps = Long.parseLong(args[2]);
        boolean resumed = Files.exists(checkpoint);
        try (Config config = Config.preset(args.length > 3 ? args[3] : "small", Map.of("tokenizer.vocab_size", 10000));
                Context context = new Context(config, new Host().log(LogLevel.WARNING, Train::print));
                Corpus corpus = Corpus.open(context, Path.of(args[0]), config);
                Trainer trainer = resumed ? Trainer.resume(context, checkpoint) : begin(context, corpus, config);
                Tokenizer tokenizer = trainer.model().tokenizer().orElseThrow();
                Batcher batcher = new Batcher(corpus, tokenizer, config)) {
            if (resumed) batcher.resume(trainer);
            train(trainer, batcher, steps, checkpoint);
        }
    }

    private static void print(LogLevel level, String component, String line) {
        System.err.println(component + ": " + line);
    }

    private static Trainer begin(Context context, Corpus corpus, Config config) {
        try (Tokenizer tokenizer = Tokenizer.train(context, corpus, config);
                Model model = new Model(context, tokenizer, config)) {
            return new Trainer(model, config);
        }
    }

    private static void train(Trainer trainer, Batcher batcher, long steps, Path checkpoint) {
        CancelToken token = new CancelToken();
        Thread worker = Thread.currentThread();
        Thread onCtrlC = new Thread(() -> {
            token.cancel();
            try {
                worker.join(); // the JVM ends when this thread does
            } catch (InterruptedException ignored) {
                Thread.currentThread().interrupt();
            }
        });
        Runtime.getRuntime().addShutdownHook(onCtrlC);
        try {
            trainer.train(batcher, steps - trainer.steps(), new Call().cancel(token), stats -> {
                if (stats.step() % 100 == 0) {
                    System.out.printf(Locale.ROOT, "step %d  loss %.3f%n", stats.step(), stats.loss());
                }
                if (stats.step() % SAVE_EVERY == 0) trainer.save(checkpoint, batcher);
                return true;
            });
        } catch (CancelledException stopped) {
            System.out.println("stopped");
        }
        trainer.save(checkpoint, batcher);
        System.out.println("saved step " + trainer.steps() + " in " + checkpoint);
    }
}
