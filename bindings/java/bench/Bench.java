/*
 * Measures the overhead of translating from Java. The benchmarks of the other languages do the same work.
 *
 *     java -cp xformer.jar -Dxformer.library.path=FOLDER Bench.java MODEL SENTENCES OUTPUT ROUNDS
 *
 * Prints the seconds of each round, including the conversion to Java strings, and writes the translations to OUTPUT.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import xformer.Context;
import xformer.Decoder;
import xformer.Model;
import xformer.Translation;

final class Bench {
    private static final int CALL = 32;

    private Bench() {}

    public static void main(String[] args) throws IOException {
        List<String> sentences = Files.readAllLines(Path.of(args[1]));
        List<String> translations = new ArrayList<>(sentences.size());
        try (Context context = new Context(Map.of("context.threads", 1));
                Model model = Model.load(context, Path.of(args[0]));
                Decoder decoder = new Decoder(model)) {
            for (int round = 0; round < Integer.parseInt(args[3]); ++round) {
                translations.clear();
                long start = System.nanoTime();
                for (int first = 0; first < sentences.size(); first += CALL) {
                    List<String> call = sentences.subList(first, Math.min(first + CALL, sentences.size()));
                    for (Translation found : decoder.translate(call)) translations.add(found.text());
                }
                System.out.printf(Locale.ROOT, "%.6f%n", (System.nanoTime() - start) / 1e9);
            }
        }
        Files.write(Path.of(args[2]), translations);
    }
}
