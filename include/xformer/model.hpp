/*
 * xformer/model.hpp - model.h for C++: parameters, in memory and in a file.
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
#include "xformer/config.hpp"
#include "xformer/context.hpp"
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

// All numbers of a tensor, read by read(index, numbers).
template <class Read>
std::vector<float> all_of(const xf_model *model, std::size_t index, const Read &read) {
    const xf_tensor_info info = TensorAt{model}(index);
    std::vector<float> values(static_cast<std::size_t>(info.rows * info.columns));
    read(index, span<float>(values));
    return values;
}
}  // namespace detail
/** @endcond */

/** @brief Parameters with their configuration: a Model, or that of a trainer. */
class ModelView : public View<xf_model> {
public:
    /** @brief None. */
    constexpr ModelView() noexcept = default;
    /** @brief Looks at a handle. @param handle [in] stays the caller's */
    constexpr explicit ModelView(xf_model *handle) noexcept : View(handle) {}
    /** @brief What it was made with. @return owned by the model */
    ConfigView config() const noexcept { return ConfigView(xf_model_config(get())); }
    /** @brief Its tokenizer. @return owned by the model; none when it has none */
    TokenizerView tokenizer() const noexcept { return TokenizerView(xf_model_tokenizer(get())); }
    /** @brief Saves it; the old file stays as "<path>.prev". @param path [in] file name
     *  @param config [in] options "file." */
    void save(CString path, ConfigView config = {}) const {
        detail::call(xf_model_save, get(), config.get(), path.c_str());
    }
    /** @brief Gives what save() writes. @param config [in] options "file." @return the bytes of the file */
    std::vector<unsigned char> save_memory(ConfigView config = {}) const {
        std::vector<unsigned char> bytes;
        detail::fit(bytes, [&](std::vector<unsigned char> &room, std::size_t *size, xf_error *error) {
            return xf_model_save_memory(get(), config.get(), room.data(), room.size(), size, error);
        });
        return bytes;
    }

    /** @brief Keeps a text with the model. @param key [in] its name @param value [in] the text */
    void set_metadata(CString key, CString value) {
        detail::call(xf_model_set_metadata, get(), key.c_str(), value.c_str());
    }
    /** @brief Drops a text. @param key [in] its name */
    void erase_metadata(CString key) {
        detail::call(xf_model_set_metadata, get(), key.c_str(), static_cast<const char *>(nullptr));
    }
    /** @brief The texts that are kept with it. @return copies, by name */
    std::map<std::string, std::string> metadata() const {
        std::map<std::string, std::string> texts;
        for (std::size_t i = 0; const char *const key = xf_model_metadata_key(get(), i); ++i)
            if (const char *const value = xf_model_metadata(get(), key)) texts.emplace(key, value);
        return texts;
    }

    /** @brief The parameter tensors. @return xf_tensor_info in the order of the file; names are owned by the model */
    Range<detail::TensorAt> tensors() const { return {xf_model_tensor_count(get()), {get()}}; }
    /** @brief Finds a tensor. @param name [in] such as "embedding.weight" @return its number in tensors() */
    std::size_t find(std::string_view name) const {
        std::size_t index = 0;
        for (const xf_tensor_info &info : tensors()) {
            if (info.name == name) return index;
            ++index;
        }
        throw Error(XF_ERROR_NOT_FOUND, "none of " + std::to_string(index) + " tensors is '" + std::string(name) + "'");
    }
    /** @brief Copies a tensor out. @param index [in] its number @return rows * columns numbers, row-major */
    std::vector<float> read(std::size_t index) const {
        return detail::all_of(get(), index, [&](std::size_t at, span<float> values) { read(at, values); });
    }
    /** @brief Copies a tensor out. @param index [in] its number @param values [out] rows * columns numbers */
    void read(std::size_t index, span<float> values) const {
        detail::call(xf_model_read_tensor, get(), index, values.data(), values.size());
    }
    /** @brief Replaces a tensor. @param index [in] its number @param values [in] rows * columns finite numbers */
    void write(std::size_t index, span<const float> values) {
        detail::call(xf_model_write_tensor, get(), index, values.data(), values.size());
    }
};

/** @brief A model that this object owns: fresh, or from a file. */
class Model : public Owner<ModelView, xf_model, xf_model_free> {
public:
    using Owner::Owner;
    /** @brief Makes fresh parameters. @param context [in] the context @param config [in] options "model."
     *  @param tokenizer [in] kept alive; none: ids only, and "model.vocab_size" is set */
    explicit Model(const Context &context, ConfigView config = {}, TokenizerView tokenizer = {})
        : Model(detail::make<Model>(xf_model_create, context.get(), config.get(), tokenizer.get())) {}
    /** @brief Loads a model, or that of a checkpoint. @param context [in] the context @param path [in] file name
     *  @return the model */
    static Model load(const Context &context, CString path) {
        return detail::make<Model>(xf_model_load, context.get(), path.c_str());
    }
    /** @brief Loads a model from memory. @param context [in] the context @param bytes [in] of a file @return the model
     */
    static Model load(const Context &context, span<const unsigned char> bytes) {
        xf_source source = XF_SOURCE_INIT;
        source.data = bytes.data();
        source.size = bytes.size();
        return load(context, source);
    }
    /** @brief Loads a model. @param context [in] the context @param source [in] where it comes from
     *  @return the model */
    static Model load(const Context &context, const xf_source &source) {
        return detail::make<Model>(xf_model_load_from, context.get(), &source);
    }
    /** @brief Reads what a file holds and needs. @param context [in] the context @param path [in] file name
     *  @param config [in] options "decode." and "data." @return the summary */
    static xf_model_summary inspect(const Context &context, CString path, ConfigView config = {}) {
        xf_source source = XF_SOURCE_INIT;
        source.path = path.c_str();
        return inspect(context, source, config);
    }
    /** @brief Reads what a model holds and needs. @param context [in] the context @param source [in] where it comes
     * from
     *  @param config [in] options "decode." and "data." @return the summary */
    static xf_model_summary inspect(const Context &context, const xf_source &source, ConfigView config = {}) {
        return detail::fill(xf_model_summary XF_MODEL_SUMMARY_INIT, xf_model_inspect, context.get(), config.get(),
                            &source);
    }
    /** @brief Averages models of one configuration. @param models [in] at least one @return the mean */
    static Model average(span<const ModelView> models) {
        std::vector<const xf_model *> handles;
        for (const ModelView &model : models) handles.push_back(model.get());
        return detail::make<Model>(xf_model_average, handles.data(), handles.size());
    }
    /** @brief Averages files of one model, with the memory of three. @param context [in] the context
     *  @param paths [in] file names @return the mean */
    static Model average_files(const Context &context, const std::vector<std::string> &paths) {
        return detail::make<Model>(xf_model_average_files, context.get(), detail::pointers(paths).data(), paths.size());
    }
    /** @brief Copies a model. @param model [in] what to copy @return in the same context */
    static Model copy(ModelView model) {
        return detail::make<Model>(xf_model_copy, model.get(), static_cast<xf_context *>(nullptr));
    }
    /** @brief Copies a model to another context. @param model [in] what to copy @param context [in] where it lives
     *  @return the copy */
    static Model copy(ModelView model, const Context &context) {
        return detail::make<Model>(xf_model_copy, model.get(), context.get());
    }
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_MODEL_HPP */
