// Text to tokenizer to model to training to file to translation to scores: each object and what it gives.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <list>

#include "check.hpp"
#include "world.hpp"

namespace {

bool same(const xf_step_stats &a, const xf_step_stats &b) {
    return a.step == b.step && a.tgt_tokens == b.tgt_tokens && a.loss == b.loss && a.nll == b.nll &&
           a.learning_rate == b.learning_rate && a.gradient_norm == b.gradient_norm;
}

TEST(learns_and_is_saved_and_answers) {
    World w;
    const Folder folder;
    w.train(150);
    CHECK(w.trainer.steps() == 150);
    w.model.save(folder / "model.xf");
    w.model.save((folder / "half.xf").c_str(), xformer::Config().set("model.weights", "fp16"));
    w.trainer.save(folder / "run.ckpt", w.batcher);
    CHECK(std::filesystem::file_size(folder / "half.xf") < std::filesystem::file_size(folder / "model.xf") * 2 / 3);

    std::vector<std::string> found, expected;
    for (const auto &[source, target] : kPairs)
        found.push_back(w.decoder.translate(source)), expected.push_back(target);
    const xf_bleu_score score = xformer::bleu(found, expected);
    CHECK(score.score > 30 && std::string(score.signature).find("tok:13a") != std::string::npos);
    CHECK(xformer::chrf(found, expected).score > 30);
    CHECK(std::fabs(xformer::bleu(expected, expected, XF_BLEU_NONE).score - 100) < 1e-9);

    for (const char *name : {"model.xf", "run.ckpt"}) {
        xformer::Decoder decoder(xformer::Model::load(w.context, folder / name), w.config);
        std::size_t sentence = 0;
        for (const xformer::Sentence &answers : decoder.translate(sources()))
            CHECK(answers.front().text == found[sentence++]);
        CHECK(sentence == kPairs.size());
    }
    CHECK(xformer::Model::load(w.context, folder / "half.xf").config().value<std::int64_t>("model.d_model") == 16);
}

TEST(a_resumed_run_has_the_same_bits) {
    World w;
    const Folder folder;
    w.train(5);
    w.trainer.save(folder / "run.ckpt", w.batcher);
    xformer::Trainer trainer = xformer::Trainer::resume(w.context, folder / "run.ckpt");
    CHECK(trainer.steps() == 5 && trainer.config().value<double>("train.learning_rate") == 0.01);
    xformer::Batcher batcher(w.corpus, trainer.model().tokenizer(), w.config);
    batcher.resume(trainer);
    CHECK(batcher.stats().epoch == w.batcher.stats().epoch && batcher.stats().batch == w.batcher.stats().batch);
    CHECK(batcher.stats().epoch > 0);
    for (int i = 0; i < 7; ++i) {
        xformer::Batch a, b;
        while (!w.batcher.next(a)) continue;
        while (!batcher.next(b)) continue;
        CHECK(same(w.trainer.step(a), trainer.step(b)));
    }
    w.trainer.save(folder / "no_place.ckpt");
    const auto without = xformer::Trainer::resume(w.context, folder / "no_place.ckpt");
    CHECK_THROWS(XF_ERROR_STATE, batcher.resume(without));
}

TEST(two_half_batches_are_one_step) {
    World a, b;
    std::vector<xformer::BatchBuffer> own(3);
    std::vector<xformer::Batch> batches;
    for (std::size_t i = 0; i < own.size(); ++i) {
        own[i].add(a.tokenizer.encode(kPairs[i].first), a.tokenizer.encode(kPairs[i].second));
        batches.push_back(own[i].batch());
    }
    for (const xformer::Batch &batch : batches) CHECK(a.trainer.accumulate(batch).sentences == 1);
    const std::vector<float> gradient = xformer::read_gradient(a.trainer, 1);
    std::vector<float> again(gradient.size());
    xformer::read_gradient(a.trainer, 1, again);
    CHECK(gradient == again && std::any_of(gradient.begin(), gradient.end(), [](float x) { return x != 0; }));
    CHECK(same(a.trainer.update(), b.trainer.step(batches)));
    CHECK(a.model.read(0) == b.trainer.model().read(0));
}

TEST(corpora) {
    const World w;
    const Folder folder;
    CHECK(w.corpus.size() == kPairs.size() && w.corpus[3].source == "four one" && w.corpus[3].target == "vier eins");
    std::size_t index = 0;
    for (const auto [source, target] : w.corpus) {
        CHECK(source == kPairs[index].first && target == kPairs[index].second);
        ++index;
    }
    const auto text = from_text(w.context, "a\tb\nbad\nc\td\n");
    CHECK(text.size() == 2 && text.stats().lines == 3 && text.stats().empty_side == 1);
    std::ofstream(folder / "pairs.tsv") << "a\tb\n";
    std::ofstream(folder / "left") << "a\nc\n";
    std::ofstream(folder / "right") << "b\nd\n";
    CHECK(xformer::Corpus::open(w.context, folder / "pairs.tsv")[0].target == "b");
    CHECK(xformer::Corpus::open_parallel(w.context, folder / "left", folder / "right")[1].source == "c");
    const std::vector<std::pair<const char *, const char *>> strange{{"a", "b"}, {"c\td", "e\n"}};
    const auto pairs = xformer::Corpus::from_pairs(w.context, strange);
    CHECK(pairs.size() == 2 && pairs[1].source == "c\td" && pairs[1].target == "e\n");
    CHECK(pairs.subset(std::vector<std::int64_t>{1, 0})[1].source == "a");
    const auto [rest, held_out] = w.corpus.split(3);
    CHECK(held_out.size() == 3 && rest.size() == w.corpus.size() - 3);
    xformer::BatchBuffer ids;
    ids.add(std::vector<std::int32_t>{5}, std::vector<std::int32_t>{6});
    CHECK(xformer::Batcher(xformer::Corpus::from_ids(w.context, ids.batch()), {}, w.config).stats().pairs == 1);
    std::ofstream(folder / "bad.tsv") << "x\n";
    const auto strict = CHECK_THROWS(XF_ERROR_DATA, xformer::Corpus::open(w.context, folder / "bad.tsv",
                                                                          xformer::Config().set("data.strict", true)));
    CHECK(std::string(strict.what()).find("bad.tsv") != std::string::npos);
}

TEST(tokenizers) {
    const World w;
    const Folder folder;
    const std::string text = "one two\n\t fünf \xF0\x9F\x98\x80";
    std::vector<std::int32_t> ids{1, 2, 3};
    w.tokenizer.encode(text, ids);
    CHECK(ids == w.tokenizer.encode(text) && w.tokenizer.decode(ids) == text && w.tokenizer.size() > 258);
    CHECK(w.tokenizer.encode("").empty() && w.tokenizer.decode({}).empty());
    // U+FDFA is 3 bytes and becomes 33 by normalisation: more ids than bytes of text.
    CHECK(w.tokenizer.encode("\xEF\xB7\xBA").size() > 3);
    // A decoded text may be longer than the first guess.
    const auto longest = xformer::Tokenizer::train(
        w.context,
        from_text(w.context, std::string(40, 'x') + " " + std::string(40, 'x') + "\t" + std::string(40, 'x') + "\n"),
        xformer::Config().set("tokenizer.vocab_size", 1000));
    const std::string xs(40, 'x');
    CHECK(longest.encode(xs).size() < 5 && longest.decode(longest.encode(xs)) == xs);
    CHECK(w.tokenizer.piece(kEnd) == "</s>" && w.tokenizer.piece(2 + 'A') == "A");
    bool found = false;
    for (std::int32_t id = 258; id < static_cast<std::int32_t>(longest.size()); ++id)
        found = found || longest.piece(id).size() > 32;
    CHECK(found);
    w.tokenizer.save(folder / "words.json");
    CHECK(xformer::Tokenizer::load(w.context, folder / "words.json").encode(text) == ids);
}

TEST(batches) {
    World w;
    std::size_t batches = 0, sentences = 0;
    for (const xformer::Batch &batch : w.batcher) {
        ++batches;
        sentences += batch.size();
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const auto source = batch.source(i), target = batch.target(i);
            CHECK(source[source.size() - 1] == kEnd && target[target.size() - 1] == kEnd);
            const auto &pair = kPairs[static_cast<std::size_t>(batch.pair_index[i])];
            CHECK(w.tokenizer.decode(source) == pair.first && w.tokenizer.decode(target) == pair.second);
        }
        CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, batch.source(batch.size()));
    }
    CHECK(sentences == kPairs.size() && batches > 1 && w.batcher.stats().epoch == 1 && w.batcher.stats().batch == 0);
    auto place = w.batcher.begin();
    const std::size_t first = place->size();
    place++;
    CHECK(place != w.batcher.end() && w.batcher.stats().batch == 2 && first > 0);
    w.batcher.seek(3, 1);
    CHECK(w.batcher.stats().epoch == 3 && w.batcher.stats().batch == 1);
    w.batcher.seek(2);
    CHECK(w.batcher.stats().epoch == 2 && w.batcher.stats().batch == 0);

    xformer::BatchBuffer buffer;
    CHECK(buffer.batch().size() == 0 && w.decoder.decode(buffer.batch()).size() == 0);
    buffer.add(std::vector<std::int32_t>{5, 6});
    buffer.add(std::array<std::int32_t, 0>{});
    const xformer::Batch batch = buffer.batch();
    CHECK(batch.size() == 2 && batch.source(0).size() == 3 && batch.source(1).size() == 1 && batch.target(0).empty());
    const xf_batch &plain = batch;
    CHECK(xformer::Batch(plain).src_ids[2] == kEnd);
    buffer.add(batch.source(1), std::vector<std::int32_t>{7});
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, buffer.batch());
    buffer.clear();
    buffer.add(std::vector<std::int32_t>{8}, std::vector<std::int32_t>{9});
    CHECK(buffer.batch().size() == 1 && buffer.batch().source(0)[0] == 8 && buffer.batch().target(0)[0] == 9);
}

