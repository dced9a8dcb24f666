/*
 * A plugin for tests of the choice of a device. Only the device functions of its table are called.
 *
 * Environment: XF_TEST_KIND is its kind, XF_TEST_OPENS the only one of its two devices that opens (none if unset), and
 * XF_TEST_STATUS the error status of the others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>

#include "backend/plugin_abi.h"

static int32_t device_count(xf_error *err) {
    (void)err;
    return 2;
}

static int32_t device_open(const xf_host_v1 *host, int32_t index, xf_device **device, xf_error *err) {
    static int opened;
    (void)host;
    const char *opens = getenv("XF_TEST_OPENS"), *status = getenv("XF_TEST_STATUS");
    if (opens != NULL && atoi(opens) == index) {
        *device = (xf_device *)&opened;
        return XF_OK;
    }
    snprintf(err->message, sizeof err->message, "device %d is full", (int)index);
    return status != NULL ? atoi(status) : XF_ERROR_NO_MEMORY;
}

static void device_close(xf_device *device) { (void)device; }

static const char *device_info(xf_device *device) {
    (void)device;
    return "made up";
}

static const char *device_isa(xf_device *device) {
    (void)device;
    return "made up";
}

__attribute__((visibility("default"))) const xf_backend_v1 *xf_plugin_init(uint32_t host_abi, xf_error *err) {
    static xf_backend_v1 table;
    (void)host_abi;
    if (getenv("XF_TEST_REFUSAL") != NULL) {
        err->status = XF_ERROR_VERSION;
        snprintf(err->message, sizeof err->message, "it is of another version");
        return NULL;
    }
    const char *kind = getenv("XF_TEST_KIND");
    table.size = sizeof table;
    table.abi = XF_PLUGIN_ABI;
    table.name = "made-up";
    table.version = "1";
    table.kind = kind != NULL && kind[1] == 'p' ? "cpu" : "cuda";
    table.score = 1000000;
    table.dtypes = 1u << XF_FP32;
    table.weight_types = 1u << XF_WEIGHTS_NUM;
    table.device_count = device_count;
    table.device_open = device_open;
    table.device_close = device_close;
    table.device_info = device_info;
    table.device_isa = device_isa;
    return &table;
}
