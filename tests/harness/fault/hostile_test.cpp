// Well-formed files with a correct checksum and a hostile content: what the checksum can't catch.
//
// A good checkpoint is taken apart, one thing about it is changed, and it is put together again by the library's own
// writer. Each is refused with the status its kind of lie has, before a tensor is allocated; or it is a strange file
// that may be loaded, and then training and decoding end with a status.
//
// SPDX-License-Identifier: Apache-2.0

#include "hostile.hpp"

namespace {

using namespace xf_hostile;

auto set(const char *key, const char *value) {
    return [=](Content &c) { c.metadata[key] = value; };
}
auto lack(const char *key) {
    return [=](Content &c) { c.metadata.erase(key); };
}

#define CHECK_SAYS(w, sentence) CHECK(std::string((w).error.message).find(sentence) != std::string::npos)

XF_TEST(configurations) {
    World w;
    const std::pair<const char *, std::vector<const char *>> corrupt[] = {
        {"model.d_model", {"65536", "9", "0", "-8", "8.0", "", "99999999999999999999"}},
        {"model.d_ff", {"262144"}},
        {"model.heads", {"0", "1", "1024"}},
        {"model.d_k", {"0"}},
        {"model.encoder_layers", {"0", "2", "1024"}},
        {"model.decoder_layers", {"1024"}},
        {"model.vocab_size", {"0", "3", "281", "1048576", "1048577"}},
        {"model.norm", {"pre", "two\nlines\x1b"}},
        {"model.positions", {"learned", "none"}},
        {"model.norm_epsilon", {"nan", "0"}},
        {"model.max_length", {"0", "1048577"}},
        {"model.window", {"-1"}},
        {"train.dropout", {"2"}},
        {"train.adam_beta2", {"1"}},
        {"train.schedule", {"none"}},
    };
    for (const auto &[key, values] : corrupt)
        for (const char *value : values)
            w.refused(XF_ERROR_CORRUPT, xf::format("%s = %.20s", key, value).c_str(), set(key, value));
    w.refused(XF_ERROR_VERSION, "an unknown option", set("model.rotary", "true"));
    w.refused(XF_ERROR_VERSION, "an unknown option", set("train.two\nlines", "true"));
    w.refused(XF_ERROR_CORRUPT, "no vocabulary size", lack("model.vocab_size"));
    // Within the bounds of each option, but not of their product.
    w.refused(XF_ERROR_LIMIT, "d_k 65536, heads 1024", [](Content &c) {
        c.metadata["model.d_k"] = "65536";
        c.metadata["model.heads"] = "1024";
    });
    w.refused(XF_ERROR_LIMIT, "d_model 65536, max_length 1048576", [](Content &c) {
        c.metadata["model.d_model"] = "65536";
        c.metadata["model.max_length"] = "1048576";
    });
    w.refused(XF_ERROR_LIMIT, "positions of 32 MiB for parameters of 20 kB", set("model.max_length", "1048576"));
}

XF_TEST(headers_of_the_format) {
    World w;
    w.refused(XF_ERROR_CORRUPT, "another format", set("format", "pt"));
    w.refused(XF_ERROR_CORRUPT, "no format", lack("format"));
    w.refused(XF_ERROR_VERSION, "a later version", set("format_version", "2"));
    w.refused(XF_ERROR_VERSION, "a version with a line end", set("format_version", "1\n"));
    w.refused(XF_ERROR_CORRUPT, "no version", lack("format_version"));
    w.refused(XF_ERROR_VERSION, "an unknown kind", set("kind", "two\nlines"));
    w.refused(XF_ERROR_CORRUPT, "no kind", lack("kind"));
    w.refused(XF_ERROR_CORRUPT, "a model with moments", set("kind", "model"));
    w.refused(XF_ERROR_CORRUPT, "nothing but metadata", [](Content &c) { c.tensors.clear(); });
    w.refused(XF_ERROR_CORRUPT, "nothing at all", [](Content &c) { c = {}; });
    w.refused(
        XF_ERROR_INVALID_ARGUMENT, "a model without moments",
        [](Content &c) {
            c.drop("adam.");
            c.metadata["kind"] = "model";
        },
        false);
}

XF_TEST(tensors) {
    World w;
    const char *const name = "encoder.0.feed_forward.in.weight";
    w.refused(XF_ERROR_CORRUPT, "a missing tensor", [&](Content &c) { c.tensors.erase(name); });
    w.refused(XF_ERROR_CORRUPT, "an extra tensor", [&](Content &c) { c.tensors["extra"] = c.tensors[name]; });
    w.refused(XF_ERROR_CORRUPT, "a renamed tensor", [&](Content &c) {
        c.tensors["encoder.1.feed_forward.in.weight"] = c.tensors[name];
        c.tensors.erase(name);
    });
    w.refused(XF_ERROR_CORRUPT, "a tensor of another rank", [&](Content &c) { c.tensors[name].shape = {8, 8, 1}; });
    w.refused(XF_ERROR_CORRUPT, "a flat tensor", [&](Content &c) { c.tensors[name].shape = {64}; });
    w.refused(XF_ERROR_CORRUPT, "a tensor of another shape", [&](Content &c) { c.tensors[name].shape = {4, 16}; });
    CHECK_SAYS(w, "has the shape [4, 16], expected [8, 8]");
    w.refused(XF_ERROR_CORRUPT, "a vector of another shape", [](Content &c) {
        c.tensors["encoder.0.feed_forward.in.bias"].shape = {2, 4};
    });
    CHECK_SAYS(w, "has the shape [2, 4], expected [8]");
    w.refused(XF_ERROR_CORRUPT, "a tensor of another type", [&](Content &c) { c.tensors[name].dtype = "I32"; });
    w.refused(XF_ERROR_CORRUPT, "an empty tensor", [&](Content &c) { c.tensors[name] = {"F32", {0, 8}, {}}; });
    w.refused(XF_ERROR_CORRUPT, "a tensor of 2^40 columns and no row", [&](Content &c) {
        c.tensors[name] = {"F32", {0, int64_t{1} << 40}, {}};
    });
    w.refused(XF_ERROR_CORRUPT, "no moments", [](Content &c) { c.drop("adam."); });
    w.refused(XF_ERROR_CORRUPT, "no second moments", [](Content &c) { c.drop("adam.v."); });
    w.refused(XF_ERROR_CORRUPT, "moments of another shape", [&](Content &c) {
        c.tensors[std::string("adam.m.") + name].shape = {4, 16};
    });
    w.refused(XF_ERROR_CORRUPT, "small tensors for a large configuration", [](Content &c) {
        c.metadata["model.d_model"] = "65536";
        for (auto &[key, tensor] : c.tensors) tensor = {"F32", {1}, std::vector<char>(4)};
    });
}

// 16 bits are for exported models; what they widen to is looked at as what was fp32 all along.
XF_TEST(low_precision_tensors) {
    World w;
    const char *const name = "encoder.0.feed_forward.in.weight";
    for (const char *dtype : {"F16", "BF16"}) {
        const auto narrow = [=](Content &c, const char *which, uint16_t half) {
            Tensor &tensor = c.tensors[which];
            std::vector<char> bytes(tensor.bytes.size() / 2);
            for (size_t at = 0; at < bytes.size(); at += 2) std::memcpy(bytes.data() + at, &half, 2);
            tensor = {dtype, tensor.shape, bytes};
        };
        w.refused(XF_ERROR_CORRUPT, "narrow moments",
                  [&](Content &c) { narrow(c, "adam.m.encoder.0.feed_forward.in.weight", 0); });
        w.refused(XF_ERROR_CORRUPT, "a narrow checkpoint", [&](Content &c) { narrow(c, name, 0); });
        // One, the largest number, then infinity, minus infinity, NaN.
        const bool fp16 = std::string_view(dtype) == "F16";
        const std::vector<uint16_t> good =
            fp16 ? std::vector<uint16_t>{0x3C00, 0x7BFF} : std::vector<uint16_t>{0x3F80, 0x7F7F};
        const std::vector<uint16_t> bad =
            fp16 ? std::vector<uint16_t>{0x7C00, 0xFC00, 0x7E00} : std::vector<uint16_t>{0x7F80, 0xFF80, 0x7FC0};
        const auto load = [&](uint16_t half) {
            w.write([&](Content &c) {
                c.drop("adam.");
                c.metadata["kind"] = "model";
                narrow(c, name, half);
            });
            OWNED(model) *model = nullptr;
            const xf_source source = source_path(w.path.c_str());
            return xf_model_load(w.context, &source, w.config, nullptr, &model, &w.error);
        };
        for (const char *weights : {"fp32", fp16 ? "fp16" : "bf16"}) {
            w.need(xf_config_set(w.config, "model.weights", weights, &w.error));
            for (const uint16_t half : good) CHECK_EQ(load(half), XF_OK);
            for (const uint16_t half : bad) CHECK_EQ(load(half), XF_ERROR_CORRUPT);
        }
    }
}

// 8 bits, each row of a matrix with its scale: the form is looked at before anything is allocated, the numbers after.
XF_TEST(int8_tensors) {
    World w;
    const std::string name = "encoder.0.feed_forward.in.weight", scale = name + "_scale";
    const std::string vector = "encoder.0.feed_forward.in.bias";
    const auto with = [](const std::function<void(Content &)> &change) {
        return [change](Content &c) {
            c.drop("adam.");
            c.metadata["kind"] = "model";
            std::map<std::string, Tensor> scales;
            for (auto &[key, tensor] : c.tensors) {
                if (tensor.shape.size() != 2) continue;
                tensor = {"I8", tensor.shape, std::vector<char>(tensor.bytes.size() / sizeof(float), 3)};
                const auto rows = static_cast<size_t>(tensor.shape[0]);
                scales[key + "_scale"] = {"F32", {tensor.shape[0]}, std::vector<char>(rows * sizeof(float), 0x3C)};
            }
            c.tensors.merge(scales);
            change(c);
        };
    };
    const auto refused = [&](const char *what, const char *says, const std::function<void(Content &)> &change) {
        w.refused(XF_ERROR_CORRUPT, what, with(change));
        CHECK_SAYS(w, says);
    };
    const auto bytes_of = [](const Tensor &tensor) { return std::vector<char>(tensor.bytes.size()); };
    refused("no scale", "does not have the tensor 'encoder.0.feed_forward.in.weight_scale'",
            [&](Content &c) { c.tensors.erase(scale); });
    refused("a scale too few", "has the shape [7], expected [8]", [&](Content &c) {
        c.tensors[scale] = {"F32", {7}, std::vector<char>(7 * sizeof(float))};
    });
    refused("one scale for all", "has the shape [], expected [8]", [&](Content &c) {
        c.tensors[scale] = {"F32", {}, std::vector<char>(sizeof(float))};
    });
    refused("scales in columns", "has the shape [8, 1], expected [8]", [&](Content &c) {
        c.tensors[scale].shape = {8, 1};
    });
    for (const char *dtype : {"F16", "BF16"})
        refused("narrow scales", "expected F32", [&](Content &c) {
            c.tensors[scale] = {dtype, {8}, std::vector<char>(8 * sizeof(uint16_t))};
        });
    refused("integer scales", "has type I32, expected F32", [&](Content &c) { c.tensors[scale].dtype = "I32"; });
    refused("a scale of no matrix", "tensors, expected",
            [&](Content &c) { c.tensors["encoder.1.feed_forward.in.weight_scale"] = c.tensors[scale]; });
    refused("a vector with a scale", "tensors, expected", [&](Content &c) {
        c.tensors[vector + "_scale"] = {"F32", {1}, std::vector<char>(sizeof(float))};
    });
    refused("a vector of I8", "has type I8, expected F32", [&](Content &c) {
        c.tensors[vector] = {"I8", {8}, std::vector<char>(8)};
    });
    refused("a narrow vector", "has type F16, expected F32", [&](Content &c) {
        c.tensors[vector] = {"F16", {8}, std::vector<char>(16)};
    });
    refused("bytes without sign", "has type U8, expected I8", [&](Content &c) { c.tensors[name].dtype = "U8"; });
    refused("a wide matrix among them", "has type F32, expected I8", [&](Content &c) {
        c.tensors[name] = {"F32", {8, 8}, std::vector<char>(64 * sizeof(float))};
    });
    w.refused(XF_ERROR_CORRUPT, "a scale beside fp32", [&](Content &c) {
        c.tensors[scale] = {"F32", {8}, std::vector<char>(8 * sizeof(float))};
    });
    // Neither the parameters nor the moments of a checkpoint can be int8.
    for (const std::string &which : {name, "adam.m." + name})
        w.refused(XF_ERROR_CORRUPT, "8 bits in a checkpoint", [&](Content &c) {
            c.tensors[which] = {"I8", {8, 8}, bytes_of(c.tensors[name])};
            c.tensors[which].bytes.resize(64);
        });

    // Numbers. Every type of context gets the same answer, and gives back what it took.
    struct {
        float scale;
        int8_t q;
        xf_status status;
    } const numbers[] = {{0.01f, -127, XF_OK},
                         {0.01f, 127, XF_OK},
                         {0.01f, -128, XF_ERROR_CORRUPT},
                         {0.0f, 5, XF_OK},  // a row of zeros
                         {1e-45f, 5, XF_OK},
                         {-1e-45f, 5, XF_ERROR_CORRUPT},
                         {-0.01f, 5, XF_ERROR_CORRUPT},
                         {2.6e36f, 127, XF_OK},
                         {2.7e36f, 1, XF_ERROR_CORRUPT},  // times 127 it is infinite
                         {std::numeric_limits<float>::infinity(), 5, XF_ERROR_CORRUPT},
                         {-std::numeric_limits<float>::infinity(), 5, XF_ERROR_CORRUPT},
                         {std::numeric_limits<float>::quiet_NaN(), 5, XF_ERROR_CORRUPT}};
    for (const char *weights : {"same", "fp32", "bf16"}) {
        OWNED(config) *config = nullptr;
        OWNED(context) *context = nullptr;
        w.need(xf_config_copy(w.config, &config, &w.error));
        w.need(xf_config_set(config, "model.weights", weights, &w.error));
        w.need(xf_context_create(config, nullptr, &context, &w.error));
        const xf_source source = source_path(w.path.c_str());
        const auto held = [&] {
            xf_memory_stats stats{};
            stats.struct_size = sizeof stats;
            w.need(xf_context_get_memory(context, &stats, &w.error));
            return stats.current;
        };
        const int64_t before = held();
        for (const auto &n : numbers) {
            w.write(with([&](Content &c) {
                c.floats(scale)[7] = n.scale;
                c.tensors[name].bytes[63] = static_cast<char>(n.q);
            }));
            xf_model *model = nullptr;
            CHECK_EQ(xf_model_load(context, &source, config, nullptr, &model, &w.error), n.status);
            CHECK_EQ(model == nullptr, n.status != XF_OK);
            if (n.status != XF_OK) {
                CHECK_SAYS(w, n.q == -128 ? "the value -128" : "a scale that is negative, not finite, or too large");
                CHECK_SAYS(w, n.q == -128 ? name : scale);
            }
            xf_model_free(model);
            CHECK_EQ(held(), before);
        }
    }
}

XF_TEST(optimizer_state) {
    World w;
    const char *const wrong[] = {
        "-1", "-9223372036854775808", "9223372036854775807", "9223372036854775808", "1e3", " 1", "", "one\n"};
    for (const char *key : {"step", "position.epoch", "position.batch", "position.batches"}) {
        for (const char *value : wrong) w.refused(XF_ERROR_CORRUPT, key, set(key, value), false);
        w.refused(XF_ERROR_CORRUPT, key, lack(key), false);
    }
    for (const char *value : {"", "-1", "xyz", "0x12", "11112222333344445"})
        w.refused(XF_ERROR_CORRUPT, "fingerprint", set("position.fingerprint", value), false);
    w.refused(XF_ERROR_CORRUPT, "fingerprint", lack("position.fingerprint"), false);
}

XF_TEST(tokenizers) {
    World w;
    const std::string json = w.good.metadata.at("tokenizer");
    const auto tokenizer = [&](const std::string &text) { return set("tokenizer", text.c_str()); };
    for (const std::string &text : {std::string("{"), std::string("[]"), json + "x", json.substr(0, json.size() / 2),
                                    std::string(100000, '['), std::string("null")}) {
        const std::string kept = text;
        w.refused(XF_ERROR_CORRUPT, "a broken tokenizer", [kept](Content &c) { c.metadata["tokenizer"] = kept; });
    }
    std::string later = json;
    later.replace(later.find("\"version\":1"), 11, "\"version\":2");
    w.write(tokenizer(later));
    xf_model *model = nullptr;
    CHECK_EQ(load_model(w.context, w.path.c_str(), &model, &w.error), XF_ERROR_VERSION);
    // One that is sound but has another number of tokens than the model.
    std::string other = json;
    const size_t merges = other.find("\"merges\":[[");
    CHECK(merges != std::string::npos);
    other.erase(merges + 10,
                other.find(']', merges) - merges - 9 + (other[other.find(']', merges) + 1] == ',' ? 1 : 0));
    w.write([&](Content &c) { c.metadata["tokenizer"] = other; });
    CHECK_EQ(load_model(w.context, w.path.c_str(), &model, &w.error), XF_ERROR_CORRUPT);
    CHECK(model == nullptr);
}

// User metadata of a model has limits when it is set; the same limits apply to a file.
XF_TEST(user_metadata) {
    World w;
    const size_t most = size_t{1} << 20;  // bytes of a value
    const auto fill = [](Content &c, int keys, size_t bytes) {
        for (int i = 0; i < keys; ++i) c.metadata[xf::format("user.%d", i)] = std::string(bytes, 'v');
    };
    w.refused(XF_ERROR_LIMIT, "1001 keys", [&](Content &c) { fill(c, 1001, 1); });
    CHECK_SAYS(w, "1000 metadata keys");
    w.refused(XF_ERROR_LIMIT, "16 MiB of values and the keys", [&](Content &c) { fill(c, 16, most); });
    CHECK_SAYS(w, "expected at most 16777216");
    w.refused(XF_ERROR_CORRUPT, "a value of 1 MiB and a byte", [&](Content &c) { fill(c, 1, most + 1); });
    CHECK_SAYS(w, "1048577 bytes");
    const auto text = [&](const std::string &key, const std::string &value) {
        return [=](Content &c) { c.metadata["user." + key] = value; };
    };
    w.refused(XF_ERROR_CORRUPT, "a key of 257 bytes", text(std::string(257, 'k'), "v"));
    w.refused(XF_ERROR_CORRUPT, "no key", text("", "v"));
    w.refused(XF_ERROR_CORRUPT, "a NUL in a value", text("key", std::string("a\0b", 3)));
    w.refused(XF_ERROR_CORRUPT, "a NUL in a key", text(std::string("a\0b", 3), "v"));
    w.refused(XF_ERROR_CORRUPT, "a key with a line end, and a NUL in its value",
              text("two\nlines\x1b", std::string("\0", 1)));

    // As much as there may be, and a key that is the name of an option: these are the host's own.
    w.write([&](Content &c) {
        fill(c, 999, 100);
        c.metadata["user.model.d_model"] = std::string(most, 'v');
    });
    OWNED(model) *model = nullptr;
    CHECK_EQ(load_model(w.context, w.path.c_str(), &model, &w.error), XF_OK);
    size_t length = 0;
    char key[257];
    CHECK_EQ(xf_model_get_metadata_key(model, 999, key, sizeof key, &length, &w.error), XF_OK);
    CHECK_EQ(xf_model_get_metadata_key(model, 1000, key, sizeof key, &length, &w.error), XF_DONE);
    std::string value(most + 1, ' ');
    CHECK_EQ(xf_model_get_metadata(model, "model.d_model", value.data(), value.size(), &length, &w.error), XF_OK);
    CHECK_EQ(length, most);
    int64_t width = 0;
    CHECK_EQ(get_integer(xf_model_config(model), "model.d_model", &width, &w.error), XF_OK);
    CHECK_EQ(width, 8);
    CHECK_EQ(xf_model_set_metadata(model, "one more", "v", &w.error), XF_ERROR_LIMIT);
}

// Numbers that would spread: a NaN among the moments turns weights into NaN without a bad gradient, and so does the
// square root of a negative second moment.
XF_TEST(nan_and_infinity_in_numbers) {
    World w;
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
    for (const auto &[name, tensor] : w.good.tensors) {
        const std::string key = name;
        const bool moment = key.starts_with("adam."), second = key.starts_with("adam.v.");
        for (const float value : {kNan, kInfinity, -kInfinity, -1e-30f}) {
            if (value == -1e-30f && !second) continue;
            w.write([&](Content &c) { c.floats(key)[0] = value; });
            OWNED(trainer) *trainer = nullptr;
            OWNED(model) *model = nullptr;
            CHECK_EQ(resume_trainer(w.context, w.path.c_str(), nullptr, &trainer, &w.error), XF_ERROR_CORRUPT);
            CHECK(std::string(w.error.message).find(key) != std::string::npos);
            CHECK_EQ(load_model(w.context, w.path.c_str(), &model, &w.error), moment ? XF_OK : XF_ERROR_CORRUPT);
        }
    }
}

// Moments so large that a step with finite loss and gradient makes weights infinite: such a checkpoint loads, but the
// result of the step must not replace a valid file.
XF_TEST(weights_that_become_infinite) {
    World w;
    w.write([&](Content &c) {
        c.metadata["train.learning_rate"] = "1000";
        c.metadata["train.warmup_steps"] = "1";
        for (auto &[name, tensor] : c.tensors) {
            if (name.starts_with("adam.m.")) c.floats(name)[0] = 3e38f;
            if (name.starts_with("adam.v.")) c.floats(name)[0] = 0;
        }
    });
    OWNED(trainer) *trainer = nullptr;
    OWNED(trainer) *before = nullptr;
    w.need(resume_trainer(w.context, w.path.c_str(), nullptr, &trainer, &w.error));
    CHECK_EQ(w.step(trainer), XF_OK);
    CHECK_EQ(save_trainer(trainer, nullptr, w.path.c_str(), &w.error), XF_ERROR_NONFINITE);
    CHECK_EQ(save_model(xf_trainer_model(trainer), nullptr, w.path.c_str(), &w.error), XF_ERROR_NONFINITE);
    CHECK(std::strstr(w.error.message, "nothing was saved") != nullptr);
    w.need(resume_trainer(w.context, w.path.c_str(), nullptr, &before, &w.error));
}

// Not lies, only odd: they load, or not, and whatever is done with them ends.
XF_TEST(unusual_but_valid_files) {
    World w;
    const auto use = [&](const char *what, xf_status expected_step) {
        OWNED(trainer) *trainer = nullptr;
        OWNED(decoder) *decoder = nullptr;
        OWNED(hypotheses) *found = nullptr;
        const char *texts[] = {"one two"};
        if (resume_trainer(w.context, w.path.c_str(), nullptr, &trainer, &w.error) != XF_OK)
            return xf_test::record(__FILE__, __LINE__, xf::format("%s: %s", what, w.error.message));
        CHECK_EQ(xf_decoder_create(xf_trainer_model(trainer), nullptr, nullptr, &decoder, &w.error), XF_OK);
        CHECK_EQ(xf_translate(decoder, texts, nullptr, 1, nullptr, nullptr, &found, &w.error), XF_OK);
        CHECK_EQ(xf_hypotheses_sentence_count(found), 1u);
        CHECK_EQ(w.step(trainer), expected_step);
    };
    w.write([&](Content &c) {
        for (auto &[name, tensor] : c.tensors)
            if (!name.starts_with("adam.")) c.floats(name)[0] = 3e38f;
    });
    use("weights of which no sum is finite", XF_ERROR_NONFINITE);
    w.write(set("note", "an unknown key of no group"));
    use("an unknown key", XF_OK);
    w.write(set("step", "4294967296"));
    use("a step above 2^32", XF_OK);
    w.write([](Content &c) { c.metadata.erase("tokenizer"); });
    OWNED(model) *model = nullptr;
    OWNED(model) *none = nullptr;
    CHECK_EQ(load_model(w.context, w.path.c_str(), &model, &w.error), XF_OK);
    CHECK(xf_model_tokenizer(model) == nullptr);
    // The longest table of positions that is allowed with this width: it counts against the budget.
    OWNED(config) *config = nullptr;
    OWNED(context) *poor = nullptr;
    w.need(xf_config_copy(w.config, &config, &w.error));
    w.need(xf_config_set(config, "context.memory_budget", "10000000", &w.error));
    w.need(xf_context_create(config, nullptr, &poor, &w.error));
    w.write(set("model.max_length", "524288"));
    CHECK_EQ(load_model(poor, w.path.c_str(), &none, &w.error), XF_ERROR_NO_MEMORY);
    CHECK(none == nullptr);
}

}  // namespace
