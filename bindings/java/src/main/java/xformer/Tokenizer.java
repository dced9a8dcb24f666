/* Text to ids and back. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.IntBuffer;
import java.nio.file.Path;
import java.util.Map;

/**
 * A tokenizer: trained, loaded, or that of a model ({@link Model#tokenizer()}). A pair of tokenizers encodes and
 * decodes only through its sides ({@link #side(Side)}).
 */
public final class Tokenizer extends NativeObject {
    private Tokenizer(Services services, Frame.Output creator) {
        super(Handle.Kind.TOKENIZER, services, creator);
    }

    /** A tokenizer that a model or a pair owns. */
    Tokenizer(NativeObject owner, long pointer) {
        super(Handle.Kind.TOKENIZER, owner, pointer);
    }

    /** Trains a tokenizer on both sides of a corpus. Reads the options of the group "tokenizer.". */
    public static Tokenizer train(Context context, Corpus corpus, Map<String, ?> options) {
        return train(context, corpus, options, new Call());
    }

    /** Trains a tokenizer, as {@link #train(Context, Corpus, Map)}. */
    public static Tokenizer train(Context context, Corpus corpus, Map<String, ?> options, Call call) {
        return new Tokenizer(context.services, (f, out) -> Native.xf_tokenizer_train(
                f.use(context), f.use(corpus), f.config(options), f.call(call), out, f.err()));
    }

    /** Loads a tokenizer. The content is validated before it is used. */
    public static Tokenizer load(Context context, Path path) {
        return load(context, Source.of(path), new Call());
    }

    /** Loads a tokenizer, as {@link #load(Context, Path)}. */
    public static Tokenizer load(Context context, Source source, Call call) {
        return new Tokenizer(context.services, (f, out) ->
                Native.xf_tokenizer_load(f.use(context), f.source(source), f.call(call), out, f.err()));
    }

    /** Saves the tokenizer as a JSON file, which is replaced atomically. */
    public void save(Path path) {
        save(Sink.of(path), new Call());
    }

    /** Saves the tokenizer as a JSON file. */
    public void save(Sink sink, Call call) {
        Frame.run(f -> Native.xf_tokenizer_save(f.use(this), f.call(call), f.sink(sink), f.err()));
    }

    /** {@return the properties of the tokenizer} */
    public TokenizerInfo info() {
        return Frame.read(Abi.xf_tokenizer_info.SIZE,
                (f, out) -> Native.xf_tokenizer_get_info(f.use(this), out, f.err()),
                t -> new TokenizerInfo(t.text(Abi.xf_tokenizer_info.kind), t.getInt(Abi.xf_tokenizer_info.vocab_size),
                        t.getInt(Abi.xf_tokenizer_info.start_token), t.getInt(Abi.xf_tokenizer_info.end_token)));
    }

    /**
     * Returns the tokenizer of one side, which can be used until this one is closed. If this tokenizer is not a pair,
     * both sides are the same tokenizer.
     */
    public Tokenizer side(Side side) {
        return new Tokenizer(this, Frame.get(f -> Native.xf_tokenizer_side(f.use(this), side.ordinal() + 1)));
    }

    /**
     * Encodes a text, without start, end, and language tokens. {@link Model#encode(Side, String)} adds them. A text
     * with an unpaired surrogate is an error with {@link Status#DATA}.
     */
    public int[] encode(String text) {
        return encode(Text.utf8(text));
    }

    /**
     * Encodes UTF-8. Invalid bytes are an error with {@link Status#DATA}, unless "tokenizer.invalid_utf8" is replace.
     */
    public int[] encode(byte[] utf8) {
        return Frame.fill(utf8.length + 16L, 4, (f, ids, capacity, count) -> Native.xf_tokenizer_encode(
                f.use(this), f.bytes(utf8), utf8.length, ids, capacity, count, f.err()), Memory::ints);
    }

    /** Decodes ids. Control symbols produce no text, and bytes that are not UTF-8 become U+FFFD. */
    public String decode(int... ids) {
        return Text.string(decodeBytes(ids));
    }

    /** Decodes ids, as {@link #decode(int...)}. */
    public String decode(IntBuffer ids) {
        return Text.string(bytes(ids));
    }

    /** Decodes ids as bytes. They are UTF-8 if the text was. */
    public byte[] decodeBytes(int... ids) {
        return bytes(IntBuffer.wrap(ids));
    }

    private byte[] bytes(IntBuffer ids) {
        int size = ids.remaining();
        return Frame.fill(8L * size + 16, 1, (f, text, capacity, length) -> Native.xf_tokenizer_decode(
                f.use(this), f.ints(ids), size, text, capacity, length, f.err()), Memory::bytes);
    }

    /** Returns a readable name of an id: "&lt;/s&gt;", "&lt;0xC3&gt;", or the piece with U+2581 for a leading space. */
    public String piece(int id) {
        return Text.string(Frame.fill(64, 1, (f, text, capacity, length) -> Native.xf_tokenizer_get_piece(
                f.use(this), id, text, capacity, length, f.err()), Memory::bytes));
    }
}
