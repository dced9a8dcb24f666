// The CUDA plugin where only cuBLASLt of the other CUDA version (9901) exists: it is used, and no warning is logged.
//
// SPDX-License-Identifier: Apache-2.0
#include "fake_cublaslt_fixture.h"

namespace {

XF_TEST(the_library_of_the_other_version_multiplies) {
    Session session;
    CHECK(std::string(table().device_info(session.device)).find("cuBLASLt 9901.2") != std::string::npos);
    Product({20, 9, 70, false, true, XF_FP32, XF_FP32, 0, true}).run_and_check(session.stream);
    CHECK_EQ(fake().multiplied.size(), size_t{1});
    CHECK_EQ(session.logged, 0);
}

}  // namespace
