// parse_html() on fixed documents.
//
// SPDX-License-Identifier: Apache-2.0
#include "fake.hpp"

using serve::Translation;

namespace {

std::string html(std::string_view source, const std::function<Translation(const std::string &)> &f) {
    return fake::translate(*serve::parse_html(source), f);
}

}  // namespace

XF_TEST(texts_of_documents) {
    const struct {
        const char *source, *texts;
    } cases[] = {
        {"", ""},
        {"plain text", "plain text"},
        {"<p>One</p><p>Two</p>", "One|Two"},
        {"One<br>two", "One|two"},
        {"<ul><li>a<li>b</ul>", "a|b"},
        {"<td> a </td>\n<td>\tb\n c</td>", "a|b c"},
        {"<html><head><title>A <b> &amp; B</title></head><body>C", "A <b> & B|C"},
        {"<h1 class=x>A <i>b</i> c</h1>", "A b c"},
        {"<option value='1'>One<option>Two", "One|Two"},
        {"a<b>b</b>c", "abc"},
        {"<b>whole</b>", "whole"},
        {"<unknown>x</unknown> y", "x y"},
        {"1 + 2 = 3", ""},
        {"<p>42</p><p>\xE2\x80\x94</p>", ""},
        {"\xC3\xA4", "\xC3\xA4"},
        {"\xE4\xBD\xA0\xE5\xA5\xBD", "\xE4\xBD\xA0\xE5\xA5\xBD"},
        // Not translated.
        {"<script>if (a<b) alert('x')</script>y", "y"},
        {"<style>p { color: red }</style><p>x</p>", "x"},
        {"<pre>a\n b</pre>c", "c"},
        {"<textarea>a <b></textarea> c", "c"},
        {"<svg><text>a</text></svg> c", "c"},
        {"<p translate=no>a<b>c</b></p>d", "d"},
        {"<p translate=no>a<p>d", "d"},
        {"<div class='x notranslate'><p>a</p></div>d", "d"},
        {"<div class='xnotranslate'>a</div>", "a"},
        {"<script>a", ""},
        {"x <math><mi>y</mi></math> z", "x z"},
        // Elements with words that keep their place in the sentence.
        {"Run <code>make</code> now", "Run make now"},
        {"Run <code><b>make</b></code> now", "Run now"},
        {"<span translate='no'>Acme</span> is good", "Acme is good"},
        // Character references.
        {"&lt;b&gt; &eacute;&#233;&#xE9; &apos;x&apos;", "<b> \xC3\xA9\xC3\xA9\xC3\xA9 'x'"},
        {"a&nbsp;b",
         "a\xC2\xA0"
         "b"},
        {"a&unknown;b &#0; &#xD800; &#x110000; &#150; &; &", "a&unknown;b &#0; &#xD800; &#x110000; &#150; &; &"},
        {"&copy 2020 x &Alpha x", "\xC2\xA9 2020 x &Alpha x"},
        {"AT&T", "AT&T"},
        {"a&#10;&#32;b", "a b"},
        // Attributes.
        {"<img alt='A cat' title=\"x &quot;y&quot;\">", "A cat|x \"y\""},
        {"<a title='42'>x</a>", "x"},
        {"<a title=unquoted>x</a>", "x"},
        {"<code title='not this'>x</code> y", "x y"},
        {"<input placeholder=' Your  name '>", "Your name"},
        {"<br title='a'>", "a"},
        // Malformed documents.
        {"a < b", "a < b"},
        {"a <b", "a <b"},
        {"a <b c='d", "a <b c='d"},
        {"a <b c='d>e</b> f", "a"},
        {"a <b title='>c' d", "a"},
        {"a <!-- b", "a"},
        {"a <!-- b --> c", "a c"},
        {"a <!--> b", "a b"},
        {"a <![CDATA[b > c]]> d", "a d"},
        {"<!DOCTYPE html><p>a", "a"},
        {"<?xml version='1.0'?>a", "a"},
        {"</b>a</i>", "a"},
        {"a </> b", "a b"},
        {"a <a href='x>y'>b</a>", "a b"},
        {"<title>a", "a"},
    };
    for (const auto &each : cases) {
        CHECK_EQ(fake::texts_of(*serve::parse_html(each.source)), std::string(each.texts));
        CHECK_EQ(html(each.source, fake::identity).empty(), std::string(each.source).empty());
    }
}

XF_TEST(identity_returns_the_source) {
    for (const char *const source : {
             "<p class=\"a\" id=b>One <b>two</b> <i >three</i >.</p>\n",
             "a<b> b </b>c",
             "a <b> </b>c",
             "a<b></b> <i></i>c",
             "H<sub>2</sub>O and CO<sub>2</sub>, 10<sup>th</sup>",
             "  \n <b> x</b> y \n ",
             "fooo<b>bar baz</b>",
             "<b>a<i>b</i>c</b>d<img src=x><img src=y> e<img>",
             "a <!-- c --> b<!-- d -->",
             "<b>a<p>b</b> c <i>d<p>e</i> f",
             "a <b>b <i>c</b> d</i> e",
             "a</b> b</i> c<u> d",
             "Run <code>make -j</code>, or <kbd>x</kbd>.",
             "AT&T &amp; R&D &unknown; &lt;b&gt; a&nbsp;b",
             "<a title='it is \"so\"'>x</a> y <img alt=\"a 'b'\">",
             "<svg><text>a</text></svg> c <script>x</script> d",
             "<p>One<br/>two<hr />",
             "<a href=x/>y</a> z",
             "<?xml?><x><y/>text<z/> more</x>",
         }) {
        CHECK_EQ(html(source, fake::identity), std::string(source));
    }
}

