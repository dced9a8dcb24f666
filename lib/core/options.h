// The option table and the values set for it: what an xf_config holds.
//
// A choice of the library is one row of kOptions in options.cpp; validation, command-line help, the docs page and a
// model file's metadata come from it. Keys are resolved once, when an object is created, into typed structs: nothing
// below lib/api and the create functions looks anything up by string.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "xformer/config.h"

namespace xf {

struct Option {
    const char *key;
    xf_option_type type;
    const char *default_value;
    double minimum, maximum;  // of a number
    const char *choices;      // of a text: "a|b|c", or nullptr for any
    const char *doc;
    const char *paper;
    const char *since;
};

// How many bytes must be put in, taken out or changed to make one of the other: what tells the nearest name. Its time
// is the product of the lengths.
size_t edit_distance(std::string_view a, std::string_view b);

size_t option_count();
const Option &option(size_t index);

class Options {
public:
    Options();  // every default

    void set(std::string_view key, std::string_view text);  // any type, from text
    void set_i64(std::string_view key, int64_t value);
    void set_f64(std::string_view key, double value);
    void set_bool(std::string_view key, bool value);
    void set_str(std::string_view key, std::string_view value);
    void preset(std::string_view name);

    int64_t i64(std::string_view key) const;
    double f64(std::string_view key) const;
    bool boolean(std::string_view key) const;
    const std::string &str(std::string_view key) const;
    // Whether the option was given a value, be it the default: in a call that changes what exists, others don't count.
    bool is_set(std::string_view key) const;
    // Any type as text, in the form set() reads.
    const std::string &text(std::string_view key) const;

    // Copies the values of the keys that begin with prefix ("model.") from other.
    void copy_group(const Options &other, std::string_view prefix);
    // The same for those that were set there.
    void copy_set(const Options &other, std::string_view prefix);

private:
    using Value = std::variant<int64_t, double, bool, std::string>;
    const Value &value(std::string_view key, xf_option_type type) const;
    void put(size_t index, Value value);
    struct Entry {
        Value value;
        std::string text;  // of value, kept so that reading it changes nothing
        bool set = false;
    };
    std::vector<Entry> entries_;  // parallel to the table
};

}  // namespace xf
