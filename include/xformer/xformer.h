/*
 * xformer/xformer.h - the API of libxformer, which trains the encoder-decoder Transformer of "Attention Is All You
 * Need" (Vaswani et al. 2017) and decodes with it.
 *
 * Include this header, or only the headers that you need. This header does not include experimental.h. All headers are
 * valid C89 to C23 and C++98 to C++23.
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
#include "xformer/engine.h"
#include "xformer/eval.h"
#include "xformer/io.h"
#include "xformer/model.h"
#include "xformer/status.h"
#include "xformer/text.h"
#include "xformer/train.h"
#include "xformer/version.h"

#endif /* XFORMER_XFORMER_H */
