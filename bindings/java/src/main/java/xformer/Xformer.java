/* Which library is loaded. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.nio.file.Path;
import java.util.List;

/** The loaded library: its version, how it was built, and translating in one call. */
public final class Xformer {
    /** Id of the start symbol, which the decoder is fed first. */
    public static final int TOKEN_START = 0;
    /** Id of the end symbol, which ends every source and every target. */
    public static final int TOKEN_END = 1;

    private Xformer() {}

    /** {@return the version of the loaded library, such as "0.1.0"} */
    public static String version() {
        return Text.at(Native.xf_version());
    }

    /** {@return the version of the loaded library: major, minor and patch in a byte each, 0xXXYYZZ} */
    public static int versionNumber() {
        return (int) Native.xf_version_num();
    }

    /** {@return how the library was built: one line for bug reports, whose form may change} */
    public static String buildInfo() {
        return Text.at(Native.xf_build_info());
    }

    /**
     * Translates texts with a model that is loaded for this call alone. Who calls more than once keeps a
     * {@link Decoder}. When one text can't be translated, its exception is thrown.
     *
     * @return the best translation of each
     */
    public static List<String> translate(Path model, List<String> texts) {
        try (Context context = new Context();
                Model loaded = Model.load(context, model);
                Decoder decoder = new Decoder(loaded)) {
            return decoder.translate(texts).stream().map(Answer::text).toList();
        }
    }

    /**
     * Names a status as C does, "XF_ERROR_CORRUPT"; "XF_STATUS_UNKNOWN" for a number that the library does not know.
     */
    public static String statusName(int status) {
        return Text.at(Native.xf_status_name(status));
    }
}
