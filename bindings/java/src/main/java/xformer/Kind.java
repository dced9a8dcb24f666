/* The kinds of native objects: how messages call them and how they are freed. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.Locale;
import java.util.function.LongConsumer;

enum Kind {
    BATCHER(Native::batcherFree),
    CONFIG(Native::configFree),
    CONTEXT(Native::contextFree),
    CORPUS(Native::corpusFree),
    DECODER(Native::decoderFree),
    MODEL(Native::modelFree),
    TOKENIZER(Native::tokenizerFree),
    TRAINER(Native::trainerFree);

    private final LongConsumer function;

    Kind(LongConsumer function) {
        this.function = function;
    }

    void free(long pointer) {
        function.accept(pointer);
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
