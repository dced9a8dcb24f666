/* Text to ids and back. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.IntBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;

/**
 * Byte pair encoding, WordPiece or unigram, shared by source and target. Learnt, loaded, or had from {@link Model#tokenizer()}.
 */
public final class Tokenizer extends NativeObject {
    private Tokenizer(Services services, Frame.Call maker) {
        super(Handle.Kind.TOKENIZER, services, maker);
    }

    /** A tokenizer that belongs to a model. */
    Tokenizer(Model model, long pointer) {
        super(Handle.Kind.TOKENIZER, model, pointer);
    }

    /** Learns a vocabulary from both sides of a corpus, by the options of the group "tokenizer.". */
    public static Tokenizer train(Context context, Corpus corpus, Map<String, ?> options) {
        return new Tokenizer(context.services, (f, out) ->
                Native.xf_tokenizer_train(f.use(context), f.config(options), f.use(corpus), out, f.err()));
    }

    /** Loads what {@link #save} wrote. The file is checked before it is used. */
    public static Tokenizer load(Context context, Path path) {
        return new Tokenizer(context.services, (f, out) ->
                Native.xf_tokenizer_load(f.use(context), f.path(path), out, f.err()));
    }

    /** Saves it as one JSON file, replacing an old file at once or not at all. */
    public void save(Path path) {
        Frame.run(f -> Native.xf_tokenizer_save(f.use(this), f.path(path), f.err()));
    }

    /** {@return the number of ids, V; ids are 0 to V - 1} */
    public int size() {
        return Frame.get(f -> (int) Native.xf_tokenizer_vocab_size(f.use(this)));
    }

    /** {@return the id of the start symbol, {@link Xformer#TOKEN_START} of one learnt here; -1: it has none} */
    public int startToken() {
        return Frame.get(f -> (int) Native.xf_tokenizer_start_token(f.use(this)));
    }

    /** {@return the id of the end symbol, {@link Xformer#TOKEN_END} of one learnt here; -1: it has none} */
    public int endToken() {
        return Frame.get(f -> (int) Native.xf_tokenizer_end_token(f.use(this)));
    }

    /** Turns text into ids, without start and end symbols. Half of a surrogate pair is an error. */
    public int[] encode(String text) {
        return encode(Text.utf8(text));
    }

    /** Turns UTF-8 into ids. What is none is an error of status DATA, unless the tokenizer's options say otherwise. */
    public int[] encode(byte[] utf8) {
        return Frame.fill(utf8.length + 16L, 4, (f, ids, capacity, count) -> Native.xf_tokenizer_encode(
                f.use(this), f.bytes(utf8), utf8.length, ids, capacity, count, f.err()), Words::ints);
    }

    /** Turns text into ids and the end symbol: a sentence of a {@link Batch}. */
    public int[] encodeSentence(String text) {
        int[] ids = encode(text);
        int[] sentence = Arrays.copyOf(ids, ids.length + 1);
        sentence[ids.length] = endToken();
        return sentence;
    }

    /** Turns ids into text; start and end symbols give nothing. What is no UTF-8 (normalisation "none") is U+FFFD. */
    public String decode(int... ids) {
        return Text.string(decodeBytes(ids));
    }

    /** Turns ids into text, as {@link #decode(int...)}. */
    public String decode(IntBuffer ids) {
        return Text.string(bytes(ids));
    }

    /** Turns ids into the bytes of the text, UTF-8 as far as the text was. */
    public byte[] decodeBytes(int... ids) {
        return bytes(IntBuffer.wrap(ids));
    }

    private byte[] bytes(IntBuffer ids) {
        int size = ids.remaining();
        return Frame.fill(8L * size + 16, 1, (f, text, capacity, length) -> Native.xf_tokenizer_decode(
                f.use(this), f.ints(ids), size, text, capacity, length, f.err()), Words::bytes);
    }

    /** Names an id for people: "&lt;/s&gt;", "&lt;0xC3&gt;", or the piece with U+2581 for its leading space. */
    public String piece(int id) {
        return Text.string(Frame.fill(64, 1, (f, text, capacity, length) -> Native.xf_tokenizer_get_piece(
                f.use(this), id, text, capacity, length, f.err()), Words::bytes));
    }
}
