// The option table of the library.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import "strings"

// OptionType is the type of an option's value.
type OptionType int32

const (
	// OptionInteger is an int64.
	OptionInteger OptionType = C.XF_OPTION_INTEGER
	// OptionReal is a float64.
	OptionReal OptionType = C.XF_OPTION_REAL
	// OptionBool is a bool.
	OptionBool OptionType = C.XF_OPTION_BOOL
	// OptionText is a UTF-8 string; see OptionInfo.Choices.
	OptionText OptionType = C.XF_OPTION_TEXT
)

// String returns the Go type of the value.
func (t OptionType) String() string {
	return word(t, "OptionType", "int64", "float64", "bool", "string")
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
	// Choices are the allowed words; nil if any text is allowed.
	Choices []string
	// Doc describes the option, with its unit.
	Doc string
	// Paper is the section of the paper, such as "s. 5.4", or "".
	Paper string
	// Since is the version that introduced the option.
	Since string
}

func newOptionInfo(row *C.xf_option_info) OptionInfo {
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
	return info
}

// OptionTable returns all options of the loaded library, in the order of the library.
func OptionTable() (rows []OptionInfo) {
	for i := C.size_t(0); i < C.xf_option_count(); i++ {
		row := C.xf_option_info{struct_size: C.sizeof_xf_option_info}
		if C.xf_option_get(i, &row, nil) == C.XF_OK {
			rows = append(rows, newOptionInfo(&row))
		}
	}
	return rows
}

// FindOption returns the row of the option table with the given key. It returns ErrNotFound if the loaded library does
// not have the option.
func FindOption(key string) (info OptionInfo, err error) {
	row := C.xf_option_info{struct_size: C.sizeof_xf_option_info}
	err = do(func(c *call) status {
		found := C.xf_option_find(c.text("key", key), &row, &c.err)
		if found == C.XF_OK {
			info = newOptionInfo(&row)
		}
		return found
	})
	return info, err
}
