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
    static OptionInfo read(long index) {
        return Frame.read(10, (f, out) -> Native.xf_option_get(index, out, f.err()), row -> {
            List<String> choices = row.get(6) == 0 ? List.of() : List.of(row.text(6).split("\\|"));
            return new OptionInfo(row.text(1), OptionType.of(row.low(2)), row.text(3), row.real(4), row.real(5),
                    choices, row.text(7), row.text(8), row.text(9));
        });
    }
}
