/*
 * options.c - reads a command line and prints its --help; see options.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

static bool option_at(size_t index, xf_option_info *info) {
    memset(info, 0, sizeof *info);
    info->struct_size = sizeof *info;
    return xf_option_get(index, info, NULL) == XF_OK;
}

/* Returns whether the key begins with one of the groups, such as "context. decode.". */
static bool in_groups(const char *groups, const char *key) {
    while (*groups != '\0') {
        const size_t length = strcspn(groups, " ");
        if (strncmp(groups, key, length) == 0) return true;
        groups += length;
        groups += strspn(groups, " ");
    }
    return false;
}

static bool same(const char *text, size_t length, const char *name) {
    return strlen(name) == length && memcmp(text, name, length) == 0;
}

/* Number of letters to replace, insert, or delete to turn a into b; only the first 63 letters are compared. */
static size_t distance(const char *a, const char *b) {
    size_t row[64];
    const size_t n = strlen(a) < 63 ? strlen(a) : 63, m = strlen(b) < 63 ? strlen(b) : 63;
    for (size_t j = 0; j <= m; ++j) row[j] = j;
    for (size_t i = 1; i <= n; ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; ++j) {
            size_t least = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < least) least = row[j] + 1;
            if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
            row[j] = least;
        }
    }
    return row[m];
}

void suggest(const char *kind, const char *word, const char *const *known, size_t count) {
    const char *nearest = NULL;
    const char *last = strrchr(word, '.');
    const size_t length = strlen(last != NULL ? last + 1 : word);
    /* The library's rule for keys of options: at most every third letter differs, and at most 4. */
    size_t best = (length + 2) / 3 < 4 ? (length + 2) / 3 + 1 : 5;
    for (size_t i = 0; i < count; ++i) {
        /* --dropout should find train.dropout */
        const char *dot = strchr(known[i], '.');
        size_t d = distance(word, known[i]);
        if (dot != NULL && distance(word, dot + 1) + 1 < d) d = distance(word, dot + 1) + 1;
        if (d < best) best = d, nearest = known[i];
    }
    const char *dashes = strcmp(kind, "option") == 0 ? "--" : "";
    if (nearest == NULL)
        complain("there is no %s '%s%.64s'; see --help for a list", kind, dashes, word);
    else
        complain("there is no %s '%s%.64s'; the nearest is '%s%s'", kind, dashes, word, dashes, nearest);
}

static int unknown_flag(const struct command_line *line, const char *name, size_t length) {
    const char *known[256];
    size_t count = 0;
    for (size_t i = 0; i < line->flag_count && count < 256; ++i) known[count++] = line->flags[i].name;
    xf_option_info info;
    for (size_t i = 0; i < xf_option_count() && count < 256; ++i) {
        if (!option_at(i, &info)) continue;
        if (in_groups(line->groups, info.key)) {
            known[count++] = info.key;
        } else if (same(name, length, info.key)) {
            complain("--%s is an option of the library that this command does not use", info.key);
            return EXIT_USAGE;
        }
    }
    char word[80];
    snprintf(word, sizeof word, "%.*s", (int)(length < 64 ? length : 64), name);
    suggest("option", word, known, count);
    return EXIT_USAGE;
}

/* Stores the value of one of the command's own flags. */
static int set_flag(struct command_line *line, const struct flag *flag, const char *value) {
    char *end = NULL;
    if (flag->kind == FLAG_TEXT || flag->kind == FLAG_LIST) {
        struct flag_list *list = flag->kind == FLAG_LIST ? flag->value : NULL;
        if (list != NULL && list->count == MAX_LIST) {
            complain("--%s is given more than %d times", flag->name, (int)MAX_LIST);
            return EXIT_USAGE;
        }
        *(list != NULL ? &list->texts[list->count++] : (const char **)flag->value) = value;
        if (*value != '\0') return -1;
        complain("--%s is empty, expected %s", flag->name, flag->argument);
        return EXIT_USAGE;
    }
    if (flag->kind == FLAG_OPTION) {
        line->settings[line->setting_count++] = (struct setting){flag->key, value};
        return -1;
    }
    if (flag->kind == FLAG_COUNT) {
        const long long number = strtoll(value, &end, 10);
        *(int64_t *)flag->value = number;
        if (end != value && *end == '\0' && number >= 0 && number <= 1000000000000) return -1;
    } else {
        const double number = strtod(value, &end);
        *(double *)flag->value = number;
        if (end != value && *end == '\0' && isfinite(number) && number >= 0) return -1;
    }
    complain("--%s is '%.64s', expected %s", flag->name, value,
             flag->kind == FLAG_COUNT ? "a whole number, 0 or more" : "a number, 0 or more");
    return EXIT_USAGE;
}

