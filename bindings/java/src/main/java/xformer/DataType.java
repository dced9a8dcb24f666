/* The constants XF_TYPE_... of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** Types of numbers. */
public enum DataType {
    /** 32-bit floating point. */
    FP32,
    /** 16-bit floating point, IEEE 754 binary16. */
    FP16,
    /** 16-bit floating point with the exponent range of fp32. */
    BF16,
    /** 8-bit integers with one fp32 scale per row. */
    INT8
}
