// The operations of the CUDA backend: one .cu file each, or one for a pair that shares its code. See plugin_abi.h.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#define XF_NUM_UNTYPED
#include "backend/plugin_abi.h"

namespace xf::cuda {

int32_t embed_fwd(xf_stream *stream, const xf_embed_fwd *args, xf_error *err);
int32_t embed_bwd(xf_stream *stream, const xf_embed_bwd *args, xf_error *err);
int32_t linear_fwd(xf_stream *stream, const xf_linear_fwd *args, xf_error *err);
int32_t linear_bwd_data(xf_stream *stream, const xf_linear_bwd_data *args, xf_error *err);
int32_t linear_bwd_weights(xf_stream *stream, const xf_linear_bwd_weights *args, xf_error *err);
int32_t attention_fwd(xf_stream *stream, const xf_attention *args, xf_error *err);
int32_t attention_bwd(xf_stream *stream, const xf_attention_bwd *args, xf_error *err);
int32_t add_norm_fwd(xf_stream *stream, const xf_add_norm_fwd *args, xf_error *err);
int32_t add_norm_bwd(xf_stream *stream, const xf_add_norm_bwd *args, xf_error *err);
int32_t loss(xf_stream *stream, const xf_loss *args, xf_error *err);
int32_t adam(xf_stream *stream, const xf_adam *args, xf_error *err);
int32_t sum_squares(xf_stream *stream, const xf_sum_squares *args, xf_error *err);
int32_t attention_step(xf_stream *stream, const xf_attention_step *args, xf_error *err);
int32_t top_k(xf_stream *stream, const xf_top_k *args, xf_error *err);
int32_t to_bf16(xf_stream *stream, const xf_to_bf16 *args, xf_error *err);
int32_t beam_step(xf_stream *stream, const xf_beam_step *args, xf_error *err);

}  // namespace xf::cuda
