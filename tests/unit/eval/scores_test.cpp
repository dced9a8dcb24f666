// Compares BLEU and chrF with the results of sacreBLEU in cases.tsv (format: make_cases.py), and tests signatures,
// empty corpora, invalid UTF-8, and the 13a tokenizer, rule by rule.
//
// SPDX-License-Identifier: Apache-2.0
#include "support/test.hpp"

#include "core/numbers.h"
#include "eval/bleu.h"
#include "eval/characters.h"
#include "eval/chrf.h"

namespace {

std::vector<std::string> split_tabs(const std::string &line) {
    std::vector<std::string> fields;
    std::istringstream in(line + '\t');
    for (std::string field; std::getline(in, field, '\t');) fields.push_back(field);
    return fields;
}

std::string unescape(const std::string &text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i] == '\\' ? text[++i] : '\0';
        out += c == '\0' ? text[i] : c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : '\\';
    }
    return out;
}

double to_double(const std::string &text) {
    double value = -1;
    xf::read_number(text.data(), text.data() + text.size(), &value);
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

std::string tokens(std::string_view text) {
    const std::string tokenized = xf::tokenize_13a(text);
    std::string joined;
    for (std::string_view word : xf::split_words(tokenized)) {
        if (!joined.empty()) joined += ' ';
        joined += word;
    }
    return joined;
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

XF_TEST(punctuation_is_a_separate_word) {
    CHECK_EQ(tokens("(a) [b]{c}"), "( a ) [ b ] { c }");
    CHECK_EQ(tokens("don't and/or"), "don't and / or");
    CHECK_EQ(tokens("100%*2+1=?"), "100 % * 2 + 1 = ?");
}

XF_TEST(every_ascii_character_has_its_rule) {
    const std::string alone = "!\"#$%&()*+/:;<=>?@[\\]^_`{|}~.,", blanks = "\t\n\v\f\r\x1c\x1d\x1e\x1f ";
    for (int code = 0; code < 128; ++code) {
        const auto c = static_cast<char>(code);
        std::string expected = {'x', c, 'y'};
        if (alone.find(c) != std::string::npos) expected = {'x', ' ', c, ' ', 'y'};
        if (blanks.find(c) != std::string::npos) expected = "x y";
        CHECK_EQ(tokens(std::string{'x', c, 'y'}), expected);
    }
}

XF_TEST(periods_and_commas_stay_within_numbers) {
    CHECK_EQ(tokens("1,000.50"), "1,000.50");
    CHECK_EQ(tokens("Ende."), "Ende .");
    CHECK_EQ(tokens("5."), "5 .");
    CHECK_EQ(tokens(".5"), ". 5");
    CHECK_EQ(tokens("a,b"), "a , b");
    CHECK_EQ(tokens("\u00e9.\u00e9"), "\u00e9 . \u00e9");
}

XF_TEST(a_dash_after_a_digit_is_a_separate_word) {
    CHECK_EQ(tokens("10-20"), "10 - 20");
    CHECK_EQ(tokens("well-known"), "well-known");
    CHECK_EQ(tokens("-7"), "-7");
}

XF_TEST(entities_and_marks_are_resolved) {
    CHECK_EQ(tokens("&quot;a&quot;"), "\" a \"");
    CHECK_EQ(tokens("&amp;lt;"), "<");
    CHECK_EQ(tokens("a<skipped>b"), "ab");
    CHECK_EQ(tokens("trans-\nlated\nline"), "translated line");
}

XF_TEST(white_space_is_that_of_python) {
    CHECK_EQ(tokens("a\u00a0b\u3000c\u2028d\034e\u0085f"), "a b c d e f");
    CHECK_EQ(tokens("a\u200bb"), "a\u200bb");  // a zero-width space is not white space
    CHECK_EQ(tokens(" \u00a0 "), "");
    CHECK_EQ(tokens("text-\n"), "text-");  // the line break is stripped before it can join words
}
