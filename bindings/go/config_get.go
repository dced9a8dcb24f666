// Asking a config for its values.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

/*
#include "shim.h"
*/
import "C"

// get runs f with the name of an option.
func (c *Config) get(key string, f func(name *C.char, e *C.xf_error) C.enum_xf_status) error {
	name, err := cString("key", key)
	if err != nil {
		return err
	}
	return call(func(e *C.xf_error) C.enum_xf_status { return f(chars(name), e) }, reading(c.h))
}

// Int is the value of an option of the type OptionInt.
func (c *Config) Int(key string) (int64, error) {
	var value C.int64_t
	err := c.get(key, func(name *C.char, e *C.xf_error) C.enum_xf_status {
		return C.xf_config_get_i64(c.h.config(), name, &value, e)
	})
	return int64(value), err
}

// Float is the value of an option of the type OptionFloat.
func (c *Config) Float(key string) (float64, error) {
	var value C.double
	err := c.get(key, func(name *C.char, e *C.xf_error) C.enum_xf_status {
		return C.xf_config_get_f64(c.h.config(), name, &value, e)
	})
	return float64(value), err
}

// Bool is the value of an option of the type OptionBool.
func (c *Config) Bool(key string) (bool, error) {
	var value C.int64_t
	err := c.get(key, func(name *C.char, e *C.xf_error) C.enum_xf_status {
		return C.xf_config_get_i64(c.h.config(), name, &value, e)
	})
	return value != 0, err
}

// Text is the value of an option of any type as text, in the form of a command line.
func (c *Config) Text(key string) (string, error) {
	var value string
	err := c.get(key, func(name *C.char, e *C.xf_error) C.enum_xf_status {
		var p *C.char
		status := C.xf_config_get(c.h.config(), name, &p, e)
		if status == C.XF_OK {
			value = C.GoString(p) // the config's, until the option is set again
		}
		return status
	})
	return value, err
}

// Get is the value of an option as an int64, a float64, a bool or a string.
func (c *Config) Get(key string) (any, error) {
	switch typeOf(key) {
	case OptionInt:
		return c.Int(key)
	case OptionFloat:
		return c.Float(key)
	case OptionBool:
		return c.Bool(key)
	}
	return c.Text(key)
}
