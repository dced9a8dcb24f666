/* The struct xf_backend_info of C. SPDX-License-Identifier: Apache-2.0 */
package xformer;

/**
 * Description of one backend.
 *
 * @param name "ref", "openblas", or "cuda"
 * @param version version of the plugin and of the libraries that it uses; "" if it was not opened
 * @param path its file; "" for the built-in backend and for an absent one
 * @param kind kind of its devices: "cpu" or "cuda"
 * @param state its state in the context
 * @param deviceCount number of devices that it can open; 0 if it was not opened or cannot be used
 * @param reason why it cannot be used, one sentence; otherwise ""
 */
public record BackendInfo(String name, String version, String path, String kind, BackendState state, int deviceCount,
        String reason) {}
