/* A row of the option table. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.List;

/**
 * One row of the option table.
 *
 * @param key such as "train.label_smoothing"
 * @param type of its value
 * @param defaultValue as text
 * @param minimum smallest value allowed, of a number
 * @param maximum largest value allowed, of a number
 * @param choices the words allowed; empty when any text is
 * @param doc one sentence on what it does, with its unit
 * @param paper where the paper speaks of it, such as "s. 5.4", or ""
 * @param since the version that brought it
 */
public record OptionInfo(String key, OptionType type, String defaultValue, double minimum, double maximum,
        List<String> choices, String doc, String paper, String since) {
    static OptionInfo read(int index) {
        byte[][] texts = new byte[6][];
        double[] bounds = new double[2];
        OptionType type = OptionType.of(Native.option(index, texts, bounds));
        List<String> choices = texts[2] == null ? List.of() : List.of(Text.string(texts[2]).split("\\|"));
        return new OptionInfo(Text.string(texts[0]), type, Text.string(texts[1]), bounds[0], bounds[1], choices,
                Text.string(texts[3]), Text.string(texts[4]), Text.string(texts[5]));
    }
}
