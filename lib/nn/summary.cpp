// See summary.h. The shapes are those of transformer.cpp, decoder_step.cpp, and lib/train.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/summary.h"

#include <algorithm>
#include <charconv>

#include "nn/transformer.h"

namespace xf {
namespace {

// Computes the memory that one configuration needs on one device.
class MemoryEstimate {
public:
    MemoryEstimate(const ModelFile &file, Context &context, const std::string &weights)
        : table_(file.table()),
          c_(ModelConfig::from(file.options())),
          context_(context),
          file_type_(file.weights_type()),
          weights_type_(context.weights_type(weights, file_type_)) {}

    // An fp32 model, and a model with the weights type of the context.
    int64_t trained_model() const { return block() + (context_.dtype() == XF_BF16 ? block() / 2 : 0) + sinusoids(); }
    int64_t model() const {
        return weights_type_ == XF_WEIGHTS_NUM ? trained_model()
                                               : LowPrecisionLayout(table_, weights_type_).bytes() + sinusoids();
    }

    int64_t training(int64_t tokens, bool ema, bool activation_dropout) const {
        const int64_t rows = context_.graphs() ? row_bucket(tokens) : tokens;
        const int64_t state = (ema ? 4 : 3) * block();  // gradients, two moments, moving average
        const PassKind kind = activation_dropout ? PassKind::kInnerDropout : PassKind::kTraining;
        return with_scratch(trained_model() + state + batch(2 * rows) + activations(kind, rows, rows)) +
               training_scratch(rows);
    }

    int64_t decoding(int64_t sentences, int64_t tokens, int64_t beam) const {
        const int64_t source = sentences * tokens, rows = sentences * beam;
        const int64_t steps = context_.graphs() ? bucket(tokens) : tokens;
        Arena arena(context_.dtype());
        arena.numbers(source * c_.decoder_layers, c_.kv_columns());  // keys and values of the encoder's output
        // An estimate of the cells: hypotheses share some, and while the pool grows, the old one also exists.
        const int64_t columns = c_.q_columns() + c_.v_columns();
        arena.numbers(c_.decoder_layers * (steps + (steps + 1) / 2), rows * columns);
        StackActivations acts;
        plan_stack(c_, Stack::kDecoder, PassKind::kInference, rows, 0, &arena, &acts);
        arena.ints(3 * rows * steps);  // numbers of cells
        const int64_t work = batch(source) + activations(PassKind::kInference, source, 0) + arena.bytes();
        // The matrices of an int8 file exist in addition while they are converted.
        const int64_t loading = file_type_ == XF_WEIGHTS_INT8 && weights_type_ != file_type_
                                    ? LowPrecisionLayout(table_, file_type_).bytes()
                                    : 0;
        return with_scratch(model() + std::max(work, loading)) + decoding_scratch(source, rows, beam);
    }

private:
    int64_t sinusoids() const {
        return c_.positions != Positions::kSinusoid ? 0 : c_.max_length * c_.D * number_bytes(XF_FP32);
    }
    int64_t block() const { return table_.total * number_bytes(XF_FP32); }

    // Ids, positions, and groups by id.
    static int64_t batch(int64_t tokens) { return tokens * 8 * int64_t{sizeof(int32_t)}; }

    // The activations of both stacks. T is 0 if only the encoder runs.
    int64_t activations(PassKind kind, int64_t S, int64_t T) const {
        Arena arena(context_.dtype());
        TransformerActivations acts;
        acts.plan(c_, kind, S, T, &arena);
        return arena.bytes();
    }

    // Adds the scratch memory of kernels, as measured for the CPU backends with a margin.
    static int64_t with_scratch(int64_t bytes) { return bytes + bytes / 10; }

