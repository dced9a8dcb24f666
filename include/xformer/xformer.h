/*
 * xformer/xformer.h - the API of libxformer, which trains and decodes the encoder-decoder Transformer of "Attention Is
 * All You Need" (Vaswani et al. 2017).
 *
 * Include this header, or only those that you need. experimental.h is separate. C89 to C17, C++98 to C++23.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_XFORMER_H
#define XFORMER_XFORMER_H

#include "xformer/backend.h"
#include "xformer/call.h"
#include "xformer/config.h"
#include "xformer/context.h"
#include "xformer/data.h"
#include "xformer/decode.h"
#include "xformer/eval.h"
#include "xformer/io.h"
#include "xformer/model.h"
#include "xformer/status.h"
#include "xformer/text.h"
#include "xformer/train.h"
#include "xformer/version.h"

#endif /* XFORMER_XFORMER_H */
