/*
 * xformer/model.hpp - model.h for C++: parameters, in memory and in files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_MODEL_HPP
#define XFORMER_MODEL_HPP

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "xformer/base.hpp"
#include "xformer/call.hpp"
#include "xformer/config.hpp"
#include "xformer/context.hpp"
#include "xformer/io.hpp"
#include "xformer/model.h"
#include "xformer/range.hpp"
#include "xformer/text.hpp"

namespace xformer {
inline namespace v0_1 {

/** @addtogroup cpp
 *  @{ */

/** @cond INTERNAL */
namespace detail {
struct TensorAt {
    const xf_model *model = nullptr;
    xf_tensor_info operator()(std::size_t index) const {
        return fill(xf_tensor_info XF_TENSOR_INFO_INIT, xf_model_get_tensor, model, index);
    }
};

// All elements of a tensor, read by read(index, values).
template <class Read>
std::vector<float> all_of(const xf_model *model, std::size_t index, const Read &read) {
    const xf_tensor_info info = TensorAt{model}(index);
    std::size_t count = 1;
    for (std::int32_t i = 0; i < info.dims; ++i) count *= static_cast<std::size_t>(info.shape[i]);
    std::vector<float> values(count);
    read(index, span<float>(values));
    return values;
}
}  // namespace detail
/** @endcond */

/** @brief Parameters with their configuration: a Model, or the model of a trainer. */
class ModelView : public View<xf_model> {
public:
    /** @brief Refers to no model. */
    constexpr ModelView() noexcept = default;
    /** @brief Refers to a handle. @param handle [in] must outlive the view */
    constexpr explicit ModelView(xf_model *handle) noexcept : View(handle) {}
    /** @brief Returns the configuration. @return owned by the model */
    ConfigView config() const noexcept { return ConfigView(xf_model_config(get())); }
    /** @brief Returns the tokenizer. @return owned by the model; none if the model has none */
    TokenizerView tokenizer() const noexcept { return TokenizerView(xf_model_tokenizer(get())); }
    /** @brief Encodes text as the model expects it in a batch: with the end symbol and language tokens.
     *  @param side [in] XF_SIDE_SOURCE or XF_SIDE_TARGET
     *  @param text [in] UTF-8
     *  @param config [in] "text.source_language" and "text.target_language" of a multilingual model
     *  @return the ids */
    std::vector<std::int32_t> encode(std::int32_t side, std::string_view text, ConfigView config = {}) const {
        std::vector<std::int32_t> ids(text.size() + 2);
        detail::fit(ids, [&](std::vector<std::int32_t> &room, std::size_t *count, xf_error *error) {
            return xf_model_encode(get(), side, text.data(), text.size(), config.get(), room.data(), room.size(), count,
                                   error);
        });
        return ids;
    }
    /** @brief Saves the model. @param sink [in] the destination @param config [in] "model.weights": type of the
     *  matrices in the file @param call [in] parameters of the call */
    void save(const Sink &sink, ConfigView config = {}, const Call &call = {}) const {
        const xf_sink to = sink.get();
        detail::call(xf_model_save, get(), config.get(), detail::CallStruct(call).get(), &to);
    }
    /** @brief Saves the model to memory. @param config [in] as in save() @param call [in] parameters of the call
     *  @return the bytes of the file */
    std::vector<unsigned char> save_memory(ConfigView config = {}, const Call &call = {}) const {
        const detail::CallStruct given(call);
        return detail::saved_bytes([&](const xf_sink *sink, xf_error *error) {
            return xf_model_save(get(), config.get(), given.get(), sink, error);
        });
    }

    /** @brief Stores a text with the model. @param key [in] its name @param value [in] the text */
    void set_metadata(CString key, CString value) {
        detail::call(xf_model_set_metadata, get(), key.c_str(), value.c_str());
    }
    /** @brief Removes a stored text. @param key [in] its name */
    void erase_metadata(CString key) {
        detail::call(xf_model_set_metadata, get(), key.c_str(), static_cast<const char *>(nullptr));
    }
    /** @brief Returns a stored text. @param key [in] its name @return a copy */
    std::string metadata(CString key) const {
        std::string value;
        detail::fit(value, [&](std::string &room, std::size_t *length, xf_error *error) {
            return xf_model_get_metadata(get(), key.c_str(), room.data(), room.size() + 1, length, error);
        });
        return value;
    }
    /** @brief Returns all stored texts. @return copies, by name */
    std::map<std::string, std::string> metadata() const {
        std::map<std::string, std::string> texts;
        char key[257];
        std::size_t length = 0;
        for (std::size_t i = 0;
             detail::call(xf_model_get_metadata_key, get(), i, &key[0], sizeof key, &length) == XF_OK; ++i)
            texts.emplace(key, metadata(CString(key)));
        return texts;
    }

