/* Which tokens may follow: the xf_constraint_fn of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.BitSet;

/** Says which tokens may follow a hypothesis: a grammar, a given beginning, a lexicon. */
@FunctionalInterface
public interface Constraint {
    /**
     * Clears the bits of the ids that may not follow, that of {@link Xformer#TOKEN_END} when the answer may not end
     * here. Called within a call of the decoder, on its thread, once for each live hypothesis and step, in an order
     * that is not promised. It must not use this decoder; the answer is to depend on the prefix alone. What it throws
     * ends the call and is thrown from it.
     *
     * @param allowed a bit for each id, all set
     */
    void restrict(Prefix prefix, BitSet allowed);
}