TEST(sources_and_sinks) {
    World w;
    const Folder folder;
    std::vector<unsigned char> written;
    w.model.save(xformer::Sink::callback([&](std::uint64_t offset, xformer::span<const unsigned char> bytes) {
        if (written.size() < offset + bytes.size()) written.resize(offset + bytes.size());
        std::copy(bytes.begin(), bytes.end(), written.begin() + static_cast<std::ptrdiff_t>(offset));
    }));
    CHECK(written == w.model.save_memory());
    const auto read = [&](std::uint64_t offset, xformer::span<unsigned char> bytes) {
        std::copy_n(written.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
    };
    CHECK(xformer::Model::load(w.context, xformer::Source::callback(written.size(), read)).read(0) == w.model.read(0));
    std::vector<unsigned char> room(written.size());
    std::uint64_t size = 0;
    w.model.save(xformer::Sink::memory(room, &size));
    CHECK(room == written && size == written.size());
    CHECK_THROWS(XF_ERROR_BUFFER_TOO_SMALL,
                 w.model.save(xformer::Sink::memory(xformer::span<unsigned char>(room.data(), 9), &size)));
    std::FILE *const file = std::fopen((folder / "model.xf").c_str(), "w+b");
    CHECK(file != nullptr);
    w.model.save(xformer::Sink::descriptor(fileno(file)));
    CHECK(xformer::Model::load(w.context, xformer::Source::descriptor(fileno(file))).read(0) == w.model.read(0));
    std::fclose(file);
    const auto fail = [](std::uint64_t, xformer::span<unsigned char>) { throw std::string("mine"); };
    try {
        xformer::Model::load(w.context, xformer::Source::callback(written.size(), fail));
        FAIL("it returned");
    } catch (const std::string &thrown) {
        CHECK(thrown == "mine");
    }
}

TEST(models) {
    World w;
    const Folder folder;
    CHECK(w.model.config().value<std::int64_t>("model.vocab_size") == static_cast<std::int64_t>(w.tokenizer.size()));
    CHECK(w.model.tokenizer().encode("two") == w.tokenizer.encode("two"));
    std::vector<std::int32_t> framed = w.tokenizer.encode("two");
    framed.push_back(w.tokenizer.info().end_token);
    CHECK(w.model.encode(XF_SIDE_SOURCE, "two") == framed && w.model.encode(XF_SIDE_TARGET, " two ") == framed);
    CHECK(w.tokenizer.side(XF_SIDE_TARGET).get() == w.tokenizer.get() && !w.tokenizer.side(7));
    const std::size_t at = w.model.find("encoder.0.self_attention.q.weight");
    CHECK(w.model.tensors()[at].dims == 2 && w.model.tensors()[at].shape[0] == 16 && w.model.tensors().size() > 20);
    CHECK_THROWS(XF_ERROR_NOT_FOUND, w.model.find("no.such"));
    std::vector<float> values = w.model.read(at);
    CHECK(values.size() == 256);
    w.model.save(folder / "a.xf");
    for (float &value : values) value += 1;
    w.model.write(at, values);
    std::vector<float> again(values.size());
    w.model.read(at, again);
    CHECK(again == values);
    w.model.save(folder / "b.xf");
    const auto mean = xformer::Model::average(w.context, std::vector{folder / "a.xf", folder / "b.xf"});
    CHECK(std::fabs(mean.read(at)[7] - (values[7] - 0.5F)) < 1e-5F);
    w.model.set_metadata("licence", "CC0");
    w.model.set_metadata("no", "more");
    w.model.erase_metadata("no");
    const std::vector<unsigned char> bytes = w.model.save_memory();
    const auto loaded = xformer::Model::load(w.context, bytes);
    CHECK(loaded.read(at) == values && loaded.metadata() == w.model.metadata() && loaded.metadata().size() == 1 &&
          loaded.metadata("licence") == "CC0");
    CHECK_THROWS(XF_ERROR_NOT_FOUND, loaded.metadata("no"));
    CHECK(xformer::Model::copy(loaded).read(at) == values &&
          xformer::Model::copy(loaded, w.context).read(at) == values);
    const auto half = xformer::Model::copy(loaded, xformer::Config().set("model.weights", "fp16"));
    CHECK(half.tensors()[at].type == XF_TYPE_FP16 && loaded.tensors()[at].type == XF_TYPE_FP32);
    CHECK(xformer::Model::load(w.context, bytes, xformer::Config().set("model.weights", "fp16")).read(at) ==
          half.read(at));
    CHECK(xformer::Model::inspect(w.context, folder / "a.xf").vocab_size ==
          static_cast<std::int64_t>(w.tokenizer.size()));
    const xformer::Model ids_only(w.context, w.config.set("model.vocab_size", 40));
    CHECK(!ids_only.tokenizer() && ids_only.tokenizer().get() == nullptr);
    xformer::BatchBuffer buffer;
    buffer.add(std::vector<std::int32_t>{5, 6});
    const auto answers = xformer::Decoder(ids_only, w.config).decode(buffer.batch());
    CHECK(answers[0].front().text.data() == nullptr && answers[0].front().text.empty());
}

TEST(answers) {
    World w;
    w.train(100);
    xformer::Decoder decoder(w.model, xformer::Config(w.config).set("decode.beam", 5).set("decode.n_best", 3));
    std::vector<std::string> texts = sources();
    texts.emplace_back();
    const auto hypotheses = decoder.translate(texts);
    CHECK(hypotheses.size() == texts.size() && hypotheses[texts.size()].empty());
    const xformer::Hypothesis empty = hypotheses[texts.size() - 1].front();
    CHECK(empty.text.empty() && empty.ids.empty() && empty.finished && empty.score == 0);
    for (std::size_t i = 0; i < kPairs.size(); ++i) {
        CHECK(hypotheses[i].size() == 3);
        double last = 0;
        for (const xformer::Hypothesis &h : hypotheses[i]) {
            CHECK(h.score <= last && w.tokenizer.decode(h.ids) == h.text && h.text.data()[h.text.size()] == '\0');
            const double length = static_cast<double>(h.ids.size()) + h.finished;
            CHECK(std::fabs(h.score - h.log_probability / std::pow((5 + length) / 6, 0.6)) < 1e-5);
            last = h.score;
        }
    }
}

TEST(scores) {
    World w;
    w.train(60);
    const auto hypotheses = w.decoder.translate(sources());
    xformer::BatchBuffer pairs, sources_only;
    std::vector<double> expected;
    for (std::size_t i = 0; i < kPairs.size(); ++i) {
        sources_only.add(w.tokenizer.encode(kPairs[i].first));
        const auto best = hypotheses[i].front();
        if (!best.finished) continue;
        pairs.add(w.tokenizer.encode(kPairs[i].first), best.ids);
        expected.push_back(best.log_probability);
    }
    const auto decoded = w.decoder.decode(sources_only.batch());
    for (std::size_t i = 0; i < kPairs.size(); ++i) CHECK(decoded[i].front().text == hypotheses[i].front().text);
    const std::vector<double> found = w.decoder.score(pairs.batch());
    double sum = 0;
    CHECK(found.size() == expected.size() && found.size() > 5);
    for (std::size_t i = 0; i < found.size(); ++i) {
        CHECK(std::fabs(found[i] - expected[i]) < 1e-4);
        sum += found[i];
    }
    std::array<double, 1> small{};
    CHECK_THROWS(XF_ERROR_INVALID_ARGUMENT, w.decoder.score(pairs.batch(), small));
    const auto corpus = xformer::Corpus::from_ids(w.context, pairs.batch());
    xformer::Batcher batcher(corpus, {}, w.config);
    const xf_eval_stats stats = w.decoder.evaluate(batcher);
    CHECK(stats.sentences == static_cast<std::int64_t>(found.size()));
    CHECK(std::fabs(stats.nll + sum / static_cast<double>(stats.tgt_tokens)) < 1e-6);

    std::vector<std::string> texts, targets;
    for (const auto &[source, target] : kPairs) texts.push_back(source), targets.push_back(target);
    const std::vector<double> of_texts = w.decoder.score_texts(texts, targets);
    xformer::BatchBuffer encoded;
    for (std::size_t i = 0; i < texts.size(); ++i)
        encoded.add(w.tokenizer.encode(texts[i]), w.tokenizer.encode(targets[i]));
    CHECK(of_texts == w.decoder.score(encoded.batch()));
    std::vector<xf_status> statuses;
    texts[1] = "\xff";
    CHECK(std::isnan(w.decoder.score_texts(texts, targets, &statuses)[1]) && statuses[1] == XF_ERROR_DATA &&
          statuses[0] == XF_OK);
    CHECK_THROWS(XF_ERROR_DATA, w.decoder.score_texts(texts, targets));

    xformer::BatchBuffer pair;
    pair.add(w.tokenizer.encode("one two"), w.tokenizer.encode("eins zwei"));
    const std::size_t S = pair.batch().source(0).size(), T = pair.batch().target(0).size();
    const std::vector<float> weights = xformer::attention_weights(w.decoder, pair.batch(), XF_ATTENTION_CROSS, 0);
    CHECK(weights.size() == 2 * T * S);
    float row = 0;
    for (std::size_t s = 0; s < S; ++s) row += weights[s];
    CHECK(std::fabs(row - 1) < 1e-5F);
    CHECK_THROWS(XF_ERROR_OUT_OF_RANGE, xformer::attention_weights(w.decoder, pair.batch(), XF_ATTENTION_ENCODER, 9));
}

TEST(texts_in_every_form) {
    World w;
    w.train(20);
    const std::string one = w.decoder.translate("one"), four = w.decoder.translate(std::string("four"));
    const std::vector<std::string_view> views{"one", "four"};
    const std::list<const char *> pointers{"one", "four"};
    const std::string strings[] = {"one", "four"};
    const auto check = [&](const xformer::Hypotheses &found) {
        CHECK(found.size() == 2 && found[0].front().text == one && found[1].front().text == four);
    };
    check(w.decoder.translate({"one", "four"}));
    check(w.decoder.translate(views));
    check(w.decoder.translate(pointers));
    check(w.decoder.translate(strings));
    CHECK(w.decoder.translate(std::vector<std::string>{}).size() == 0 && w.decoder.translate({"one"}).size() == 1);
    CHECK(w.decoder.translate(std::string_view()).empty());
}

TEST(contexts) {
    const World w;
    CHECK(std::string(w.context.info().device).find("cpu") != std::string::npos && w.context.memory().current > 0);
    bool active = false;
    for (const xf_backend_info &backend : w.context.backends()) active = active || backend.state == XF_BACKEND_ACTIVE;
    CHECK(active && w.context.backends().size() >= 3);
}

}  // namespace
