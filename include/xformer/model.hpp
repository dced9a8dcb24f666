/*
 * xformer/model.hpp - model.h for C++: parameters, in memory and in a file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef XFORMER_MODEL_HPP
#define XFORMER_MODEL_HPP

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
struct ParamAt {
    const xf_model *model = nullptr;
    xf_tensor_info operator()(std::size_t index) const {
        return fill(xf_tensor_info XF_TENSOR_INFO_INIT, xf_model_get_tensor, model, index);
    }
};

// All numbers of a parameter, read by read(index, numbers).
template <class Read>
std::vector<float> all_of(const xf_model *model, std::size_t index, const Read &read) {
    const xf_tensor_info info = ParamAt{model}(index);
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
    /** @brief Saves it; the old file stays as "<path>.prev". @param path [in] file name */
    void save(CString path) const { save(path, ConfigView()); }
    /** @brief The same in another precision. @param path [in] file name @param config [in] options "file." */
    void save(CString path, ConfigView config) const { detail::call(xf_model_save, get(), config.get(), path.c_str()); }

    /** @brief The parameter tensors. @return xf_tensor_info in the order of the file; names are owned by the model */
    Range<detail::ParamAt> params() const { return {xf_model_tensor_count(get()), {get()}}; }
    /** @brief Finds a parameter. @param name [in] such as "embedding.weight" @return its number in params() */
    std::size_t find(std::string_view name) const {
        std::size_t index = 0;
        for (const xf_tensor_info &info : params()) {
            if (info.name == name) return index;
            ++index;
        }
        throw Error(XF_ERROR_NOT_FOUND,
                    "none of " + std::to_string(index) + " parameters is '" + std::string(name) + "'");
    }
    /** @brief Copies a parameter out. @param index [in] its number @return rows * columns numbers, row-major */
    std::vector<float> read(std::size_t index) const {
        return detail::all_of(get(), index, [&](std::size_t at, span<float> values) { read(at, values); });
    }
    /** @brief Copies a parameter out. @param index [in] its number @param values [out] rows * columns numbers */
    void read(std::size_t index, span<float> values) const {
        detail::call(xf_model_read_tensor, get(), index, values.data(), values.size());
    }
    /** @brief Replaces a parameter. @param index [in] its number @param values [in] rows * columns finite numbers */
    void write(std::size_t index, span<const float> values) {
        detail::call(xf_model_write_tensor, get(), index, values.data(), values.size());
    }
};

/** @brief A model of one's own: fresh, or from a file. */
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
    /** @brief Averages files of one model. @param context [in] the context @param paths [in] file names
     *  @return the mean */
    static Model average(const Context &context, const std::vector<std::string> &paths) {
        return detail::make<Model>(xf_model_average_files, context.get(), detail::pointers(paths).data(), paths.size());
    }
};

/** @} */

}  // namespace v0_1
}  // namespace xformer

#endif /* XFORMER_MODEL_HPP */
