/* Text to ids and back. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.IntBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;

/**
 * Byte pair encoding or WordPiece, shared by source and target. Learnt, loaded, or had from {@link Model#tokenizer()}.
 */
public final class Tokenizer extends NativeObject {
    // What it stands on: its context, or the model that it belongs to.
    private final NativeObject keep;

    private Tokenizer(Context context) {
        super(Kind.TOKENIZER, context.root(), context.peer.guard);
        keep = context;
    }

    /** A tokenizer that belongs to a model. */
    Tokenizer(Model model, Context context, long pointer) {
        super(Peer.borrowed(Kind.TOKENIZER, model.peer, pointer, null, context.peer.guard));
        keep = model;
    }

    /**
     * Learns a vocabulary from both sides of a corpus.
     *
     * @param context the context
     * @param corpus the text
     * @param options of which the group "tokenizer." is read
     * @return the new tokenizer
     */
    public static Tokenizer train(Context context, Corpus corpus, Map<String, ?> options) {
        Tokenizer made = new Tokenizer(context);
        try (Call c = context.peer.read();
                Config.Use config = Config.of(options);
                Call pairs = corpus.peer.read()) {
            made.peer.open(Native.tokenizerTrain(c.pointer(), config.pointer(), pairs.pointer()));
        }
        return made;
    }

    /**
     * Loads what {@link #save} wrote. The file is checked before it is used.
     *
     * @param context the context
     * @param path file name
     * @return the tokenizer
     */
    public static Tokenizer load(Context context, Path path) {
        byte[] name = Text.path(path);
        Tokenizer made = new Tokenizer(context);
        try (Call c = context.peer.read()) {
            made.peer.open(Native.tokenizerLoad(c.pointer(), name));
        }
        return made;
    }

    /**
     * Saves it as one JSON file, replacing an old file at once or not at all.
     *
     * @param path file name
     */
    public void save(Path path) {
        byte[] name = Text.path(path);
        try (Call tokenizer = peer.read()) {
            Native.tokenizerSave(tokenizer.pointer(), name);
        }
    }

    /**
     * Counts the ids, V.
     *
     * @return V; ids are 0 to V - 1
     */
    public int size() {
        try (Call tokenizer = peer.read()) {
            return Native.tokenizerSize(tokenizer.pointer());
        }
    }

    /**
     * Turns text into ids, without start and end symbols.
     *
     * @param text the text
     * @return its ids
     */
    public int[] encode(String text) {
        return encode(Text.utf8(text));
    }

    /**
     * Turns text into ids, without start and end symbols.
     *
     * @param utf8 the text; what is not UTF-8 is a {@link DataException}, unless the tokenizer's options say otherwise
     * @return its ids
     */
    public int[] encode(byte[] utf8) {
        Objects.requireNonNull(utf8, "utf8");
        try (Call tokenizer = peer.read()) {
            return Native.tokenizerEncode(tokenizer.pointer(), utf8);
        }
    }

    /**
     * Turns text into ids, the end symbol last: a sentence of a {@link Batch}.
     *
     * @param text the text
     * @return its ids and {@link Xformer#TOKEN_END}
     */
    public int[] encodeSentence(String text) {
        int[] ids = encode(text);
        int[] sentence = Arrays.copyOf(ids, ids.length + 1);
        sentence[ids.length] = Xformer.TOKEN_END;
        return sentence;
    }

    /**
     * Turns ids into text; start and end symbols give nothing.
     *
     * @param ids ids from 0 to V - 1
     * @return the text; bytes that are no UTF-8, which normalisation "none" allows, are U+FFFD in it
     */
    public String decode(int... ids) {
        return Text.string(decodeBytes(ids));
    }

    /**
     * Turns ids into text; start and end symbols give nothing.
     *
     * @param ids ids from 0 to V - 1, from position to limit
     * @return the text, as in {@link #decode(int...)}
     */
    public String decode(IntBuffer ids) {
        int[] values = new int[ids.remaining()];
        ids.duplicate().get(values);
        return decode(values);
    }

    /**
     * Turns ids into the bytes of the text.
     *
     * @param ids ids from 0 to V - 1
     * @return the bytes, UTF-8 as far as the text was
     */
    public byte[] decodeBytes(int... ids) {
        Objects.requireNonNull(ids, "ids");
        try (Call tokenizer = peer.read()) {
            return Native.tokenizerDecode(tokenizer.pointer(), ids);
        }
    }

    /**
     * Names an id for people.
     *
     * @param id from 0 to V - 1
     * @return such as "&lt;/s&gt;", "&lt;0xC3&gt;", or the piece with U+2581 for its leading space
     */
    public String piece(int id) {
        try (Call tokenizer = peer.read()) {
            return Text.string(Native.tokenizerPiece(tokenizer.pointer(), id));
        }
    }
}
