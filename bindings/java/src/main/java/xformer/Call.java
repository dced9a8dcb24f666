/* The struct xf_call of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.time.Duration;
import java.util.Objects;

/**
 * Parameters of one call: cancellation, deadline, and progress. Each is optional. Several calls, also concurrent ones,
 * may share a {@code Call}; do not change it while one of them runs.
 */
public final class Call {
    private CancelToken token;
    private long deadline;
    private ProgressListener progress;

    /** Creates parameters without cancellation, deadline, and progress. */
    public Call() {}

    /** Ends the call with a {@link CancelledException} when the token is cancelled, also if that happened before. */
    public Call cancel(CancelToken with) {
        token = Objects.requireNonNull(with, "with");
        return this;
    }

    /**
     * Sets a deadline, which begins with each call. {@link Decoder#translate(java.util.List, DecodeParams, Call)} and
     * {@link Decoder#decode(Batch, DecodeParams, Call)} then return the best hypotheses found so far. Other methods
     * throw an {@link XformerException} with {@link Status#DEADLINE} and change nothing. The resolution is one
     * millisecond.
     */
    public Call deadline(Duration after) {
        deadline = milliseconds(after);
        return this;
    }

    static long milliseconds(Duration deadline) {
        if (deadline.isNegative() || deadline.isZero()) {
            throw new IllegalArgumentException("the deadline is " + deadline + ", expected a positive duration");
        }
        return Math.max(1, deadline.toMillis());
    }

    /** Reports the progress of the call. */
    public Call progress(ProgressListener listener) {
        progress = Objects.requireNonNull(listener, "listener");
        return this;
    }

    CancelToken token() {
        return token;
    }

    /** A copy with a token; its own, if it has one. */
    Call withToken() {
        Call copy = new Call();
        copy.token = token == null ? new CancelToken() : token;
        copy.deadline = deadline;
        copy.progress = progress;
        return copy;
    }

    void write(Frame f, Memory to) {
        if (token != null) {
            f.keep(token);
            to.set(Abi.xf_call.cancelled, token.address());
        }
        to.set(Abi.xf_call.deadline_ms, deadline);
        if (progress != null) {
            f.progress(progress);
            to.set(Abi.xf_call.progress, Native.callback(Native.PROGRESS));
        }
    }
}
