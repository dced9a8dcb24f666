/*
 * line_checks.c - recognizes several sentences and language tags in a line; see line_checks.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "line_checks.h"

#include <ctype.h>
#include <string.h>

static bool is_letter(char c) { return isalpha((unsigned char)c) != 0; }
static bool is_digit(char c) { return isdigit((unsigned char)c) != 0; }

/* Returns the length of the first of these UTF-8 strings with which the text begins, or 0. The list ends with NULL. */
static size_t starts_with(const char *text, size_t length, const char *const *list) {
    for (; *list != NULL; ++list) {
        const size_t size = strlen(*list);
        if (size <= length && memcmp(text, *list, size) == 0) return size;
    }
    return 0;
}

static size_t skip_all(const char *text, size_t length, size_t at, const char *const *list) {
    for (size_t size; (size = starts_with(text + at, length - at, list)) > 0;) at += size;
    return at;
}

static size_t skip_space(const char *text, size_t length, size_t at) {
    while (at < length && (text[at] == ' ' || text[at] == '\t')) ++at;
    return at;
}

/* Returns whether the text begins with a capital letter of the Latin, Greek, or Cyrillic alphabet. */
static bool is_capital(const char *text, size_t length) {
    if (length == 0) return false;
    const unsigned char c = (unsigned char)text[0], next = length > 1 ? (unsigned char)text[1] : 0;
    if (c < 0x80) return c >= 'A' && c <= 'Z';
    if (c == 0xC3) return next >= 0x80 && next <= 0x9E && next != 0x97; /* U+00C0 to U+00DE except U+00D7 */
    if (c == 0xCE) return next >= 0x86 && next <= 0xA9 && next != 0x90; /* U+0386 to U+03A9 except U+0390 */
    return c == 0xD0 && next >= 0x80 && next <= 0xAF;                   /* U+0400 to U+042F */
}

/* Returns whether the period after this word can end a sentence. */
static bool can_end(const char *word, size_t length) {
    /* Abbreviations of English, German, French, and Spanish that often precede a capital letter. */
    static const char *const abbreviations[] = {
        "Mr",   "Mrs",    "Ms",   "Dr",   "Prof", "St",   "Sr",  "Sra", "Jr",  "Gen",  "Col",  "Capt", "Lt",  "Sgt",
        "Rev",  "Hon",    "Gov",  "Sen",  "Rep",  "Mt",   "Ft",  "Inc", "Ltd", "Co",   "Corp", "Bros", "vs",  "etc",
        "No",   "Nos",    "Fig",  "Figs", "Eq",   "Ch",   "Sec", "Vol", "vol", "pp",   "ed",   "eds",  "al",  "ca",
        "cf",   "approx", "Nr",   "Abs",  "Art",  "Abb",  "Bd",  "Hr",  "Hrn", "Fr",   "Frl",  "Str",  "bzw", "usw",
        "evtl", "ggf",    "inkl", "zzgl", "Mme",  "Mlle", "Jan", "Feb", "Mar", "Apr",  "Jun",  "Jul",  "Aug", "Sep",
        "Sept", "Okt",    "Oct",  "Nov",  "Dez",  "Dec",  "Mo",  "Tel", "Ave", "Blvd", "Rd",   "Dept", "Univ"};
    size_t letters = 0, digits = 0, numerals = 0;
    for (size_t i = 0; i < length; ++i) {
        if (word[i] == '.') return false; /* "U.S.", "e.g.", or dots that show an omission */
        letters += ((unsigned char)word[i] & 0xC0) != 0x80;
        digits += is_digit(word[i]);
        numerals += strchr("IVXLCDM", word[i]) != NULL;
    }
    /* An initial, an ordinal number such as "3." in German, or a Roman numeral. */
    if (length > 0 && (letters == 1 || digits == length || numerals == length)) return false;
    for (size_t i = 0; i < sizeof abbreviations / sizeof abbreviations[0]; ++i)
        if (strlen(abbreviations[i]) == length && memcmp(word, abbreviations[i], length) == 0) return false;
    return true;
}

bool has_several_sentences(const char *text, size_t length) {
    static const char *const wide_ends[] = {"\u3002", "\uFF01", "\uFF1F", NULL};
    static const char *const wide_closing[] = {"\u3002", "\uFF01", "\uFF1F", "\u300D",
                                               "\u300F", "\uFF09", "\u201D", NULL};
    static const char *const closing[] = {"\"", "'", ")", "]", "\u201D", "\u201C", "\u2019", "\u00BB", NULL};
    static const char *const opening[] = {"\"", "'", "(", "[", "\u201C", "\u201E", "\u00AB", "\u00BF", "\u00A1", NULL};
    size_t word = 0; /* where the current word begins */
    for (size_t i = 0; i < length; ++i) {
        size_t next = i + 1;
        if (starts_with(text + i, length - i, wide_ends) > 0) {
            next = skip_all(text, length, i, wide_closing);
            if (skip_space(text, length, next) < length) return true;
            return false;
        }
        if (text[i] == ' ' || text[i] == '\t') word = next;
        if (text[i] == '.')
            next = skip_all(text, length, next, closing);
        else if (text[i] == '!' || text[i] == '?')
            while (next < length && (text[next] == '!' || text[next] == '?')) ++next;
        else
            continue;
        const size_t begin = skip_space(text, length, next);
        if (begin == next) continue;
        const size_t capital = skip_all(text, length, begin, opening);
        if (!is_capital(text + capital, length - capital)) continue;
        word = skip_all(text, length, word, opening);
        if (text[i] != '.' || word >= i || can_end(text + word, i - word)) return true;
    }
    return false;
}

size_t language_tag(const char *text, size_t length, const char **name) {
    enum { LONGEST = 32 };
    const size_t begin = skip_space(text, length, 0) + 2;
    if (length < begin || memcmp(text + begin - 2, ">>", 2) != 0) return 0;
    size_t end = begin;
    while (end < length && (is_letter(text[end]) || is_digit(text[end]) || text[end] == '_' || text[end] == '-')) ++end;
    if (end == begin || end - begin > LONGEST || length - end < 2 || memcmp(text + end, "<<", 2) != 0) return 0;
    *name = text + begin;
    return end - begin;
}
