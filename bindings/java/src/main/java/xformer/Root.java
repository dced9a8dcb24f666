/*
 * What must live as long as the native context does, which is until the last object made from it is freed: the weak
 * reference by which log lines find their listener. It is weak so that a listener that holds its context does not keep
 * both for ever; the objects of the context hold the listener.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

final class Root {
    private int handles;
    private long weak;

    synchronized void retain() {
        ++handles;
    }

    synchronized void release() {
        if (--handles == 0 && weak != 0) {
            Native.weakFree(weak);
            weak = 0;
        }
    }

    /** The reference to the ear of this context, made once. */
    synchronized long weak(Ear ear) {
        if (weak == 0) weak = Native.weakCreate(ear);
        return weak;
    }
}
