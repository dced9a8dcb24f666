/*
 * plot.c - draws lines, points, or bars as SVG; see plot.h.
 *
 * Series differ in color and in marker, so that readers need not distinguish colors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common.h"
#include "output.h"

enum { WIDTH = 760, LEFT = 76, RIGHT = 24, TOP = 92, PLOT_HEIGHT = 340, MAX_TICKS = 40 };

/* One axis, which maps values to pixels. */
struct axis {
    double base, low, high; /* low and high are logarithms if the axis is logarithmic */
    double from, to;        /* pixels */
    double ticks[MAX_TICKS];
    size_t tick_count;
};

static double on_scale(const struct axis *axis, double value) {
    return axis->base > 0 ? log(value) / log(axis->base) : value;
}

static double pixel(const struct axis *axis, double value) {
    return axis->from + (on_scale(axis, value) - axis->low) / (axis->high - axis->low) * (axis->to - axis->from);
}

static bool can_stand(const struct axis *axis, double value) {
    return isfinite(value) && (axis->base == 0 || value > 0);
}

static void add_tick(struct axis *axis, double value) {
    const double at = on_scale(axis, value);
    const double slack = 1e-9 * (fabs(axis->low) + fabs(axis->high) + 1);
    if (at < axis->low - slack || at > axis->high + slack || axis->tick_count == MAX_TICKS) return;
    axis->ticks[axis->tick_count++] = value;
}

/* Extends a linear axis to ticks of 1, 2, or 5 times a power of ten. */
static void linear_ticks(struct axis *axis) {
    const double rough = (axis->high - axis->low) / 6;
    const double power = pow(10, floor(log10(rough)));
    const double step = rough / power > 5   ? 10 * power
                        : rough / power > 2 ? 5 * power
                        : rough / power > 1 ? 2 * power
                                            : power;
    axis->low = floor(axis->low / step + 1e-9) * step;
    axis->high = ceil(axis->high / step - 1e-9) * step;
    const int count = (int)((axis->high - axis->low) / step + 0.5);
    for (int i = 0; i <= count; ++i) {
        const double tick = axis->low + i * step;
        add_tick(axis, fabs(tick) < 1e-9 * step ? 0 : tick);
    }
}

/* Places ticks at powers of the base. If base 10 has few of them, adds ticks at 2 and 5 times each power. */
static void log_ticks(struct axis *axis) {
    const double margin = 0.04 * (axis->high - axis->low);
    axis->low -= margin;
    axis->high += margin;
    const bool few = axis->base == 10 && axis->high - axis->low < 2.5;
    for (double power = floor(axis->low); power <= ceil(axis->high); ++power) {
        const double tick = pow(axis->base, power);
        add_tick(axis, tick);
        if (few) add_tick(axis, 2 * tick);
        if (few) add_tick(axis, 5 * tick);
    }
}

/* Sets the range of the axis to that of the values. Returns false if there are none. */
static bool fit_axis(struct axis *axis, const struct plot *plot, bool vertical) {
    axis->low = INFINITY;
    axis->high = -INFINITY;
    for (size_t s = 0; s < plot->series_count; ++s) {
        const struct plot_series *series = &plot->series[s];
        for (size_t i = 0; i < series->count; ++i) {
            const double value = vertical ? series->y[i] : series->x[i];
            if (!can_stand(axis, value)) continue;
            axis->low = fmin(axis->low, on_scale(axis, value));
            axis->high = fmax(axis->high, on_scale(axis, value));
        }
    }
    if (!(axis->low <= axis->high)) return false;
    if (plot->kind == PLOT_BARS) axis->low = fmin(axis->low, 0), axis->high = fmax(axis->high, 0);
    if (axis->low == axis->high) axis->low -= 0.5, axis->high += 0.5;
    if (axis->base > 0)
        log_ticks(axis);
    else
        linear_ticks(axis);
    return true;
}

static void put_text(FILE *file, const char *text) {
    for (; *text != '\0'; ++text) {
        if (*text == '&')
            fputs("&amp;", file);
        else if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '>')
            fputs("&gt;", file);
        else if (*text == '"')
            fputs("&quot;", file);
        else
            fputc(*text, file);
    }
}

static void put_label(FILE *file, const char *attributes, double x, double y, const char *text) {
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    put_text(file, text);
    fputs("</text>\n", file);
}

static void tick_text(char text[32], const struct axis *axis, double value) {
    if (axis->base == 10 && (value >= 1e5 || value < 1e-4))
        snprintf(text, 32, "%.0e", value);
    else
        snprintf(text, 32, "%.10g", value);
}

