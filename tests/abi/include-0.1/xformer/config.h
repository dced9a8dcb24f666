/*
 * xformer/config.h - options by name.
 *
 * Every choice of the library is a row of one table: key, type, default, bounds, meaning, place in the paper. A config
 * holds values for these keys; what was not set has its default. Functions that create an object read the keys of their
 * group ("model.", "train.", ...) once, when they are called, and keep no pointer to the config. Functions that work on
 * an object that exists (xf_decode(), xf_trainer_resume()) look only at what was set: the rest stays as the object has
 * it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_CONFIG_H
#define XFORMER_CONFIG_H

#include "xformer/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup config Configuration
 * @brief One table of options; values by key.
 * @{
 */

/** @brief A set of option values. Create with xf_config_create(). @since 0.1 */
typedef struct xf_config xf_config;

/** @brief Type of an option's value. @since 0.1 */
enum xf_option_type {
    /** 64-bit signed integer. */
    XF_OPTION_I64 = 1,
    /** double. */
    XF_OPTION_F64 = 2,
    /** 0 or 1. */
    XF_OPTION_BOOL = 3,
    /** UTF-8 text; one of a list of words where the table says so. */
    XF_OPTION_STR = 4
};

/** @brief One row of the option table. All strings are static. @since 0.1 */
typedef struct xf_option_info {
    /** In: sizeof(xf_option_info) of the caller. */
    size_t struct_size;
    /** Such as "train.label_smoothing". */
    const char *key;
    /** An enum xf_option_type. */
    int32_t type;
    /** Not used, 0. */
    int32_t reserved;
    /** The default as text, in the form xf_config_set() reads. */
    const char *default_value;
    /** Smallest value allowed, of a number. */
    double minimum;
    /** Largest value allowed, of a number. */
    double maximum;
    /** For XF_OPTION_STR: the allowed words separated by '|', or NULL when any text is allowed. */
    const char *choices;
    /** One sentence on what it does, with its unit. */
    const char *doc;
    /** Where the paper speaks of it, such as "s. 5.4", or "". */
    const char *paper;
    /** Version that brought the option, "0.1". */
    const char *since;
} xf_option_info;

/** @brief A zeroed xf_option_info with its struct_size. @since 0.1 */
#define XF_OPTION_INFO_INIT \
    { sizeof(xf_option_info), NULL, 0, 0, NULL, 0, 0, NULL, NULL, NULL, NULL }

/**
 * @brief Creates a config in which every option has its default.
 * @param out [out] the new config; the caller frees it with xf_config_free()
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT (out is NULL), XF_ERROR_NO_MEMORY
 * @threads any
 * @since 0.1
 */
XF_API enum xf_status xf_config_create(xf_config **out, xf_error *err);

/**
 * @brief Frees a config. Objects made from it are not affected.
 * @param config [in] NULL is allowed and does nothing
 * @threads exclusive
 * @since 0.1
 */
XF_API void xf_config_free(xf_config *config);

/**
 * @brief Copies a config with all its values.
 * @param config [in] what to copy
 * @param out [out] the copy; the caller frees it with xf_config_free()
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_config_copy(const xf_config *config, xf_config **out, xf_error *err);

/**
 * @brief Sets the model and training options of a named preset; other options stay.
 *
 * "base" and "big" are the paper's; "small" (about 10 M parameters with a vocabulary of 10,000) and "tiny" (for tests)
 * are this library's. Each sets both numbers of layers, d_model, d_ff, heads, d_k, d_v, positions, both dropouts, label
 * smoothing and warm-up. "parsing" is the model of s. 6.3 and also sets beam, alpha and extra tokens.
 *
 * @param config [in,out] the config
 * @param name [in] one of these names
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NOT_FOUND (no such preset; config unchanged)
 * @threads exclusive
 * @par Source
 * Vaswani et al. 2017, Table 3 (base, big), s. 6.3 (parsing)
 * @since 0.1
 */
XF_API enum xf_status xf_config_preset(xf_config *config, const char *name, xf_error *err);

/**
 * @brief Sets an option of any type from text, as from a command line.
 *
 * Numbers are read without regard to the locale: "0.1", "1e-9", "37000"; booleans are "true", "false", "1", "0".
 *
 * @param config [in,out] the config
 * @param key [in] an option's key
 * @param value [in] its value
 * @param err [out] NULL allowed; names the nearest key, or the bounds
 * @return XF_OK; XF_ERROR_NOT_FOUND (no such key), XF_ERROR_OUT_OF_RANGE (outside its bounds; never clamped),
 *         XF_ERROR_INVALID_ARGUMENT (NULL, or not of the option's type). On error the config is unchanged
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_config_set(xf_config *config, const char *key, const char *value, xf_error *err);

/**
 * @brief Sets an integer option, or a boolean one by 0 or 1.
 * @param config [in,out] the config
 * @param key [in] an option's key
 * @param value [in] within the option's bounds
 * @param err [out] NULL allowed
 * @return as xf_config_set()
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_config_set_i64(xf_config *config, const char *key, int64_t value, xf_error *err);

/**
 * @brief Sets a floating-point option.
 * @param config [in,out] the config
 * @param key [in] an option's key
 * @param value [in] within the option's bounds; NaN is an error
 * @param err [out] NULL allowed
 * @return as xf_config_set()
 * @threads exclusive
 * @since 0.1
 */
XF_API enum xf_status xf_config_set_f64(xf_config *config, const char *key, double value, xf_error *err);

/**
 * @brief Reads an integer option, or a boolean one as 0 or 1.
 * @param config [in] the config
 * @param key [in] an option's key
 * @param value [out] its value
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_NOT_FOUND, XF_ERROR_INVALID_ARGUMENT (NULL, or the option has another type)
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_config_get_i64(const xf_config *config, const char *key, int64_t *value, xf_error *err);

/**
 * @brief Reads a floating-point option.
 * @param config [in] the config
 * @param key [in] an option's key
 * @param value [out] its value
 * @param err [out] NULL allowed
 * @return as xf_config_get_i64()
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_config_get_f64(const xf_config *config, const char *key, double *value, xf_error *err);

/**
 * @brief Reads an option of any type as text, in the form that xf_config_set() reads.
 * @param config [in] the config
 * @param key [in] an option's key
 * @param value [out] NUL-terminated UTF-8, owned by the config, valid until the option is set again or the config freed
 * @param err [out] NULL allowed
 * @return as xf_config_get_i64()
 * @threads shared-read
 * @since 0.1
 */
XF_API enum xf_status xf_config_get(const xf_config *config, const char *key, const char **value, xf_error *err);

/**
 * @brief Counts the rows of the option table.
 * @return the number of options this version knows
 * @threads any
 * @since 0.1
 */
XF_API size_t xf_option_count(void);

/**
 * @brief Reads one row of the option table.
 * @param index [in] from 0 to xf_option_count() - 1
 * @param info [in,out] struct_size set by the caller; the rest is filled as far as that size goes
 * @param err [out] NULL allowed
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT (NULL, struct_size too small), XF_ERROR_OUT_OF_RANGE
 * @threads any
 * @since 0.1
 */
XF_API enum xf_status xf_option_get(size_t index, xf_option_info *info, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_CONFIG_H */
