/* The enum xf_option_type of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Type of an option's value. */
public enum OptionType {
    /** A 64-bit integer: {@link Long}. */
    LONG,
    /** A {@link Double}. */
    DOUBLE,
    /** A {@link Boolean}. */
    BOOLEAN,
    /** A {@link String}; one of a list of words where the option has one. */
    STRING;

    /** The type of a number of C; all values can be had as text, so one that is not known is read so. */
    static OptionType of(int number) {
        return number >= 1 && number <= values().length ? values()[number - 1] : STRING;
    }
}
