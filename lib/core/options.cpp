// Values for the option table: typed, bounds-checked, never clamped. See options.h.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/numbers.h"

namespace xf {

size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
        }
    }
    return row[b.size()];
}

bool is_near(size_t distance, std::string_view word) {
    return distance <= std::clamp<size_t>((word.size() + 2) / 3, 1, 4);
}

namespace {

// Names of options in other libraries, without a group, and the names here.
constexpr const char *kOtherNames[][2] = {
    {"lr", "train.learning_rate"},
    {"warmup", "train.warmup_steps"},
    {"grad_clip", "train.clip_norm"},
    {"batch_size", "data.batch_tokens"},
    {"max_tokens", "data.batch_tokens"},
    {"layers", "model.encoder_layers"},
    {"num_layers", "model.encoder_layers"},
    {"hidden_size", "model.d_model"},
    {"num_heads", "model.heads"},
    {"beam_size", "decode.beam"},
    {"num_beams", "decode.beam"},
    {"length_penalty", "decode.alpha"},
    {"max_length", "decode.max_extra_tokens"},
    {"num_threads", "context.threads"},
};

// The beginning of a hostile text, for messages.
std::string shown(std::string_view text) { return std::string(text.substr(0, 64)); }

const char *type_name(int32_t type) {
    switch (type) {
        case XF_OPTION_INTEGER:
            return "an integer";
        case XF_OPTION_REAL:
            return "a number";
        case XF_OPTION_BOOL:
            return "true or false";
        default:
            return "text";
    }
}

void check_type(const Option &row, int32_t type) {
    XF_CHECK(row.type == type, XF_ERROR_INVALID_ARGUMENT, "option '%s' is %s, not %s", row.key, type_name(row.type),
             type_name(type));
}

void check_bounds(const Option &row, double value) {
    XF_CHECK(value >= row.minimum && value <= row.maximum, XF_ERROR_OUT_OF_RANGE,
             "option '%s' is %s, expected %s to %s", row.key, number(value).c_str(), number(row.minimum).c_str(),
             number(row.maximum).c_str());
}

bool is_choice(std::string_view choices, std::string_view word) {
    for (size_t begin = 0; begin <= choices.size();) {
        const size_t end = std::min(choices.find('|', begin), choices.size());
        if (choices.substr(begin, end - begin) == word) return true;
        begin = end + 1;
    }
    return false;
}

enum class Parsed { kGood, kBad, kTooLarge };

template <class T>
Parsed parse(std::string_view text, T *value) {
    const auto result = read_number(text.data(), text.data() + text.size(), value);
    if (text.empty() || result.ptr != text.data() + text.size()) return Parsed::kBad;
    if (result.ec == std::errc()) return Parsed::kGood;
    return result.ec == std::errc::result_out_of_range ? Parsed::kTooLarge : Parsed::kBad;
}

// Returns whether a number that is too small or too large for a double is too small: from_chars() reports both in the
// same way. Compares the exponent with the position of the first digit.
bool is_tiny(std::string_view text) {
    const size_t end = std::min(text.find_first_of("eE"), text.size());
    std::string_view power = text.substr(std::min(end + 1, text.size()));
    if (power.starts_with('+')) power.remove_prefix(1);
    int64_t exponent = 0;
    if (parse(power, &exponent) == Parsed::kTooLarge) return power.starts_with('-');
    const int64_t point = std::min(text.find('.'), end), first = text.find_first_of("123456789");
    return exponent < first - point;
}

}  // namespace

size_t find_option(std::string_view key) {
    for (size_t i = 0; i < option_count(); ++i)
        if (key == option(i).key) return i;
    const std::string name = shown(key);  // a hostile key must not cost a quadratic distance
    size_t nearest = 0, best = SIZE_MAX;
    for (size_t i = 0; i < option_count(); ++i) {
        const std::string_view known = option(i).key;
        const size_t distance =
            std::min(edit_distance(name, known), 1 + edit_distance(name, known.substr(known.find('.') + 1)));
        if (distance < best) best = distance, nearest = i;
    }
    const std::string last = name.substr(name.rfind('.') + 1);  // npos + 1 is 0
    const char *suggestion = is_near(best, last) ? option(nearest).key : nullptr;
    for (const auto &[other, known] : kOtherNames)
        if (last == other && best > 1) suggestion = known;
    if (suggestion == nullptr)
        fail(XF_ERROR_NOT_FOUND, "there is no option '%s'; xf_option_get() lists all options", name.c_str());
    fail(XF_ERROR_NOT_FOUND, "there is no option '%s'; the nearest is '%s'", name.c_str(), suggestion);
}

Options::Options() : entries_(option_count()) {
    for (size_t i = 0; i < option_count(); ++i) {
        set(option(i).key, option(i).default_value);
        entries_[i].set = false;
    }
}

void Options::set(std::string_view key, std::string_view text) {
    const Option &row = option(find_option(key));
    const auto bad = [&] {
        fail(XF_ERROR_INVALID_ARGUMENT, "option '%s' is '%s', expected %s", row.key, shown(text).c_str(),
             type_name(row.type));
    };
    const auto check = [&](Parsed parsed) {
        if (parsed == Parsed::kGood) return;
        if (parsed == Parsed::kBad) bad();
        fail(XF_ERROR_OUT_OF_RANGE, "option '%s' is '%s', expected %s to %s", row.key, shown(text).c_str(),
             number(row.minimum).c_str(), number(row.maximum).c_str());
    };
    switch (row.type) {
        case XF_OPTION_INTEGER: {
            int64_t value = 0;
            check(parse(text, &value));
            return set_i64(key, value);
        }
        case XF_OPTION_REAL: {
            double value = 0;
            const Parsed parsed = parse(text, &value);
            if (parsed == Parsed::kTooLarge && is_tiny(text))
                value = 0;
            else
                check(parsed);
            return set_f64(key, value);
        }
        case XF_OPTION_BOOL:
            if (text != "true" && text != "false" && text != "1" && text != "0") bad();
            return set_bool(key, text == "true" || text == "1");
        default:
            return set_str(key, text);
    }
}