static void put_style(FILE *file) {
    static const char *const light[PLOT_MAX_SERIES] = {"#0b63a5", "#c2410c", "#0a7d5a",
                                                       "#7b3fa0", "#8a6d00", "#555555"};
    static const char *const dark[PLOT_MAX_SERIES] = {"#6cb6ff", "#ff9a5c", "#4fd1a5", "#cf9cf2", "#e6c84f", "#bbbbbb"};
    fputs(
        "<style>\n"
        "svg{background:#ffffff;font:13px system-ui,'DejaVu Sans',sans-serif}\n"
        "text{fill:#222222}.dim{fill:#555555}.grid{stroke:#dddddd}.axis{stroke:#555555;fill:none}\n"
        ".title{font-size:17px;font-weight:600}.small{font-size:11px}\n",
        file);
    for (int i = 0; i < PLOT_MAX_SERIES; ++i) fprintf(file, ".s%d{stroke:%s;fill:%s}\n", i, light[i], light[i]);
    fputs(
        ".line{fill:none;stroke-width:2}\n"
        "@media (prefers-color-scheme:dark){svg{background:#16181c}text{fill:#e8e8e8}.dim{fill:#b0b0b0}\n"
        ".grid{stroke:#33373d}.axis{stroke:#9a9a9a}\n",
        file);
    for (int i = 0; i < PLOT_MAX_SERIES; ++i) fprintf(file, ".s%d{stroke:%s;fill:%s}\n", i, dark[i], dark[i]);
    fputs(".line{fill:none}}\n</style>\n", file);
}

