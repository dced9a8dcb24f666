/*
 * scale.h - the settings of the parsing experiment at the paper's size and at smaller sizes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_SCALE_H
#define PARSE_SCALE_H

#include <xformer/xformer.h>

/*
 * Sets the options of a scale. "scaled" is the preset "parsing" with its widths divided by four (4 layers, d_model 256,
 * d_ff 512, 8 heads of 32), for a few hours on two cores and some ten thousand sentences. "generated" is smaller, for
 * the trees of generated.h and a few minutes on one core. Any other name is a preset of the library.
 */
xf_status set_scale(xf_config *config, const char *name, xf_error *err);

/* Describes in one sentence what a scale changed in a config. Returns "" for a preset of the library. */
const char *scale_text(const xf_config *config, const char *name);

#endif
