// Static properties of the classes, and the classes without a context: errors, texts, spans, configs.
//
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <filesystem>
#include <limits>

#include "check.hpp"
#include "world.hpp"

namespace {

template <class T>
constexpr bool moves =
    std::is_nothrow_move_constructible_v<T> &&std::is_nothrow_move_assignable_v<T> &&std::is_nothrow_destructible_v<T>;
template <class T, class Raw>
constexpr bool owns = moves<T> && !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> &&
                      std::is_constructible_v<T, Raw *> && !std::is_convertible_v<Raw *, T> &&
                      std::is_same_v<typename T::handle_type, Raw>;
static_assert(owns<xformer::Context, xf_context> && owns<xformer::Corpus, xf_corpus>);
static_assert(owns<xformer::Tokenizer, xf_tokenizer> && owns<xformer::Batcher, xf_batcher>);
static_assert(owns<xformer::Model, xf_model> && owns<xformer::Trainer, xf_trainer>);
static_assert(owns<xformer::Decoder, xf_decoder> && owns<xformer::Hypotheses, xf_hypotheses>);

// A config is a value. An object has the size of its handle, except for classes with further members.
static_assert(moves<xformer::Config> && std::is_copy_constructible_v<xformer::Config>);
static_assert(sizeof(xformer::Config) == sizeof(void *) && sizeof(xformer::Model) == sizeof(void *) &&
              sizeof(xformer::Trainer) == sizeof(void *) && sizeof(xformer::Hypotheses) == sizeof(void *));

// Views are trivial, come from their objects, and from handles only where it is said.
template <class V, class Object, class Raw>
constexpr bool views = std::is_trivially_copyable_v<V> &&std::is_nothrow_default_constructible_v<V>
                           &&std::is_convertible_v<const Object &, V> && !std::is_convertible_v<V, Object> &&
                       !std::is_convertible_v<Raw *, V> && std::is_constructible_v<V, Raw *>;
static_assert(views<xformer::ConfigView, xformer::Config, xf_config>);
static_assert(views<xformer::TokenizerView, xformer::Tokenizer, xf_tokenizer>);
static_assert(views<xformer::ModelView, xformer::Model, xf_model>);
static_assert(!std::is_convertible_v<xformer::Corpus, xformer::ModelView>);

// An answer may not be taken from hypotheses that are gone at the end of the line.
template <class H, class = void>
constexpr bool indexes = false;
template <class H>
constexpr bool indexes<H, std::void_t<decltype(std::declval<H>()[0])>> = true;
static_assert(indexes<const xformer::Hypotheses &> && !indexes<xformer::Hypotheses>);

static_assert(std::is_nothrow_copy_constructible_v<xformer::Error> &&
              std::is_base_of_v<std::runtime_error, xformer::Error> &&
              std::is_base_of_v<xformer::Error, xformer::Cancelled>);
static_assert(std::is_same_v<decltype(std::declval<xformer::Error>().status()), xf_status>);
static_assert(noexcept(std::declval<const xformer::Context &>().cancel()));
static_assert(noexcept(std::declval<xformer::CancelToken &>().cancel()));
static_assert(std::is_base_of_v<xf_batch, xformer::Batch> && std::is_standard_layout_v<xformer::Batch>);

// A span takes what is contiguous, and does not make const what is not.
using Numbers = xformer::span<const float>;
static_assert(std::is_convertible_v<std::vector<float> &, xformer::span<float>>);
static_assert(std::is_convertible_v<std::vector<float>, Numbers> &&
              std::is_convertible_v<xformer::span<float>, Numbers>);
static_assert(std::is_convertible_v<const std::array<float, 3> &, Numbers> &&
              std::is_convertible_v<float (&)[3], Numbers>);
static_assert(!std::is_convertible_v<const std::vector<float> &, xformer::span<float>>);
static_assert(!std::is_convertible_v<std::vector<float>, xformer::span<float>>);
static_assert(!std::is_convertible_v<std::vector<double> &, Numbers> &&
              !std::is_convertible_v<Numbers, xformer::span<float>>);

TEST(spans) {
    std::vector<int> numbers{3, 1, 2};
    const xformer::span<int> all(numbers);
    all[1] = 7;
    int sum = 0;
    for (const int number : all) sum += number;
    CHECK(sum == 12 && numbers[1] == 7 && all.size() == 3 && !all.empty() && all.data() == numbers.data());
    const xformer::span<const int> two(numbers.data(), 2), none;
    CHECK(two.end() - two.begin() == 2 && none.empty() && none.data() == nullptr && none.size() == 0);
}

TEST(texts) {
    const std::string text = "a text";
    CHECK(xformer::CString(text).c_str() == text.c_str() && xformer::CString("b").c_str() == std::string("b"));
    const Path path("/some/where");
    CHECK(xformer::CString(path).c_str() == std::filesystem::path(path).string());
    const auto error = CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, xformer::CString(std::string("a\0b", 3)));
    CHECK(std::string(error.what()) == "byte 1 of 3 bytes of text is a NUL, expected none");
}

