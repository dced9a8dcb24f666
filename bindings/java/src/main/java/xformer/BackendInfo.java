/* The struct xf_backend_info of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * One backend, present or not.
 *
 * @param name "ref", "openblas", "cuda"
 * @param version of the plugin and of what it stands on; "" when it could not be loaded
 * @param path file it was loaded from; "" for the built-in one
 * @param kind of its devices: "cpu" or "cuda"
 * @param deviceCount devices it can open; 0 when it is not available
 * @param active whether the context computes with it
 * @param reason why it is not available, one sentence; "" when it is
 */
public record BackendInfo(String name, String version, String path, String kind, int deviceCount, boolean active,
        String reason) {}
