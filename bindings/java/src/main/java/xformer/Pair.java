/* A sentence and its translation. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.Objects;

/**
 * A sentence pair.
 *
 * @param source a sentence
 * @param target its translation
 */
public record Pair(String source, String target) {
    /**
     * Creates a pair.
     *
     * @param source a sentence, not null
     * @param target its translation, not null
     */
    public Pair {
        Objects.requireNonNull(source, "source");
        Objects.requireNonNull(target, "target");
    }
}
