/*
 * Sizes of a model that trains and decodes in milliseconds, as pairs of an option and its value for an initializer
 * list.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XF_TEST_SMALL_MODEL_H
#define XF_TEST_SMALL_MODEL_H

/* clang-format off */
#define XF_TEST_SMALL_MODEL          \
    {"model.encoder_layers", "1"},   \
    {"model.decoder_layers", "1"},   \
    {"model.d_model", "16"},         \
    {"model.d_ff", "24"},            \
    {"model.heads", "2"},            \
    {"model.d_k", "8"},              \
    {"model.d_v", "8"},              \
    {"model.max_length", "64"}
/* clang-format on */

#endif
