/* Where the questions to a constraint arrive from C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.BitSet;

final class Asked {
    private final Constraint constraint;

    Asked(Constraint constraint) {
        this.constraint = constraint;
    }

    /** Called by the glue, which keeps what is thrown here until the call of the library has returned. */
    @SuppressWarnings("unused")
    private long[] ask(int sentence, int[] ids, long remaining, int vocabSize) {
        BitSet allowed = new BitSet(vocabSize);
        allowed.set(0, vocabSize);
        constraint.restrict(new Prefix(sentence, ids, remaining, vocabSize), allowed);
        return allowed.toLongArray();
    }
}
