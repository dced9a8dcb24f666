// SPDX-License-Identifier: Apache-2.0
//
// The path has no real host, because the module is not published on one: .invalid is reserved (RFC 2606). Programs find
// the module with a replace directive or a workspace; see the README.
module libxformer.invalid/xformer

go 1.19
