/*
 * line_checks.c - lines with several sentences and lines with a language tag (examples/translate/line_checks.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "line_checks.h"

#include <stdio.h>
#include <string.h>

static int checks, failed;

static void expect(const char *text, bool found, bool expected) {
    ++checks;
    if (found == expected) return;
    ++failed;
    printf("FAILED: '%s' is %s several sentences\n", text, found ? "taken for" : "not taken for");
}

static void expect_tag(const char *text, const char *expected) {
    const char *name = NULL;
    const size_t length = language_tag(text, strlen(text), &name);
    ++checks;
    if (length == strlen(expected) && (length == 0 || memcmp(name, expected, length) == 0)) return;
    ++failed;
    printf("FAILED: the tag of '%s' has %zu bytes, expected '%s'\n", text, length, expected);
}

int main(void) {
    static const char *const several[] = {
        "Open the file. Close the window.",
        "Really? Yes.",
        "Stop! He ran.",
        "What?! No way.",
        "It is 5 o'clock.  Go home.",
        "Click OK. Then close the dialog.",
        "He said \"no.\" Then he left.",
        "He left. \"Why?\" she asked.",
        "(It rained.) We stayed.",
        "I went home . Then I slept .",
        "Das ist gut. Übrigens regnet es.",
        "¿Qué? ¡Nada!",
        "C'est fini. «Enfin!»",
        "Он ушёл. Она осталась.",
        "Έφυγε. Ήρθε.",
        "我走了。他来了。",
        "本当？はい。",
        "Mr. Smith went home. He slept.",
        "It costs 3.5 percent. We pay.",
    };
    static const char *const one[] = {
        "",
        ".",
        "Mr. Smith went home.",
        "3.5 percent of the U.S. Army saw Dr. J. R. Jones on Oct. Friday.",
        "It grew by 3.5 percent.",
        "The U.S. Senate met at 5 p.m. Friday.",
        "Am 3. Oktober war der II. Weltkrieg vorbei.",
        "Er wohnt in der Goethestr. bzw. Schillerstr. in Berlin.",
        "1. Open the file",
        "A. Option",
        "Choose File... Open",
        "Wait ... What",
        "See example.com for details.",
        "He asked \"why?\" and left.",
        "\"Stop!\" Mr. Smith said.",
        "e.g. Paris, i.e. France, etc. The",
        "Hello, World!",
        "Hello!   ",
        "Hello. ",
        "我走了。",
        "他说：“我走了。”",
        "Version 2.0 is here. it is good",
        "Is it? no",
        "Acme Inc. Announces",
        "Select Tools - Options - LibreOffice Writer - View.",
    };
    for (size_t i = 0; i < sizeof several / sizeof several[0]; ++i)
        expect(several[i], has_several_sentences(several[i], strlen(several[i])), true);
    for (size_t i = 0; i < sizeof one / sizeof one[0]; ++i)
        expect(one[i], has_several_sentences(one[i], strlen(one[i])), false);
    /* The text does not end with NUL, and a line may be cut inside a character. */
    expect("Go. Up", has_several_sentences("Go. Up", 4), false);
    expect("Go. \xC3", has_several_sentences("Go. \xC3\x9C", 5), false);

    expect_tag(">>fra<< Hello", "fra");
    expect_tag("  >>zho_Hans<<Hello", "zho_Hans");
    expect_tag(">>pt-br<<", "pt-br");
    expect_tag(">><< Hello", "");
    expect_tag(">>fra< Hello", "");
    expect_tag(">> fra << Hello", "");
    expect_tag("a >>fra<< Hello", "");
    expect_tag(">>", "");
    expect_tag("", "");
    expect_tag(">>this-is-much-too-long-for-the-name-of-a-language<< Hello", "");
    printf("%d checks, %d failed\n", checks, failed);
    return failed > 0 || checks < 50;
}
