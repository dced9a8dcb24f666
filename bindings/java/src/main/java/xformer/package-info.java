/* The page that Javadoc opens with. SPDX-License-Identifier: Apache-2.0 */

/**
 * Trains and decodes the encoder-decoder Transformer of "Attention Is All You Need", by the C library libxformer.
 *
 * <p>A {@link xformer.Context} is the root of all objects. Training goes from a {@link xformer.Corpus} over a
 * {@link xformer.Tokenizer} and a {@link xformer.Batcher} to a {@link xformer.Model} and its {@link xformer.Trainer};
 * translating needs a model and a {@link xformer.Decoder}. Options have names and are given in a map: any
 * {@link java.util.Map}, or a {@link xformer.Config}, which also knows presets, defaults and the table of all options.
 *
 * <p><b>Closing.</b> Objects hold memory that the collector does not see: use them in a {@code try} or call
 * {@code close()}, once or more often, in any order. What was made from a closed object goes on; a call on it is an
 * {@link java.lang.IllegalStateException}. {@code close()} never waits: during a call of another thread it marks the
 * object, and the end of that call frees it. Objects that were forgotten are freed some day.
 *
 * <p><b>Threads.</b> Distinct objects may be used from distinct threads at the same time. One object is for one call at
 * a time, unless both calls only read it: another one is refused as {@link xformer.Status#BUSY} and does nothing. So
 * threads that translate share a model and have a decoder each. {@link xformer.Context#cancel()},
 * {@link xformer.Decoder#cancel()} and {@link xformer.Trainer#cancel()} end the calls that run, and nothing else.
 * Interrupting a thread does not reach a call, but {@link xformer.Trainer#train} looks at it between two steps.
 *
 * <p><b>Errors</b> are {@link xformer.XformerException}, unchecked, with a {@link xformer.Status}; C's manual names
 * those of each function ({@code Tokenizer.train} is {@code xf_tokenizer_train} and so on), with all else that is not
 * said here. Of a call on several sentences each has its own {@link xformer.Answer}. Mistakes that are seen before the
 * library is called are the usual {@link java.lang.NullPointerException}, {@link java.lang.IllegalArgumentException}
 * and {@link java.lang.IndexOutOfBoundsException}. No parameter may be null unless it says so.
 */
package xformer;
