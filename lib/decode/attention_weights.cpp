// SPDX-License-Identifier: Apache-2.0
#include "decode/attention_weights.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace xf {

void attention_weights(const AttentionShape &shape, const float *q, int64_t ld_q, const float *k, int64_t ld_k,
                       float *weights) {
    std::vector<double> scores(shape.keys);  // may fail, so before weights are written
    float *row = weights;
    std::fill_n(weights, shape.count(), 0.0f);
    for (int64_t h = 0; h < shape.heads; ++h) {
        for (int64_t i = 0; i < shape.queries; ++i, row += shape.keys) {
            int64_t first = 0, last = shape.causal ? i + 1 : shape.keys;
            if (shape.window > 0) {
                first = std::max<int64_t>(first, i - shape.window / 2);
                last = std::min<int64_t>(last, i + shape.window / 2 + 1);
            }
            double top = -HUGE_VAL, sum = 0;
            for (int64_t j = first; j < last; ++j) {
                double product = 0;
                for (int64_t d = 0; d < shape.dk; ++d)
                    product += double{q[i * ld_q + h * shape.dk + d]} * k[j * ld_k + h * shape.dk + d];
                scores[j] = product * shape.scale;
                top = std::max(top, scores[j]);
            }
            for (int64_t j = first; j < last; ++j) sum += std::exp(scores[j] - top);
            for (int64_t j = first; j < last; ++j) row[j] = static_cast<float>(std::exp(scores[j] - top) / sum);
        }
    }
}

}  // namespace xf