    // On a CPU: for each worker, the logits of a panel of the vocabulary, the best continuations of each row, and
    // 16-bit weights as fp32; the packed source of a linear map; in bf16, its source as fp32.
    int64_t decoding_scratch(int64_t source, int64_t rows, int64_t beam) const {
        if (!context_.device().host_memory()) return 0;
        constexpr int64_t kRows = 256, kPanel = 512, kWeights = int64_t{256} << 10, kMaxLists = int64_t{64} << 20;
        constexpr int64_t kPacked = 768;
        const bool bf16 = context_.dtype() == XF_BF16;
        const bool half = bf16 || weights_type_ == XF_WEIGHTS_BF16 || weights_type_ == XF_WEIGHTS_FP16;
        const int64_t fp32 = number_bytes(XF_FP32);
        const int64_t workers = context_.pool().workers(), held = std::min(rows, kRows);
        const int64_t lists = std::min(kMaxLists, workers * held * (2 * beam + 8) * 2 * fp32);
        const int64_t largest = std::max(source, rows), packed = std::min(largest, kPacked);
        return workers * (held * kPanel * fp32 + (half ? kWeights : 0)) + lists +
               (packed + (bf16 ? largest : 0)) * std::max(c_.D, c_.F) * fp32;
    }

    // On a CPU: the logits of a chunk of rows and their gradients; packed panels of matrix products, shared (more for
    // many workers) and per worker; in bf16, the fp32 sums of a product that is split. On a GPU: the logits of a chunk
    // if gradients have another type, the gathered gradients of rows (docs/ops/loss.md), and the memory of the matrix
    // library and of uploads.
    int64_t training_scratch(int64_t rows) const {
        const int64_t fp32 = number_bytes(XF_FP32);
        const bool bf16 = context_.dtype() == XF_BF16;
        if (context_.device().host_memory()) {
            constexpr int64_t kChunk = 1024, kPanels = int64_t{16} << 20, kTallest = 256, kDepth = 512;
            const int64_t workers = context_.pool().workers();
            const int64_t own = std::min(kTallest, std::max({c_.V, c_.F, rows}) / workers) + 16;
            const int64_t chunk = std::min(rows, kChunk);
            const int64_t largest = std::max(c_.V * (c_.D + chunk), rows * (c_.F + c_.D)) * fp32;  // both operands
            const int64_t max_panels = kPanels * std::clamp<int64_t>(workers / 16, 1, 4);
            const int64_t panels = std::min(max_panels, std::max(kPanels, largest)) + kPanels / 4;
            return chunk * c_.V * fp32 + panels +
                   (workers * own * (bf16 ? 2 : 1) * kDepth + (bf16 ? rows * c_.D : 0)) * fp32;
        }
        constexpr int64_t kChunk = int64_t{10} << 20, kGathered = 10240, kWidth = 40960, kLibrary = int64_t{64} << 20;
        int64_t gathered = (bf16 ? kGathered : kGathered / 2) * std::min(c_.V, kWidth);
        gathered = std::min(gathered, rows * c_.V) * number_bytes(context_.dtype());
        const int64_t scratch = (bf16 ? std::min(kChunk, rows * c_.V) * fp32 : 0) + gathered;
        return scratch + scratch / 8 + kLibrary;  // allocations grow by up to an eighth
    }

    const ParameterTable &table_;
    ModelConfig c_;
    Context &context_;
    uint32_t file_type_, weights_type_;
};

int64_t step_of(const ModelFile &file) {
    if (file.kind() != "checkpoint") return -1;
    const std::string &text = file.require("step");
    int64_t step = -1;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), step);
    XF_CHECK(result.ec == std::errc() && result.ptr == text.data() + text.size() && step >= 0, XF_ERROR_CORRUPT,
             "'%s': the metadata 'step' is '%.32s', expected a nonnegative number", file.path().c_str(), text.c_str());
    return step;
}

}  // namespace

xf_model_summary summarize(const ModelFile &file, Context &context, const Options &options) {
    const MemoryEstimate memory(file, context, options.text("model.weights"));
    xf_model_summary s{};
    for (const Parameter &p : file.table().list) s.parameters += p.size();
    s.vocab_size = file.options().i64("model.vocab_size");
    s.file_bytes = file.bytes();
    const int64_t longest = std::min(options.i64("data.max_tokens"), file.options().i64("model.max_length"));
    s.decode_bytes = memory.decoding(options.i64("decode.batch_sentences"), longest, options.i64("decode.beam"));
    s.train_bytes = memory.training(options.i64("data.batch_tokens"), options.f64("train.ema") > 0,
                                    options.f64("train.activation_dropout") > 0);
    s.step = step_of(file);
    s.has_tokenizer = !file.contents().tokenizer.empty();
    s.weights = public_type(file.weights_type());
    return s;
}

}  // namespace xf
