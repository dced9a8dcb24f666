// Options by name: sets of values.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

/*
#include "shim.h"
*/
import "C"

import (
	"sort"
	"unsafe"
)

// Options are values of options by key; others have their defaults. A value is a string (as on a command line, for an
// option of any type), a bool, an integer or a float.
//
//	xformer.Options{"context.threads": 2, "decode.alpha": 0.6, "model.norm": "pre"}
type Options map[string]any

// Settings are what objects are made with: Options, a *Config, or nil for all defaults. Each object reads the options
// of its own groups and leaves the others, so one set of Settings may serve for all.
type Settings interface {
	// settings gives a config, and whether the caller closes it.
	settings() (config *Config, own bool, err error)
}

func (o Options) settings() (*Config, bool, error) {
	config, err := NewConfig("", o)
	return config, true, err
}

func (c *Config) settings() (*Config, bool, error) {
	return c, false, nil
}

// using runs f with the handle of a config, which is nil for all defaults.
func using(s Settings, f func(config *handle) error) error {
	if s == nil {
		return f(nil)
	}
	config, own, err := s.settings()
	if err != nil {
		return err
	}
	if config == nil {
		return f(nil)
	}
	if own {
		defer config.Close()
	}
	return f(config.h)
}

// Config is a set of option values that is checked as it is filled. Options do for most programs; a Config is for
// presets and for asking for values.
type Config struct {
	h *handle
}

func (h *handle) config() *C.xf_config {
	return (*C.xf_config)(h.pointer())
}

func wrapConfig(p *C.xf_config) *Config {
	h := &handle{guard: &guard{kind: "config"}, family: &family{}}
	h.free = func(p unsafe.Pointer) { C.xf_config_free((*C.xf_config)(p)) }
	return &Config{h.open(unsafe.Pointer(p))}
}

// NewConfig makes a config from a preset (such as "tiny", "small", "base", "big", or "" for none) and the options
// over it.
func NewConfig(preset string, options Options) (*Config, error) {
	if err := checkVersion(VersionNum()); err != nil {
		return nil, err
	}
	var p *C.xf_config
	var e C.xf_error
	if err := check(C.xf_config_create(&p, &e), &e); err != nil {
		return nil, err
	}
	config := wrapConfig(p)
	err := config.fill(preset, options)
	if err != nil {
		config.Close()
		return nil, err
	}
	return config, nil
}

func (c *Config) fill(preset string, options Options) error {
	if preset != "" {
		if err := c.Preset(preset); err != nil {
			return err
		}
	}
	return c.SetAll(options)
}

// Close frees the config. Objects made from it are not affected. It may be called again, and always returns nil.
func (c *Config) Close() error {
	c.h.close()
	return nil
}

// Copy makes a config of its own with the same values.
func (c *Config) Copy() (*Config, error) {
	var copied *Config
	err := call(func(e *C.xf_error) C.enum_xf_status {
		return copyConfig(c.h.config(), &copied, e)
	}, reading(c.h))
	return copied, err
}

func copyConfig(from *C.xf_config, to **Config, e *C.xf_error) C.enum_xf_status {
	var p *C.xf_config
	status := C.xf_config_copy(from, &p, e)
	if status == C.XF_OK {
		*to = wrapConfig(p)
	}
	return status
}

// Preset sets the model and training options of "tiny", "small", "base", "big" or another name that xformer/config.h
// lists; other options stay.
func (c *Config) Preset(name string) error {
	text, err := cString("preset", name)
	if err != nil {
		return err
	}
	return call(func(e *C.xf_error) C.enum_xf_status {
		return C.xf_config_preset(c.h.config(), chars(text), e)
	}, writing(c.h))
}

// SetAll sets options one after the other, in the order of their keys, to the first error.
func (c *Config) SetAll(options Options) error {
	keys := make([]string, 0, len(options))
	for key := range options {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		if err := c.Set(key, options[key]); err != nil {
			return err
		}
	}
	return nil
}

// Set gives an option a value of one of the types that Options may hold.
func (c *Config) Set(key string, value any) error {
	name, err := cString("key", key)
	if err != nil {
		return err
	}
	kind := typeOf(key)
	switch v := value.(type) {
	case string:
		return c.setText(name, v)
	case bool:
		flag := C.int64_t(0)
		if v {
			flag = 1
		}
		return c.set(func(e *C.xf_error) C.enum_xf_status {
			return C.xf_config_set_i64(c.h.config(), chars(name), flag, e)
		})
	case float64:
		return c.setFloat(name, v)
	case float32:
		return c.setFloat(name, float64(v))
	}
	number, ok := integer(value)
	if !ok {
		return invalid("option '%s' is a %T with the value %v, expected a string, a bool, a float, or an integer "+
			"that fits in 64 bits", key, value, value)
	}
	if kind == OptionFloat {
		return c.setFloat(name, float64(number))
	}
	return c.set(func(e *C.xf_error) C.enum_xf_status {
		return C.xf_config_set_i64(c.h.config(), chars(name), C.int64_t(number), e)
	})
}

func (c *Config) set(f native) error {
	return call(f, writing(c.h))
}

func (c *Config) setFloat(name []byte, value float64) error {
	return c.set(func(e *C.xf_error) C.enum_xf_status {
		return C.xf_config_set_f64(c.h.config(), chars(name), C.double(value), e)
	})
}

func (c *Config) setText(name []byte, value string) error {
	text, err := cString("value", value)
	if err != nil {
		return err
	}
	return c.set(func(e *C.xf_error) C.enum_xf_status {
		return C.xf_config_set(c.h.config(), chars(name), chars(text), e)
	})
}

// integer is a value of any integer type, if it fits in 64 bits with a sign.
func integer(value any) (int64, bool) {
	switch v := value.(type) {
	case int:
		return int64(v), true
	case int8:
		return int64(v), true
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case uint8:
		return int64(v), true
	case uint16:
		return int64(v), true
	case uint32:
		return int64(v), true
	case uint:
		return int64(v), uint64(v) < 1<<63
	case uint64:
		return int64(v), v < 1<<63
	}
	return 0, false
}
