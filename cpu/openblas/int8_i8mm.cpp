// The int8 kernels of "neon-i8mm", compiled for CPUs with SDOT and SMMLA.
//
// Code in this file may run only after plugin.cpp has checked the CPU, so the file contains nothing else.
//
// SPDX-License-Identifier: Apache-2.0
#define XF_ISA_NEON 1
#include <arm_neon.h>

#include <utility>

#include "device.h"
#include "int8_kernels.h"

namespace xf::openblas {
namespace {

#include "simd.inl"

#include "int8_neon.inl"

}  // namespace

const Int8Table<kArmInt8Rows> kInt8Smmla = {{{},
                                             XF_INT8_ROWS(int8_sdot, 1),
                                             XF_INT8_ROWS(int8_sdot, 2),
                                             XF_INT8_ROWS(int8_smmla, 3),
                                             XF_INT8_ROWS(int8_smmla, 4),
                                             XF_INT8_ROWS(int8_smmla, 5),
                                             XF_INT8_ROWS(int8_smmla, 6)}};

}  // namespace xf::openblas
