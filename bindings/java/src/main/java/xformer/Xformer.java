/* The loaded library. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.file.Path;
import java.util.List;

/** The loaded library: its version, how it was built, and a translation in one call. */
public final class Xformer {
    private Xformer() {}

    /** {@return the version of the loaded library, such as "0.1.0"} */
    public static String version() {
        return Text.at(Native.xf_version());
    }

    /** {@return the version of the loaded library as one number: 0xXXYYZZ for major, minor, and patch} */
    public static int versionNumber() {
        return Native.xf_version_num();
    }

    /** {@return how the library was built: one line for bug reports; its form may change} */
    public static String buildInfo() {
        return Text.at(Native.xf_build_info());
    }

    /**
     * Translates texts with a model that is loaded for this call. A program that translates repeatedly should keep a
     * {@link Decoder}. If a text cannot be translated, its exception is thrown.
     *
     * @return the best translation of each text
     */
    public static List<String> translate(Path model, List<String> texts) {
        try (Context context = new Context();
                Model loaded = Model.load(context, model);
                Decoder decoder = new Decoder(loaded)) {
            return decoder.translate(texts).stream().map(Translation::text).toList();
        }
    }

    /** {@return the name of a status code in C, such as "XF_ERROR_CORRUPT"; "XF_STATUS_UNKNOWN" for an unknown one} */
    public static String statusName(int status) {
        return Text.at(Native.xf_status_name(status));
    }
}
