// See summary.h. The shapes are those of transformer.cpp, lib/decode/step.cpp and lib/train/trainer.cpp.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/summary.h"

#include <algorithm>
#include <charconv>

#include "nn/arena.h"
#include "nn/packed_batch.h"

namespace xf {
namespace {

// Dry counts of one configuration on one device.
class Needs {
public:
    Needs(const ModelFile &file, Context &context)
        : table_(file.table()),
          c_(ModelConfig::from(file.options())),
          context_(context),
          filed_(file.weights_type()),
          kept_(context.weights_type(filed_)) {}

    // A model that is trained, or one as the context keeps it.
    int64_t trained_model() const { return block() + (context_.dtype() == XF_BF16 ? block() / 2 : 0) + sinusoids(); }
    int64_t model() const {
        return kept_ == XF_WEIGHTS_NUM ? trained_model() : NarrowLayout(table_, kept_).bytes() + sinusoids();
    }

    int64_t training(int64_t tokens, bool ema, bool activation_dropout) const {
        const int64_t rows = context_.graphs() ? row_bucket(tokens) : tokens;
        const int64_t state = (ema ? 4 : 3) * block();  // gradients, two moments, the average
        return with_scratch(trained_model() + state + batch(2 * rows) + stacks(rows, rows, true, activation_dropout)) +
               training_scratch(rows);
    }

    int64_t decoding(int64_t sentences, int64_t tokens, int64_t beam) const {
        const int64_t source = sentences * tokens, rows = sentences * beam;
        const int64_t steps = context_.graphs() ? bucket(tokens) : tokens;
        Arena arena(context_.dtype());
        arena.numbers(source * c_.decoder_layers, c_.kv_columns());  // keys and values of the sources
        // The cache grows by doubling, and while it does the old one is there, too.
        const int64_t columns = c_.q_columns() + c_.v_columns();
        arena.numbers(c_.decoder_layers * (steps + (steps + 1) / 2), rows * columns);
        arena.numbers(
            rows, 5 * c_.D + std::max(c_.qkv_columns(), c_.inner_columns()) + (c_.gated ? c_.F : 0) + c_.v_columns());
        arena.ints(3 * rows * steps);  // which ancestor is where
        const int64_t work = batch(source) + stacks(source, 0, false) + static_cast<int64_t>(arena.bytes());
        // Integers that become wider are there, too, while they are loaded.
        const int64_t loading = filed_ == XF_WEIGHTS_INT8 && kept_ != filed_ ? NarrowLayout(table_, filed_).bytes() : 0;
        return with_scratch(model() + std::max(work, loading)) + decoding_scratch(source, rows, beam);
    }

private:
    int64_t sinusoids() const {
        return c_.positions != Positions::kSinusoid ? 0 : c_.max_length * c_.D * int64_t{number_bytes(XF_FP32)};
    }
    int64_t block() const { return table_.total * static_cast<int64_t>(number_bytes(XF_FP32)); }

    // Ids, positions, groups by id.
    static int64_t batch(int64_t tokens) { return tokens * 8 * static_cast<int64_t>(sizeof(int32_t)); }

    // What the layers of both stacks write, in training with what the way back needs.
    int64_t stacks(int64_t S, int64_t T, bool train, bool activation_dropout = false) const {
        Arena arena(context_.dtype());
        const auto norm = [&](int64_t rows) {
            arena.numbers(rows, 2 * c_.D);
            if (train) arena.floats(rows, 2);
        };
        const auto attention = [&](int64_t rows, int64_t kv_rows) {
            arena.numbers(rows, kv_rows > 0 ? c_.q_columns() : c_.qkv_columns());
            arena.numbers(kv_rows, c_.kv_columns());
            arena.numbers(rows, c_.v_columns());
            if (train) arena.floats(rows, c_.H);
            norm(rows);
        };
        const bool apart = !c_.plain_relu() || activation_dropout;  // of the activation
        const auto feed_forward = [&](int64_t rows) {
            arena.numbers(rows, c_.F + (apart && (train || c_.gated) ? c_.inner_columns() : 0));
            norm(rows);
        };
        const auto held = [&](int64_t layers) { return train ? layers : std::min<int64_t>(layers, 2); };
        for (const int64_t rows : {S, T}) {
            arena.numbers(rows, c_.D);
            if (c_.embedding_norm) norm(rows);
            if (c_.pre_norm) norm(rows);
        }
        for (int64_t i = 0; i < held(c_.encoder_layers); ++i) {
            attention(S, 0);
            feed_forward(S);
        }
        for (int64_t i = 0; T > 0 && i < held(c_.decoder_layers); ++i) {
            attention(T, 0);
            attention(T, S);
            feed_forward(T);
        }
        if (train) {
            arena.floats(T, 2);
            arena.numbers(std::max(S, T), 4 * c_.D + c_.v_columns() + std::max(c_.qkv_columns(), c_.F));
            if (apart) arena.numbers(std::max(S, T), c_.inner_columns());
            arena.numbers(S, c_.kv_columns());
        }
        return static_cast<int64_t>(arena.bytes());
    }

