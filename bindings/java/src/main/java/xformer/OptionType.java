/* The constants XF_OPTION_... of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Type of an option's value. */
public enum OptionType {
    /** An integer: {@link Long}. */
    INTEGER,
    /** A {@link Double}. */
    REAL,
    /** A {@link Boolean}. */
    BOOL,
    /** A {@link String}; one of {@link OptionInfo#choices} if there are any. */
    TEXT
}
