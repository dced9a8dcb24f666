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

// Options are values of options by key; all others have their defaults. A value is a string (as on a command line, for
// an option of any type), a bool, an integer, or a float.
//
//	xformer.Options{"context.threads": 2, "decode.alpha": 0.6, "model.norm": "pre"}
type Options map[string]any

// Settings are Options, a *Config, or nil for all defaults. Each function reads only the options of its own groups, so
// one set of Settings may serve for all objects.
type Settings interface {
	// settings returns a config, and whether the caller closes it.
	settings() (config *Config, own bool, err error)
}

func (o Options) settings() (*Config, bool, error) {
	config, err := NewConfig("", o)
	return config, true, err
}

func (c *Config) settings() (*Config, bool, error) {
	return c, false, nil
}

// config returns a config for a call; NULL selects all defaults.
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

// Config is a set of option values. Each value is checked when it is set. Options suffice for most programs; use a
// Config for presets and to read values.
type Config struct {
	object
}

func (c *Config) in(call *call) *C.xf_config {
	if c == nil {
		return nil
	}
	return (*C.xf_config)(call.hold(c.h))
}

// lent protects texts that configs own and that are valid only until the option is set again.
var lent sync.Mutex

// NewConfig creates a config from a preset ("tiny", "small", "base", "big", "parsing", or "" for none) and sets the
// options.
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

// Copy copies the config with all its values.
func (c *Config) Copy() (*Config, error) {
	return makeConfig(func(call *call, p **C.xf_config) status { return C.xf_config_copy(c.in(call), p, &call.err) })
}

// Preset sets the model and training options of a named preset; see xformer/config.h. Other options are unchanged.
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

// SetAll sets options in the order of their keys and stops at the first error.
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

// Set sets an option to a value of one of the types that Options may contain.
func (c *Config) Set(key string, value any) error {
	return c.set(func(call *call) status {
		v := reflect.ValueOf(value)
		if v.Kind() != reflect.String && v.Kind() != reflect.Bool && !v.CanInt() && !v.CanUint() && !v.CanFloat() {
			call.abort(invalid("option '%s' is a %T with the value %v, expected a string, a bool, an integer, or a float",
				key, value, value))
		}
		return C.xf_config_set(c.in(call), call.text("key", key), call.text("value", fmt.Sprint(value)), &call.err)
	})
}

// Int returns an option of the type OptionInteger.
func (c *Config) Int(key string) (int64, error) {
	value, err := c.number(key, OptionInteger)
	return int64(value), err
}

// Float returns an option of the type OptionReal or OptionInteger.
func (c *Config) Float(key string) (float64, error) {
	return c.number(key, OptionReal, OptionInteger)
}

// Bool returns an option of the type OptionBool.
func (c *Config) Bool(key string) (bool, error) {
	value, err := c.number(key, OptionBool)
	return value != 0, err
}

// number returns an option of one of the given types.
func (c *Config) number(key string, types ...OptionType) (float64, error) {
	info, err := FindOption(key)
	if err != nil {
		return 0, err
	}
	for _, kind := range types {
		if info.Type == kind {
			var value C.double
			err := do(func(call *call) status {
				return C.xf_config_get_number(c.in(call), call.text("key", key), &value, &call.err)
			})
			return float64(value), err
		}
	}
	return 0, invalid("option '%s' has the type %v, expected %v", key, info.Type, types[0])
}

// Text returns an option of any type as text, in the form of a command line.
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

// Get returns an option as an int64, a float64, a bool, or a string.
func (c *Config) Get(key string) (any, error) {
	info, err := FindOption(key)
	if err != nil {
		return nil, err
	}
	switch info.Type {
	case OptionInteger:
		return c.Int(key)
	case OptionReal:
		return c.Float(key)
	case OptionBool:
		return c.Bool(key)
	}
	return c.Text(key)
}
