// Which library this is: at compile time (shim.h) and at run time.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #cgo pkg-config: xformer
// #include "shim.h"
import "C"

import "fmt"

// HeaderVersion is the version of the headers that this package was compiled with, 0xXXYYZZ.
const HeaderVersion = C.XF_VERSION_NUM

// Version is the version of the library that is loaded, such as "0.1.0".
func Version() string {
	return C.GoString(C.xf_version())
}

// VersionNum is the version of the library that is loaded, 0xXXYYZZ, for comparison.
func VersionNum() int32 {
	return int32(C.xf_version_num())
}

// BuildInfo tells how the library was built, one line for bug reports.
func BuildInfo() string {
	return C.GoString(C.xf_build_info())
}

// checkVersion refuses a library whose ABI may be another one: before 1.0 a minor version may break it. All objects
// come from a Context or a Config, so these two ask.
func checkVersion(found int32) error {
	if found>>8 != HeaderVersion>>8 {
		return &Error{Status: ErrVersion, Message: fmt.Sprintf(
			"libxformer.so is version %d.%d, expected %d.%d, with whose headers this program was built",
			found>>16, found>>8&0xFF, HeaderVersion>>16, HeaderVersion>>8&0xFF)}
	}
	return nil
}
