/* Closing objects. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.Test;

public class ClosingTest extends WorldTest {
    @Test
    public void aBorrowedTokenizerEndsWithItsModel() {
        Tokenizer tokenizer = w.model.tokenizer().orElseThrow();
        Tokenizer other = w.model.tokenizer().orElseThrow();
        other.close();
        assertTrue(other.isClosed());
        assertTrue(tokenizer.encode("one").length > 0);
        Tokenizer side = tokenizer.side(Side.SOURCE);
        assertTrue(side.encode("one").length > 0);
        w.model.close();
        assertTrue(side.isClosed());
        assertTrue(tokenizer.isClosed());
        Model borrowed = w.trainer.model(); // the trainer still has the model
        assertTrue(borrowed.tokenizer().orElseThrow().encode("one").length > 0);
        borrowed.close();
        w.trainer.step(w.batch());
    }

    @Test
    public void aForgottenContextIsFreedAndItsListenerIsHeardByWhatWasMade() {
        List<String> lines = new ArrayList<>();
        Host host = new Host().log(LogLevel.INFO, (level, component, line) -> lines.add(line));
        Context context = new Context(World.OPTIONS, host);
        Handle forgotten = context.handle;
        Model model = new Model(context, World.options("model.vocab_size", 9));
        Handle made = model.handle;
        context = null;
        host = null;
        await(forgotten);
        lines.clear();
        model.save(path("model.xf"));
        assertFalse(lines.isEmpty());
        model = null;
        await(made);
    }

    /** A listener that holds its context does not keep it from being collected. */
    @Test
    public void cyclesAreFreed() {
        for (Handle handle : cycle()) await(handle);
    }

    private static List<Handle> cycle() {
        World[] self = new World[1];
        Host host = new Host().log(LogLevel.DEBUG, (level, component, line) -> Arrays.hashCode(self));
        World world = self[0] = new World(host);
        world.trainer.step(world.batch());
        return List.of(world.context.handle, world.model.handle, world.trainer.handle, world.decoder.handle);
    }

    /** Collects until the Cleaner has freed it. */
    static void await(Handle handle) {
        for (int i = 0; i < 3000 && !handle.freed(); ++i) {
            System.gc();
            LockSupport.parkNanos(10_000_000);
        }
        assertTrue("not freed half a minute after it was forgotten", handle.freed());
    }
}
