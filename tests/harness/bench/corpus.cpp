// Measures an encoded corpus of any size (docs/benchmarks/data.md):
//
//   bench_corpus FOLDER PAIRS [CHUNK_PAIRS]
//
// Writes PAIRS pairs to FOLDER, unless it exists: ids below 37,000 with the frequencies of Zipf's law, and lengths as
// in translated news (log-normal, mean about 27). Then opens it, makes the first batch, and reads 1.5 chunks, and
// prints the seconds and the peak memory of the process.
//
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/philox.h"
#include "data/batcher.h"
#include "data/corpus_folder.h"

namespace {

using namespace xf;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double peak_mb() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

// The text is the number of the pair; it determines the ids.
void generate(const TextKey &key, std::string_view text, std::vector<int32_t> *ids) {
    const uint64_t pair = std::strtoull(std::string(text).c_str(), nullptr, 10);
    const auto draw = [&](uint32_t i, uint32_t stream) {
        return (static_cast<double>(philox(pair, i, stream, 0, 0).word[0]) + 0.5) / 4294967296.0;
    };
    const uint32_t side = key.side == Side::kTarget ? 1 : 0;
    const double normal = std::sqrt(-2 * std::log(draw(0, 2))) * std::cos(6.283185307 * draw(1, 2 + side));
    const auto length = static_cast<uint32_t>(std::min(250.0, std::max(1.0, std::exp(3.1 + 0.6 * normal))));
    for (uint32_t i = 0; i < length; ++i)  // density 1/x on [1, 37000)
        ids->push_back(static_cast<int32_t>(2 + std::exp(draw(i, 4 + side) * std::log(36990.0))));
    ids->push_back(1);
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: bench_corpus FOLDER PAIRS [CHUNK_PAIRS]\n");
        return 2;
    }
    const std::string folder = argv[1], text = folder + ".tsv";
    const int64_t pairs = std::atoll(argv[2]);
    ThreadPool pool(2);
    Encoders encoders{&pool, {generate, generate}, [] { return Metadata{{"tokenizer_sha256", "generated"}}; }};
    BatcherOptions options;
    if (argc > 3) options.chunk_pairs = std::atoll(argv[3]);
    if (!CorpusFolder::exists(folder)) {
        std::ofstream out(text);
        for (int64_t i = 0; i < pairs; ++i) out << i << '\t' << i << '\n';
        out.close();
        const double began = now();
        CorpusFolder::encode(folder, {text, ""}, {}, encoders, "{}", {}, {});
        std::printf("write        %.1f s\n", now() - began);
        std::filesystem::remove(text);
    }
    double began = now();
    const auto corpus = Corpus::from_folder(std::make_shared<CorpusFolder>(folder));
    std::printf("open         %.4f s, %lld pairs, %zu parts, peak %.0f MB\n", now() - began,
                static_cast<long long>(corpus->size()), corpus->folder()->parts().size(), peak_mb());
    began = now();
    const auto batcher = Batcher::create(corpus, encoders, options, nullptr, {}, {});
    Batch batch;
    if (!batcher->next(&batch)) return 1;
    std::printf("first batch  %.2f s after opening, peak %.0f MB\n", now() - began, peak_mb());
    const int64_t count = batcher->batches_in_chunk();
    began = now();
    double change = 0;
    int64_t tokens = 0;
    for (int64_t i = 1; i < count + count / 2; ++i) {
        const double at = now();
        if (!batcher->next(&batch)) return 1;
        tokens += static_cast<int64_t>(batch.tgt_ids.size());
        change = std::max(change, now() - at);
    }
    const double seconds = now() - began;
    std::printf(
        "1.5 chunks   %lld batches in %.2f s (%.0f tokens/s a side), of which the next chunk %.2f s, peak %.0f MB\n",
        static_cast<long long>(count + count / 2), seconds, static_cast<double>(tokens) / seconds, change, peak_mb());
    return 0;
}
