// Tokens, attributes, and character references of HTML.
//
// SPDX-License-Identifier: Apache-2.0
#include "html_tokens.h"

#include "html_entities.h"
#include "support/test.hpp"

namespace {

// One letter for each kind, followed by the bytes: T text, O open, C close, P point.
std::string tokens(std::string_view html) {
    std::string all;
    for (const serve::Token &token : serve::tokenize_html(html)) {
        all += "TOCP"[static_cast<size_t>(token.kind)];
        all += html.substr(token.begin, token.end - token.begin);
        all += '|';
    }
    return all;
}

}  // namespace

XF_TEST(tokens_of_html) {
    const struct {
        const char *html, *tokens;
    } cases[] = {
        {"a<b>c</b>", "Ta|O<b>|Tc|C</b>|"},
        {"<a b='>'>", "O<a b='>'>|"},
        {"<a b=\"'>\" c>d", "O<a b=\"'>\" c>|Td|"},
        {"<a b'>'>", "O<a b'>|T'>|"},
        {"<br><br/><x/><a href=x/>", "P<br>|P<br/>|P<x/>|O<a href=x/>|"},
        {"<!--a>--><!-->b", "P<!--a>-->|P<!-->|Tb|"},
        {"<!-- a", "P<!-- a|"},
        {"<!x><?y></ z>", "P<!x>|P<?y>|P</ z>|"},
        {"<script><b></scriptx></SCRIPT >c", "O<script>|P<b></scriptx>|C</SCRIPT >|Tc|"},
        {"<title><b></title>", "O<title>|T<b>|C</title>|"},
        {"<style>a", "O<style>|Pa|"},
        {"1 < 2 <", "T1 < 2 <|"},
    };
    for (const auto &each : cases) CHECK_EQ(tokens(each.html), std::string(each.tokens));
}

XF_TEST(attributes_of_tags) {
    std::string all;
    serve::Attribute attribute;
    for (serve::Attributes list("<a.b x='1' y = \"2\" z=3 w v=\"'\"/u='open>"); list.next(&attribute);) {
        all.append(attribute.name).append("=").append(attribute.value);
        all += attribute.quote == 0 ? '-' : attribute.quote;
        all += '|';
    }
    CHECK_EQ(all, std::string(".b=-|x=1'|y=2\"|z=3-|w=-|v='\"|u=open-|"));
}

XF_TEST(references_are_decoded) {
    const auto decoded = [](std::string_view text, bool in_attribute = false) {
        const serve::Decoded c = serve::decode_reference(text, in_attribute);
        return std::to_string(static_cast<unsigned>(c.value)) + "/" + std::to_string(c.size);
    };
    CHECK_EQ(decoded("&amp;"), std::string("38/5"));
    CHECK_EQ(decoded("&ampx"), std::string("38/4"));
    CHECK_EQ(decoded("&ampx", true), std::string("0/0"));
    CHECK_EQ(decoded("&amp x", true), std::string("38/4"));
    CHECK_EQ(decoded("&Eacute;"), std::string("201/8"));
    CHECK_EQ(decoded("&thetasym;"), std::string("977/10"));
    CHECK_EQ(decoded("&apos;"), std::string("39/6"));
    CHECK_EQ(decoded("&zwnj;"), std::string("8204/6"));
    CHECK_EQ(decoded("&euro"), std::string("0/0"));
    CHECK_EQ(decoded("&#65;"), std::string("65/5"));
    CHECK_EQ(decoded("&#x1F600"), std::string("128512/8"));
    for (const char *const text :
         {"&", "&;", "&#", "&#;", "&#x;", "&#xD800;", "&#1114112;", "&#99999999999;", "&#7;", "&x;"})
        CHECK_EQ(decoded(text), std::string("0/0"));
}

XF_TEST(escaped_text_decodes_to_itself) {
    for (const char *const text :
         {"a & b", "&amp;", "&lt", "&copyx", "<b>", "&#65;", "&#0;", "AT&T", "\xC2\xA0&\xC2\xA0", "&&amp;"}) {
        std::string escaped, back;
        serve::append_escaped(text, 0, &escaped);
        CHECK(escaped.find('<') == std::string::npos);
        for (size_t i = 0; i < escaped.size();) {
            const serve::Decoded c = escaped[i] == '&'
                                         ? serve::decode_reference(std::string_view(escaped).substr(i), false)
                                         : serve::Decoded();
            if (c.size == 0)
                back += escaped[i];
            else
                serve::append_utf8(c.value, &back);
            i += std::max<size_t>(c.size, 1);
        }
        CHECK_EQ(back, std::string(text));
    }
}

XF_TEST(letters_and_word_boundaries) {
    for (const char32_t c :
         {U'a', U'Z', U'\u00AA', U'\u00B5', U'\u00E4', U'\u0416', U'\u05D0', U'\u4E2D', U'\u3042', U'\u0E01'})
        CHECK(serve::is_letter(c));
    for (const char32_t c :
         {U'1', U' ', U'\u00A0', U'\u00D7', U'\u2014', U'\u3002', U'\u20AC', U'\U0001F600', U'\uFFFD'})
        CHECK(!serve::is_letter(c));
    const std::string text = "ab-c \u00E4\u00F6\u4E2D\u6587";
    std::string boundaries;
    for (size_t i = 0; i <= text.size(); ++i)
        if ((text[i] & 0xC0) != 0x80 && serve::is_word_boundary(text, i)) boundaries += std::to_string(i) + " ";
    CHECK_EQ(boundaries, std::string("0 2 3 4 5 9 12 15 "));
}
