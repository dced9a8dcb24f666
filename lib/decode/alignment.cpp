// SPDX-License-Identifier: Apache-2.0
#include "decode/alignment.h"

#include <algorithm>
#include <numeric>

#include "core/checked.h"
#include "decode/attention_weights.h"

namespace xf {
namespace {

constexpr int64_t kLayers = 2;  // the last layers, whose weights are averaged

// Attention of the decoder that stores the queries and keys of the last layers. On the device, each layer overwrites
// those of the previous one.
class RecordingAttention final : public Attention {
public:
    struct Layer {
        std::vector<float> q, kv;
    };

    RecordingAttention(InferenceModel *member, Num memory)
        : member_(*member), attention_(member->packed, Stack::kDecoder, memory) {}

    void self(const Pass &pass, int64_t layer, uint32_t site, const AttentionActivations &acts) override {
        attention_.self(pass, layer, site, acts);
    }
    void cross(const Pass &pass, int64_t layer, uint32_t site, const AttentionActivations &acts) override {
        attention_.cross(pass, layer, site, acts);
        const ModelConfig &c = pass.config();
        if (layer < c.decoder_layers - kLayers) return;
        layers.push_back({member_.read(acts.qkv, member_.packed.tgt.rows * c.q_columns()),
                          member_.read(acts.kv, member_.packed.src.rows * c.kv_columns())});
    }

    std::vector<Layer> layers;

private:
    InferenceModel &member_;
    PackedAttention attention_;
};

// Returns the index of the largest sum of each query. sums: [queries, keys].
std::vector<int32_t> largest(const std::vector<double> &sums, std::span<const int32_t> source, const ModelConfig &c) {
    std::vector<int32_t> indices(sums.size() / source.size(), -1);
    for (size_t t = 0; t < indices.size(); ++t) {
        double most = -1;
        for (size_t s = 0; s < source.size(); ++s) {
            const double sum = sums[t * source.size() + s];
            if (source[s] == c.tokens.end || c.languages.contains(source[s]) || !(sum > most)) continue;
            most = sum;
            indices[t] = static_cast<int32_t>(s);
        }
    }
    return indices;
}

void align_group(InferenceModel *member, std::span<const AlignmentTask> tasks, const Call &call) {
    const ModelConfig &c = member->model->config();
    std::vector<int32_t> ids[2];
    std::vector<int64_t> offsets[2] = {{0}, {0}};
    for (const AlignmentTask &task : tasks) {
        ids[0].insert(ids[0].end(), task.source.begin(), task.source.end());
        ids[1].insert(ids[1].end(), task.hypothesis->ids.begin(), task.hypothesis->ids.end());
        // The decoder does not receive the last token. PackedBatch uses it as the first input if it is a language.
        ids[1].back() = task.start_token;
        for (const int side : {0, 1}) offsets[side].push_back(std::ssize(ids[side]));
    }
    xf_batch batch XF_BATCH_INIT;
    batch.sentences = std::ssize(tasks);
    batch.src_ids = ids[0].data();
    batch.src_offsets = offsets[0].data();
    batch.tgt_ids = ids[1].data();
    batch.tgt_offsets = offsets[1].data();
    std::vector<int64_t> order(tasks.size());
    std::iota(order.begin(), order.end(), 0);

    PackedBatch &packed = member->packed;
    packed.load(member->stream, c, batch, order, PackedBatch::Sides::kBoth, c.tokens.start);
    member->network.prepare(packed, PassKind::kInference, true);
    const Pass pass = member->pass(call);
    RecordingAttention attention(member, member->network.encode(pass, packed));
    stack_fwd(pass, Stack::kDecoder, {packed.tgt.rows, packed.tgt.ids, packed.tgt.positions}, &attention,
              member->network.activations(Stack::kDecoder));

    std::vector<float> weights;
    std::vector<double> sums;
    for (size_t i = 0; i < tasks.size(); ++i) {
        const int64_t source = packed.src.host_begin[i], target = packed.tgt.host_begin[i];
        const AttentionShape shape{c.H,   c.d_k, packed.tgt.host_length[i], packed.src.host_length[i],
                                   false, 0,     c.attention_scale()};
        weights.resize(checked_cast<size_t>(shape.count()));
        sums.assign(checked_cast<size_t>(shape.queries * shape.keys), 0.0);
        for (const auto &[q, kv] : attention.layers) {
            attention_weights(shape, q.data() + target * c.q_columns(), c.q_columns(),
                              kv.data() + source * c.kv_columns(), c.kv_columns(), weights.data());
            // [heads, queries, keys]
            for (size_t k = 0; k < weights.size(); ++k) sums[k % sums.size()] += weights[k];
        }
        tasks[i].hypothesis->alignment = largest(sums, tasks[i].source, c);
    }
}

}  // namespace

void align(InferenceModel *member, std::span<const AlignmentTask> tasks, const Call &call) {
    constexpr int64_t kTokens = 4096;  // source and target tokens of a group; limits the workspace
    while (!tasks.empty()) {
        call.check();
        size_t count = 0;
        for (int64_t tokens = 0; count < tasks.size(); ++count) {
            tokens += std::ssize(tasks[count].source) + std::ssize(tasks[count].hypothesis->ids);
            if (count > 0 && tokens > kTokens) break;
        }
        // Without the deadline of the call, so that every hypothesis has an alignment.
        align_group(member, tasks.first(count), Call());
        tasks = tasks.subspan(count);
    }
}

}  // namespace xf
