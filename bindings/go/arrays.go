// Strings and arrays of Go as C takes them.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

/*
#include "shim.h"
*/
import "C"

import (
	"strings"
	"unsafe"
)

// cString is text followed by a NUL, for a parameter that ends there; what tells which one in the error.
func cString(what, text string) ([]byte, error) {
	if at := strings.IndexByte(text, 0); at >= 0 {
		return nil, invalid("the %s has a NUL byte at %d, expected none", what, at)
	}
	return append(append(make([]byte, 0, len(text)+1), text...), 0), nil
}

// first is the address of an array, or NULL for an empty one.
func first[T any](values []T) *T {
	if len(values) == 0 {
		return nil
	}
	return &values[0]
}

func chars(text []byte) *C.char {
	return (*C.char)(unsafe.Pointer(first(text)))
}

func ids(values []int32) *C.int32_t {
	return (*C.int32_t)(unsafe.Pointer(first(values)))
}

// A stringArray is strings one after the other, each with a NUL behind it, for shim.c.
type stringArray struct {
	text    []byte
	lengths []C.size_t
}

func newStringArray(values []string) stringArray {
	size := 0
	for _, value := range values {
		size += len(value) + 1
	}
	a := stringArray{make([]byte, 0, size), make([]C.size_t, 0, len(values))}
	for _, value := range values {
		a.text = append(append(a.text, value...), 0)
		a.lengths = append(a.lengths, C.size_t(len(value)))
	}
	return a
}

// newCStringArray refuses NUL bytes, for parameters that end there.
func newCStringArray(what string, values []string) (stringArray, error) {
	for i, value := range values {
		if at := strings.IndexByte(value, 0); at >= 0 {
			return stringArray{}, invalid("%s %d has a NUL byte at %d, expected none", what, i, at)
		}
	}
	return newStringArray(values), nil
}

// copied is an array of C as a slice of Go's own.
func copied[To, From any](p *From, count C.int64_t) []To {
	if p == nil || count <= 0 {
		return nil
	}
	return append([]To(nil), unsafe.Slice((*To)(unsafe.Pointer(p)), int(count))...)
}

// text is bytes of C as a string.
func text(p *C.char, length C.size_t) string {
	if p == nil {
		return ""
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(p)), int(length)))
}
