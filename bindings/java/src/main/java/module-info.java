/* The module, which requires only java.base. SPDX-License-Identifier: Apache-2.0 */

/** Trains and decodes the encoder-decoder Transformer of "Attention Is All You Need", with the C library libxformer. */
module xformer {
    exports xformer;
}