/* Reads the flag at argv[*i], in the form "--name value" or "--name=value". */
static int read_flag(struct command_line *line, int argc, char **argv, int *i) {
    const char *name = argv[*i] + 2;
    const size_t length = strcspn(name, "=");
    const struct flag *flag = NULL;
    for (size_t k = 0; k < line->flag_count; ++k)
        if (same(name, length, line->flags[k].name)) flag = &line->flags[k];
    xf_option_info info = {0};
    bool is_option = false;
    for (size_t k = 0; flag == NULL && !is_option && k < xf_option_count(); ++k)
        is_option = option_at(k, &info) && same(name, length, info.key) && in_groups(line->groups, info.key);
    if (flag == NULL && !is_option) return unknown_flag(line, name, length);

    if (flag != NULL && flag->kind == FLAG_SWITCH) {
        *(bool *)flag->value = true;
        if (name[length] == '\0') return -1;
        complain("--%s takes no value", flag->name);
        return EXIT_USAGE;
    }
    const char *value = NULL;
    if (name[length] == '=')
        value = name + length + 1;
    else if (*i + 1 < argc && strncmp(argv[*i + 1], "--", 2) != 0)
        value = argv[++*i];
    if (value == NULL) {
        complain("--%.*s needs a value", (int)length, name);
        return EXIT_USAGE;
    }
    if (line->setting_count == MAX_SETTINGS) {
        complain("the command line has more than the maximum of %d options", (int)MAX_SETTINGS);
        return EXIT_USAGE;
    }
    if (flag != NULL) return set_flag(line, flag, value);
    line->settings[line->setting_count++] = (struct setting){info.key, value};
    return -1;
}

enum { COLUMNS = 80 }; /* default width of a terminal */

/* Prints words from column `indent` on. */
static void print_wrapped(const char *text, int indent) {
    int column = indent;
    printf("%*s", indent, "");
    while (*text != '\0') {
        const int length = (int)strcspn(text, " ");
        if (column > indent && column + 1 + length > COLUMNS) printf("\n%*s", column = indent, "");
        column += printf("%s%.*s", column > indent ? " " : "", length, text);
        text += length;
        text += strspn(text, " ");
    }
    printf("\n");
}

static void print_option(const xf_option_info *info) {
    char text[512];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", info->doc);
    if (used < sizeof text && info->choices != NULL)
        used += (size_t)snprintf(text + used, sizeof text - used, " One of %s.", info->choices);
    if (used < sizeof text && info->type == XF_OPTION_INTEGER) /* bounds are within 2^53, exact in a double */
        used += (size_t)snprintf(text + used, sizeof text - used, " From %.0f to %.0f.", info->minimum, info->maximum);
    if (used < sizeof text && info->type == XF_OPTION_REAL)
        used += (size_t)snprintf(text + used, sizeof text - used, " From %g to %.9g.", info->minimum, info->maximum);
    if (used < sizeof text && info->paper[0] != '\0')
        snprintf(text + used, sizeof text - used, " (paper %s)", info->paper);
    printf("  --%s %s\n", info->key, *info->default_value != '\0' ? info->default_value : "\"\"");
    print_wrapped(text, 8);
}

static void print_help(const struct command_line *line) {
    printf("Usage: %s %s\n\n", program_name, line->usage);
    print_wrapped(line->about, 0);
    printf("\nOptions of this command:\n");
    for (size_t i = 0; i < line->flag_count; ++i) {
        const struct flag *flag = &line->flags[i];
        printf("  --%s%s%s\n", flag->name, flag->kind == FLAG_SWITCH ? "" : " ", flag->argument);
        print_wrapped(flag->doc, 8);
    }
    printf("\nOptions of the library, with their defaults:\n");
    char group[32] = "";
    xf_option_info info;
    for (size_t i = 0; i < xf_option_count(); ++i) {
        if (!option_at(i, &info) || !in_groups(line->groups, info.key)) continue;
        const size_t length = strcspn(info.key, ".");
        if (length < sizeof group && !same(info.key, length, group)) {
            memcpy(group, info.key, length);
            group[length] = '\0';
            printf("\n %s\n", group);
        }
        print_option(&info);
    }
}

int read_command_line(struct command_line *line, int argc, char **argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; ++i) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help(line);
            return EXIT_OK;
        }
    }
    bool ended = false; /* all arguments after "--" are positional */
    for (int i = 0; i < argc; ++i) {
        if (!ended && strcmp(argv[i], "--") == 0) {
            ended = true;
        } else if (!ended && strncmp(argv[i], "--", 2) == 0) {
            const int status = read_flag(line, argc, argv, &i);
            if (status >= 0) return status;
        } else if (!ended && argv[i][0] == '-' && argv[i][1] != '\0') {
            complain("there is no option '%.64s'; options begin with two dashes%s", argv[i],
                     line->most_arguments > 0 ? ", and text that begins with a dash goes after --" : "");
            return EXIT_USAGE;
        } else if (line->argument_count < line->most_arguments) {
            line->arguments[line->argument_count++] = argv[i];
            if (!ended) line->plain_count++;
        } else {
            complain("'%.64s' is one argument too many; the usage is: %s %s", argv[i], program_name, line->usage);
            return EXIT_USAGE;
        }
    }
    return -1;
}
