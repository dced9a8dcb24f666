/* The struct xf_span of C, with indices of a String. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * A part of a text.
 *
 * @param begin index of the first char
 * @param end index after the last char
 */
public record Span(int begin, int end) {
    /** Returns this part of the text. */
    public String of(String text) {
        return text.substring(begin, end);
    }
}
