// Compares the gradient of the whole model with finite differences of its loss, on every device, for every kind of
// layer.
//
// Each tensor is perturbed along its gradient (the largest change, so the most precise test), along a random direction
// (for errors orthogonal to the gradient), and in single elements.
//
// SPDX-License-Identifier: Apache-2.0
#include "nn/fixture.hpp"

namespace {

using namespace xf_test;

class GradientCheck {
public:
    GradientCheck(Net *net, const Pairs &pairs, const Dropout &key, std::string where)
        : net_(net),
          pairs_(pairs),
          key_(key),
          where_(std::move(where)),
          params_(net->params()),
          grads_(net->gradient(pairs, key)) {}

    void run() {
        Draw draw(99);
        for (const xf::Parameter &p : net_->model->table().list) {
            const auto n = static_cast<size_t>(p.size());
            const float *g = grads_.data() + p.offset;
            double norm = 0;
            for (size_t i = 0; i < n; ++i) norm += static_cast<double>(g[i]) * g[i];
            norm = std::sqrt(norm);
            CHECK(std::isfinite(norm));
            if (p.init == xf::Init::kSinusoid) {  // not trained
                CHECK_EQ(norm, 0.0);
                continue;
            }
            if (norm == 0) {
                record(__FILE__, __LINE__, where_ + ": " + p.name + " has no gradient");
                continue;
            }
            std::vector<double> direction(n);
            for (size_t i = 0; i < n; ++i) direction[i] = g[i] / norm;
            compare(p, direction, norm, norm, "along the gradient");
            double along = 0;
            for (size_t i = 0; i < n; ++i) {
                direction[i] = (draw.bits() & 1 ? 1 : -1) / std::sqrt(static_cast<double>(n));
                along += direction[i] * g[i];
            }
            compare(p, direction, along, norm, "along a random direction");
            for (int single = 0; single < 3; ++single) {
                const auto i = static_cast<size_t>(draw.between(0, p.size() - 1));
                std::fill(direction.begin(), direction.end(), 0);
                direction[i] = 1;
                compare(p, direction, g[i], norm, "in one number");
            }
        }
    }

private:
    // Fourth-order difference quotient. Its error is that of fp32 arithmetic, about 1e-6 / step.
    void compare(const xf::Parameter &p, const std::vector<double> &direction, double expected, double norm,
                 const char *how) {
        constexpr double kStep = 0.01;
        const auto at = [&](double step) {
            std::vector<float> moved = params_;
            for (size_t i = 0; i < direction.size(); ++i)
                moved[static_cast<size_t>(p.offset) + i] += static_cast<float>(step * direction[i]);
            net_->set_params(moved);
            return net_->loss(pairs_, key_);
        };
        const double found = (8 * (at(kStep) - at(-kStep)) - (at(2 * kStep) - at(-2 * kStep))) / (12 * kStep);
        net_->set_params(params_);
        const double tolerance = 0.01 * norm + 2e-3;
        if (std::fabs(found - expected) <= tolerance) return;
        record(__FILE__, __LINE__,
               xf::format("%s: %s %s: the loss moves by %s, the gradient says %s (its norm is %s)", where_.c_str(),
                          p.name.c_str(), how, xf::number(found).c_str(), xf::number(expected).c_str(),
                          xf::number(norm).c_str()));
    }

    Net *net_;
    const Pairs &pairs_;
    Dropout key_;
    std::string where_;
    std::vector<float> params_, grads_;
};

// Learned positions have as many rows as the longest sentence, so that each has a gradient.
Settings short_settings(const Variant &variant) { return with(variant.settings(), {{"model.max_length", "9"}}); }

// Weights of 1 and biases of 0 would hide errors. The inner biases of the feed-forward sub-layers keep every ReLU away
// from 0, where the difference quotient is meaningless: half of them are active.
void unsettle(Net *net) {
    Draw draw(17);
    std::vector<float> params = net->params();
    for (const xf::Parameter &p : net->model->table().list) {
        const bool inner = p.name.ends_with(".in.bias");
        for (int64_t i = 0; p.vector && i < p.size(); ++i)
            params[static_cast<size_t>(p.offset + i)] +=
                inner ? (i % 2 ? 4.0f : -4.0f) : 0.01f * static_cast<float>(draw.between(-20, 20));
    }
    net->set_params(params);
}

// Compares gradients of a GPU and of bf16 with those of ref, which finite differences verify. For finite differences,
// an emulated GPU is too slow and bf16 too coarse. Dropout masks are the same on all devices.
void compare_with_ref(Net *net, const Settings &settings, const Pairs &pairs, const Dropout &key,
                      const DeviceName &name, const std::string &where) {
    Net ref(open_device(kDevices[0], 1), settings);
    unsettle(&ref);
    const std::vector<float> expected = ref.gradient(pairs, key), found = net->gradient(pairs, key);
    const double whole = std::sqrt(std::inner_product(expected.begin(), expected.end(), expected.begin(), 0.0));
    for (const xf::Parameter &p : ref.model->table().list) {
        double error = 0, norm = 0;
        for (int64_t i = p.offset; i < p.offset + p.size(); ++i) {
            const double want = expected[static_cast<size_t>(i)], off = found[static_cast<size_t>(i)] - want;
            error += off * off;
            norm += want * want;
        }
        // A gradient much smaller than the others is noise in bf16.
        if (std::sqrt(error) <= (name.bf16() ? 6e-2 : 5e-5) * (std::sqrt(norm) + 0.05 * whole)) continue;
        record(__FILE__, __LINE__,
               xf::format("%s: %s differs by %s from ref, whose norm is %s", where.c_str(), p.name.c_str(),
                          xf::number(std::sqrt(error)).c_str(), xf::number(std::sqrt(norm)).c_str()));
    }
}

// The mask is a function of its key, so the loss with dropout has a gradient. golden compares gradients without
// dropout.
XF_TEST(gradients_are_those_of_the_loss) {
    const Dropout key{.rate = 0.2f, .attention_rate = 0.3f, .activation_rate = 0.25f, .seed = 5, .step = 3, .batch = 1};
    const Pairs pairs = random_pairs(1, 4, 9, 19);
    on_each_device(2, [&](const auto &context, const DeviceName &name) {
        for (const Variant &variant : kVariants) {
            Net net(context, short_settings(variant));
            unsettle(&net);
            const std::string where = name.text() + " " + variant.name;
            if (name.cuda() || name.bf16()) {
                compare_with_ref(&net, short_settings(variant), pairs, key, name, where);
                continue;
            }
            const double loss = net.loss(pairs, key);
            CHECK(std::fabs(loss - net.loss(pairs)) > 0.1);
            CHECK_EQ(net.loss(pairs, key), loss);
            GradientCheck(&net, pairs, key, where).run();
        }
    });
}

// Every rate and every part of the key affects the loss.
XF_TEST(every_part_of_the_dropout_key_reaches_the_loss) {
    const Pairs pairs = random_pairs(3, 4, 9, 19);
    Net net(any_device(), kVariants[1].settings());
    const Dropout base{.rate = 0.2f, .seed = 5, .step = 3};
    const double loss = net.loss(pairs, base);
    for (int part = 0; part < 5; ++part) {
        Dropout changed = base;
        if (part == 0) changed.seed ^= uint64_t{1} << 40;
        if (part == 1) ++changed.step;
        if (part == 2) ++changed.batch;
        if (part == 3) changed.attention_rate = 0.2f;
        if (part == 4) changed.activation_rate = 0.2f;
        CHECK(net.loss(pairs, changed) != loss);
    }
}

}  // namespace
