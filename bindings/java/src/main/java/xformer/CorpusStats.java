/* The struct xf_corpus_stats of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * Line counts of a corpus. {@code lines} is the sum of the others.
 *
 * @param lines lines read
 * @param kept pairs kept
 * @param badColumns lines without exactly one tab
 * @param emptySide lines with an empty side
 * @param tooLong lines with a side longer than "data.max_bytes"
 * @param invalidUtf8 lines that are not UTF-8
 * @param nulByte lines with a NUL byte
 */
public record CorpusStats(long lines, long kept, long badColumns, long emptySide, long tooLong, long invalidUtf8,
        long nulByte) {}
