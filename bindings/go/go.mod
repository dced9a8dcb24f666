// SPDX-License-Identifier: Apache-2.0
//
// The path names no host, because the module is not served by one: .invalid is never a host (RFC 2606). Programs find it
// by a replace directive or a workspace; the README shows both.
module libxformer.invalid/xformer

go 1.19
