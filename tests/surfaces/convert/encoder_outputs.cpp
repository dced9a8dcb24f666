// Prints encoder outputs of a model for peers.sh. The library has no function for this.
//
//     encoder_outputs MODEL.xf DEVICE <ids >numbers
//
// Each input line has the decimal ids of a sentence. The output is the concatenation of one row-major array of floats,
// [tokens, d_model], per sentence.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "backend/context.h"
#include "nn/model_file.h"
#include "nn/transformer.h"

namespace {

void write_outputs(const xf::Model &model) {
    xf::Stream stream(model.context().device(), model.dtype());
    xf::Transformer network(model, stream);
    xf::PackedBatch packed;
    const xf::Call call;
    std::vector<int32_t> ids;
    std::vector<float> numbers;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        ids.clear();
        for (int32_t id; words >> id;) ids.push_back(id);
        const int64_t offsets[] = {0, static_cast<int64_t>(ids.size())};
        xf_batch batch{};
        batch.sentences = 1;
        batch.src_ids = ids.data();
        batch.src_offsets = offsets;
        packed.load(stream, model.config(), batch, xf::PackedBatch::Sides::kSource, false);
        network.prepare(packed, xf::PassKind::kInference, false);
        xf::Pass pass{model, stream, call};
        pass.invariant = true;
        numbers.resize(ids.size() * static_cast<size_t>(model.config().D));
        stream.download(numbers.data(), network.encode(pass, packed), numbers.size() * sizeof(float));
        std::fwrite(numbers.data(), sizeof(float), numbers.size(), stdout);
    }
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    try {
        xf::Options options;
        options.set("context.device", argv[2]);
        options.set("context.threads", "1");
        const auto context = std::make_shared<xf::Context>(options, nullptr);
        const xf::ModelFile file{std::string(argv[1])};
        const std::shared_ptr<xf::Model> model = file.make_model(context);
        xf::Stream stream(context->device(), context->dtype());
        file.load(*model, stream, {});
        write_outputs(*model);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "encoder_outputs: %s\n", error.what());
        return 1;
    }
    return std::fflush(stdout) == 0 ? 0 : 1;
}
