/* The first page of the Javadoc. SPDX-License-Identifier: Apache-2.0 */

/**
 * Trains and decodes the encoder-decoder Transformer of "Attention Is All You Need" with the C library libxformer.
 *
 * <p>A {@link xformer.Context} is the root of all objects. Training uses a {@link xformer.Corpus}, a
 * {@link xformer.Tokenizer}, a {@link xformer.Batcher}, a {@link xformer.Model}, and a {@link xformer.Trainer}.
 * Translation uses a model and a {@link xformer.Decoder}. Options have names and are passed in any
 * {@link java.util.Map}, or in a {@link xformer.Config}, which also has presets and defaults.
 *
 * <p><b>Closing.</b> Objects hold memory that the garbage collector does not count. Use them in a {@code try} statement
 * or call {@code close()}, in any order. Objects that were created from a closed object remain usable; a call on the
 * closed object throws an {@link java.lang.IllegalStateException}. {@code close()} never waits: an object that another
 * thread is using is freed when that call returns. Objects that are not closed are freed after they become unreachable.
 *
 * <p><b>Calls.</b> Methods that may take long accept a {@link xformer.Call} as their last parameter, with a cancel
 * token, a deadline, and a progress listener. {@link java.lang.Thread#interrupt()} does not affect a call, but
 * {@link xformer.Trainer#train(Batcher, long, StepListener)} checks for it between steps.
 *
 * <p><b>Threads.</b> Distinct objects may be used from distinct threads at the same time. One object serves one call at
 * a time, unless both calls only read it; otherwise the second call fails with {@link xformer.Status#BUSY}. Threads
 * that translate share a model and have a decoder each.
 *
 * <p><b>Errors.</b> A call that fails throws an {@link xformer.XformerException}, which is unchecked and has a {@link
 * xformer.Status}. The manual of the C function lists the errors of each method: {@code Tokenizer.train} is {@code
 * xf_tokenizer_train}, and so on. A call on several sentences returns a {@link xformer.Translation} for each. Errors
 * that Java detects before the call are a {@link java.lang.NullPointerException}, an {@link
 * java.lang.IllegalArgumentException}, or an {@link java.lang.IndexOutOfBoundsException}. A parameter must not be null
 * unless its documentation allows it.
 */
package xformer;
