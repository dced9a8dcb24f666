/*
 * Finds and loads libxformer_jni.so, which brings libxformer.so.0 with it. A failure says what was tried: an
 * UnsatisfiedLinkError, as for every native library.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;

final class Library {
    /** Version of the headers that this package mirrors, as XF_VERSION_NUM. */
    static final int VERSION = 0x000100;

    /** Folders of the glue, separated as in java.library.path, which is looked at afterwards. */
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
            sentence = "libxformer.so.0 is not of the version that libxformer_jni.so was built for";
        } else if (reason.contains("libxformer.so")) {
            sentence = "libxformer_jni.so is here, libxformer.so.0 is not: install it, or name its folder in the"
                    + " environment variable LD_LIBRARY_PATH";
        } else {
            sentence = "libxformer_jni.so is neither in " + PROPERTY + " (\"" + folders
                    + "\") nor in java.library.path";
        }
        UnsatisfiedLinkError told = new UnsatisfiedLinkError(sentence + " (" + reason + ")");
        told.initCause(error);
        return told;
    }

    /**
     * Compares versions: of this package, of the headers that the glue was compiled with, of the library loaded.
     *
     * @throws UnsatisfiedLinkError when they do not go together
     */
    static void check(int glue, int library) {
        if (glue >> 8 != VERSION >> 8) {
            throw new UnsatisfiedLinkError("libxformer_jni.so was built for libxformer " + name(glue)
                    + ", this package is for " + name(VERSION) + ": build both from the same sources");
        }
        if (!goesWith(glue, library)) {
            throw new UnsatisfiedLinkError("libxformer.so.0 is libxformer " + name(library)
                    + ", libxformer_jni.so was built for " + name(glue));
        }
    }

    /** Before 1.0 a minor version may break the ABI; afterwards it adds to it. */
    static boolean goesWith(int wanted, int found) {
        return wanted >> 16 == 0 ? found >> 8 == wanted >> 8 : found >> 16 == wanted >> 16 && found >> 8 >= wanted >> 8;
    }

    private static String name(int version) {
        return (version >> 16) + "." + (version >> 8 & 0xFF) + "." + (version & 0xFF);
    }
}
