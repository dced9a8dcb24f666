/* The struct xf_tensor_info of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * One parameter tensor.
 *
 * @param name module path, such as "encoder.0.self_attention.q.weight"
 * @param rows outputs of a linear map, ids of an embedding; 1 for a vector
 * @param columns inputs of a linear map, d_model of an embedding; the length of a vector
 */
public record ParamInfo(String name, long rows, long columns) {
    static ParamInfo read(long model, int index) {
        int count = Native.paramCount(model);
        if (index < 0 || index >= count) throw new IndexOutOfBoundsException("parameter " + index + " of " + count);
        long[] shape = new long[2];
        return new ParamInfo(Text.string(Native.paramInfo(model, index, shape)), shape[0], shape[1]);
    }

    /**
     * Counts the numbers of the tensor.
     *
     * @return rows * columns
     */
    public int size() {
        return Math.toIntExact(Math.multiplyExact(rows, columns));
    }
}
