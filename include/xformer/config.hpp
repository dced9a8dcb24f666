/*
 * xformer/config.hpp - config.h for C++: options by name.
 *
 *     xformer::Config config;
 *     config.preset("tiny").set("tokenizer.vocab_size", 300).set("train.dropout", 0.2).set("data.shuffle", false);
 *     const auto width = config.value<std::int64_t>("model.d_model");
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_CONFIG_HPP
#define XFORMER_CONFIG_HPP

#include "xformer/base.hpp"
#include "xformer/config.h"
#include "xformer/range.hpp"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @brief Reads the options of a Config, a model, or a trainer. As an argument, {} means all defaults. */
class ConfigView : public View<const xf_config> {
public:
    /** @brief Refers to no config. */
    constexpr ConfigView() noexcept = default;
    /** @brief Refers to a handle. @param handle [in] must outlive the view */
    constexpr explicit ConfigView(const xf_config *handle) noexcept : View(handle) {}
    /** @brief Reads an option.
     *  @tparam T std::int64_t, double, or bool for a number; std::string for any option
     *  @param key [in] such as "model.d_model"
     *  @return its value */
    template <class T>
    T value(CString key) const {
        if constexpr (std::is_same_v<T, std::int64_t>) {
            return static_cast<std::int64_t>(read<double>(xf_config_get_number, key));
        } else if constexpr (std::is_same_v<T, double>) {
            return read<double>(xf_config_get_number, key);
        } else if constexpr (std::is_same_v<T, bool>) {
            return read<double>(xf_config_get_number, key) != 0;
        } else {
            static_assert(std::is_same_v<T, std::string>, "expected std::int64_t, double, bool, or std::string");
            return read<const char *>(xf_config_get, key);
        }
    }

private:
    template <class T, class Function>
    T read(Function *function, CString key) const {
        return detail::fill(T{}, function, get(), key.c_str());
    }
};

/** @brief A set of option values. A copy is independent of the original. */
class Config : public Owner<ConfigView, xf_config, xf_config_free> {
public:
    using Owner::Owner;
    /** @brief Creates a config in which every option has its default. */
    Config() : Config(detail::make<Config>(xf_config_create)) {}
    /** @brief Copies a config. @param other [in] the config */
    explicit Config(ConfigView other) : Config(detail::make<Config>(xf_config_copy, other.get())) {}
    /** @brief Copies a config. @param other [in] the config */
    Config(const Config &other) : Config(static_cast<const ConfigView &>(other)) {}
    /** @brief Moves a config. @param other [in,out] empty afterwards */
    Config(Config &&other) noexcept = default;
    /** @brief Copies a config. @param other [in] the config @return this */
    Config &operator=(const Config &other) { return *this = Config(other); }
    /** @brief Moves a config. @param other [in,out] empty afterwards @return this */
    Config &operator=(Config &&other) noexcept = default;

    /** @brief Sets the options of a preset; see xf_config_preset(). @param name [in] such as "tiny" @return this */
    Config &preset(CString name) { return detail::call(xf_config_preset, get(), name.c_str()), *this; }
    /** @brief Sets an option of any type from text. @param key [in] such as "model.norm" @param value [in] text
     *  @return this */
    Config &set(CString key, CString value) {
        return detail::call(xf_config_set, get(), key.c_str(), value.c_str()), *this;
    }
    /** @brief Sets an option.
     *  @param key [in] such as "model.heads"
     *  @param value [in] a bool, an integer, or a floating-point number
     *  @return this */
    template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
    Config &set(CString key, T value) {
        if constexpr (std::is_same_v<T, bool>) {
            return set(key, value ? "true" : "false");  // an integer option rejects these
        } else if constexpr (std::is_floating_point_v<T>) {
            return detail::call(xf_config_set_number, get(), key.c_str(), static_cast<double>(value)), *this;
        } else {
            return set(key, std::to_string(value));  // exact, however large the type
        }
    }
};

/** @cond INTERNAL */
namespace detail {
struct OptionAt {
    xf_option_info operator()(std::size_t index) const {
        return fill(xf_option_info XF_OPTION_INFO_INIT, xf_option_get, index);
    }
};
}  // namespace detail
/** @endcond */

/** @brief Returns the table of all options. @return a range of xf_option_info */
inline Range<detail::OptionAt> options() { return {xf_option_count(), {}}; }

/** @brief Finds an option. @param key [in] such as "model.d_model" @return its row of the table */
inline xf_option_info option(CString key) {
    return detail::fill(xf_option_info XF_OPTION_INFO_INIT, xf_option_find, key.c_str());
}

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_CONFIG_HPP */
