/* The struct xf_backend_info of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * One backend, present or not.
 *
 * @param name "ref", "openblas", "cuda"
 * @param version of the plugin and of what it stands on; "" when it was not opened
 * @param path its file; "" for the built-in one and for one that is absent
 * @param kind of its devices: "cpu" or "cuda"
 * @param state what the context knows of it
 * @param deviceCount devices it can open; 0 when it was not opened or can't serve
 * @param reason why it can't serve, one sentence; "" when it can, or was not asked
 */
public record BackendInfo(String name, String version, String path, String kind, BackendState state, int deviceCount,
        String reason) {}
