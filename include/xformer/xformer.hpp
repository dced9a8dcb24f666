/*
 * xformer/xformer.hpp - the API for C++17 and later: objects that free themselves, exceptions, and spans.
 *
 *     xformer::Context context;
 *     xformer::Decoder decoder(xformer::Model::load(context, "en-de.xf"));
 *     std::cout << decoder.translate("Choose File - Save.") << '\n';
 *
 * Include this header, or only the headers that you need. NAME.hpp wraps NAME.h in inline functions. Options, limits,
 * and errors are documented in the C headers: for Model::load(), see xf_model_load(). This header does not include
 * experimental.hpp.
 *
 * Each object owns one handle. Objects can be moved; only Config can be copied. Objects can be destroyed in any order.
 * A moved-from object is empty; using it throws Error. A view (ConfigView, TokenizerView, ModelView) refers to a handle
 * that another object owns. get() returns the handle for the C API, release() returns it without freeing it, and the
 * constructor from a handle takes ownership.
 *
 * Errors are exceptions of the class Error with the message of the library. If the library runs out of memory, the
 * status is XF_ERROR_NO_MEMORY; std::bad_alloc is thrown only if there is no memory for a C++ result or exception.
 *
 * Functions that may take a long time accept a Call as their last argument: cancel token, deadline, and progress.
 *
 * Threads: several threads may call const members at the same time; other members require exclusive use of the object.
 * CancelToken::cancel() and Context::cancel() may be called from any thread at any time.
 *
 * Memory: Batcher::next(), Trainer::step(), accumulate(), update(), Decoder::decode(), evaluate(), and functions that
 * fill a span allocate no memory in addition to that of the C API. Decoder::translate() reuses its memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_XFORMER_HPP
#define XFORMER_XFORMER_HPP

#include "xformer/base.hpp"
#include "xformer/call.hpp"
#include "xformer/config.hpp"
#include "xformer/context.hpp"
#include "xformer/data.hpp"
#include "xformer/decode.hpp"
#include "xformer/engine.hpp"
#include "xformer/eval.hpp"
#include "xformer/io.hpp"
#include "xformer/model.hpp"
#include "xformer/range.hpp"
#include "xformer/text.hpp"
#include "xformer/train.hpp"
#include "xformer/xformer.h"

#endif /* XFORMER_XFORMER_HPP */
