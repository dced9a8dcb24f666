// Options by name: sets of values.
//
// SPDX-License-Identifier: Apache-2.0

package xformer

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"reflect"
	"sort"
	"sync"
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

// config gives C a config for a call, NULL for all defaults.
func (c *call) config(s Settings) *C.xf_config {
	if s == nil {
		return nil
	}
	config, own, err := s.settings()
	if err != nil {
		c.abort(err)
	}
	if own {
		c.atEnd = append(c.atEnd, config.h.close)
	}
	return config.in(c)
}

// Config is a set of option values that is checked as it is filled. Options do for most programs; a Config is for
// presets and for asking for values.
type Config struct {
	object
}

func (c *Config) in(call *call) *C.xf_config {
	if c == nil {
		return nil
	}
	return (*C.xf_config)(call.hold(c.h))
}

// Texts that C lends until they are set again, of configs and of models: nobody sets one while it is copied.
var lent sync.Mutex

// NewConfig makes a config from a preset ("tiny", "small", "base", "big", or "" for none) and the options over it.
func NewConfig(preset string, options Options) (*Config, error) {
	if err := checkVersion(VersionNum()); err != nil {
		return nil, err
	}
	config, err := makeConfig(func(c *call, p **C.xf_config) status { return C.xf_config_create(p, &c.err) })
	if err == nil && preset != "" {
		err = config.Preset(preset)
	}
	if err == nil {
		err = config.SetAll(options)
	}
	if err != nil && config != nil {
		config.Close()
		config = nil
	}
	return config, err
}

func makeConfig(f func(c *call, p **C.xf_config) status) (*Config, error) {
	wrap := func(h *handle) *Config { return &Config{object{h}} }
	return create(context.Background(), nil, kindConfig, wrap, f)
}

// Copy makes a config of its own with the same values.
func (c *Config) Copy() (*Config, error) {
	return makeConfig(func(call *call, p **C.xf_config) status { return C.xf_config_copy(c.in(call), p, &call.err) })
}

// Preset sets the model and training options of "tiny", "small", "base", "big" or another name that xformer/config.h
// lists; other options stay.
func (c *Config) Preset(name string) error {
	return c.set(func(call *call) status {
		return C.xf_config_preset(c.in(call), call.text("preset", name), &call.err)
	})
}

func (c *Config) set(f func(call *call) status) error {
	lent.Lock()
	defer lent.Unlock()
	return do(f)
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
	return c.set(func(call *call) status {
		v := reflect.ValueOf(value)
		if v.Kind() != reflect.String && v.Kind() != reflect.Bool && !v.CanInt() && !v.CanUint() && !v.CanFloat() {
			call.abort(invalid("option '%s' is a %T with the value %v, expected a string, a bool, an integer or a float",
				key, value, value))
		}
		return C.xf_config_set(c.in(call), call.text("key", key), call.text("value", fmt.Sprint(value)), &call.err)
	})
}

// Int is the value of an option of the type OptionInt.
func (c *Config) Int(key string) (int64, error) {
	var value C.int64_t
	err := do(func(call *call) status {
		return C.xf_config_get_i64(c.in(call), call.text("key", key), &value, &call.err)
	})
	return int64(value), err
}

// Float is the value of an option of the type OptionFloat.
func (c *Config) Float(key string) (float64, error) {
	var value C.double
	err := do(func(call *call) status {
		return C.xf_config_get_f64(c.in(call), call.text("key", key), &value, &call.err)
	})
	return float64(value), err
}

// Bool is the value of an option of the type OptionBool.
func (c *Config) Bool(key string) (bool, error) {
	if kind := typeOf(key); kind != OptionBool && kind != 0 {
		return false, invalid("option '%s' is an %v, expected a bool", key, kind)
	}
	value, err := c.Int(key)
	return value != 0, err
}

// Text is the value of an option of any type as text, in the form of a command line.
func (c *Config) Text(key string) (value string, err error) {
	lent.Lock()
	defer lent.Unlock()
	err = do(func(call *call) status {
		var p *C.char
		found := C.xf_config_get(c.in(call), call.text("key", key), &p, &call.err)
		if found == C.XF_OK {
			value = C.GoString(p)
		}
		return found
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
