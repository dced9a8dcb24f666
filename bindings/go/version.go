// The version of the headers (shim.h) and of the loaded library.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #cgo pkg-config: xformer
// #include "shim.h"
import "C"

import "fmt"

// HeaderVersion is the version of the headers that this package was compiled with, 0xXXYYZZ.
const HeaderVersion = C.XF_VERSION_NUM

// Version returns the version of the loaded library, such as "0.1.0".
func Version() string {
	return C.GoString(C.xf_version())
}

// VersionNum returns the version of the loaded library as 0xXXYYZZ, for comparison.
func VersionNum() int32 {
	return int32(C.xf_version_num())
}

// BuildInfo returns how the library was built, as one line for bug reports.
func BuildInfo() string {
	return C.GoString(C.xf_build_info())
}

// checkVersion refuses a library that may have another ABI: before 1.0, a minor version may break it. NewContext and
// NewConfig call it; all other objects are created from theirs.
func checkVersion(found int32) error {
	if found>>8 != HeaderVersion>>8 {
		return &Error{Status: ErrVersion, Message: fmt.Sprintf(
			"the loaded libxformer.so has version %d.%d, expected %d.%d, the version that this program was built with",
			found>>16, found>>8&0xFF, HeaderVersion>>16, HeaderVersion>>8&0xFF)}
	}
	return nil
}
