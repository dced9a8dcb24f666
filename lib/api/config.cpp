// config.h of the public headers.
//
// SPDX-License-Identifier: Apache-2.0
#include "xformer/config.h"

#include "api/guard.h"

using namespace xf;

namespace {

// Sets an option: a copy is not needed, because Options checks before it writes.
template <class Set>
xf_status set_option(xf_config *config, const char *key, xf_error *err, Set set) noexcept {
    return guard(err, [&] {
        const auto use = exclusive(config, "config");
        check_pointer(key, "key");
        set(use->options);
    });
}

template <class T, class Get>
xf_status get_option(const xf_config *config, const char *key, T *value, xf_error *err, Get get) noexcept {
    return guard(err, [&] {
        const auto use = shared(config, "config");
        check_pointer(key, "key");
        check_pointer(value, "value");
        *value = get(use->options);
    });
}

void put_option(const Option &row, xf_option_info *info) {
    put_struct(info, xf_option_info{0, row.key, row.type, 0, row.default_value, row.minimum, row.maximum, row.choices,
                                    row.doc, row.paper, row.since});
}

}  // namespace

extern "C" {

xf_status xf_config_create(xf_config **out, xf_error *err) {
    return guard(err, [&] {
        check_pointer(out, "out");
        *out = new xf_config;
    });
}

void xf_config_free(xf_config *config) { free_handle(config); }

xf_status xf_config_copy(const xf_config *config, xf_config **out, xf_error *err) {
    return guard(err, [&] {
        const auto use = shared(config, "config");
        check_pointer(out, "out");
        auto copy = std::make_unique<xf_config>();
        copy->options = use->options;
        *out = copy.release();
    });
}

xf_status xf_config_preset(xf_config *config, const char *name, xf_error *err) {
    return guard(err, [&] {
        const auto use = exclusive(config, "config");
        check_pointer(name, "name");
        use->options.preset(name);
    });
}

xf_status xf_config_set(xf_config *config, const char *key, const char *value, xf_error *err) {
    return set_option(config, key, err, [&](Options &options) {
        check_pointer(value, "value");
        options.set(key, value);
    });
}

xf_status xf_config_set_number(xf_config *config, const char *key, double value, xf_error *err) {
    return set_option(config, key, err, [&](Options &options) { options.set_number(key, value); });
}

xf_status xf_config_get_number(const xf_config *config, const char *key, double *value, xf_error *err) {
    return get_option(config, key, value, err, [&](const Options &options) { return options.as_number(key); });
}

xf_status xf_config_get(const xf_config *config, const char *key, const char **value, xf_error *err) {
    return get_option(config, key, value, err, [&](const Options &options) { return options.text(key).c_str(); });
}

size_t xf_option_count(void) { return option_count(); }

xf_status xf_option_get(size_t index, xf_option_info *info, xf_error *err) {
    return guard(err, [&] {
        check_struct(info, "info");
        XF_CHECK(index < option_count(), XF_ERROR_OUT_OF_RANGE, "the option index is %zu, expected 0 to %zu", index,
                 option_count() - 1);
        put_option(option(index), info);
    });
}

xf_status xf_option_find(const char *key, xf_option_info *info, xf_error *err) {
    return guard(err, [&] {
        check_pointer(key, "key");
        check_struct(info, "info");
        put_option(option(find_option(key)), info);
    });
}

}  // extern "C"
