// Any bytes as text, through the public API: split into sentences, encoded and decoded by each kind of tokenizer, and
// measured by BLEU and chrF.
//
// The first byte says which tokenizer. One without normalisation gives back any bytes; one with it gives the same for
// what it gave; those of SentencePiece take anything.
//
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "../../support/api.h"
#include "core/utf8.h"
#include "fuzz.hpp"

namespace {

struct World : fuzz::World {
    std::vector<fuzz::Tokenizer> learnt, imported;  // of learnt, each third has no normalisation
    World() {
        fuzz::Corpus corpus;
        bool good =
            JUDGED(corpus_from_text, context, nullptr, fuzz::kPairs, sizeof fuzz::kPairs - 1, corpus.out()) == XF_OK;
        for (const char *kind : {"bpe", "wordpiece", "unigram"}) {
            for (const char *form : {"none", "nfc", "nfkc"}) {
                xf_config_set(config, "tokenizer.kind", kind, nullptr);
                xf_config_set(config, "tokenizer.normalization", form, nullptr);
                xf_config_set(config, "tokenizer.invalid_utf8", learnt.size() % 2 == 1 ? "error" : "replace", nullptr);
                xf_tokenizer **const out = learnt.emplace_back().out();
                good = good && JUDGED(xf_tokenizer_train, context, corpus, config, nullptr, out) == XF_OK;
            }
        }
        for (const char *name : {"bpe", "bpe-symbols", "unigram", "unigram-suffix", "unigram-symbols"}) {
            const std::string path = std::string(XF_FUZZ_MODELS) + "/" + name + ".json";
            xf_tokenizer **const out = imported.emplace_back().out();
            good = good && JUDGED(load_tokenizer, context, path.c_str(), out) == XF_OK;
        }
        if (!good) fuzz::defect("no world: %s", fuzz::judge.message());
    }
};

// Into buffers that are exactly as large as is said: what is written beyond them is seen.
bool encode(const xf_tokenizer *tokenizer, std::string_view text, std::vector<int32_t> *ids) {
    size_t count = 0, again = 0;
    const xf_status asked = JUDGED(xf_tokenizer_encode, tokenizer, text.data(), text.size(), nullptr, 0, &count);
    if (asked != XF_OK && asked != XF_ERROR_BUFFER_TOO_SMALL) return false;
    std::vector<int32_t>(count).swap(*ids);
    const xf_status status =
        JUDGED(xf_tokenizer_encode, tokenizer, text.data(), text.size(), ids->data(), count, &again);
    if (status == XF_ERROR_NO_MEMORY) return false;
    if (status != XF_OK || again != count) fuzz::defect("%zu ids, then %zu", count, again);
    for (const int32_t id : *ids)
        if (id < 0 || id >= vocab_size_of(tokenizer)) fuzz::defect("id %d", id);
    return true;
}

bool decode(const xf_tokenizer *tokenizer, const std::vector<int32_t> &ids, std::string *text) {
    size_t length = 0, again = 0;
    const xf_status asked = JUDGED(xf_tokenizer_decode, tokenizer, ids.data(), ids.size(), nullptr, 0, &length);
    if (asked != XF_ERROR_BUFFER_TOO_SMALL) return false;
    std::vector<char> room(length + 1, 'x');
    const xf_status status =
        JUDGED(xf_tokenizer_decode, tokenizer, ids.data(), ids.size(), room.data(), length + 1, &again);
    if (status == XF_ERROR_NO_MEMORY) return false;
    if (status != XF_OK || again != length || room[length] != 0) fuzz::defect("%zu bytes, then %zu", length, again);
    text->assign(room.data(), length);
    return true;
}

void learnt(const xf_tokenizer *tokenizer, bool normalizes, std::string_view text) {
    std::vector<int32_t> ids, second_ids;
    std::string decoded, second;
    if (!encode(tokenizer, text, &ids) || !decode(tokenizer, ids, &decoded)) return;
    if (!normalizes && decoded != text) fuzz::defect("%zu bytes came back as %zu others", text.size(), decoded.size());
    if (normalizes && xf::find_invalid_utf8(decoded) != std::string_view::npos) fuzz::defect("decoded to no UTF-8");
    if (!encode(tokenizer, decoded, &second_ids) || !decode(tokenizer, second_ids, &second)) return;
    if (second != decoded || second_ids != ids) fuzz::defect("text that was decoded is encoded in another way");
}

void imported(const xf_tokenizer *tokenizer, std::string_view text) {
    std::vector<int32_t> ids;
    std::string decoded;
    if (!encode(tokenizer, text, &ids)) {
        if (!fuzz::Shortage::happened()) fuzz::defect("SentencePiece takes any bytes: %s", fuzz::judge.message());
    } else if (decode(tokenizer, ids, &decoded) && xf::find_invalid_utf8(decoded) != std::string_view::npos) {
        fuzz::defect("decoded to no UTF-8");
    }
}

void measure(std::string_view text) {
    const std::string hypothesis(text.substr(0, text.size() / 2)), reference(text.substr(text.size() / 2));
    const char *const hypotheses[] = {hypothesis.c_str(), reference.c_str()}, *const references[] = {reference.c_str(),
                                                                                                     reference.c_str()};
    for (const int32_t how : {XF_BLEU_13A, XF_BLEU_NONE, XF_BLEU_SPLIT_HYPHENS}) {
        xf_bleu_score score = XF_BLEU_SCORE_INIT;
        if (JUDGED(xf_bleu, hypotheses, nullptr, references, nullptr, 2, how, &score) == XF_OK &&
            !(score.score >= 0 && score.score <= 100.0001))
            fuzz::defect("BLEU is %g", score.score);
    }
    double chrf = 0;
    if (JUDGED(chrf_of, hypotheses, references, 2, &chrf) == XF_OK && !(chrf >= 0 && chrf <= 100.0001))
        fuzz::defect("chrF is %g", chrf);
}

// Sentences are in order, and none contains a line end.
void split(std::string_view text) {
    static constexpr const char *kLanguages[] = {nullptr, "en", "de", "el", "ja"};
    const char *const language = kLanguages[text.size() % std::size(kLanguages)];
    const size_t most = text.size() % 9;
    size_t count = 0, again = 0, last = 0;
    const xf_status asked = JUDGED(xf_split_sentences, text.data(), text.size(), language, most, nullptr, 0, &count);
    if (asked == XF_OK && count > 0) fuzz::defect("%zu sentences without a buffer", count);
    if (asked == XF_ERROR_DATA && xf::find_invalid_utf8(text) == std::string_view::npos) fuzz::defect("valid UTF-8");
    if (asked != XF_ERROR_BUFFER_TOO_SMALL) return;
    std::vector<xf_span> spans(count);
    const xf_status status =
        JUDGED(xf_split_sentences, text.data(), text.size(), language, most, spans.data(), count, &again);
    if (status == XF_ERROR_NO_MEMORY) return;
    if (status != XF_OK || again != count) fuzz::defect("%zu sentences, then %zu", count, again);
    for (const xf_span &span : spans) {
        if (span.begin < last || span.end <= span.begin || span.end > text.size())
            fuzz::defect("a sentence from %zu to %zu after %zu", span.begin, span.end, last);
        if (text.substr(span.begin, span.end - span.begin).find('\n') != std::string_view::npos)
            fuzz::defect("a sentence with a line end");
        last = span.end;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static World world;
    fuzz::Choices choices(data, size);
    const size_t which = choices.below(world.learnt.size() + world.imported.size() + 1);
    const std::string_view text = choices.rest();
    fuzz::run(world.host, data, size, [&] {
        split(text);
        if (which < world.learnt.size())
            learnt(world.learnt[which], which % 3 != 0, text);
        else if (which - world.learnt.size() < world.imported.size())
            imported(world.imported[which - world.learnt.size()], text);
        else
            measure(text);
    });
    return 0;
}
