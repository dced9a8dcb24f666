/* Runs bindings/contracts.tsv, which all bindings have in common. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

public class ContractsTest {
    /** Thrown by callbacks. */
    private static final class Within extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Within() {
            super("from within");
        }
    }

    /** What is done: returns a value or throws. */
    @FunctionalInterface
    private interface Operation {
        String apply(World w, String[] a) throws Exception;
    }

    /** An operation without a value, which is expected to throw. */
    @FunctionalInterface
    private interface Refused {
        void apply(World w, String[] a) throws Exception;
    }

    private record Outcome(String status, String value) {}

    private static final List<String> SLOW_TEXTS = Collections.nCopies(3000, "one two three four");
    private static final Map<String, ?> SLOW = Map.of("decode.max_extra_tokens", 40, "decode.min_tokens", 40);

    @Rule public final TemporaryFolder folder = new TemporaryFolder();
    private final Map<String, Operation> operations = new HashMap<>();
    private Path row;

    private void add(String name, Operation operation) {
        operations.put(name, operation);
    }

    private void refused(String name, Refused operation) {
        add(name, (w, a) -> {
            operation.apply(w, a);
            return "";
        });
    }

    private static String unescaped(String text) {
        return text.replace("\\0", "\0").replace("\\t", "\t").replace("\\n", "\n").replace("\\e", "\ud800")
                .replace("LONG", "one ".repeat(2000));
    }

    private static List<String> several(String text, String separator) {
        return text.isEmpty() ? List.of() : List.of(text.split(separator, -1));
    }

    private static List<String> several(String text) {
        return several(text, "/");
    }

    private static long[] longs(String text) {
        return several(text, " ").stream().mapToLong(Long::parseLong).toArray();
    }

    private static int[] ids(String text) {
        return several(text, " ").stream().mapToInt(Integer::parseInt).toArray();
    }

    private static List<int[]> idsOf(String text) {
        return several(text).stream().map(ContractsTest::ids).toList();
    }

    private static Map<String, Object> options(String[] a, int from) {
        Map<String, Object> all = new HashMap<>();
        for (int i = from; i + 1 < a.length; i += 2) all.put(a[i], a[i + 1]);
        return all;
    }

    private static List<Pair> pairs(String text) {
        return several(text, ";").stream().map(r -> r.split("/", -1)).map(r -> new Pair(r[0], r[1])).toList();
    }

    private static Batch pair(String source, String target) {
        List<int[]> sources = List.of(ids(source));
        return target.isEmpty() ? Batch.fromIds(sources) : Batch.fromIds(sources, List.of(ids(target)));
    }

    private static String pair(Corpus corpus, long index) {
        return corpus.get(index).source() + "/" + corpus.get(index).target();
    }

    private static String statuses(List<Translation> found) {
        return found.stream().map(t -> t.error() == null ? "OK" : t.error().status().name())
                .collect(Collectors.joining(" "));
    }

    private static String same(boolean equal) {
        return equal ? "equal" : "different";
    }

    private static String truth(boolean value) {
        return value ? "True" : "False";
    }

    private static String words(TokenizerInfo i) {
        return i.kind() + " " + i.vocabSize() + " " + i.startToken() + " " + i.endToken();
    }

    private static String roundTrip(Tokenizer tokenizer, String text) {
        return tokenizer.decode(tokenizer.encode(text));
    }

    private static Side side(String name) {
        return Side.valueOf(name.toUpperCase(Locale.ROOT));
    }

    private static int[] framed(Tokenizer tokenizer, String text) {
        int[] ids = tokenizer.encode(text);
        int[] all = Arrays.copyOf(ids, ids.length + 1);
        all[ids.length] = tokenizer.info().endToken();
        return all;
    }

    private static Outcome outcome(Throwable error) {
        String message = String.valueOf(error.getMessage());
        if (error instanceof XformerException failed) {
            String code = failed.nativeCode() == 0 ? "" : " (" + failed.nativeCode() + ")";
            return new Outcome(failed.status().name(), message + code);
        }
        String status = error instanceof Within ? "RAISED"
                : error instanceof CancellationException ? "CANCELLED"
                : error instanceof IllegalStateException ? "CLOSED"
                : error instanceof IndexOutOfBoundsException ? "OUT_OF_RANGE"
                : error instanceof IllegalArgumentException || error instanceof NullPointerException
                        ? "INVALID_ARGUMENT" : error.getClass().getName();
        return new Outcome(status, message);
    }

    private static void save(World w, String kind, Sink sink) {
        switch (kind) {
            case "checkpoint" -> w.trainer.save(sink, null, new Call());
            case "tokenizer" -> w.tokenizer.save(sink, new Call());
            default -> w.model.save(sink);
        }
    }

    /** The bytes of a file of the world. */
    private static byte[] saved(World w, String kind) {
        if (kind.equals("checkpoint")) w.train(1);
        return Sink.toBytes(sink -> save(w, kind, sink));
    }

    private static String loaded(World w, String kind, Source source) {
        switch (kind) {
            case "checkpoint":
                return "" + Trainer.resume(w.context, source, Map.of(), new Call()).steps();
            case "tokenizer":
                return "" + Tokenizer.load(w.context, source, new Call()).info().vocabSize();
            case "inspect":
                ModelSummary s = Model.inspect(w.context, source, Map.of());
                boolean ordered = s.fileBytes() < s.decodeBytes() && s.decodeBytes() < s.trainBytes();
                return s.parameters() + " parameters, " + s.vocabSize() + " ids, step " + s.step() + ", tokenizer "
                        + truth(s.hasTokenizer()) + ", " + s.weights().name().toLowerCase(Locale.ROOT)
                        + (ordered ? ", ordered" : "");
            default:
                return Model.load(w.context, source).config().getString("model.vocab_size");
        }
    }

    private static String loaded(World w, String kind, Path path) {
        return kind.equals("corpus") ? "" + Corpus.open(w.context, path).size() : loaded(w, kind, Source.of(path));
    }

    private String load(World w, String[] a) throws IOException {
        if (a[1].equals("missing")) return loaded(w, a[0], row.resolve("none"));
        if (a[1].equals("folder")) return loaded(w, a[0], row);
        byte[] data = switch (a[1]) {
            case "text" -> "text".repeat(50).getBytes(StandardCharsets.UTF_8);
            case "empty" -> new byte[0];
            case "model" -> saved(w, "model");
            default -> saved(w, a[0]);
        };
        if (a[1].equals("half")) data = Arrays.copyOf(data, data.length / 2);
        if (a[1].equals("flipped")) data[data.length / 2] ^= 1;
        if (a[1].equals("newer")) data = Text.string(data).replace("\"version\":1", "\"version\":7").getBytes("UTF-8");
        Path file = Files.write(row.resolve("file"), data);
        byte[] content = data;
        try (FileChannel channel = FileChannel.open(file)) {
            return loaded(w, a[0], switch (a[2]) {
                case "path" -> Source.of(file);
                case "bytes" -> Source.of(content);
                case "file" -> Source.of(channel);
                case "callback" -> Source.of(content.length, (offset, to) ->
                        to.put(content, (int) offset, to.remaining()));
                default -> Source.of(content.length, (offset, to) -> {
                    throw new Within();
                });
            });
        }
    }

    private String save(World w, String[] a) throws IOException {
        Path file = row.resolve("file");
        byte[] data = null;
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            switch (a[1]) {
                case "path" -> save(w, a[0], Sink.of(file));
                case "bytes" -> data = Sink.toBytes(sink -> save(w, a[0], sink));
                case "file" -> save(w, a[0], Sink.of(channel));
                case "callback" -> save(w, a[0], Sink.of((offset, from) -> channel.write(from, offset)));
                case "direct", "full" -> {
                    ByteBuffer memory = ByteBuffer.allocateDirect(a[1].equals("full") ? 100 : 1 << 20).position(3);
                    save(w, a[0], Sink.of(memory));
                    data = new byte[memory.position() - 3];
                    memory.get(3, data);
                }
                case "nofolder" -> save(w, a[0], Sink.of(row.resolve("no/folder")));
                default -> save(w, a[0], Sink.of((offset, from) -> {
                    throw new Within();
                }));
            }
        }
        loaded(w, a[0], Source.of(data == null ? Files.readAllBytes(file) : data));
        return "loads";
    }

    /** A pair of tokenizers. */
    private static Tokenizer pairOf(World w) {
        Map<String, String> sides = new HashMap<>();
        Map.of("bpe", 280, "wordpiece", 270).forEach((kind, size) -> {
            Map<String, ?> options = Map.of("tokenizer.kind", kind, "tokenizer.vocab_size", size);
            Tokenizer one = Tokenizer.train(w.context, w.corpus, options);
            String json = Text.string(Sink.toBytes(sink -> one.save(sink, new Call())));
            sides.put(kind, json.replace("\\", "\\\\").replace("\"", "\\\""));
        });
        String json = "{\"format\":\"xformer-tokenizer\",\"version\":1,\"kind\":\"pair\",\"source\":\""
                + sides.get("bpe") + "\",\"target\":\"" + sides.get("wordpiece") + "\"}";
        return Tokenizer.load(w.context, Source.of(json.getBytes(StandardCharsets.UTF_8)), new Call());
    }

    private static Model pairModel(World w) {
        return new Model(w.context, pairOf(w), World.options("model.tie", "decoder"));
    }

    private static String sides(Tokenizer pair) {
        return Arrays.stream(Side.values()).map(side -> pair.side(side).info())
                .map(info -> info.kind() + " " + info.vocabSize()).collect(Collectors.joining(", "));
    }

    private static List<StepStats> steps(Trainer trainer, Batcher batcher, int count) {
        List<StepStats> all = new ArrayList<>();
        trainer.train(batcher, count, stats -> all.add(stats));
        return all;
    }

    /** Calls that can be cancelled. */
    private Map<String, Consumer<Call>> calls(World w) throws IOException {
        Batch batch = w.batch();
        Source model = Source.of(saved(w, "model"));
        Source checkpoint = Source.of(saved(w, "checkpoint"));
        Source words = Source.of(saved(w, "tokenizer"));
        Path pairs = Files.writeString(row.resolve("pairs"), "a\tb\n");
        Trainer average = new Trainer(w.model, World.options("train.ema", 0.5));
        average.step(batch);
        byte[] position = Sink.toBytes(sink -> w.trainer.save(sink, w.batcher, new Call()));
        Trainer resumed = Trainer.resume(w.context, Source.of(position), Map.of(), new Call());
        List<String> one = List.of("one");
        Map<String, Consumer<Call>> all = new HashMap<>();
        all.put("translate", call -> w.decoder.translate(one, new DecodeParams(), call));
        all.put("decode", call -> w.decoder.decode(batch, new DecodeParams(), call));
        all.put("score", call -> w.decoder.score(batch, call));
        all.put("score_texts", call -> w.decoder.scoreTexts(one, List.of("eins"), null, call));
        all.put("evaluate", call -> w.decoder.evaluate(w.batcher, call));
        all.put("step", call -> w.trainer.step(List.of(batch), call));
        all.put("next", call -> w.trainer.next(w.batcher, call));
        all.put("accumulate", call -> w.trainer.accumulate(batch, call));
        all.put("train_tokenizer", call -> Tokenizer.train(w.context, w.corpus, w.config, call));
        all.put("load_tokenizer", call -> Tokenizer.load(w.context, words, call));
        all.put("save_tokenizer", call -> Sink.toBytes(sink -> w.tokenizer.save(sink, call)));
        all.put("load", call -> Model.load(w.context, model, Map.of(), call));
        all.put("save", call -> Sink.toBytes(sink -> w.model.save(sink, Map.of(), call)));
        all.put("average", call -> Model.average(w.context, List.of(model), call));
        all.put("copy", call -> w.model.copy(w.context, Map.of(), call));
        all.put("open", call -> Corpus.open(w.context, pairs, Map.of(), call));
        all.put("pairs", call -> Corpus.fromPairs(w.context, World.PAIRS, Map.of(), call));
        all.put("ids", call -> Corpus.fromIds(w.context, batch, call));
        all.put("batcher", call -> new Batcher(w.corpus, w.tokenizer, w.config, call));
        all.put("next_batch", call -> w.batcher.next(call));
        all.put("seek", call -> w.batcher.seek(0, 1, call));
        all.put("resume_batcher", call -> w.batcher.resume(resumed, call));
        all.put("resume", call -> Trainer.resume(w.context, checkpoint, Map.of(), call));
        all.put("checkpoint", call -> Sink.toBytes(sink -> w.trainer.save(sink, null, call)));
        all.put("copy_average", average::copyAverage);
        all.put("gather", call -> Experimental.allGather(w.context, 7, call));
        return all;
    }

    private static void usable(World w) {
        assertEquals(1, w.decoder.translate(List.of("one")).get(0).hypotheses().size());
    }

    private static List<Translation> slow(World w, Call call) {
        return w.decoder.translate(SLOW_TEXTS, new DecodeParams().options(SLOW), call);
    }

    private static List<Translation> slow(World w, Experimental.Constraint constraint, Call call) {
        return w.decoder.translate(SLOW_TEXTS, new DecodeParams().options(SLOW).constraint(constraint), call);
    }

    private Corpus badLine(Context context) throws IOException {
        return Corpus.open(context, Files.writeString(row.resolve("some text"), "a\tb\nbad\n"));
    }

    private void settings() {
        add("config.set", (w, a) -> {
            w.config.put(a[0], a[1]);
            return w.config.getString(a[0]);
        });
        add("config.preset", (w, a) -> Config.preset(a[0]).getString("model.d_model"));
        add("config.copy", (w, a) -> {
            w.config.put("data.seed", 5);
            Config copy = w.config.copy();
            copy.put("data.seed", 7);
            return w.config.getLong("data.seed") + " " + copy.getLong("data.seed");
        });
        add("option", (w, a) -> Config.option(a[0]).defaultValue());
        add("bleu", (w, a) -> "%.0f".formatted(Metrics.bleu(several(a[0]), several(a[1])).score()));
        add("chrf", (w, a) -> "%.0f".formatted(Metrics.chrf(several(a[0]), several(a[1])).score()));
        add("sentences", (w, a) -> Sentences.split(a[0], a[1].isEmpty() ? null : a[1], Integer.parseInt(a[2])).stream()
                .map(span -> span.of(a[0])).collect(Collectors.joining("/")));
        add("context.create", (w, a) -> new Context(options(a, 0)).info().backend());
        add("context.info", (w, a) -> {
            ContextInfo i = w.context.info();
            return (i.precision() + " " + i.threads() + " " + i.rank() + " " + i.rankCount()).toLowerCase(Locale.ROOT);
        });
        add("context.backends", (w, a) ->
                w.context.backends().stream().filter(b -> b.state() == BackendState.ACTIVE).count() + " active");
        add("context.memory", (w, a) -> {
            MemoryStats m = w.context.memory();
            boolean counted = m.peak() >= m.current() && m.current() > 0 && m.allocations() > 0;
            return "budget " + m.budget() + ", " + truth(counted);
        });
        add("version", (w, a) -> {
            int number = Xformer.versionNumber();
            String text = (number >> 16) + "." + (number >> 8 & 0xFF) + "." + (number & 0xFF);
            return truth(text.equals(Xformer.version()) && !Xformer.buildInfo().isEmpty());
        });
        add("context.gather", (w, a) ->
                "" + Experimental.allGather(w.context, Long.parseLong(a[0]), new Call())[0]);
        refused("context.budget", (w, a) -> {
            try (Context small = new Context(World.options("context.memory_budget", a[0]))) {
                new Model(small, Map.of("model.vocab_size", 9000));
            }
        });
    }

    private void texts() {
        add("tokenizer.info", (w, a) -> words(w.tokenizer.info()));
        add("tokenizer.encode", (w, a) -> roundTrip(w.tokenizer, a[0]));
        add("tokenizer.decode", (w, a) -> w.tokenizer.decode(ids(a[0])));
        add("tokenizer.piece", (w, a) -> w.tokenizer.piece(Integer.parseInt(a[0])));
        add("model.encode", (w, a) -> {
            int[] ids = w.model.encode(side(a[0]), a[1], options(a, 2));
            return w.tokenizer.decode(Arrays.copyOf(ids, ids.length - 1)) + " + " + ids[ids.length - 1];
        });
        add("pair.info", (w, a) -> words(pairOf(w).info()) + ": " + sides(pairOf(w)));
        refused("pair.encode", (w, a) -> pairOf(w).encode(a[0]));
        refused("pair.decode", (w, a) -> pairOf(w).decode(ids(a[0])));
        add("pair.side", (w, a) -> roundTrip(pairOf(w).side(side(a[0])), a[1]));
        add("pair.model_encode", (w, a) -> {
            Model model = pairModel(w);
            Tokenizer one = model.tokenizer().orElseThrow().side(side(a[0]));
            return same(Arrays.equals(model.encode(side(a[0]), a[1]), framed(one, a[1])));
        });
        add("pair.score_texts", (w, a) -> {
            Model model = pairModel(w);
            Decoder decoder = new Decoder(model, w.config);
            List<String> sources = several(a[0]);
            List<String> targets = several(a[1]);
            Status[] statuses = new Status[sources.size()];
            double[] scores = decoder.scoreTexts(sources, targets, statuses, new Call());
            int[] good = IntStream.range(0, scores.length).filter(i -> statuses[i] == Status.OK).toArray();
            Batch batch = Batch.fromTexts(model, Arrays.stream(good).mapToObj(sources::get).toList(),
                    Arrays.stream(good).mapToObj(targets::get).toList());
            double[] scored = Arrays.stream(good).mapToDouble(i -> scores[i]).toArray();
            return same(Arrays.equals(scored, decoder.score(batch))) + " " + good.length;
        });
        add("pair.translate", (w, a) -> statuses(new Decoder(pairModel(w), w.config).translate(several(a[0]))));
        add("pair.train", (w, a) -> {
            Model model = pairModel(w);
            Trainer trainer = new Trainer(model, w.config);
            steps(trainer, new Batcher(w.corpus, model.tokenizer().orElseThrow(), w.config), Integer.parseInt(a[0]));
            return "" + trainer.steps();
        });
        add("pair.file", (w, a) -> {
            Model model = Model.load(w.context, Source.of(Sink.toBytes(pairModel(w)::save)));
            Tokenizer tokenizer = model.tokenizer().orElseThrow();
            return tokenizer.info().kind() + ": " + sides(tokenizer);
        });
        refused("pair.one_embedding", (w, a) -> new Model(w.context, pairOf(w), World.OPTIONS));
    }

    private void data() {
        add("corpus.pairs", (w, a) -> {
            Corpus corpus = Corpus.fromPairs(w.context, pairs(a[0]));
            return corpus.size() + " of " + corpus.stats().lines() + ": " + pair(corpus, 0);
        });
        refused("corpus.strict", (w, a) -> Corpus.fromPairs(w.context, pairs(a[0]), Map.of("data.strict", true)));
        add("corpus.get", (w, a) -> pair(w.corpus, Long.parseLong(a[0])));
        add("corpus.subset", (w, a) -> {
            Corpus corpus = w.corpus.subset(longs(a[0]));
            return corpus.size() + ": " + pair(corpus, 0);
        });
        add("corpus.split", (w, a) -> {
            Corpus.Split split = w.corpus.split(Long.parseLong(a[0]), 7);
            return split.rest().size() + " " + split.heldOut().size();
        });
        add("corpus.lines", (w, a) -> {
            CorpusStats s = Corpus.open(w.context, Files.writeString(row.resolve("lines"), a[0])).stats();
            return "lines " + s.lines() + ", kept " + s.kept() + ", bad columns " + s.badColumns() + ", empty "
                    + s.emptySide() + ", NUL " + s.nulByte();
        });
        add("corpus.parallel", (w, a) -> {
            Path source = Files.writeString(row.resolve("source"), a[0]);
            Path target = Files.writeString(row.resolve("target"), a[1]);
            Corpus corpus = Corpus.openParallel(w.context, source, target, Map.of());
            return corpus.size() + ": " + pair(corpus, corpus.size() - 1);
        });
        add("corpus.encode", (w, a) -> {
            Path source = Files.writeString(row.resolve("source"), a[0]);
            Path target = Files.writeString(row.resolve("target"), a[1]);
            Path folder = row.resolve("encoded");
            Corpus.encodeParallel(w.context, source, target, w.tokenizer, folder, Map.of(), new Call());
            Corpus corpus = Corpus.open(w.context, folder);
            return corpus.size() + " " + new Batcher(corpus, w.tokenizer, w.config).stats().pairs();
        });
        refused("corpus.encoded_pair", (w, a) -> {
            Path lines = Files.writeString(row.resolve("lines"), "a\tb\n");
            Corpus.encode(w.context, lines, w.tokenizer, row.resolve("encoded"), Map.of(), new Call());
            Corpus.open(w.context, row.resolve("encoded")).get(0);
        });
        add("corpus.ids", (w, a) -> "" + Corpus.fromIds(w.context, pair(a[0], a[1])).size());
        refused("corpus.ids_text", (w, a) -> Corpus.fromIds(w.context, pair("5 1", "6 1")).get(0));
        add("batcher.epochs", (w, a) -> {
            List<String> epochs = new ArrayList<>();
            while (epochs.size() < Integer.parseInt(a[0])) {
                int sentences = 0;
                long indices = 0;
                for (Batch batch : w.batcher) {
                    for (int i = 0; i < batch.size(); ++i, ++sentences) indices += batch.pairIndex().get(i);
                }
                epochs.add(sentences + " (" + indices + ")");
            }
            BatcherStats s = w.batcher.stats();
            return String.join(" ", epochs) + ", epoch " + s.epoch() + ", batch " + s.batch();
        });
        add("batcher.seek", (w, a) -> {
            w.batcher.seek(Long.parseLong(a[0]), Long.parseLong(a[1]));
            return w.batcher.stats().epoch() + " " + w.batcher.stats().batch();
        });
        refused("batcher.resume", (w, a) -> w.batcher.resume(w.trainer));
        refused("batcher.resume_other", (w, a) -> {
            byte[] data = Sink.toBytes(sink -> w.trainer.save(sink, w.batcher, new Call()));
            Trainer trainer = Trainer.resume(w.context, Source.of(data), Map.of(), new Call());
            new Batcher(w.corpus, w.tokenizer, World.options("data.seed", 9)).resume(trainer);
        });
        refused("batcher.max_tokens", (w, a) ->
                new Batcher(w.corpus.subset(0), w.tokenizer, World.options("data.max_tokens", a[0])));
        refused("batcher.no_tokenizer", (w, a) -> new Batcher(w.corpus, World.OPTIONS));
        add("batch", (w, a) -> "" + w.decoder.decode(new Batch(ids(a[0]), longs(a[1]))).size());
        add("batch.pairs", (w, a) ->
                "" + w.decoder.score(new Batch(ids(a[0]), longs(a[1]), ids(a[2]), longs(a[3]))).length);
        refused("batch.ids", (w, a) -> Batch.fromIds(Collections.nCopies(Integer.parseInt(a[0]), new int[] {1}),
                Collections.nCopies(Integer.parseInt(a[1]), new int[] {1})));
    }

    private void models() {
        add("load", this::load);
        add("save", this::save);
        add("tensor.read", (w, a) -> "" + w.model.read(Integer.parseInt(a[0])).length);
        refused("tensor.find", (w, a) -> w.model.indexOf(a[0]));
        add("tensor.write", (w, a) -> {
            float[] values = new float[a[0].equals("short") ? 1 : w.model.tensors().get(0).size()];
            Arrays.fill(values, a[0].equals("nan") ? Float.NaN : 0.5f);
            w.model.write(0, values);
            return "%.1f".formatted(w.model.read(0)[0]);
        });
        add("metadata", (w, a) -> {
            w.model.metadata().put(a[0], a[1]);
            return Model.load(w.context, Source.of(saved(w, "model"))).metadata().get(a[0]);
        });
        add("metadata.remove", (w, a) -> {
            w.model.metadata().put(a[0], "b");
            String removed = w.model.metadata().remove(a[0]);
            return w.model.metadata().isEmpty() ? removed : "not removed";
        });
        add("model.create", (w, a) -> {
            Map<String, Object> all = World.options();
            all.putAll(options(a, 0));
            return new Model(w.context, all).config().getString("model.vocab_size");
        });
        add("model.copy", (w, a) -> w.model.copy(Map.of("model.weights", a[0])).tensors().get(0).type().name()
                .toLowerCase(Locale.ROOT));
        refused("model.train_quantized", (w, a) -> new Trainer(w.model.copy(Map.of("model.weights", "int8"))));
        add("model.average", (w, a) -> {
            float before = w.model.read(0)[50];
            List<Source> files = new ArrayList<>();
            while (files.size() < Integer.parseInt(a[0])) {
                files.add(Source.of(saved(w, "model")));
                float[] values = w.model.read(0);
                for (int i = 0; i < values.length; ++i) ++values[i];
                w.model.write(0, values);
            }
            return "%.1f".formatted(Model.average(w.context, files).read(0)[50] - before);
        });
    }

    private void training() {
        add("train.step", (w, a) -> {
            StepStats stats = w.trainer.step(pair(a[0], a[1]));
            return stats.step() + " " + stats.outcome().name().toLowerCase(Locale.ROOT);
        });
        refused("train.no_batch", (w, a) -> w.trainer.step(List.of()));
        add("train.progress", (w, a) -> {
            Call call = new Call().progress((task, done, total) -> {});
            Batch batch = w.batch();
            w.trainer.step(List.of(batch), call);
            w.trainer.next(w.batcher, call);
            w.trainer.accumulate(batch, call);
            w.trainer.update();
            return w.trainer.steps() + " steps";
        });
        add("train.halves", (w, a) -> {
            List<Batch> batches = List.of(w.batch(), w.batch());
            try (World other = new World()) {
                StepStats whole = other.trainer.step(batches);
                batches.forEach(w.trainer::accumulate);
                return same(w.trainer.update().equals(whole));
            }
        });
        refused("train.update", (w, a) -> w.trainer.update());
        refused("train.gradient", (w, a) -> Experimental.gradient(w.trainer, 0));
        refused("train.save_pending", (w, a) -> {
            w.trainer.accumulate(w.batch());
            w.trainer.save(row.resolve("file"));
        });
        refused("train.nonfinite", (w, a) -> {
            List<TensorInfo> tensors = w.model.tensors();
            for (int i = 0; i < tensors.size(); ++i) {
                float[] values = new float[tensors.get(i).size()];
                Arrays.fill(values, 3e38f);
                if (tensors.get(i).shape().size() > 1) w.model.write(i, values);
            }
            BatcherStats before = w.batcher.stats();
            try {
                w.trainer.next(w.batcher);
            } finally {
                assertEquals(before, w.batcher.stats());
                assertEquals(0, w.trainer.steps());
            }
        });
        add("train.resume", (w, a) -> Trainer.resume(w.context, Source.of(saved(w, "checkpoint")), options(a, 0),
                new Call()).config().getString(a[0]));
        add("train.resume_bits", (w, a) -> {
            steps(w.trainer, w.batcher, 5);
            byte[] data = Sink.toBytes(sink -> w.trainer.save(sink, w.batcher, new Call()));
            List<StepStats> expected = steps(w.trainer, w.batcher, 7);
            Trainer trainer = Trainer.resume(w.context, Source.of(data), Map.of(), new Call());
            w.batcher.resume(trainer);
            return same(steps(trainer, w.batcher, 7).equals(expected));
        });
        add("train.average", (w, a) -> {
            Trainer trainer = new Trainer(w.model, World.options("train.ema", a[0]));
            trainer.next(w.batcher);
            return Arrays.equals(trainer.copyAverage().read(0), w.model.read(0)) ? "equal" : "differs";
        });
        add("train.translate", (w, a) -> {
            w.train(Integer.parseInt(a[0]));
            Model model = Model.load(w.context, Source.of(saved(w, "model")));
            List<String> found = World.best(new Decoder(model, w.config).translate(World.SOURCES));
            return Metrics.bleu(found, World.TARGETS).score() > 30 ? "BLEU above 30" : "worse";
        });
    }

    private void decoding() {
        add("translate", (w, a) -> statuses(w.decoder.translate(several(a[0]))));
        add("translate.empty", (w, a) -> {
            Translation found = w.decoder.translate(List.of("")).get(0);
            return found.hypotheses().size() + " hypothesis with score %.0f".formatted(found.best().score())
                    + found.text();
        });
        add("translate.options", (w, a) -> {
            w.train(60);
            DecodeParams params = new DecodeParams().options(options(a, 0));
            int found = w.decoder.translate(List.of("one"), params).get(0).hypotheses().size();
            return found + " then " + w.decoder.translate(List.of("one")).get(0).hypotheses().size();
        });
        add("translate.alignment", (w, a) -> {
            DecodeParams params = new DecodeParams().options(options(a, 0));
            Translation found = w.decoder.translate(List.of(" one two"), params).get(0);
            Hypothesis best = found.best();
            List<Long> ends = found.sourceEnds();
            int[] aligned = best.alignment();
            if (ends.isEmpty() && aligned.length == 0 && best.textEnds().length == 0) return "none";
            int count = best.ids().length;
            long size = best.text().getBytes(StandardCharsets.UTF_8).length;
            boolean fits = aligned.length == count && best.textEnds().length == count
                    && best.textEnds()[count - 1] == size
                    && Arrays.stream(aligned).allMatch(s -> s >= 0 && s + 1 < ends.size());
            return "source " + ends.get(ends.size() - 1) + " translation " + (fits ? "aligned" : "wrong");
        });
        add("translate.prefixes", (w, a) -> {
            DecodeParams params = new DecodeParams().prefixes(several(a[0]));
            Translation found = w.decoder.translate(List.of("four two"), params).get(0);
            if (found.error() != null) return found.error().status().name();
            return found.text().startsWith(a[0]) ? "begins" : found.text();
        });
        add("translate.batches", (w, a) -> {
            List<Translation> whole = w.decoder.translate(World.SOURCES);
            List<Translation> single = new ArrayList<>();
            for (String source : World.SOURCES) single.addAll(w.decoder.translate(List.of(source)));
            Batch batch = Batch.fromTexts(w.model, World.SOURCES);
            return same(single.equals(whole) && w.decoder.decode(batch).equals(whole));
        });
        add("decode", (w, a) -> statuses(w.decoder.decode(Batch.fromIds(idsOf(a[0])))));
        refused("decode.prefixes", (w, a) ->
                w.decoder.decode(pair("5 1", ""), new DecodeParams().prefixIds(idsOf(a[0]))));
        add("score", (w, a) -> "" + w.decoder.score(pair(a[0], a[1])).length);
        add("score_texts", (w, a) -> {
            Status[] statuses = new Status[several(a[0]).size()];
            w.decoder.scoreTexts(several(a[0]), several(a[1]), statuses, new Call());
            return Collections.frequency(Arrays.asList(statuses), Status.OK) + " of " + statuses.length;
        });
        refused("no_tokenizer", (w, a) -> {
            Model model = new Model(w.context, World.options("model.vocab_size", 290));
            Decoder decoder = new Decoder(model, World.OPTIONS);
            switch (a[0]) {
                case "encode" -> model.encode(Side.SOURCE, "one");
                case "translate" -> decoder.translate(List.of("one"));
                default -> decoder.scoreTexts(List.of("one"), List.of("eins"));
            }
        });
        add("evaluate", (w, a) -> {
            BatcherStats before = w.batcher.stats();
            long sentences = w.decoder.evaluate(w.batcher).sentences();
            assertEquals(before, w.batcher.stats());
            return "" + sentences;
        });
        add("constraint", (w, a) -> {
            Experimental.Constraint constraint = (partials, vocabSize) -> {
                if (a[0].equals("busy")) w.decoder.translate("one");
                for (Experimental.Partial partial : partials) {
                    partial.allowed().clear();
                    if (a[0].equals("spell")) partial.allowed().set(partial.ids().length < 3 ? 2 + 'a' : World.END);
                }
            };
            List<String> texts = List.of("one two");
            Hypothesis best = w.decoder.translate(texts, new DecodeParams().constraint(constraint)).get(0).best();
            if (best.finished()) return best.text();
            return "unfinished " + (best.logProbability() == Double.NEGATIVE_INFINITY ? "-inf" : "");
        });
        add("attention", (w, a) -> {
            Experimental.AttentionKind kind = Experimental.AttentionKind.valueOf(a[0].toUpperCase(Locale.ROOT));
            Batch batch = pair("5 6 1", "9 8 7 1");
            float[][][] found = Experimental.attentionWeights(w.decoder, batch, kind, Integer.parseInt(a[1]));
            return found.length + " " + found[0].length + " " + found[0][0].length;
        });
        refused("attention.sources_only", (w, a) -> Experimental.attentionWeights(w.decoder, pair("5 1", ""),
                Experimental.AttentionKind.DECODER, 0));
        refused("attention.two_pairs", (w, a) -> {
            List<int[]> two = Collections.nCopies(2, new int[] {5, 1});
            Experimental.attentionWeights(w.decoder, Batch.fromIds(two, two), Experimental.AttentionKind.CROSS, 0);
        });
    }

    /** The result of a future, or what it threw. */
    private static String text(Future<EngineEvent> result) throws Exception {
        try {
            return result.get(60, TimeUnit.SECONDS).text();
        } catch (ExecutionException error) {
            throw (Exception) error.getCause();
        }
    }

    /** Decodes with further models, which are closed before the decoding. */
    private static String withModels(World w, String[] a) throws Exception {
        Model other = new Model(w.context, w.tokenizer, World.options("model.seed", 77));
        Map<String, Model> named = Map.of("copy", w.model.copy(), "other", other, "closed", w.model.copy());
        named.get("closed").close();
        DecodeModels more = new DecodeModels().ensemble(several(a[1], " ").stream().map(named::get).toList());
        if (!a[2].isEmpty()) more.draft(named.get(a[2]));
        Map<String, Object> given = World.options();
        given.putAll(options(a, 3));
        List<Translation> expected;
        try (Decoder decoder = new Decoder(w.model, given)) {
            expected = decoder.translate(World.SOURCES);
        }
        if (a[0].equals("decoder")) {
            try (Decoder decoder = new Decoder(w.model, given, more)) {
                named.values().forEach(Model::close);
                return same(decoder.translate(World.SOURCES).equals(expected));
            }
        }
        boolean replaces = a[0].equals("set_model");
        try (Engine engine = replaces ? new Engine(other, given) : new Engine(w.model, given, more)) {
            if (replaces) engine.setModel(w.model, more);
            named.values().forEach(Model::close);
            List<Translation> found = new ArrayList<>();
            for (String source : World.SOURCES) {
                found.add(engine.submit(new EngineRequest(source)).get(60, TimeUnit.SECONDS).translation());
            }
            return same(found.equals(expected));
        }
    }

    private void serving() {
        add("decode.models", ContractsTest::withModels);
        add("engine.translate", (w, a) -> {
            try (Engine engine = new Engine(w.model, w.config)) {
                String found = text(engine.submit(new EngineRequest(a[0])));
                return found.equals(w.decoder.translate(a[0]).text()) ? "equal" : found;
            }
        });
        refused("engine.cancelled", (w, a) -> {
            try (Engine engine = new Engine(w.model, World.options("engine.thread", false))) {
                Future<EngineEvent> result = engine.submit(new EngineRequest("one"));
                result.cancel(false);
                while (engine.step()) continue;
                assertEquals(1, engine.info().cancelled());
                text(result);
            }
        });
        refused("engine.closed", (w, a) -> {
            Engine engine = new Engine(w.model, w.config);
            engine.close();
            engine.submit(new EngineRequest("one"));
        });
        refused("engine.priority", (w, a) -> {
            try (Engine engine = new Engine(w.model, w.config)) {
                engine.submit(new EngineRequest("one").priority(Integer.parseInt(a[0])));
            }
        });
    }

    private void cancelling() {
        refused("cancel.before", (w, a) -> {
            Consumer<Call> call = calls(w).get(a[0]);
            CancelToken token = new CancelToken();
            token.cancel();
            try {
                call.accept(new Call().cancel(token));
            } finally {
                call.accept(new Call());
            }
        });
        add("cancel.many", (w, a) -> {
            CancelToken token = new CancelToken();
            Call call = new Call().cancel(token);
            int cancelled = 0;
            for (int i = 0; i < Integer.parseInt(a[0]); ++i) {
                token.cancel();
                try {
                    w.decoder.translate(World.SOURCES, new DecodeParams(), call);
                } catch (CancelledException expected) {
                    ++cancelled;
                }
                token.reset();
                w.decoder.translate(List.of("one"), new DecodeParams(), call);
            }
            return "" + cancelled;
        });
        refused("cancel.during", (w, a) -> {
            CancelToken token = new CancelToken();
            CountDownLatch ended = new CountDownLatch(1);
            FutureTask<?> task = new FutureTask<>(() -> {
                while (!ended.await(20, TimeUnit.MILLISECONDS)) {
                    if (a[0].equals("flag")) token.cancel();
                    else w.context.cancel();
                }
                return null;
            });
            new Thread(task).start();
            try {
                slow(w, new Call().cancel(token));
            } finally {
                ended.countDown();
                task.get();
                usable(w);
            }
        });
        refused("cancel.within", (w, a) -> {
            CancelToken token = new CancelToken();
            Call call = new Call().cancel(token);
            if (a[0].equals("constraint")) slow(w, (partials, vocabSize) -> token.cancel(), call);
            else slow(w, call.progress((task, done, total) -> token.cancel()));
        });
        refused("cancel.training", (w, a) -> {
            CancelToken token = new CancelToken();
            try {
                w.trainer.train(w.batcher, 1000, new Call().cancel(token), stats -> {
                    if (stats.step() == 3) token.cancel();
                    return true;
                });
            } finally {
                assertEquals(3, w.trainer.steps());
            }
        });
        add("deadline", (w, a) -> {
            if (a[0].equals("score")) {
                List<int[]> many = Collections.nCopies(20000, new int[] {5, 6, 7, 1});
                w.decoder.score(Batch.fromIds(many, many), new Call().deadline(Duration.ofMillis(1)));
            }
            String late = statuses(slow(w, new Call().deadline(Duration.ofMillis(50))));
            return late.contains("DEADLINE") ? "late" : late;
        });
        add("progress", (w, a) -> {
            CancelToken token = new CancelToken();
            Set<String> tasks = new HashSet<>();
            try {
                slow(w, new Call().cancel(token).progress((task, done, total) -> {
                    assertTrue(done >= 0 && done <= total);
                    tasks.add(task);
                    token.cancel();
                }));
                return "not cancelled";
            } catch (CancelledException expected) {
                return String.join(" ", tasks);
            }
        });
    }

    private void callbacksAndThreads() {
        refused("callback.fails", (w, a) -> {
            Runnable fail = () -> {
                throw new Within();
            };
            try {
                switch (a[0]) {
                    case "progress" -> slow(w, new Call().progress((task, done, total) -> fail.run()));
                    case "constraint" -> slow(w, (partials, vocabSize) -> fail.run(), new Call());
                    default -> badLine(new Context(World.OPTIONS,
                            new Host().log(LogLevel.WARNING, (level, component, line) -> fail.run())));
                }
            } finally {
                usable(w);
            }
        });
        add("log", (w, a) -> {
            List<String> lines = new ArrayList<>();
            Host host = new Host().log(LogLevel.valueOf(a[0].toUpperCase(Locale.ROOT)),
                    (level, component, line) -> lines.add(line));
            badLine(new Context(World.OPTIONS, host));
            return lines.stream().filter(line -> line.contains("some text:2")).count() + " lines";
        });
        add("threads", (w, a) -> {
            List<Translation> expected = w.decoder.translate(World.SOURCES);
            List<FutureTask<Boolean>> tasks = new ArrayList<>();
            for (int i = 0; i < Integer.parseInt(a[0]); ++i) {
                tasks.add(new FutureTask<>(() -> {
                    boolean equal = true;
                    try (Decoder decoder = new Decoder(w.model, w.config)) {
                        for (int k = 0; k < 5; ++k) equal &= decoder.translate(World.SOURCES).equals(expected);
                    }
                    return equal;
                }));
                new Thread(tasks.get(i)).start();
            }
            boolean equal = true;
            for (FutureTask<Boolean> task : tasks) equal &= task.get();
            return same(equal);
        });
        refused("busy", (w, a) -> {
            CountDownLatch begun = new CountDownLatch(1);
            CountDownLatch end = new CountDownLatch(1);
            DecodeParams waits = new DecodeParams().constraint((partials, vocabSize) -> {
                begun.countDown();
                try {
                    end.await();
                } catch (InterruptedException error) {
                    throw new AssertionError(error);
                }
            });
            FutureTask<?> task = new FutureTask<>(() -> w.decoder.translate(List.of("one"), waits));
            new Thread(task).start();
            begun.await();
            try {
                w.decoder.translate("one");
            } finally {
                end.countDown();
                task.get();
            }
        });
    }

    private void closing() {
        refused("closed", (w, a) -> {
            AutoCloseable object = w.objects().stream()
                    .filter(o -> o.getClass().getSimpleName().toLowerCase(Locale.ROOT).equals(a[0])).findFirst()
                    .orElseThrow();
            object.close();
            object.close();
            switch (a[0]) {
                case "config" -> w.config.get("model.d_model");
                case "context" -> w.context.memory();
                case "corpus" -> w.corpus.get(0);
                case "tokenizer" -> w.tokenizer.encode("one");
                case "batcher" -> w.batcher.next();
                case "model" -> w.model.tensors();
                case "trainer" -> w.trainer.step(pair("5 1", "6 1"));
                default -> w.decoder.translate("one");
            }
        });
        add("closed.creators", (w, a) -> {
            Batch batch = w.batch();
            for (AutoCloseable object : List.of(w.config, w.context, w.corpus, w.tokenizer, w.model)) object.close();
            w.trainer.step(batch);
            w.batch();
            usable(w);
            return "usable";
        });
        add("closed.last", (w, a) -> {
            List<AutoCloseable> objects = new ArrayList<>(w.objects());
            Collections.rotate(objects, -Integer.parseInt(a[0]));
            for (AutoCloseable object : objects) object.close();
            return "closed";
        });
        refused("borrowed.ends", (w, a) -> {
            Tokenizer tokenizer = w.model.tokenizer().orElseThrow();
            w.model.close();
            tokenizer.encode("one");
        });
    }

    private Outcome perform(String operation, String arguments) throws IOException {
        row = folder.newFolder().toPath();
        String[] a = Arrays.stream(arguments.split("\\|", -1)).map(ContractsTest::unescaped).toArray(String[]::new);
        try (World w = new World()) {
            return new Outcome("OK", operations.get(operation).apply(w, a));
        } catch (Exception error) {
            return outcome(error);
        }
    }

    @Test
    public void everyRow() throws Exception {
        settings();
        texts();
        data();
        models();
        training();
        decoding();
        serving();
        cancelling();
        callbacksAndThreads();
        closing();
        List<String> failures = new ArrayList<>();
        Set<String> used = new HashSet<>();
        for (String line : Files.readAllLines(Path.of(System.getProperty("xformer.test.contracts")))) {
            String[] columns = Arrays.copyOf(line.split("\t", -1), 5);
            if (line.startsWith("#") || columns[0].equals("operation")) continue;
            if (columns[4] != null && columns[4].contains("java: ")) continue;
            used.add(columns[0]);
            if (!operations.containsKey(columns[0])) {
                failures.add(columns[0] + " is unknown");
                continue;
            }
            Outcome found = perform(columns[0], columns[1]);
            String expected = unescaped(columns[3] == null ? "" : columns[3]);
            boolean fits = columns[2].equals("OK") ? expected.equals(found.value())
                    : Arrays.stream(expected.split(" & ")).allMatch(found.value()::contains);
            if (!found.status().equals(columns[2]) || !fits) {
                failures.add(columns[0] + " " + columns[1] + ": " + found + ", expected " + columns[2] + " "
                        + expected);
            }
        }
        assertTrue(String.join("\n", failures), failures.isEmpty());
        assertEquals(operations.keySet(), used);
    }
}
