/* XF_ERROR_NO_MEMORY. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/** The allocator said no, or the budget "context.memory_budget" would be exceeded. The objects of the context go on. */
public final class NoMemoryException extends XformerException {
    private static final long serialVersionUID = 1L;

    NoMemoryException(int nativeCode, String message) {
        super(Status.NO_MEMORY.code(), nativeCode, message);
    }
}
