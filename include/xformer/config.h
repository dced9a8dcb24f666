/*
 * xformer/config.h - options by name.
 *
 * All options are rows of one table: key, type, default, bounds, description, and section of the paper. A config holds
 * values for these keys; an option that was not set has its default. A function that creates an object reads the
 * options of its group ("model.", "train.", ...) during the call and keeps no pointer to the config. A function that
 * works on an existing object or a checkpoint (xf_decode(), xf_trainer_resume()) reads only the options that were set
 * in the config; the other options keep the values that the object or checkpoint has.
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
 * @brief Options by name, and the table of all options.
 * @{
 */

/** @brief A set of option values. Created by xf_config_create(). @since 0.1 */
typedef struct xf_config xf_config;

/** @brief Type of an option's value. @since 0.1 */
enum {
    /** An integer. All bounds lie within +-2^53, so a double represents every value exactly. */
    XF_OPTION_INTEGER = 1,
    /** A double. */
    XF_OPTION_REAL = 2,
    /** 0 or 1. */
    XF_OPTION_BOOL = 3,
    /** UTF-8 text. If xf_option_info::choices is not NULL, one of the values listed there. */
    XF_OPTION_TEXT = 4
};

/** @brief One row of the option table. All strings are static. @since 0.1 */
typedef struct xf_option_info {
    /** In: sizeof(xf_option_info) of the caller. */
    size_t struct_size;
    /** For example "train.label_smoothing". */
    const char *key;
    /** One of XF_OPTION_.... */
    int32_t type;
    /** Not used, 0. */
    int32_t reserved;
    /** The default, in the form that xf_config_set() reads. */
    const char *default_value;
    /** Smallest allowed value; 0 for XF_OPTION_TEXT. */
    double minimum;
    /** Largest allowed value; 0 for XF_OPTION_TEXT. */
    double maximum;
    /** XF_OPTION_TEXT: the allowed values, separated by '|'; NULL: any text of at most 4,096 bytes. */
    const char *choices;
    /** Description of the option, with its unit. */
    const char *doc;
    /** Section of the paper, for example "s. 5.4", or "". */
    const char *paper;
    /** Version that introduced the option, for example "0.1". */
    const char *since;
} xf_option_info;

/** @brief An xf_option_info with its struct_size. @since 0.1 */
#define XF_OPTION_INFO_INIT \
    { sizeof(xf_option_info), NULL, 0, 0, NULL, 0, 0, NULL, NULL, NULL, NULL }

/**
 * @brief Creates a config in which every option has its default.
 * @param out [out] the new config; free it with xf_config_free()
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT (out is NULL), XF_ERROR_NO_MEMORY
 * @threads any
 * @since 0.1
 */
XF_API xf_status xf_config_create(xf_config **out, xf_error *err);

/**
 * @brief Frees a config. Objects that were created with it are not affected.
 * @param config [in] the config; freeing NULL or a config that another handle owns has no effect
 * @threads any
 * @since 0.1
 */
XF_API void xf_config_free(xf_config *config);

/**
 * @brief Copies a config with all its values.
 * @param config [in] the config to copy
 * @param out [out] the copy; free it with xf_config_free()
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NO_MEMORY
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_config_copy(const xf_config *config, xf_config **out, xf_error *err);

/**
 * @brief Sets the model and training options of a named preset. Other options are unchanged.
 *
 * "base" and "big" are the models of the paper's Table 3; "parsing" is the model of s. 6.3. "small" (about 10 M
 * parameters with a vocabulary of 10,000) and "tiny" (for tests) are defined by this library. Every preset sets the
 * numbers of encoder and decoder layers, d_model, d_ff, heads, d_k, d_v, positions, dropout and attention dropout,
 * label smoothing, and warm-up steps; "parsing" also sets the beam size, the length penalty alpha, and the maximum
 * number of extra tokens.
 *
 * @param config [in,out] the config
 * @param name [in] the name of the preset
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NOT_FOUND (no such preset). On an error, the config is unchanged
 * @threads exclusive
 * @par Source
 * Vaswani et al. 2017, Table 3 (base, big), s. 6.3 (parsing)
 * @since 0.1
 */
XF_API xf_status xf_config_preset(xf_config *config, const char *name, xf_error *err);

/**
 * @brief Sets an option of any type from text, as on a command line.
 *
 * Numbers do not depend on the locale: "0.1", "1e-9", "37000". Booleans are "true", "false", "1", and "0".
 *
 * @param config [in,out] the config
 * @param key [in] an option's key
 * @param value [in] its value
 * @param err [out] may be NULL; the message names a similar key, if any, or the bounds
 * @return XF_OK; XF_ERROR_NOT_FOUND (no such key); XF_ERROR_OUT_OF_RANGE (outside the bounds, or not one of the
 *         choices; values are never clamped); XF_ERROR_INVALID_ARGUMENT (NULL, or not of the option's type). On an
 *         error, the config is unchanged
 * @threads exclusive
 * @since 0.1
 */
XF_API xf_status xf_config_set(xf_config *config, const char *key, const char *value, xf_error *err);

/**
 * @brief Sets an integer, real, or boolean option.
 * @param config [in,out] the config
 * @param key [in] an option's key
 * @param value [in] within the option's bounds; a whole number for an integer, 0 or 1 for a boolean
 * @param err [out] may be NULL
 * @return as xf_config_set(); XF_ERROR_INVALID_ARGUMENT also for NaN, for a fraction if the option is an integer, and
 *         if the option is text
 * @threads exclusive
 * @since 0.1
 */
XF_API xf_status xf_config_set_number(xf_config *config, const char *key, double value, xf_error *err);

/**
 * @brief Returns an option of any type as text, in the form that xf_config_set() reads.
 * @param config [in] the config
 * @param key [in] an option's key
 * @param value [out] owned by the config; valid until the option is set again or the config is freed
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_NOT_FOUND (no such key), XF_ERROR_INVALID_ARGUMENT
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_config_get(const xf_config *config, const char *key, const char **value, xf_error *err);

/**
 * @brief Returns an integer, real, or boolean option as a number.
 * @param config [in] the config
 * @param key [in] an option's key
 * @param value [out] its value; 0 or 1 for a boolean
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_NOT_FOUND (no such key), XF_ERROR_INVALID_ARGUMENT (NULL, or the option is text)
 * @threads shared-read
 * @since 0.1
 */
XF_API xf_status xf_config_get_number(const xf_config *config, const char *key, double *value, xf_error *err);

/**
 * @brief Returns the number of rows of the option table.
 * @return the number of options of this version
 * @threads any
 * @since 0.1
 */
XF_API size_t xf_option_count(void);

/**
 * @brief Reads one row of the option table.
 * @param index [in] from 0 to xf_option_count() - 1
 * @param info [in,out] struct_size set by the caller
 * @param err [out] may be NULL
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_OUT_OF_RANGE (index)
 * @threads any
 * @since 0.1
 */
XF_API xf_status xf_option_get(size_t index, xf_option_info *info, xf_error *err);

/**
 * @brief Finds the row of the option table with the given key.
 * @param key [in] an option's key
 * @param info [in,out] struct_size set by the caller
 * @param err [out] may be NULL; the message names a similar key, if any
 * @return XF_OK, XF_ERROR_INVALID_ARGUMENT, XF_ERROR_NOT_FOUND (this version has no such option)
 * @threads any
 * @since 0.1
 */
XF_API xf_status xf_option_find(const char *key, xf_option_info *info, xf_error *err);

/** @} */

#ifdef __cplusplus
}
#endif

#endif /* XFORMER_CONFIG_H */
