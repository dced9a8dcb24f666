// Messages of other ranks: one rank whose xf_comm returns messages from the input.
//
// Each message has a header of five numbers (lib/comm/communicator.h). Random headers are never valid, so most are made
// valid and followed by the data that this rank sent, the bytes of the input, or zeros: then only the content is
// hostile. Other messages consist entirely of bytes of the input, or the transport fails.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <map>
#include <utility>

#include "../../support/api.h"
#include "core/hash.h"
#include "core/utf8.h"
#include "fuzz.hpp"

namespace {

// As in experimental.h.
struct Head {
    uint64_t magic, number, size, hash;
    int32_t from, to;
};
constexpr uint64_t kMagic = 0x31306D6D6F436658u;

struct Others {
    fuzz::Choices choices;
    int32_t rank;
    std::map<int32_t, uint64_t> received;
    int exchanges = 0;
    bool aborted = false, closed = false;
};

void fill(Others *others, const xf_comm_part *sends, size_t send_count, const xf_comm_part &part, uint8_t how) {
    char *const bytes = static_cast<char *>(part.data);
    std::memset(bytes, 0, part.size);
    if (how % 4 == 0) return;
    if (how % 4 == 1) {
        const std::string_view own = others->choices.bytes(part.size);
        std::memcpy(bytes, own.data(), own.size());
        return;
    }
    // The same as was sent, with a few bytes changed now and then.
    for (size_t i = 0; i < send_count; ++i)
        if (sends[i].size == part.size && part.size != sizeof(Head)) std::memcpy(bytes, sends[i].data, part.size);
    if (how % 4 == 3) bytes[others->choices.below(part.size)] ^= static_cast<char>(others->choices.byte());
}

int32_t exchange(void *user, const xf_comm_part *sends, size_t send_count, const xf_comm_part *receives,
                 size_t receive_count, double, xf_error *err) {
    Others &others = *static_cast<Others *>(user);
    if (others.aborted || others.closed) fuzz::defect("an exchange after the ranks were aborted");
    if (++others.exchanges > 200) return XF_ERROR_PEER;
    const uint8_t kind = others.choices.byte();
    if (kind == 255) {
        std::snprintf(err->message, sizeof err->message, "%.*s", 200, std::string(others.choices.text()).c_str());
        return static_cast<int32_t>(others.choices.integer());
    }
    for (size_t i = 0; i < receive_count; ++i) {
        const xf_comm_part &part = receives[i];
        if (part.size == 0 || part.rank == others.rank) fuzz::defect("a part of %zu bytes", part.size);
        if (kind >= 248 || part.size != sizeof(Head)) {
            fill(&others, sends, send_count, part, kind >= 248 ? 1 : others.choices.byte());
            continue;
        }
        const bool has_body = i + 1 < receive_count && receives[i + 1].rank == part.rank;
        if (has_body) fill(&others, sends, send_count, receives[i + 1], others.choices.byte());
        const void *const body = has_body ? receives[i + 1].data : nullptr;
        const size_t size = has_body ? receives[i + 1].size : 0;
        const uint64_t number = others.received[part.rank]++;
        const Head head = {kMagic, number, size, xf::hash64(body, size, number), part.rank, others.rank};
        std::memcpy(part.data, &head, sizeof head);
        if (has_body) ++i;
    }
    return XF_OK;
}

void train(fuzz::Host *host, Others *others) {
    fuzz::Config config;
    fuzz::Context context;
    fuzz::Model model;
    fuzz::Trainer trainer, resumed;
    static const fuzz::ScratchFile file("ranks");
    JUDGED(xf_config_create, config.out());
    fuzz::set_small(config);
    JUDGED(xf_config_set, config, "model.vocab_size", "70");
    if (others->choices.flip()) JUDGED(xf_config_set, config, "train.ema", "0.5");
    if (JUDGED(xf_context_create, config, host->get(), context.out()) ||
        JUDGED(xf_model_create, context, nullptr, config, model.out()) ||
        JUDGED(xf_trainer_create, model, config, trainer.out()))
        return;
    for (int i = 0; i < 3; ++i) {
        const int64_t before = xf_trainer_step_count(trainer);
        const xf_status status = JUDGED(xf_train_step, trainer, &fuzz::kBatch, 1, nullptr, nullptr);
        if (status != XF_OK && xf_trainer_step_count(trainer) != before) fuzz::defect("a step that failed was counted");
    }
    fuzz::Model average;
    JUDGED(xf_trainer_copy_average, trainer, nullptr, average.out());
    if (JUDGED(save_trainer, trainer, nullptr, file.path()) == XF_OK && others->rank == 0)
        JUDGED(resume_trainer, context, file.path(), nullptr, resumed.out());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz::Host host;
    fuzz::Choices choices(data, size);
    const auto ranks = static_cast<int32_t>(2 + choices.below(3));
    Others others{choices, 0, {}};
    others.rank = static_cast<int32_t>(others.choices.below(static_cast<size_t>(ranks)));
    xf_comm comm = XF_COMM_INIT;
    comm.user = &others;
    comm.rank = others.rank;
    comm.size = ranks;
    comm.exchange = exchange;
    comm.abort = [](void *user, const char *reason) {
        if (xf::find_invalid_utf8(reason) != std::string_view::npos) fuzz::defect("a reason is not UTF-8");
        static_cast<Others *>(user)->aborted = true;
    };
    comm.close = [](void *user) {
        if (std::exchange(static_cast<Others *>(user)->closed, true)) fuzz::defect("the ranks are closed twice");
    };
    host.edit()->comm = &comm;
    train(&host, &others);
    if (!others.closed) fuzz::defect("the ranks are not closed");
    return 0;
}
