/* One package and nothing but java.base. SPDX-License-Identifier: Apache-2.0 */

/** Trains and decodes the encoder-decoder Transformer of "Attention Is All You Need", by the C library libxformer. */
module xformer {
    exports xformer;
}