XF_TEST(alignment_is_requested_only_for_tags_inside) {
    const auto needs = [](const char *source) { return serve::parse_html(source)->texts().at(0).needs_alignment; };
    CHECK(!needs("text"));
    CHECK(!needs("<p><b> <i>all</i></b> </p>"));
    CHECK(!needs("<img> x <br>"));
    CHECK(!needs("<b>a<p>c"));
    CHECK(needs("a <b>b</b>"));
    CHECK(needs("<b>a</b> b"));
    CHECK(needs("a <img> b"));
}

XF_TEST(tags_follow_their_words) {
    const struct {
        const char *source;
        std::vector<fake::Part> parts;
        const char *expected;
    } cases[] = {
        {"the <b>red</b> house", {{"la", 0}, {"maison", 2}, {"rouge", 1}}, "la maison <b>rouge</b>"},
        {"the <b>red house</b>", {{"la", 0}, {"maison", 2}, {"rouge", 1}}, "la <b>maison rouge</b>"},
        {"a <b>b c d</b> e", {{"B", 1}, {"C", 2}, {"E", 4}, {"D", 3}}, "<b>B C</b> E D"},
        {"a <b>b c d</b> e", {{"B", 1}, {"C", 2}, {"E", 4}, {"D", 3}, {"D", 3}}, "<b>B C E D D</b>"},
        {"a <b>b</b> <i>c</i>", {{"C", 2}, {"B", 1}, {"A", 0}}, "<i>C</i> <b>B</b> A"},
        {"a <b>b <i>c</i></b>", {{"C", 2}, {"B", 1}, {"A", 0}}, "<b><i>C</i> B</b> A"},
        {"a <img> b c", {{"C", 2}, {"B", 1}, {"A", 0}}, "C <img> B A"},
        {"a <b>b</b> c", {{"A", 0}, {"C", 2}}, "A <b></b>C"},
        {"<b>a</b> b", {{"B", 1}}, "<b></b>B"},
        {"a <b>(b)</b>, c", {{"C,", 2}, {"(B)", 1}}, "C, <b>(B)</b>"},
        // Pairs that end in another paragraph keep the order of their tags.
        {"a</b> b <i>c", {{"C", 2}, {"B", 1}, {"A", 0}}, "C B A</b><i>"},
        // Elements that are not translated replace their words.
        {"Run <code>make</code> now", {{"Jetzt", 2}, {"Make", 1}, {"starten", 0}}, "Jetzt <code>make</code> starten"},
        {"Run <code>make</code> now", {{"Jetzt", 2}, {"starten", 0}}, "<code>make</code> Jetzt starten"},
        // Entities of the translation.
        {"a <b>b</b>", {{"<", 0}, {"&lt;", 1}}, "&lt; <b>&amp;lt;</b>"},
    };
    for (const auto &each : cases)
        CHECK_EQ(html(each.source, [&](const std::string &text) { return fake::translated(text, each.parts); }),
                 std::string(each.expected));
}

XF_TEST(subwords_are_not_separated) {
    const std::string source = "the <b>front door</b> opens";
    Translation translation{"die Haustür öffnet", {}};
    // die | Haus -> front | tür -> opens (wrong) | öffnet
    translation.spans = {{0, 3, 0, 3}, {4, 9, 4, 8}, {15, 20, 8, 12}, {15, 20, 13, 20}};
    CHECK_EQ(html(source, [&](const std::string &) { return translation; }), std::string("die <b>Haustür</b> öffnet"));
}

XF_TEST(without_alignment_tags_are_proportional) {
    const auto shout = [](const std::string &) { return Translation{"A B C D", {}}; };
    CHECK_EQ(html("a b <b>c d</b>", shout), std::string("A B <b>C D</b>"));
    CHECK_EQ(html("<b>a</b> b", shout), std::string("<b>A B</b> C D"));
    CHECK_EQ(html("<b>a</b> b", [](const std::string &) { return Translation(); }), std::string("<b></b>"));
}

XF_TEST(attributes_are_translated_in_place) {
    const auto shout = [](const std::string &text) { return Translation{"\"'" + text + "&amp;", {}}; };
    CHECK_EQ(html("<p title = \"a\" id=x><img alt='b'></p>", shout),
             std::string("<p title = \"&quot;'a&amp;amp;\" id=x><img alt='\"&#39;b&amp;amp;'></p>"));
    // Attributes of tags inside of a paragraph.
    CHECK_EQ(html("x <a title='t'>y</a>", fake::reversed), std::string("<a title='t'>y</a> x"));
}

XF_TEST(wrong_translations_are_refused) {
    const auto document = serve::parse_html("a<p>b");
    CHECK_EQ(document->texts().size(), size_t{2});
    bool thrown = false;
    try {
        document->assemble({});
    } catch (const std::invalid_argument &error) {
        thrown = std::string(error.what()).find("received 0 translations, expected 2") != std::string::npos;
    }
    CHECK(thrown);
}

XF_TEST(lines_of_plain_text) {
    const char source[] = "  One line. \r\n\r\n\t\nTwo\n 3 \n\nlast";
    const auto document = serve::parse_text(source);
    CHECK_EQ(fake::texts_of(*document), std::string("One line.|Two|3|last"));
    CHECK_EQ(fake::translate(*document, fake::identity), std::string(source));
    CHECK_EQ(fake::translate(*serve::parse_text("a b\n<i>&amp;</i>\n"), fake::reversed),
             std::string("b a\n<i>&amp;</i>\n"));
    CHECK(serve::parse_text("")->texts().empty());
}