TEST(every_status_is_thrown) {
    const auto fail = +[](int status, xf_error *error) {
        *error = {status, 5, "a sentence of the library"};
        return static_cast<xf_status>(status);
    };
    for (const int status : {-1, -2, -3, -4, -5, -6, -20, -21, -22, -23, -24, -40, -41, -42, -43, -60, -61, -99, -77}) {
        try {
            xformer::detail::call(fail, status);
            FAIL("it returned");
        } catch (const xformer::Cancelled &error) {
            CHECK(status == XF_ERROR_CANCELLED && error.status() == XF_ERROR_CANCELLED);
        } catch (const xformer::Error &error) {
            CHECK(status != XF_ERROR_CANCELLED && error.status() == status && error.native_code() == 5);
            CHECK(error.what() == std::string("a sentence of the library"));
        }
    }
    CHECK(xformer::detail::call(fail, 0) == XF_OK && xformer::detail::call(fail, 1) == XF_DONE);
    CHECK(xformer::Error(XF_ERROR_DATA, "why").native_code() == 0);
}

TEST(configs) {
    xformer::Config config;
    config.preset("tiny").set("model.d_model", 96).set("train.dropout", 0.25F).set("data.shuffle", false);
    config.set("train.learning_rate", 2).set("model.norm", "pre").set("train.adam_beta2", "0.97").set("data.seed", 7U);
    config.set("model.seed", std::numeric_limits<long long>::max() >> 12).set("data.strict", std::string("true"));
    CHECK(config.value<std::int64_t>("model.d_model") == 96 && config.value<double>("train.dropout") == 0.25);
    CHECK(!config.value<bool>("data.shuffle") && config.value<bool>("data.strict"));
    CHECK(config.value<double>("train.learning_rate") == 2 && config.value<double>("train.adam_beta2") == 0.97);
    CHECK(config.value<std::string>("model.norm") == "pre" && config.value<std::string>("model.d_model") == "96");
    CHECK(config.value<std::int64_t>("model.seed") == std::numeric_limits<std::int64_t>::max() >> 12);

    xformer::Config copy = config, other;
    copy.set("model.d_model", 128);
    other = copy;
    CHECK(config.value<std::int64_t>("model.d_model") == 96 && other.value<std::int64_t>("model.d_model") == 128);
    const xformer::ConfigView view = other;
    CHECK(xformer::Config(view).value<std::int64_t>("model.d_model") == 128 && view.get() == other.get());
    const xformer::Config moved = std::move(other);
    CHECK(moved.value<std::int64_t>("model.d_model") == 128);
    const xformer::Config &self = copy;
    copy = self;
    CHECK(copy.value<std::string>("model.norm") == "pre");

    CHECK_THROWS(XF_ERROR_NOT_FOUND, config.set("model.d_modle", 3));
    CHECK_THROWS(XF_ERROR_NOT_FOUND, config.value<double>("no.such"));
    CHECK_THROWS(XF_ERROR_NOT_FOUND, config.preset("gigantic"));
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, config.set("train.dropout", 2.0));
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, config.set("model.norm", "sideways"));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, config.set("model.d_model", 1.5));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, config.set("model.d_model", true));
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, config.set("model.d_model", std::numeric_limits<unsigned long long>::max()));
    CHECK(config.value<double>("model.d_model") == 96);
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, config.value<double>("model.norm"));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, config.set("context.device", std::string("cpu\0x", 5)));
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, config.set("context.device", static_cast<const char *>(nullptr)));
}

TEST(the_table_of_options) {
    std::size_t count = 0;
    bool beam = false;
    for (const xf_option_info &row : xformer::options()) {
        ++count;
        if (row.type == XF_OPTION_REAL)  // 1e-6 and 1e-06
            CHECK(xformer::Config().value<double>(row.key) == std::stod(row.default_value));
        else
            CHECK(xformer::Config().value<std::string>(row.key) == row.default_value);
        beam = beam || (std::string(row.key) == "decode.beam" && row.type == XF_OPTION_INTEGER);
    }
    CHECK(beam && count == xformer::options().size() && count == xf_option_count() && !xformer::options().empty());
    CHECK(xformer::options()[3].key == std::next(xformer::options().begin(), 3).operator*().key);
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, xformer::options()[count]);
    CHECK(std::string(xformer::option("decode.beam").key) == "decode.beam");
    CHECK_THROWS(XF_ERROR_NOT_FOUND, xformer::option("decode.beem"));
}

TEST(sentences) {
    const std::string_view text = " Mr. Smith came.\nHe left. ";
    const std::vector<std::string_view> expected = {"Mr. Smith came.", "He left."};
    CHECK(xformer::split_sentences(text, "en") == expected);
    CHECK(xformer::split_sentences(text) == expected);
    CHECK(xformer::split_sentences(text, "en")[1].data() == text.data() + 17);
    CHECK(xformer::split_sentences(text, "en", 9).size() == 3);
    CHECK(xformer::split_sentences("").empty());
    std::string many;  // more than are expected in a text of this size
    for (int i = 0; i < 100; ++i) many += "A?\n";
    CHECK(xformer::split_sentences(many).size() == 100);
    CHECK_THROWS(XF_ERROR_DATA, xformer::split_sentences("a\xFF"));
}

}  // namespace
