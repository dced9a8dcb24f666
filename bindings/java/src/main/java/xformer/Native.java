/*
 * The functions of C, one for one, as src/main/c implements them; the prototypes there come from this file by
 * "javac -h". Pointers are longs, strings are UTF-8 in byte arrays ("name", "path", "key": with a NUL at the end), and
 * statistics fill arrays that the caller brings, in the order of the C struct. 0 is NULL, where that is allowed.
 *
 * Each throws an XformerException on a negative status, and what a listener or constraint has thrown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

final class Native {
    static {
        Library.load();
        Library.check(headerVersion(), versionNumber());
    }

    private Native() {}

    static native int headerVersion();
    static native int versionNumber();
    static native byte[] version();
    static native byte[] buildInfo();
    static native byte[] statusName(int status);

    static native long weakCreate(Ear ear);
    static native void weakFree(long weak);

    static native long configCreate();
    static native void configFree(long config);
    static native long configCopy(long config);
    static native void configPreset(long config, byte[] name);
    static native void configSet(long config, byte[] key, byte[] value);
    static native void configSetLong(long config, byte[] key, long value);
    static native void configSetDouble(long config, byte[] key, double value);
    static native void configSetBoolean(long config, byte[] key, boolean value);
    static native long configGetLong(long config, byte[] key);
    static native double configGetDouble(long config, byte[] key);
    static native boolean configGetBoolean(long config, byte[] key);
    static native byte[] configGetString(long config, byte[] key);
    static native int optionCount();
    /** texts: key, default, choices (or null), doc, paper, since; bounds: minimum, maximum. Returns the type. */
    static native int option(int index, byte[][] texts, double[] bounds);

    static native long contextCreate(long config);
    static native void contextFree(long context);
    /** weak: from weakCreate(), or 0 for silence. */
    static native void contextSetLog(long context, long weak, int level);
    static native void contextCancel(long context);
    static native byte[] contextDevice(long context);
    static native void contextMemory(long context, long[] stats);
    static native int backendCount(long context);
    /** texts: name, version, path, kind, reason; numbers: device_count, active. */
    static native void backend(long context, int index, byte[][] texts, int[] numbers);
    static native void backendLoad(long context, byte[] path);

    static native long corpusOpen(long context, long config, byte[] path);
    static native long corpusOpenParallel(long context, long config, byte[] sourcePath, byte[] targetPath);
    static native long corpusFromMemory(long context, long config, byte[] name, byte[] text);
    static native void corpusFree(long corpus);
    static native long corpusSize(long corpus);
    static native void corpusStats(long corpus, long[] stats);
    /** sides: source, target. */
    static native void corpusPair(long corpus, long index, byte[][] sides);

    static native long batcherCreate(long corpus, long tokenizer, long config);
    static native void batcherFree(long batcher);
    /** null at the end of an epoch. */
    static native Batch batcherNext(long batcher);
    static native void batcherStats(long batcher, long[] stats);
    static native void batcherSeek(long batcher, long epoch, long batch);

    static native long tokenizerTrain(long context, long config, long corpus);
    static native long tokenizerLoad(long context, byte[] path);
    static native void tokenizerSave(long tokenizer, byte[] path);
    static native void tokenizerFree(long tokenizer);
    static native int tokenizerSize(long tokenizer);
    static native int[] tokenizerEncode(long tokenizer, byte[] text);
    static native byte[] tokenizerDecode(long tokenizer, int[] ids);
    static native byte[] tokenizerPiece(long tokenizer, int id);

    static native long modelCreate(long context, long config, long tokenizer);
    static native long modelLoad(long context, byte[] path);
    static native long modelAverage(long context, byte[] paths, int[] starts);
    static native void modelSave(long model, byte[] path);
    static native void modelExport(long model, long config, byte[] path);
    static native void modelFree(long model);
    /** A copy. */
    static native long modelConfig(long model);
    /** Owned by the model; 0 when it has none. */
    static native long modelTokenizer(long model);
    static native int paramCount(long model);
    /** shape: rows, columns. Returns the name. */
    static native byte[] paramInfo(long model, int index, long[] shape);
    /** values: a float[] or a direct FloatBuffer, all of it. */
    static native void paramRead(long model, int index, Object values);
    static native void paramWrite(long model, int index, Object values);

    static native long trainerCreate(long model, long config);
    static native long trainerResume(long context, byte[] path);
    static native void trainerFree(long trainer);
    static native void trainStep(long trainer, Batch[] batches, long[] counts, double[] values);
    static native void trainAccumulate(long trainer, Batch[] one, long[] counts, double[] values);
    static native void trainUpdate(long trainer, long[] counts, double[] values);
    static native void gradientRead(long trainer, int index, Object values);
    static native long trainerSteps(long trainer);
    /** Owned by the trainer. */
    static native long trainerModel(long trainer);
    static native void trainerSave(long trainer, long batcher, byte[] path);
    /** position: epoch, batch. */
    static native void trainerPosition(long trainer, long[] position);
    static native void trainerSeek(long trainer, long batcher);
    /** A copy. */
    static native long trainerConfig(long trainer);

    static native long decoderCreate(long model, long config);
    static native void decoderFree(long decoder);
    /** asked: null without a constraint. */
    static native long decode(long decoder, Batch[] one, Asked asked);
    static native long translate(long decoder, byte[] texts, int[] starts, Asked asked);
    static native void hypothesesFree(long hypotheses);
    static native int hypothesesCount(long hypotheses);
    static native int hypothesesSize(long hypotheses, int sentence);
    /** text: one entry, null without a tokenizer; numbers: log_probability, score, finished. Returns the ids. */
    static native int[] hypothesis(long hypotheses, int sentence, int rank, byte[][] text, double[] numbers);
    static native void score(long decoder, Batch[] one, double[] logProbabilities);
    static native void evaluate(long decoder, Batch[] batches, long[] counts, double[] values);

    static native float[] attentionWeights(long decoder, Batch[] one, int kind, int layer);

    /** values: score, four precisions, brevity_penalty; lengths: hypotheses, references. Returns the signature. */
    static native byte[] bleu(byte[] found, int[] foundStarts, byte[] wanted, int[] wantedStarts, int tokenize,
            double[] values, long[] lengths);
    static native double chrf(byte[] found, int[] foundStarts, byte[] wanted, int[] wantedStarts);
}
