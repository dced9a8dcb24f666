/*
 * plot.h - writes lines, points, or bars as a self-contained SVG file that follows the light or dark mode of the
 * viewer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PAPER_PLOT_H
#define PAPER_PLOT_H

#include <stdbool.h>
#include <stddef.h>

enum plot_kind { PLOT_LINES, PLOT_POINTS, PLOT_BARS };

enum { PLOT_MAX_SERIES = 6 };

struct plot_series {
    const char *name;
    const double *x, *y; /* bars have no x; NaN values are left out */
    size_t count;
    const char *const *labels; /* labels of points, or NULL */
};

struct plot {
    enum plot_kind kind;
    const char *title, *subtitle; /* UTF-8; the subtitle may be NULL */
    const char *x_label, *y_label;
    double x_base, y_base; /* 0: a linear axis; 10 or 2: a logarithmic one with ticks at its powers */
    const struct plot_series *series;
    size_t series_count;
    const char *const *categories; /* of bars: one for each value of the longest series */
};

/* Returns false after printing a message if there is nothing to draw or the file cannot be written. */
bool write_plot(const char *path, const struct plot *plot);

#endif
