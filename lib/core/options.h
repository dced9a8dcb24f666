// The option table and a set of values for it, the content of an xf_config.
//
// Each option is one row of the table in option_table.cpp, from which validation, command-line help, the documentation,
// and the metadata of model files are derived. Code reads keys only to fill typed structs (ModelConfig, TrainConfig,
// DecodeConfig), when an object is created or a call passes an xf_config.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "xformer/config.h"

namespace xf {

struct Option {
    const char *key;
    int32_t type;
    const char *default_value;
    double minimum, maximum;  // of numbers
    const char *choices;      // of texts: "a|b|c", or nullptr for any text
    const char *doc;
    const char *paper = "";     // where the paper defines it
    const char *since = "0.1";  // the version that added it
};

// The number of bytes to insert, delete, or replace to turn one name into the other. Takes time proportional to the
// product of the lengths.
size_t edit_distance(std::string_view a, std::string_view b);
// Returns whether a name at that distance should be suggested for the word: at most every third byte differs, and at
// most 4 do.
bool is_near(size_t distance, std::string_view word);

size_t option_count();
const Option &option(size_t index);
// Index of the option with this key. XF_ERROR_NOT_FOUND names the nearest key.
size_t find_option(std::string_view key);

// A word of an option with choices, and its value.
template <class T>
struct Choice {
    std::string_view word;
    T value;
};

class Options {
public:
    Options();  // every default

    void set(std::string_view key, std::string_view text);  // any type, from text
    void set_i64(std::string_view key, int64_t value);
    void set_f64(std::string_view key, double value);
    // An integer, real, or boolean option.
    void set_number(std::string_view key, double value);
    void set_bool(std::string_view key, bool value);
    void set_str(std::string_view key, std::string_view value);
    void preset(std::string_view name);

    int64_t i64(std::string_view key) const;
    double f64(std::string_view key) const;
    double as_number(std::string_view key) const;  // of an integer, real, or boolean option
    bool boolean(std::string_view key) const;
    const std::string &str(std::string_view key) const;  // of an option without choices
    // The value of an option with choices. `values` gives every word of the option table its value, in any order;
    // throws XF_ERROR_INTERNAL if it and the table differ, whichever word is set.
    template <class T, size_t n>
    T choice(std::string_view key, const Choice<T> (&values)[n]) const {
        const T *chosen = nullptr;
        size_t known = 0;
        for (const auto &[word, value] : values) {
            known += has_choice(key, word);
            if (word == text(key)) chosen = &value;
        }
        if (chosen == nullptr || known != n || known != choice_count(key)) fail_choice(key);
        return *chosen;
    }
    // Returns whether the option was set, even to its default. Calls that change an existing object use only these.
    bool is_set(std::string_view key) const;
    // The value of an option of any type as text, in the form that set() reads.
    const std::string &text(std::string_view key) const;

    // Copies the values of the keys that begin with prefix ("model.") from other.
    void copy_group(const Options &other, std::string_view prefix);
    // The same, only for keys that are set in other.
    void copy_set(const Options &other, std::string_view prefix);

private:
    using Value = std::variant<int64_t, double, bool, std::string>;
    const Value &value(std::string_view key, int32_t type) const;
    void put(size_t index, Value value);
    static bool has_choice(std::string_view key, std::string_view word);
    static size_t choice_count(std::string_view key);
    [[noreturn]] static void fail_choice(std::string_view key);
    struct Entry {
        Value value;
        std::string text;  // of value; stored, so that text() is const
        bool set = false;
    };
    std::vector<Entry> entries_;  // parallel to the table
};

}  // namespace xf