static void put_marker(FILE *file, size_t series, double x, double y) {
    const double r = 4.5;
    switch (series % 4) {
        case 0:
            fprintf(file, "<circle class=\"s%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"", series, x, y);
            break;
        case 1:
            fprintf(file, "<rect class=\"s%zu\" x=\"%.1f\" y=\"%.1f\" width=\"8\" height=\"8\"", series, x - 4, y - 4);
            break;
        case 2:
            fprintf(file, "<path class=\"s%zu\" d=\"M%.1f %.1fl%.1f %.1fh%.1fz\"", series, x, y - r - 1, r, 2 * r,
                    -2 * r);
            break;
        default:
            fprintf(file, "<path class=\"s%zu\" d=\"M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz\"", series, x, y - r - 1,
                    r + 1, r + 1, -r - 1, r + 1, -r - 1, -r - 1);
    }
}

static void put_axes(FILE *file, const struct plot *plot, const struct axis *x, const struct axis *y) {
    char text[32];
    for (size_t i = 0; i < y->tick_count; ++i) {
        const double at = pixel(y, y->ticks[i]);
        fprintf(file, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", LEFT, at, WIDTH - RIGHT);
        tick_text(text, y, y->ticks[i]);
        put_label(file, "class=\"dim\" text-anchor=\"end\"", LEFT - 8, at + 4, text);
    }
    for (size_t i = 0; i < x->tick_count && plot->kind != PLOT_BARS; ++i) {
        const double at = pixel(x, x->ticks[i]);
        fprintf(file, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", at, TOP, TOP + PLOT_HEIGHT);
        tick_text(text, x, x->ticks[i]);
        put_label(file, "class=\"dim\" text-anchor=\"middle\"", at, TOP + PLOT_HEIGHT + 18, text);
    }
    fprintf(file, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP, TOP + PLOT_HEIGHT, WIDTH - RIGHT);
    fprintf(file, "<g transform=\"translate(18,%d) rotate(-90)\">", TOP + PLOT_HEIGHT / 2);
    put_label(file, "text-anchor=\"middle\"", 0, 0, plot->y_label);
    fputs("</g>\n", file);
}

static void put_legend(FILE *file, const struct plot *plot) {
    double at = LEFT;
    for (size_t s = 0; s < plot->series_count; ++s) {
        put_marker(file, s, at + 5, TOP - 20);
        fputs("/>\n", file);
        put_label(file, "", at + 16, TOP - 16, plot->series[s].name);
        at += 34 + 7.4 * (double)strlen(plot->series[s].name);
    }
}

static void put_series(FILE *file, const struct plot *plot, size_t s, const struct axis *x, const struct axis *y) {
    const struct plot_series *series = &plot->series[s];
    if (plot->kind == PLOT_LINES) {
        bool begun = false; /* a gap starts a new line segment */
        fprintf(file, "<path class=\"s%zu line\" d=\"", s);
        for (size_t i = 0; i < series->count; ++i) {
            const bool there = can_stand(x, series->x[i]) && can_stand(y, series->y[i]);
            if (there) fprintf(file, "%c%.1f %.1f", begun ? 'L' : 'M', pixel(x, series->x[i]), pixel(y, series->y[i]));
            begun = there;
        }
        fputs("\"/>\n", file);
    }
    for (size_t i = 0; i < series->count; ++i) {
        if (!can_stand(x, series->x[i]) || !can_stand(y, series->y[i])) continue;
        const double px = pixel(x, series->x[i]), py = pixel(y, series->y[i]);
        put_marker(file, s, px, py);
        fputs("><title>", file);
        put_text(file, series->name);
        fprintf(file, ": %.6g, %.6g</title></%s>\n", series->x[i], series->y[i],
                s % 4 == 0   ? "circle"
                : s % 4 == 1 ? "rect"
                             : "path");
        if (series->labels == NULL) continue;
        const bool right = px > WIDTH - RIGHT - 8.0 * (double)strlen(series->labels[i]);
        put_label(file, right ? "text-anchor=\"end\" class=\"small\"" : "class=\"small\"", px + (right ? -8 : 8),
                  py + 4, series->labels[i]);
    }
}

static size_t longest(const struct plot *plot) {
    size_t count = 0;
    for (size_t s = 0; s < plot->series_count; ++s)
        if (plot->series[s].count > count) count = plot->series[s].count;
    return count;
}

static void put_bars(FILE *file, const struct plot *plot, const struct axis *y) {
    const size_t count = longest(plot);
    const double slot = (double)(WIDTH - LEFT - RIGHT) / (double)count, zero = pixel(y, 0);
    const double wide = 0.8 * slot / (double)plot->series_count;
    for (size_t i = 0; i < count; ++i) {
        const double left = LEFT + slot * (double)i + 0.1 * slot;
        for (size_t s = 0; s < plot->series_count; ++s) {
            if (i >= plot->series[s].count || !isfinite(plot->series[s].y[i])) continue;
            const double at = pixel(y, plot->series[s].y[i]);
            fprintf(file, "<rect class=\"s%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>", s,
                    left + wide * (double)s, fmin(at, zero), wide * 0.92, fabs(at - zero));
            put_text(file, plot->categories[i]);
            fputs(", ", file);
            put_text(file, plot->series[s].name);
            fprintf(file, ": %.4g</title></rect>\n", plot->series[s].y[i]);
        }
        fprintf(file, "<g transform=\"translate(%.1f,%d) rotate(-50)\">", left + 0.4 * slot + 4,
                TOP + PLOT_HEIGHT + 14);
        put_label(file, "text-anchor=\"end\" class=\"dim\"", 0, 0, plot->categories[i]);
        fputs("</g>\n", file);
    }
    fprintf(file, "<path class=\"axis\" d=\"M%d %.1fH%d\"/>\n", LEFT, zero, WIDTH - RIGHT);
}

bool write_plot(const char *path, const struct plot *plot) {
    const int height = TOP + PLOT_HEIGHT + (plot->kind == PLOT_BARS ? 124 : 56);
    struct axis x = {.base = plot->x_base, .from = LEFT, .to = WIDTH - RIGHT};
    struct axis y = {.base = plot->y_base, .from = TOP + PLOT_HEIGHT, .to = TOP};
    if (plot->series_count > PLOT_MAX_SERIES || !fit_axis(&y, plot, true) ||
        (plot->kind != PLOT_BARS && !fit_axis(&x, plot, false))) {
        complain("%s: there are no values to draw", path);
        return false;
    }
    struct output out;
    if (!output_open(&out, path)) return false;
    fprintf(out.file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n"
            "<title>",
            WIDTH, height, WIDTH, height);
    put_text(out.file, plot->title);
    fputs("</title>\n", out.file);
    put_style(out.file);
    put_label(out.file, "class=\"title\"", LEFT, 28, plot->title);
    if (plot->subtitle != NULL) put_label(out.file, "class=\"dim\"", LEFT, 48, plot->subtitle);
    put_axes(out.file, plot, &x, &y);
    put_legend(out.file, plot);
    if (plot->kind == PLOT_BARS)
        put_bars(out.file, plot, &y);
    else
        for (size_t s = 0; s < plot->series_count; ++s) put_series(out.file, plot, s, &x, &y);
    put_label(out.file, "text-anchor=\"middle\"", (LEFT + WIDTH - RIGHT) / 2.0, height - 12, plot->x_label);
    fputs("</svg>\n", out.file);
    return output_close(&out);
}
