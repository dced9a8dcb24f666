// The last field of a score's signature: the program and version that computed it.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "xformer/version.h"

#define XF_SIGNATURE_QUOTE(x) #x
#define XF_SIGNATURE_NUMBERS(a, b, c) XF_SIGNATURE_QUOTE(a) "." XF_SIGNATURE_QUOTE(b) "." XF_SIGNATURE_QUOTE(c)
#define XF_SIGNATURE_VERSION \
    "version:xformer-" XF_SIGNATURE_NUMBERS(XF_VERSION_MAJOR, XF_VERSION_MINOR, XF_VERSION_PATCH)
