// The end of a training step on the device: it decides what the host would decide, and the host waits once.
//
// SPDX-License-Identifier: Apache-2.0

#include "cuda_host/device_fixture.hpp"
#include "train/training.hpp"

namespace {

using namespace xf_test;

XF_TEST(losses_are_summed_in_fp64_over_batches) {
    Alone session;
    for (const size_t rows : {size_t{1}, size_t{1000}, size_t{2500}}) {
        std::vector<float> loss(rows), nll(rows);
        double want[2] = {0, 0};
        for (size_t i = 0; i < rows; ++i) {
            loss[i] = 1.0f + static_cast<float>(i % 7) * 0x1p-23f, nll[i] = static_cast<float>(i) * 0.25f;
            want[0] += double{loss[i]}, want[1] += double{nll[i]};
        }
        Array<float> l(session, loss), n(session, nll);
        Array<double> sums(session, {NAN, NAN, NAN, NAN});
        for (uint32_t batch = 0; batch < 3; ++batch) {
            const xf_sum_losses args{static_cast<int64_t>(rows), l.ptr, n.ptr, sums.ptr, batch};
            CHECK_EQ(table().sum_losses(session.stream, &args, nullptr), int32_t{XF_OK});
            const std::vector<double> got = sums.read();  // whole multiples of a power of two: exact in any order
            CHECK(got == (std::vector<double>{want[0], want[1], (batch + 1) * want[0], (batch + 1) * want[1]}));
        }
    }
}

XF_TEST(the_gate_decides_as_the_host_does) {
    Alone session;
    constexpr float kInfinite = std::numeric_limits<float>::infinity();
    struct Setting {
        float first;  // of the gradients
        double loss, scale, clip_norm;
        bool open;
    };
    for (const Setting &s : {Setting{1.0f, 3.0, 0.01, 0.0, true}, Setting{1.0f, 3.0, 0.01, 0.125, true},
                             Setting{1.0f, 3.0, 0.01, 1e9, true}, Setting{NAN, 3.0, 0.01, 1.0, false},
                             Setting{kInfinite, 3.0, 0.01, 1.0, false}, Setting{1.0f, NAN, 0.01, 0.0, false},
                             Setting{1.0f, double{kInfinite}, 0.01, 0.0, false}, Setting{3e19f, 3.0, 1.0, 0.0, false},
                             Setting{3e19f, 3.0, 1e-3, 0.0, true}}) {
        const int64_t count = s.clip_norm == 0.125 ? 20001 : 301;  // once more than a tile
        std::vector<float> grads(static_cast<size_t>(count));
        for (size_t i = 0; i < grads.size(); ++i) grads[i] = static_cast<float>(i % 100) / 7.0f - 5.0f;
        grads[0] = s.first;
        Array<float> g(session, grads);
        Array<double> sums(session, {0, 0, s.loss, 0}), verdict(session, {-1, -1, -1});
        const xf_gate args{count, g.ptr, sums.ptr, s.scale, 1e36, s.clip_norm, verdict.ptr};
        CHECK_EQ(table().gate(session.stream, &args, nullptr), int32_t{XF_OK});
        double squares = 0;
        const xf_sum_squares told{count, g.ptr, &squares};
        CHECK_EQ(table().sum_squares(session.stream, &told, nullptr), int32_t{XF_OK});
        const double norm = std::sqrt(squares) * s.scale;
        const std::vector<double> got = verdict.read();
        CHECK(got[0] == squares || (std::isnan(got[0]) && std::isnan(squares)));
        CHECK_EQ(got[1], s.open ? 1.0 : 0.0);
        if (s.open) CHECK_EQ(got[2], s.clip_norm > 0 && norm > s.clip_norm ? s.scale * (s.clip_norm / norm) : s.scale);

        // And adam obeys.
        const std::vector<float> ones(grads.size(), 1.0f);
        Array<float> p(session, ones), m(session, ones), v(session, ones), e(session, ones);
        Array<float> p2(session, ones), m2(session, ones), v2(session, ones), e2(session, ones);
        Array<float> g2(session, grads);
        xf_adam step{};
        step.n = count;
        step.params = p.ptr, step.grads = g.ptr, step.m = m.ptr, step.v = v.ptr, step.ema = e.ptr;
        step.alpha = 0.01f, step.beta1 = 0.9f, step.beta2 = 0.98f, step.eps_hat = 1e-9f, step.ema_rate = 0.5f;
        step.grad_scale = 77.0f;  // not looked at
        step.gate = verdict.ptr;
        CHECK_EQ(table().adam(session.stream, &step, nullptr), int32_t{XF_OK});
        if (s.open) {
            step.params = p2.ptr, step.grads = g2.ptr, step.m = m2.ptr, step.v = v2.ptr, step.ema = e2.ptr;
            step.grad_scale = static_cast<float>(got[2]);
            step.gate = nullptr;
            CHECK_EQ(table().adam(session.stream, &step, nullptr), int32_t{XF_OK});
            CHECK(p.read() != ones);
        }
        Array<float> *const pairs[][2] = {{&p, &p2}, {&m, &m2}, {&v, &v2}, {&e, &e2}};
        for (const auto &[mine, theirs] : pairs) CHECK(mine->read() == theirs->read());
        const std::vector<float> left = g.read(), zero(grads.size(), 0.0f);
        CHECK(s.open ? left == zero : std::memcmp(left.data(), grads.data(), g.bytes) == 0);
    }
}

XF_TEST(a_stream_waits_for_another_without_the_host) {
    Alone session;
    xf_stream *second = nullptr;
    CHECK_EQ(table().stream_create(session.device, XF_FP32, &second, nullptr), int32_t{XF_OK});
    constexpr size_t kBlock = size_t{4} << 20;  // page-locked memory of a stream's uploads
    const std::vector<float> old(kBlock / sizeof(float), 1.0f), fresh(old.size(), 2.0f);
    Array<float> from(session, old), to(session, fresh);
    const int64_t before = get("waits");
    CHECK_EQ(table().mem_copy(session.stream, to.ptr, from.ptr, to.bytes, nullptr), int32_t{XF_OK});
    CHECK_EQ(table().stream_wait(second, session.stream, nullptr), int32_t{XF_OK});
    CHECK_EQ(table().mem_upload(second, from.ptr, fresh.data(), from.bytes, nullptr), int32_t{XF_OK});
    CHECK_EQ(get("waits"), before);
    CHECK_EQ(table().stream_wait(session.stream, second, nullptr), int32_t{XF_OK});
    CHECK(from.read() == fresh);
    CHECK(to.read() == old);
    // After a download its buffer is available for the next upload without a wait.
    const int64_t fetched = get("waits");
    CHECK_EQ(table().mem_upload(second, to.ptr, fresh.data(), to.bytes, nullptr), int32_t{XF_OK});
    CHECK_EQ(get("waits"), fetched);
    CHECK_EQ(table().graph_begin(session.stream, nullptr), int32_t{XF_OK});
    CHECK_EQ(table().stream_wait(session.stream, second, nullptr), int32_t{XF_ERROR_STATE});
    table().stream_free(second);
}

XF_TEST(a_step_waits_once) {
    Task task;
    task.sentences = 4;
    for (const char *precision : {"fp32", "bf16"}) {
        const DeviceName name = {"cuda", "auto", true, precision};
        const auto trainer = make_trainer(open_device(name, 1), kTraining);
        const Batch first = task.batch(0), second = task.batch(1);
        const auto step = [&](size_t count) {
            const xf_batch views[] = {first.view(), second.view()};
            const int64_t before = get("waits");
            CHECK(std::isfinite(trainer->step(views, count).loss_sum));
            return get("waits") - before;
        };
        for (int i = 0; i < 3; ++i) step(2);  // memory is had, and calls are recorded
        CHECK_EQ(step(1), 1);
        CHECK_EQ(step(2), 1);
    }
}

}  // namespace
