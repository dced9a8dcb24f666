/*
 * scale.h - the settings of the parsing experiment: the paper's, and the same in small.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARSE_SCALE_H
#define PARSE_SCALE_H

#include <xformer/xformer.h>

/*
 * "scaled": the preset "parsing" with its widths divided by four, for a few hours of two processor cores and some
 * ten thousand sentences: 4 layers, d_model 256, d_ff 512, 8 heads of 32. "generated": narrower yet, for the trees of
 * generated.h and some minutes of one core. Any other name is a preset of the library.
 */
enum xf_status set_scale(xf_config *config, const char *name, xf_error *err);

/* What such a name has scaled in a config, in one sentence; "" for a preset of the library. */
const char *scale_text(const xf_config *config, const char *name);

#endif
