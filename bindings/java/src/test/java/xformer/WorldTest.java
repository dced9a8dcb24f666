/* Base class of tests with a world and a temporary folder. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.file.Path;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.rules.TemporaryFolder;

public abstract class WorldTest {
    @Rule public final TemporaryFolder folder = new TemporaryFolder();
    World w;

    @Before
    public void open() {
        w = new World();
    }

    @After
    public void close() {
        w.close();
    }

    Path path(String name) {
        return folder.getRoot().toPath().resolve(name);
    }
}
