/*
 * Finds and loads libxformer_jni.so, which depends on libxformer.so.0. A failure is an UnsatisfiedLinkError that says
 * what was tried.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;

final class Library {
    /** Version of the headers for which this package was generated. */
    static final int VERSION = Abi.XF_VERSION_NUM;

    /** Folders to search before those of java.library.path. */
    private static final String PROPERTY = "xformer.library.path";

    private Library() {}

    static void load() {
        String folders = System.getProperty(PROPERTY, "");
        try {
            for (String folder : folders.split(File.pathSeparator)) {
                Path file = Path.of(folder, System.mapLibraryName("xformer_jni")).toAbsolutePath();
                if (!folder.isEmpty() && Files.exists(file)) {
                    System.load(file.toString());
                    return;
                }
            }
            System.loadLibrary("xformer_jni");
        } catch (UnsatisfiedLinkError error) {
            throw explained(folders, error);
        }
    }

    private static UnsatisfiedLinkError explained(String folders, UnsatisfiedLinkError error) {
        String reason = String.valueOf(error.getMessage());
        String sentence;
        if (reason.contains("XFORMER_")) {
            sentence = "libxformer.so.0 does not have the version for which libxformer_jni.so was built";
        } else if (reason.contains("libxformer.so")) {
            sentence = "libxformer_jni.so was found, but libxformer.so.0 was not: install it, or add its folder to"
                    + " the environment variable LD_LIBRARY_PATH";
        } else {
            sentence = "libxformer_jni.so was found neither in " + PROPERTY + " (\"" + folders
                    + "\") nor in java.library.path";
        }
        UnsatisfiedLinkError explained = new UnsatisfiedLinkError(sentence + " (" + reason + ")");
        explained.initCause(error);
        return explained;
    }

    /**
     * Compares the versions of this package, of the headers with which the glue was compiled, and of the library.
     *
     * @throws UnsatisfiedLinkError if they are not compatible
     */
    static void check(int glue, int library) {
        if (glue >> 8 != VERSION >> 8) {
            throw new UnsatisfiedLinkError("libxformer_jni.so was built for libxformer " + name(glue)
                    + ", this package requires " + name(VERSION) + "; build both from the same sources");
        }
        if (!compatible(glue, library)) {
            throw new UnsatisfiedLinkError("libxformer.so.0 is libxformer " + name(library)
                    + ", libxformer_jni.so was built for " + name(glue));
        }
    }

    /** Before 1.0, a minor version may break the ABI; afterwards it only adds to it. */
    static boolean compatible(int wanted, int found) {
        return wanted >> 16 == 0 ? found >> 8 == wanted >> 8 : found >> 16 == wanted >> 16 && found >> 8 >= wanted >> 8;
    }

    private static String name(int version) {
        return (version >> 16) + "." + (version >> 8 & 0xFF) + "." + (version & 0xFF);
    }
}
