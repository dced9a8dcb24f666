// The option table of the library.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"strings"
	"sync"
)

// OptionType is the type of an option's value.
type OptionType int32

const (
	// OptionInt is a 64-bit signed integer, int64.
	OptionInt OptionType = C.XF_OPTION_I64
	// OptionFloat is a float64.
	OptionFloat OptionType = C.XF_OPTION_F64
	// OptionBool is a bool.
	OptionBool OptionType = C.XF_OPTION_BOOL
	// OptionString is UTF-8 text; one of a list of words where the table says so.
	OptionString OptionType = C.XF_OPTION_STR
)

// String is the Go type of the value.
func (t OptionType) String() string {
	return word(t, "OptionType", "OptionType(0)", "int64", "float64", "bool", "string")
}

// OptionInfo is one row of the option table.
type OptionInfo struct {
	// Key is a name such as "train.label_smoothing".
	Key string
	// Type is the type of the value.
	Type OptionType
	// Default is the default as text.
	Default string
	// Minimum and Maximum are the bounds of a number.
	Minimum, Maximum float64
	// Choices are the words allowed; nil when any text is.
	Choices []string
	// Doc says in one sentence what it does, with its unit.
	Doc string
	// Paper says where the paper speaks of it, such as "s. 5.4", or "".
	Paper string
	// Since is the version that brought the option.
	Since string
}

var optionTable struct {
	once sync.Once
	rows []OptionInfo
}

func options() []OptionInfo {
	optionTable.once.Do(func() {
		for i := C.size_t(0); i < C.xf_option_count(); i++ {
			row := C.xf_option_info{struct_size: C.sizeof_xf_option_info}
			if C.xf_option_get(i, &row, nil) != C.XF_OK {
				continue // a library with another table than it counts: the option is not known here
			}
			info := OptionInfo{
				Key:     C.GoString(row.key),
				Type:    OptionType(row._type),
				Default: C.GoString(row.default_value),
				Minimum: float64(row.minimum),
				Maximum: float64(row.maximum),
				Doc:     C.GoString(row.doc),
				Paper:   C.GoString(row.paper),
				Since:   C.GoString(row.since),
			}
			if row.choices != nil {
				info.Choices = strings.Split(C.GoString(row.choices), "|")
			}
			optionTable.rows = append(optionTable.rows, info)
		}
	})
	return optionTable.rows
}

// OptionTable is every option of the loaded library, in the library's order.
func OptionTable() []OptionInfo {
	return append([]OptionInfo(nil), options()...)
}

// typeOf is the type of an option, 0 when there is none of that name.
func typeOf(key string) OptionType {
	for _, row := range options() {
		if row.Key == key {
			return row.Type
		}
	}
	return 0
}