    // And scratch of the kernels, which only a backend knows: what was measured of the CPU's, and something more.
    static int64_t with_scratch(int64_t bytes) { return bytes + bytes / 10; }

    // On a CPU: each worker's logits of a panel of the vocabulary and its best of each row, widened weights of 16 bits;
    // the packed source of a map, which some CPUs make; in bf16 the widened source of a map.
    int64_t decoding_scratch(int64_t source, int64_t rows, int64_t beam) const {
        if (!context_.device().host_memory()) return 0;
        constexpr int64_t kRows = 256, kPanel = 512, kWide = int64_t{256} << 10, kMostLists = int64_t{64} << 20;
        constexpr int64_t kPacked = 768;
        const bool narrow = context_.dtype() == XF_BF16;
        const bool half = narrow || kept_ == XF_WEIGHTS_BF16 || kept_ == XF_WEIGHTS_FP16;
        const auto fp32 = static_cast<int64_t>(number_bytes(XF_FP32));
        const int64_t workers = context_.pool().workers(), held = std::min(rows, kRows);
        const int64_t lists = std::min(kMostLists, workers * held * (2 * beam + 8) * 2 * fp32);
        const int64_t largest = std::max(source, rows), packed = std::min(largest, kPacked);
        return workers * (held * kPanel * fp32 + (half ? kWide : 0)) + lists +
               (packed + (narrow ? largest : 0)) * std::max(c_.D, c_.F) * fp32;
    }

    // The logits of a chunk of rows and their gradients; packed panels of the products and of their gradients, which
    // are larger for many workers, and those that each packs for itself; in bf16 the sums of a product that is cut. On
    // a GPU: the logits of a piece where the gradients have a type of their own, the gradients of the rows that are
    // gathered (docs/ops/loss.md); the memory of the matrix library and of uploads.
    int64_t training_scratch(int64_t rows) const {
        const auto fp32 = static_cast<int64_t>(number_bytes(XF_FP32));
        const bool narrow = context_.dtype() == XF_BF16;
        if (context_.device().host_memory()) {
            constexpr int64_t kChunk = 1024, kPanels = int64_t{16} << 20, kTallest = 256, kDepth = 512;
            const int64_t workers = context_.pool().workers();
            const int64_t own = std::min(kTallest, std::max({c_.V, c_.F, rows}) / workers) + 16;
            const int64_t chunk = std::min(rows, kChunk);
            const int64_t largest = std::max(c_.V * (c_.D + chunk), rows * (c_.F + c_.D)) * fp32;  // both operands
            const int64_t most = kPanels * std::clamp<int64_t>(workers / 16, 1, 4);
            const int64_t panels = std::min(most, std::max(kPanels, largest)) + kPanels / 4;
            return chunk * c_.V * fp32 + panels +
                   (workers * own * (narrow ? 2 : 1) * kDepth + (narrow ? rows * c_.D : 0)) * fp32;
        }
        constexpr int64_t kPiece = int64_t{10} << 20, kGathered = 10240, kWidth = 40960, kLibrary = int64_t{64} << 20;
        int64_t gathered = (narrow ? kGathered : kGathered / 2) * std::min(c_.V, kWidth);
        gathered = std::min(gathered, rows * c_.V) * static_cast<int64_t>(number_bytes(context_.dtype()));
        const int64_t scratch = (narrow ? std::min(kPiece, rows * c_.V) * fp32 : 0) + gathered;
        return scratch + scratch / 8 + kLibrary;  // it grows in steps of up to an eighth
    }

    const ParameterTable &table_;
    ModelConfig c_;
    Context &context_;
    uint32_t filed_, kept_;
};

int64_t step_of(const ModelFile &file) {
    if (file.kind() != "checkpoint") return -1;
    const std::string &text = file.require("step");
    int64_t step = -1;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), step);
    XF_CHECK(result.ec == std::errc() && result.ptr == text.data() + text.size() && step >= 0, XF_ERROR_CORRUPT,
             "'%s': metadata 'step' is '%.32s', expected a number", file.path().c_str(), text.c_str());
    return step;
}

}  // namespace

ModelSummary summarise(const ModelFile &file, Context &context, const Options &options) {
    const Needs needs(file, context);
    ModelSummary s{};
    for (const Parameter &p : file.table().list) s.parameters += p.size();
    s.vocab_size = file.options().i64("model.vocab_size");
    s.file_bytes = static_cast<int64_t>(file.bytes());
    const int64_t longest = std::min(options.i64("data.max_tokens"), file.options().i64("model.max_length"));
    s.decode_bytes = needs.decoding(options.i64("decode.batch_sentences"), longest, options.i64("decode.beam"));
    s.train_bytes = needs.training(options.i64("data.batch_tokens"), options.f64("train.ema") > 0,
                                   options.f64("train.activation_dropout") > 0);
    s.step = step_of(file);
    s.has_tokenizer = !file.contents().tokenizer.empty();
    s.precision = weights_name(file.weights_type());
    return s;
}

}  // namespace xf
