/* The constants XF_SIDE_... of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** The two sides of a sentence pair. */
public enum Side {
    /** The source: what the encoder reads. */
    SOURCE,
    /** The target: what the decoder writes. */
    TARGET
}
