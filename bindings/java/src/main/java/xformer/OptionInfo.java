/* The struct xf_option_info of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.List;

/**
 * One row of the option table.
 *
 * @param key for example "train.label_smoothing"
 * @param type type of the value
 * @param defaultValue the default, as text
 * @param minimum smallest allowed value of a number
 * @param maximum largest allowed value of a number
 * @param choices the allowed words; empty if any text is allowed
 * @param doc description with the unit
 * @param paper section of the paper, for example "s. 5.4", or ""
 * @param since version that introduced the option
 */
public record OptionInfo(String key, OptionType type, String defaultValue, double minimum, double maximum,
        List<String> choices, String doc, String paper, String since) {
    static OptionInfo read(Frame.Output call) {
        return Frame.read(Abi.xf_option_info.SIZE, call, row -> {
            String choices = row.text(Abi.xf_option_info.choices);
            return new OptionInfo(row.text(Abi.xf_option_info.key),
                    row.constant(Abi.xf_option_info.type, OptionType.values()),
                    row.text(Abi.xf_option_info.default_value), row.getDouble(Abi.xf_option_info.minimum),
                    row.getDouble(Abi.xf_option_info.maximum),
                    choices == null ? List.of() : List.of(choices.split("\\|")), row.text(Abi.xf_option_info.doc),
                    row.text(Abi.xf_option_info.paper), row.text(Abi.xf_option_info.since));
        });
    }
}
