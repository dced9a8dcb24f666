// Compares BLEU and chrF with the results of sacreBLEU in cases.tsv (format: make_cases.py), and tests signatures,
// empty corpora, and invalid UTF-8.
//
// SPDX-License-Identifier: Apache-2.0
#include "support/test.hpp"

#include <charconv>

#include "eval/bleu.h"
#include "eval/chrf.h"

namespace {

std::vector<std::string> split_tabs(const std::string &line) {
    std::vector<std::string> fields(1);
    for (char c : line) {
        if (c == '\t')
            fields.emplace_back();
        else
            fields.back() += c;
    }
    return fields;
}

std::string unescape(const std::string &text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            out += text[i];
            continue;
        }
        const char c = text[++i];
        out += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : '\\';
    }
    return out;
}

double to_double(const std::string &text) {
    double value = -1;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

void check_number(const std::string &name, double found, const std::string &expected) {
    const double number = to_double(expected);
    if (!(std::fabs(found - number) <= 1e-9))
        xf_test::record(XF_EVAL_CASES, 0, name + ": " + xf::number(found) + ", expected " + expected);
}

void check_bleu(const std::string &name, const xf::Bleu &bleu, const std::vector<std::string> &expected) {
    const xf::BleuScore s = bleu.score();
    std::vector<double> found = {s.score};
    found.insert(found.end(), s.precisions.begin(), s.precisions.end());
    found.push_back(s.brevity_penalty);
    found.push_back(static_cast<double>(s.hyp_len));
    found.push_back(static_cast<double>(s.ref_len));
    for (int64_t count : s.counts) found.push_back(static_cast<double>(count));
    for (int64_t total : s.totals) found.push_back(static_cast<double>(total));
    CHECK_EQ(found.size() + 1, expected.size());
    for (size_t i = 0; i < found.size() && i + 1 < expected.size(); ++i)
        check_number(name + " " + expected[0] + " number " + std::to_string(i), found[i], expected[i + 1]);
}

}  // namespace

XF_TEST(scores_equal_sacrebleu) {
    const xf::BleuOptions plain = {xf::BleuTokenizer::kNone, xf::BleuSmoothing::kNone};
    std::ifstream file(XF_EVAL_CASES);
    CHECK(file.good());
    std::string line, name;
    const xf::BleuOptions split = {xf::BleuTokenizer::kSplitHyphens, xf::BleuSmoothing::kNone};
    xf::Bleu bleu, multi_bleu(plain), compounds(split);
    xf::Chrf chrf;
    int cases = 0;
    while (std::getline(file, line)) {
        const std::vector<std::string> fields = split_tabs(line);
        if (fields[0] == "case") {
            name = fields.at(1);
            bleu = xf::Bleu();
            multi_bleu = xf::Bleu(plain);
            compounds = xf::Bleu(split);
            chrf = xf::Chrf();
        } else if (fields[0] == "pair") {
            const std::string hyp = unescape(fields.at(1)), ref = unescape(fields.at(2));
            bleu.add(hyp, ref);
            multi_bleu.add(hyp, ref);
            compounds.add(hyp, ref);
            chrf.add(hyp, ref);
        } else if (fields[0] == "13a") {
            check_bleu(name, bleu, fields);
        } else if (fields[0] == "none") {
            check_bleu(name, multi_bleu, fields);
        } else if (fields[0] == "hyphens") {
            check_bleu(name, compounds, fields);
        } else if (fields[0] == "chrf") {
            check_number(name + " chrf", chrf.score(), fields.at(1));
            ++cases;
        }
    }
    CHECK(cases >= 200);
}

XF_TEST(nothing_added_scores_zero) {
    CHECK_EQ(xf::Bleu().score().score, 0.0);
    CHECK_EQ(xf::Chrf().score(), 0.0);
}

XF_TEST(signatures_name_the_settings) {
    const std::string bleu = xf::Bleu().signature();
    const xf::Bleu multi_bleu({xf::BleuTokenizer::kNone, xf::BleuSmoothing::kNone});
    CHECK_EQ(bleu.substr(0, bleu.rfind('-')), "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:xformer");
    CHECK_EQ(multi_bleu.signature().find("nrefs:1|case:mixed|eff:no|tok:none|smooth:none|version:xformer-"), 0u);
    const xf::Bleu compounds({xf::BleuTokenizer::kSplitHyphens, xf::BleuSmoothing::kNone});
    CHECK_EQ(compounds.signature().find("nrefs:1|case:mixed|eff:no|tok:none-hyphens-split|smooth:none|version:"), 0u);
    CHECK(bleu.back() >= '0' && bleu.back() <= '9');
}

XF_TEST(bytes_that_are_not_text_are_scored) {
    const std::string broken("a\xC3 \xFF\xFE b \xED\xA0\x80 c\0d \xE2\x82", 17);
    xf::Bleu bleu;
    xf::Chrf chrf;
    bleu.add(broken, broken);
    chrf.add(broken, broken);
    CHECK_NEAR(bleu.score().score, 100, 1e-9);
    CHECK_NEAR(chrf.score(), 100, 1e-9);
    xf::Chrf other;  // different invalid bytes are different characters
    other.add("\xFE", "\xFF");
    CHECK_EQ(other.score(), 0.0);
}

XF_TEST(very_many_words_in_a_segment) {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += i % 3 == 0 ? "a " : i % 7 == 0 ? "b, " : "c ";
    xf::Bleu bleu;
    bleu.add(text, text);
    CHECK_NEAR(bleu.score().score, 100, 1e-9);
    xf::Chrf chrf;
    chrf.add(text, "a");
    CHECK(chrf.score() > 0 && chrf.score() < 100);
}
