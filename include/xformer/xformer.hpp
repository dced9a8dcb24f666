/*
 * xformer/xformer.hpp - all of the library for C++17 and later: objects that free themselves, exceptions, spans.
 *
 *     xformer::Context context;
 *     xformer::Decoder decoder(xformer::Model::load(context, "en-de.xf"));
 *     std::cout << decoder.translate("Choose File - Save.") << '\n';
 *
 * Include this, or only the headers you need: NAME.hpp is NAME.h for C++. They are inline functions over the C API and
 * nothing else, so the C headers are the manual: Model::load() is xf_model_load(), with its options, limits, promises.
 *
 * Objects own one handle each. They are moved, not copied (but a Config, which is a value), and destroyed in any order.
 * One that was moved from is empty; using it is an Error. Views (ConfigView, TokenizerView, ModelView) are to their
 * objects what std::string_view is to std::string. get() gives the handle to the C API, release() gives it away, and
 * the constructor from a handle adopts it.
 *
 * Errors are exceptions of the class Error, with the library's sentence. That the library has no memory is one too,
 * with XF_ERROR_NO_MEMORY: it may be the budget of one context, which says nothing about the process. std::bad_alloc
 * comes when C++ itself has none, for a result or for the exception.
 *
 * Threads: const members may be called by many threads at once, others need the object for themselves, as in the
 * standard library. Context::cancel() is for any thread at any time.
 *
 * Memory: Batcher::next(), Trainer::step(), accumulate(), update(), Decoder::decode(), evaluate() and what fills a span
 * allocate nothing beside what the C API does; Decoder::translate() keeps what it needs from call to call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_XFORMER_HPP
#define XFORMER_XFORMER_HPP

#include "xformer/base.hpp"
#include "xformer/comm.hpp"
#include "xformer/config.hpp"
#include "xformer/context.hpp"
#include "xformer/data.hpp"
#include "xformer/decode.hpp"
#include "xformer/eval.hpp"
#include "xformer/model.hpp"
#include "xformer/range.hpp"
#include "xformer/text.hpp"
#include "xformer/train.hpp"
#include "xformer/xformer.h"

#endif /* XFORMER_XFORMER_HPP */
