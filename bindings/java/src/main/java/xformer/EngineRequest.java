/* The struct xf_request of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;

/** A sentence for an {@link Engine}: text or ids, with its own options. It may be submitted several times. */
public final class EngineRequest {
    private final String text;
    private final int[] ids;
    private String prefix;
    private int[] prefixIds;
    private Map<String, ?> options = Map.of();
    private Experimental.Constraint constraint;
    private long deadline;
    private int priority;

    /** Creates a request to translate a text. White space around it is ignored. */
    public EngineRequest(String text) {
        this.text = Objects.requireNonNull(text, "text");
        ids = null;
    }

    /** Creates a request to decode source ids, including the end symbol. */
    public EngineRequest(int[] ids) {
        this.ids = ids.clone();
        text = null;
    }

    /** Sets the text with which the translation begins. */
    public EngineRequest prefix(String begin) {
        prefix = Objects.requireNonNull(begin, "begin");
        return this;
    }

    /** Sets the ids with which the hypotheses begin, without start and end symbol; for a request of ids. */
    public EngineRequest prefixIds(int[] begin) {
        prefixIds = begin.clone();
        return this;
    }

    /** Sets options of the groups "decode." and "text." that override those of the engine. */
    public EngineRequest options(Map<String, ?> values) {
        options = Objects.requireNonNull(values, "values");
        return this;
    }

    /**
     * Restricts the tokens that may follow a hypothesis, as in {@link DecodeParams#constraint}; experimental. Runs on
     * the thread of the engine. An exception ends only this request.
     */
    public EngineRequest constraint(Experimental.Constraint restricts) {
        constraint = Objects.requireNonNull(restricts, "restricts");
        return this;
    }

    /**
     * Sets a deadline, which begins with the submission. The request then ends with its best hypothesis so far, or with
     * {@link Status#DEADLINE} if it has not begun. The resolution is one millisecond.
     */
    public EngineRequest deadline(Duration after) {
        deadline = Call.milliseconds(after);
        return this;
    }

    /** Sets the priority, from -1000 to 1000; 0 is normal. A request with a higher one begins earlier. */
    public EngineRequest priority(int value) {
        priority = value;
        return this;
    }

    Experimental.Constraint constraint() {
        return constraint;
    }

    /** The address of an xf_request. */
    long write(Frame f, long key, boolean stream) {
        Memory to = f.struct(Abi.xf_request.SIZE);
        if (text != null) string(f, to, text, Abi.xf_request.text, Abi.xf_request.text_length);
        else numbers(f, to, ids, Abi.xf_request.source_ids, Abi.xf_request.source_id_count);
        if (prefix != null) string(f, to, prefix, Abi.xf_request.prefix, Abi.xf_request.prefix_length);
        if (prefixIds != null) numbers(f, to, prefixIds, Abi.xf_request.prefix_ids, Abi.xf_request.prefix_id_count);
        if (constraint != null) {
            Memory restricts = f.struct(Abi.xf_constraint.SIZE).set(Abi.xf_constraint.user, key)
                    .set(Abi.xf_constraint.function, Native.callback(Native.CONSTRAINT));
            to.set(Abi.xf_request.constraint, restricts.address());
        }
        return to.set(Abi.xf_request.config, f.config(options)).set(Abi.xf_request.deadline_ms, deadline)
                .setInt(Abi.xf_request.priority, priority).setInt(Abi.xf_request.stream, stream ? 1 : 0)
                .set(Abi.xf_request.user, key).address();
    }

    private static void string(Frame f, Memory to, String text, int pointer, int length) {
        byte[] bytes = Text.utf8(text);
        to.set(pointer, f.bytes(Arrays.copyOf(bytes, bytes.length + 1))).set(length, bytes.length);
    }

    private static void numbers(Frame f, Memory to, int[] ids, int pointer, int count) {
        to.set(pointer, f.ints(Arrays.copyOf(ids, ids.length + 1))).set(count, ids.length);
    }
}
