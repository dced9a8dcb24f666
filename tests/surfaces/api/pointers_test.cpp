// Wrong pointers: each function with a handle of every wrong kind in place of each handle, and with NULL in place of
// each pointer that it requires. Such a call returns XF_ERROR_INVALID_ARGUMENT with a message and writes no output.
//
// SPDX-License-Identifier: Apache-2.0
#include <csetjmp>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

extern "C" {
#include <cmocka.h>
}
#include "support.h"
#include "xformer/experimental.h"

namespace {

// The memory of the outputs of one call.
constexpr size_t kOutputs = 4, kRoom = 512;
alignas(64) unsigned char outputs[kOutputs][kRoom];

template <class T, size_t index = 0>
T *output() {
    std::memset(outputs[index], 0x5A, kRoom);
    if constexpr (requires(T value) { value.struct_size; }) {
        const size_t size = sizeof(T);
        std::memcpy(outputs[index], &size, sizeof size);
    }
    return reinterpret_cast<T *>(outputs[index]);
}

// A pointer that may be NULL.
template <class T>
struct Optional {
    T *value;
    operator T *() const { return value; }
};
template <class T>
Optional<T> optional(T *value) {
    return {value};
}
template <class T>
constexpr bool may_be_null = std::is_null_pointer_v<T>;
template <class T>
constexpr bool may_be_null<Optional<T>> = true;

// The kind of a handle; KINDS for another type.
template <class T, class... Handles>
constexpr int index_of(int index, int found) {
    ((found = std::is_same_v<std::remove_const_t<T>, Handles> ? index : found, ++index), ...);
    return found;
}
template <class T>
constexpr int kind_of = index_of<T, xf_config, xf_context, xf_corpus, xf_tokenizer, xf_batcher, xf_model, xf_trainer,
                                 xf_decoder, xf_hypotheses>(0, KINDS);
template <>
constexpr int kind_of<xf_engine> = -1;  // the world has none

template <class Function, class Arguments>
void check(const char *name, size_t argument, Function function, Arguments arguments) {
    unsigned char before[sizeof outputs];
    std::memcpy(before, outputs, sizeof before);
    for (const bool with_error : {true, false}) {
        xf_error error;
        std::memset(&error, 0xA5, sizeof error);
        std::get<std::tuple_size_v<Arguments> - 1>(arguments) = with_error ? &error : nullptr;
        const xf_status status = std::apply(function, arguments);
        check_refusal(XF_ERROR_INVALID_ARGUMENT, status, with_error ? &error : nullptr, name,
                      static_cast<int>(argument + 1));  // printed as file and line
        assert_memory_equal(before, outputs, sizeof before);
    }
}

template <size_t argument, class Given, class... Parameters>
void check_argument(const char *name, xf_status (*function)(Parameters...), std::tuple<Parameters...> arguments) {
    using Parameter = std::tuple_element_t<argument, std::tuple<Parameters...>>;
    if constexpr (std::is_pointer_v<Parameter>) {
        Parameter &changed = std::get<argument>(arguments);
        constexpr int own = kind_of<std::remove_pointer_t<Parameter>>;
        for (int wrong = 0; own != KINDS && wrong < WRONG_HANDLES; ++wrong) {
            changed = static_cast<Parameter>(wrong_handle(wrong));
            if (wrong != own && changed != nullptr) check(name, argument, function, arguments);
        }
        changed = nullptr;
        if (!may_be_null<Given>) check(name, argument, function, arguments);
    }
}

// Checks a function. `given` are valid arguments, without the error; NULL and optional() mark those that may be NULL.
template <class... Parameters, class... Given>
void refuses(const char *name, xf_status (*function)(Parameters...), Given... given) {
    const std::tuple<Parameters...> arguments(given..., nullptr);
    [&]<size_t... argument>(std::index_sequence<argument...>) {
        (check_argument<argument, Given>(name, function, arguments), ...);
    }
    (std::index_sequence_for<Given...>());
}
#define REFUSES(function, ...) refuses(#function, function, __VA_ARGS__)

// A function without a status ignores wrong handles and returns `expected`.
template <class Result, class Handle, class... Rest>
void ignores(Result expected, Result (*function)(Handle *, Rest...), Rest... rest) {
    for (int wrong = 0; wrong < WRONG_HANDLES; ++wrong)
        if (wrong != kind_of<Handle>)
            assert_true(function(static_cast<Handle *>(wrong_handle(wrong)), rest...) == expected);
}
template <class Handle>
void ignores(void (*function)(Handle *)) {
    for (int wrong = 0; wrong < WRONG_HANDLES; ++wrong)
        if (wrong != kind_of<Handle>) function(static_cast<Handle *>(wrong_handle(wrong)));
}

const char *const texts[] = {"one", "two"};

void test_objects(void **) {
    xf_config *const config = world.config;
    REFUSES(xf_config_create, output<xf_config *>());
    REFUSES(xf_config_copy, config, output<xf_config *>());
    REFUSES(xf_config_preset, config, "tiny");
    REFUSES(xf_config_set, config, "decode.beam", "1");
    REFUSES(xf_config_set_number, config, "decode.beam", 1);
    REFUSES(xf_config_get, config, "decode.beam", output<const char *>());
    REFUSES(xf_config_get_number, config, "decode.beam", output<double>());
    REFUSES(xf_option_get, 0, output<xf_option_info>());
    REFUSES(xf_option_find, "decode.beam", output<xf_option_info>());
    REFUSES(xf_context_create, optional(config), nullptr, output<xf_context *>());
    REFUSES(xf_context_get_info, world.context, output<xf_context_info>());
    REFUSES(xf_context_get_memory, world.context, output<xf_memory_stats>());
    REFUSES(xf_context_get_backend, world.context, 0, output<xf_backend_info>());
    REFUSES(xf_context_all_gather, world.context, 1, nullptr, output<int64_t>());
    REFUSES(xf_comm_loopback, output<xf_comm>(), 2);
    REFUSES(xf_bleu, texts, nullptr, texts, nullptr, 2, XF_BLEU_13A, output<xf_bleu_score>());
    REFUSES(xf_chrf, texts, nullptr, texts, nullptr, 2, output<xf_chrf_score>());
    ignores(xf_config_free);
    ignores(xf_context_free);
    ignores(xf_context_cancel);
    ignores<size_t>(0, xf_context_backend_count);
}

void test_data(void **) {
    const char *const path = scratch_path("pairs.tsv");
    const int64_t indices[] = {11, 0, 11};
    REFUSES(xf_corpus_open, world.context, path, nullptr, optional(world.config), nullptr, output<xf_corpus *>());
    REFUSES(xf_corpus_open, world.context, path, optional(path), nullptr, nullptr, output<xf_corpus *>());
    REFUSES(xf_corpus_encode, world.context, path, nullptr, world.tokenizer, optional(world.config), nullptr,
            static_cast<const char *>(scratch_path("pointers.encoded")));
    REFUSES(xf_corpus_from_pairs, world.context, texts, nullptr, texts, nullptr, 2, optional(world.config), nullptr,
            output<xf_corpus *>());
    REFUSES(xf_corpus_from_ids, world.context, &two_pairs, nullptr, output<xf_corpus *>());
    REFUSES(xf_corpus_subset, world.corpus, indices, 3, output<xf_corpus *>());
    REFUSES(xf_corpus_split, world.corpus, 3, 1, output<xf_corpus *>(), output<xf_corpus *, 1>());
    REFUSES(xf_corpus_get_stats, world.corpus, output<xf_corpus_stats>());
    REFUSES(xf_corpus_get_pair, world.corpus, 0, output<const char *>(), output<size_t, 1>(), output<const char *, 2>(),
            output<size_t, 3>());
    REFUSES(xf_batcher_create, world.corpus, world.tokenizer, optional(world.config), nullptr, output<xf_batcher *>());
    REFUSES(xf_batcher_next, world.batcher, nullptr, output<xf_batch>());
    REFUSES(xf_batcher_get_stats, world.batcher, output<xf_batcher_stats>());
    REFUSES(xf_batcher_seek, world.batcher, 0, 0, nullptr);
    REFUSES(xf_batcher_resume, world.batcher, world.trainer, nullptr);
    xf_batcher_stats stats = XF_BATCHER_STATS_INIT;
    assert_int_equal(xf_batcher_get_stats(world.batcher, &stats, nullptr), XF_OK);
    assert_true(stats.epoch == 0 && stats.batch == 0);
    ignores(xf_corpus_free);
    ignores(xf_batcher_free);
    ignores<int64_t>(0, xf_corpus_pair_count);
}

void test_tokenizers(void **) {
    const xf_source source = source_path(scratch_path("tokenizer"));
    const xf_sink sink = sink_path(scratch_path("tokenizer"));
    const int32_t ids[] = {5, 6};
    const xf_tokenizer *const tokenizer = world.tokenizer;
    REFUSES(xf_tokenizer_train, world.context, world.corpus, optional(world.config), nullptr, output<xf_tokenizer *>());
    REFUSES(xf_tokenizer_save, tokenizer, nullptr, &sink);
    assert_int_equal(xf_tokenizer_save(tokenizer, nullptr, &sink, nullptr), XF_OK);
    REFUSES(xf_tokenizer_load, world.context, &source, nullptr, output<xf_tokenizer *>());
    REFUSES(xf_tokenizer_get_info, tokenizer, output<xf_tokenizer_info>());
    REFUSES(xf_tokenizer_encode, tokenizer, "one two", 7, output<int32_t>(), 64, output<size_t, 1>());
    REFUSES(xf_tokenizer_decode, tokenizer, ids, 2, output<char>(), 64, output<size_t, 1>());
    REFUSES(xf_tokenizer_get_piece, tokenizer, 0, output<char>(), 64, output<size_t, 1>());
    REFUSES(xf_split_sentences, "One. Two.", 9, nullptr, 0, output<xf_span>(), 4, output<size_t, 1>());
    ignores(xf_tokenizer_free);
    ignores<const xf_tokenizer *>(nullptr, xf_tokenizer_side, int32_t{XF_SIDE_SOURCE});
}

void test_models(void **) {
    const xf_source source = source_path(scratch_path("model"));
    const xf_sink sink = sink_path(scratch_path("model"));
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    size_t vector = 0;  // a tensor that fits into an output
    while (xf_model_get_tensor(world.model, vector, &info, nullptr) == XF_OK && number_count(&info) != 16) ++vector;
    const float values[16] = {};
    REFUSES(xf_model_create, world.context, optional(world.tokenizer), optional(world.config), output<xf_model *>());
    REFUSES(xf_model_save, world.model, optional(world.config), nullptr, &sink);
    assert_int_equal(xf_model_save(world.model, nullptr, nullptr, &sink, nullptr), XF_OK);
    REFUSES(xf_model_load, world.context, &source, optional(world.config), nullptr, output<xf_model *>());
    REFUSES(xf_model_inspect, world.context, &source, optional(world.config), output<xf_model_summary>());
    REFUSES(xf_model_average, world.context, &source, 1, nullptr, output<xf_model *>());
    REFUSES(xf_model_copy, world.model, optional(world.context), optional(world.config), nullptr, output<xf_model *>());
    REFUSES(xf_model_encode, world.model, XF_SIDE_SOURCE, "one two", 7, optional(world.config), output<int32_t>(), 64,
            output<size_t, 1>());
    REFUSES(xf_model_set_metadata, world.model, "key", optional("value"));
    assert_int_equal(xf_model_set_metadata(world.model, "key", "value", nullptr), XF_OK);
    REFUSES(xf_model_get_metadata, world.model, "key", output<char>(), 64, output<size_t, 1>());
    REFUSES(xf_model_get_metadata_key, world.model, 0, output<char>(), 64, output<size_t, 1>());
    REFUSES(xf_model_get_tensor, world.model, 0, output<xf_tensor_info>());
    REFUSES(xf_model_read_tensor, world.model, vector, output<float>(), 16);
    REFUSES(xf_model_write_tensor, world.model, vector, values, 16);
    ignores(xf_model_free);
    ignores<size_t>(0, xf_model_tensor_count);
    ignores<const xf_config *>(nullptr, xf_model_config);
    ignores<const xf_tokenizer *>(nullptr, xf_model_tokenizer);
}

void test_training(void **) {
    const xf_source source = source_path(scratch_path("checkpoint"));
    const xf_sink sink = sink_path(scratch_path("checkpoint"));
    xf_trainer *const trainer = world.trainer;
    const auto stats = optional(output<xf_step_stats>());
    REFUSES(xf_trainer_create, world.model, optional(world.config), output<xf_trainer *>());
    REFUSES(xf_train_step, trainer, &two_pairs, 1, nullptr, stats);
    REFUSES(xf_train_next, trainer, world.batcher, nullptr, stats);
    REFUSES(xf_train_accumulate, trainer, &two_pairs, nullptr, stats);
    REFUSES(xf_train_update, trainer, stats);
    REFUSES(xf_trainer_copy_average, trainer, nullptr, output<xf_model *>());
    REFUSES(xf_trainer_read_gradient, trainer, 0, optional(output<float>()), 1);  // which does not exist yet
    REFUSES(xf_trainer_save, trainer, optional(world.batcher), nullptr, &sink);
    assert_int_equal(xf_trainer_save(trainer, nullptr, nullptr, &sink, nullptr), XF_OK);
    REFUSES(xf_trainer_resume, world.context, &source, optional(world.config), nullptr, output<xf_trainer *>());
    assert_int_equal(xf_trainer_step_count(trainer), 0);
    ignores(xf_trainer_free);
    ignores<int64_t>(-1, xf_trainer_step_count);
    ignores<xf_model *>(nullptr, xf_trainer_model);
    ignores<const xf_config *>(nullptr, xf_trainer_config);
}

void test_decoding(void **) {
    xf_decoder *const decoder = world.decoder;
    REFUSES(xf_decoder_create, world.model, nullptr, optional(world.config), output<xf_decoder *>());
    REFUSES(xf_decode, decoder, &two_pairs, nullptr, nullptr, output<xf_hypotheses *>());
    REFUSES(xf_translate, decoder, texts, nullptr, 2, nullptr, nullptr, output<xf_hypotheses *>());
    REFUSES(xf_score, decoder, &two_pairs, nullptr, output<double>());
    REFUSES(xf_score_texts, decoder, texts, nullptr, texts, nullptr, 2, nullptr, output<double>(), nullptr);
    REFUSES(xf_evaluate, decoder, world.batcher, nullptr, output<xf_eval_stats>());
    REFUSES(xf_attention_weights, decoder, &one_pair, XF_ATTENTION_CROSS, 0, output<float>(), 64, output<size_t, 1>());
    REFUSES(xf_hypotheses_get_sentence, world.hypotheses, 0, output<xf_sentence_info>());
    REFUSES(xf_hypotheses_get, world.hypotheses, 0, 0, output<xf_hypothesis>());
    xf_engine *engine = nullptr;
    xf_request request = XF_REQUEST_INIT;
    request.text = texts[0];
    assert_int_equal(xf_engine_create(world.model, nullptr, nullptr, &engine, nullptr), XF_OK);
    REFUSES(xf_engine_create, world.model, nullptr, optional(world.config), output<xf_engine *>());
    REFUSES(xf_engine_submit, engine, &request, output<uint64_t>());
    REFUSES(xf_engine_cancel, engine, 1);
    REFUSES(xf_engine_next, engine, 0, nullptr, output<xf_event>());
    REFUSES(xf_engine_step, engine);
    REFUSES(xf_engine_set_model, engine, world.model, nullptr);
    REFUSES(xf_engine_get_info, engine, output<xf_engine_info>());
    xf_engine_free(engine);
    ignores(xf_engine_free);
    ignores(xf_decoder_free);
    ignores(xf_hypotheses_free);
    ignores<size_t>(0, xf_hypotheses_sentence_count);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_objects),    cmocka_unit_test(test_data),
                                cmocka_unit_test(test_tokenizers), cmocka_unit_test(test_models),
                                cmocka_unit_test(test_training),   cmocka_unit_test(test_decoding)};
    return RUN(tests, world_open, world_close);
}