void Options::set_i64(std::string_view key, int64_t value) {
    const size_t i = find_option(key);
    if (option(i).type == XF_OPTION_REAL) return set_f64(key, value);
    if (option(i).type != XF_OPTION_BOOL) check_type(option(i), XF_OPTION_INTEGER);
    check_bounds(option(i), value);
    option(i).type == XF_OPTION_BOOL ? put(i, value != 0) : put(i, value);
}

void Options::set_f64(std::string_view key, double value) {
    const size_t i = find_option(key);
    check_type(option(i), XF_OPTION_REAL);
    check_bounds(option(i), value);  // also refuses NaN
    put(i, value);
}

void Options::set_number(std::string_view key, double value) {
    const Option &row = option(find_option(key));
    XF_CHECK(!std::isnan(value), XF_ERROR_INVALID_ARGUMENT, "option '%s' is nan, expected a number", row.key);
    if (row.type == XF_OPTION_REAL) return set_f64(key, value);
    XF_CHECK(row.type != XF_OPTION_TEXT, XF_ERROR_INVALID_ARGUMENT, "option '%s' is text, not a number", row.key);
    XF_CHECK(value == std::trunc(value), XF_ERROR_INVALID_ARGUMENT, "option '%s' is %s, expected a whole number",
             row.key, number(value).c_str());
    check_bounds(row, value);
    set_i64(key, value);
}

double Options::as_number(std::string_view key) const {
    const int32_t type = option(find_option(key)).type;
    return type == XF_OPTION_INTEGER || type == XF_OPTION_BOOL ? i64(key) : f64(key);
}

void Options::set_bool(std::string_view key, bool value) {
    const size_t i = find_option(key);
    check_type(option(i), XF_OPTION_BOOL);
    put(i, value);
}

void Options::set_str(std::string_view key, std::string_view value) {
    const size_t i = find_option(key);
    check_type(option(i), XF_OPTION_TEXT);
    XF_CHECK(value.size() <= 4096, XF_ERROR_OUT_OF_RANGE, "option '%s' is %zu bytes long, expected at most 4096",
             option(i).key, value.size());
    XF_CHECK(option(i).choices == nullptr || is_choice(option(i).choices, value), XF_ERROR_OUT_OF_RANGE,
             "option '%s' is '%s', expected one of %s", option(i).key, shown(value).c_str(), option(i).choices);
    put(i, std::string(value));
}

const Options::Value &Options::value(std::string_view key, int32_t type) const {
    const size_t i = find_option(key);
    check_type(option(i), type);
    return entries_[i].value;
}

int64_t Options::i64(std::string_view key) const {
    const size_t i = find_option(key);
    if (const auto *flag = std::get_if<bool>(&entries_[i].value)) return *flag ? 1 : 0;
    check_type(option(i), XF_OPTION_INTEGER);
    return std::get<int64_t>(entries_[i].value);
}

double Options::f64(std::string_view key) const { return std::get<double>(value(key, XF_OPTION_REAL)); }
bool Options::boolean(std::string_view key) const { return std::get<bool>(value(key, XF_OPTION_BOOL)); }

const std::string &Options::str(std::string_view key) const {
    const Option &row = option(find_option(key));
    XF_CHECK(row.choices == nullptr, XF_ERROR_INTERNAL, "option '%s' has choices, expected a read by choice()",
             row.key);
    return std::get<std::string>(value(key, XF_OPTION_TEXT));
}

bool Options::has_choice(std::string_view key, std::string_view word) {
    const char *choices = option(find_option(key)).choices;
    return choices != nullptr && is_choice(choices, word);
}

size_t Options::choice_count(std::string_view key) {
    const std::string_view choices = option(find_option(key)).choices;
    return std::count(choices.begin(), choices.end(), '|') + 1;
}

void Options::fail_choice(std::string_view key) {
    fail(XF_ERROR_INTERNAL, "option '%s' is read with other choices than the option table has",
         option(find_option(key)).key);
}

bool Options::is_set(std::string_view key) const { return entries_[find_option(key)].set; }

const std::string &Options::text(std::string_view key) const { return entries_[find_option(key)].text; }

void Options::put(size_t index, Value value) {
    std::string text;
    if (const auto *i = std::get_if<int64_t>(&value))
        text = std::to_string(*i);
    else if (const auto *f = std::get_if<double>(&value))
        text = number(*f);
    else if (const auto *b = std::get_if<bool>(&value))
        text = *b ? "true" : "false";
    else
        text = std::get<std::string>(value);
    entries_[index] = {std::move(value), std::move(text), true};
}

void Options::copy_set(const Options &other, std::string_view prefix) {
    for (size_t i = 0; i < option_count(); ++i)
        if (other.entries_[i].set && std::string_view(option(i).key).starts_with(prefix))
            entries_[i] = other.entries_[i];
}

void Options::copy_group(const Options &other, std::string_view prefix) {
    for (size_t i = 0; i < option_count(); ++i)
        if (std::string_view(option(i).key).starts_with(prefix)) entries_[i] = other.entries_[i];
}

}  // namespace xf