    /** @brief Returns the parameter tensors. @return a range of xf_tensor_info in the order of the file; names are
     *  owned by the model */
    Range<detail::TensorAt> tensors() const { return {xf_model_tensor_count(get()), {get()}}; }
    /** @brief Finds a tensor. @param name [in] such as "embedding.weight" @return its index in tensors() */
    std::size_t find(std::string_view name) const {
        std::size_t index = 0;
        for (const xf_tensor_info &info : tensors()) {
            if (info.name == name) return index;
            ++index;
        }
        throw Error(XF_ERROR_NOT_FOUND, "none of " + std::to_string(index) + " tensors is '" + std::string(name) + "'");
    }
    /** @brief Copies a tensor. @param index [in] index in tensors() @return its elements, row-major */
    std::vector<float> read(std::size_t index) const {
        return detail::all_of(get(), index, [&](std::size_t at, span<float> values) { read(at, values); });
    }
    /** @brief Copies a tensor. @param index [in] index in tensors() @param values [out] room for all elements */
    void read(std::size_t index, span<float> values) const {
        detail::call(xf_model_read_tensor, get(), index, values.data(), values.size());
    }
    /** @brief Replaces a tensor. @param index [in] index in tensors() @param values [in] all elements, finite */
    void write(std::size_t index, span<const float> values) {
        detail::call(xf_model_write_tensor, get(), index, values.data(), values.size());
    }
};

/** @brief Owns a model. */
class Model : public Owner<ModelView, xf_model, xf_model_free> {
public:
    using Owner::Owner;
    /** @brief Creates a model with random parameters. @param context [in] the context @param config [in] "model."
     *  options @param tokenizer [in] kept alive; none: the model works on ids, and "model.vocab_size" must be set */
    explicit Model(const Context &context, ConfigView config = {}, TokenizerView tokenizer = {})
        : Model(detail::make<Model>(xf_model_create, context.get(), tokenizer.get(), config.get())) {}
    /** @brief Loads a model, or the model of a checkpoint. @param context [in] the context @param source [in] a path,
     *  bytes, or another Source @param config [in] "model.weights": type of the matrices in memory
     *  @param call [in] parameters of the call @return the model */
    static Model load(const Context &context, const Source &source, ConfigView config = {}, const Call &call = {}) {
        const xf_source from = source.get();
        return detail::make<Model>(xf_model_load, context.get(), &from, config.get(), detail::CallStruct(call).get());
    }
    /** @brief Reports the contents and memory requirements of a model file. @param context [in] the context
     *  @param source [in] a path, bytes, or another Source @param config [in] "model.weights" and options of "decode."
     *  and "data." @return the summary */
    static xf_model_summary inspect(const Context &context, const Source &source, ConfigView config = {}) {
        const xf_source from = source.get();
        return detail::fill(xf_model_summary XF_MODEL_SUMMARY_INIT, xf_model_inspect, context.get(), &from,
                            config.get());
    }
    /** @brief Averages files of one configuration. @param context [in] the context @param sources [in] a range of
     *  paths or Sources; at least one @param call [in] parameters of the call @return the average */
    template <class Sources>
    static Model average(const Context &context, const Sources &sources, const Call &call = {}) {
        std::vector<Source> from(std::begin(sources), std::end(sources));  // a copy keeps the callbacks valid
        std::vector<xf_source> structs;
        for (const Source &source : from) structs.push_back(source.get());
        return detail::make<Model>(xf_model_average, context.get(), structs.data(), structs.size(),
                                   detail::CallStruct(call).get());
    }
    /** @brief Copies a model within its context. @param model [in] the model @param config [in] "model.weights": type
     *  of the matrices of the copy @param call [in] parameters of the call @return the copy */
    static Model copy(ModelView model, ConfigView config = {}, const Call &call = {}) {
        return detail::make<Model>(xf_model_copy, model.get(), static_cast<xf_context *>(nullptr), config.get(),
                                   detail::CallStruct(call).get());
    }
    /** @brief Copies a model to another context. @param model [in] the model @param context [in] the context of the
     *  copy
     *  @param config [in] "model.weights": type of the matrices of the copy @param call [in] parameters of the call
     *  @return the copy */
    static Model copy(ModelView model, const Context &context, ConfigView config = {}, const Call &call = {}) {
        return detail::make<Model>(xf_model_copy, model.get(), context.get(), config.get(),
                                   detail::CallStruct(call).get());
    }
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_MODEL_HPP */
