/*
 * Finding the library, and incompatible libraries. Each case runs in its own JVM. test.sh builds stubs of other
 * versions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.junit.Assume.assumeFalse;

import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.Test;

public class LibraryTest {
    private static final String GLUE = Path.of(System.getProperty("xformer.library.path")).toAbsolutePath().toString();
    private static final String STUBS = System.getProperty("xformer.test.stubs");

    /** The program of the other JVM. */
    static final class Program {
        public static void main(String[] args) {
            try {
                System.out.println(Xformer.version());
            } catch (UnsatisfiedLinkError error) {
                System.out.println(error.getMessage());
            }
        }
    }

    private static String run(String libraryPath, String... properties) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-XX:-UsePerfData");
        command.addAll(List.of(properties));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Program.class.getName()));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        if (libraryPath != null) builder.environment().put("LD_LIBRARY_PATH", libraryPath);
        Process process = builder.start();
        process.getOutputStream().close();
        String said = new String(process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        process.waitFor();
        return said;
    }

    private static void says(String expected, String found) {
        assertTrue(found, found.contains(expected));
    }

    @Test
    public void whereItIsLookedFor() throws Exception {
        String version = Xformer.version() + System.lineSeparator();
        assertEquals(version, run(null, "-Dxformer.library.path=/none" + File.pathSeparator + GLUE));
        assertEquals(version, run(null, "-Djava.library.path=" + GLUE));
        assertEquals(version, run(null, "-Dxformer.library.path=/none", "-Djava.library.path=" + GLUE));
        says("libxformer_jni.so was found neither in xformer.library.path (\"/none\") nor in java.library.path",
                run(null, "-Dxformer.library.path=/none", "-Djava.library.path=/none"));
    }

    @Test
    public void withoutTheLibrary() throws Exception {
        String said = run("", "-Dxformer.library.path=" + GLUE);
        assumeFalse("libxformer is installed in this system", said.startsWith(Xformer.version()));
        says("libxformer_jni.so was found, but libxformer.so.0 was not: install it, or add its folder to the"
                + " environment variable LD_LIBRARY_PATH", said);
    }

    @Test
    public void anotherVersion() throws Exception {
        says("libxformer.so.0 is libxformer 0.2.0, libxformer_jni.so was built for 0.1.0",
                run(STUBS + "/newer", "-Dxformer.library.path=" + GLUE));
        says("libxformer.so.0 does not have the version for which libxformer_jni.so was built",
                run(STUBS + "/node", "-Dxformer.library.path=" + GLUE));
    }

    @Test
    public void compatibleVersions() {
        Library.check(Library.VERSION, Library.VERSION);
        Library.check(0x000102, 0x000109);
        UnsatisfiedLinkError glue = assertThrows(UnsatisfiedLinkError.class, () -> Library.check(0x000200, 0x000200));
        says("libxformer_jni.so was built for libxformer 0.2.0, this package requires 0.1.0", glue.getMessage());
        assertThrows(UnsatisfiedLinkError.class, () -> Library.check(0x000100, 0x000200));
        assertThrows(UnsatisfiedLinkError.class, () -> Library.check(0x000100, 0x000000));
        assertThrows(UnsatisfiedLinkError.class, () -> Library.check(0x000100, 0x010100));
        assertTrue(Library.compatible(0x010203, 0x010300));
        assertTrue(!Library.compatible(0x010300, 0x010203));
        assertTrue(!Library.compatible(0x010203, 0x020203));
    }
}
