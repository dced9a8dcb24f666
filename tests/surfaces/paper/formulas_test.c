/*
 * formulas_test.c - what examples/paper counts and computes by itself: parameters and arithmetic of the rows of Table
 * 3, work and path length of the layers of Table 1, and the recurrent and the convolutional layer against plain loops.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <string.h>

#include "common.h"
#include "layers.h"
#include "rows.h"
#include "table1.h"
/* Last: its macro fail() would hide the function of common.h. */
#include "../../support/c_test.h"

const char program_name[] = "formulas_test";

static xf_config *row_config(const char *name, int64_t scale) {
    xf_config *config = NULL;
    assert_int_equal(xf_config_create(&config, NULL), XF_OK);
    assert_int_equal(set_row(config, name, scale), -1);
    return config;
}

/* The count is that of the library's model, for every row. */
TEST(parameters_of_models) {
    xf_context *context = NULL;
    assert_int_equal(xf_context_create(NULL, NULL, &context, NULL), XF_OK);
    for (int i = 0; i < PAPER_ROWS; ++i) {
        xf_config *config = row_config(paper_rows[i].name, 16);
        xf_model *model = NULL;
        assert_int_equal(xf_config_set_number(config, "model.vocab_size", 300, NULL), XF_OK);
        assert_int_equal(xf_config_set_number(config, "model.max_length", 77, NULL), XF_OK);
        assert_int_equal(xf_model_create(context, NULL, config, &model, NULL), XF_OK);
        const struct model_size size = size_of(config, 300);
        assert_int_equal(count_parameters(&size), parameter_count(model));
        xf_model_free(model);
        xf_config_free(config);
    }
    xf_context_free(context);
}

/*
 * The paper's column. With its V of "about 37,000" each count is 1 to 5 million below what Table 3 prints; with 41,000
 * all rows meet it within rounding but the big one, whose 213 no vocabulary above 36,000 can give.
 */
TEST(parameters_of_paper) {
    for (int i = 0; i < PAPER_ROWS; ++i) {
        const struct paper_row *row = &paper_rows[i];
        xf_config *config = row_config(row->name, 1);
        const struct model_size small = size_of(config, 37000), large = size_of(config, 41000);
        const double printed = row->parameters > 0 ? row->parameters : 65;
        const double at_37000 = (double)count_parameters(&small) / 1e6;
        const double at_41000 = (double)count_parameters(&large) / 1e6;
        assert_true(fabs(at_37000 - printed) < 0.07 * printed);
        if (strcmp(row->name, "big") == 0)
            assert_true(fabs(at_37000 - printed) < 1.5);
        else if (strcmp(row->name, "E-learned") == 0) /* twice 1024 positions more; the paper prints no number */
            assert_true(fabs(at_41000 - printed - 1.05) < 0.6);
        else
            assert_true(fabs(at_41000 - printed) < 0.6);
        xf_config_free(config);
    }
}

/* Counts the options in which each row differs from base; base resets them. */
TEST(rows) {
    static const struct {
        const char *name, *key, *value;
        int changes;
    } wanted[] = {
        {"A-h1", "model.heads", "1", 3},
        {"A-h32", "model.d_v", "16", 3},
        {"B-dk16", "model.d_k", "16", 1},
        {"C-N2", "model.decoder_layers", "2", 2},
        {"C-dmodel1024", "model.d_v", "128", 3},
        {"C-dff4096", "model.d_ff", "4096", 1},
        {"D-dropout0.0", "train.dropout", "0", 1},
        {"D-smoothing0.2", "train.label_smoothing", "0.2", 1},
        {"E-learned", "model.positions", "learned", 1},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; ++i) {
        xf_config *config = row_config(wanted[i].name, 1), *base = row_config("base", 1);
        const char *value = NULL;
        assert_int_equal(xf_config_get(config, wanted[i].key, &value, NULL), XF_OK);
        assert_string_equal(value, wanted[i].value);
        int changes = 0;
        for (size_t k = 0; k < xf_option_count(); ++k) {
            xf_option_info info = XF_OPTION_INFO_INIT;
            const char *here = NULL, *there = NULL;
            assert_int_equal(xf_option_get(k, &info, NULL), XF_OK);
            assert_int_equal(xf_config_get(config, info.key, &here, NULL), XF_OK);
            assert_int_equal(xf_config_get(base, info.key, &there, NULL), XF_OK);
            changes += strcmp(here, there) != 0;
        }
        assert_int_equal(changes, wanted[i].changes);
        assert_int_equal(set_row(config, "base", 1), -1);
        assert_int_equal(xf_config_get(config, wanted[i].key, &value, NULL), XF_OK);
        assert_string_not_equal(value, wanted[i].value);
        xf_config_free(base);
        xf_config_free(config);
    }
}

TEST(scale_that_does_not_divide) {
    xf_config *config = NULL;
    assert_int_equal(xf_config_create(&config, NULL), XF_OK);
    assert_int_equal(set_row(config, "A-h32", 32), EXIT_USAGE);
    assert_int_equal(set_row(config, "base", 0), EXIT_USAGE);
    assert_int_equal(set_row(config, "C-N3", 1), EXIT_USAGE);
    assert_int_equal(set_row(config, "base", 3), EXIT_USAGE);
    xf_config_free(config);
}

/* One layer each, all widths 1 or 2, counted by hand. */
TEST(flops) {
    const struct model_size z = {.encoder_layers = 1,
                                 .decoder_layers = 1,
                                 .d_model = 2,
                                 .d_ff = 3,
                                 .heads = 1,
                                 .d_k = 1,
                                 .d_v = 2,
                                 .vocabulary = 5};
    /* s = 2, t = 3. Encoder: q and k 2 each, v and o 4 each, feed-forward 12: 24 a token; 4 pairs of 1 + 2: 12. */
    const double encoder = 2 * 24 + 12;
    /* Decoder: self 12, q and o of cross 2 + 4, feed-forward 12: 30 a token; k and v of cross 6 a source token; 6
     * causal and 6 cross pairs of 3. Projection 10 a token. */
    const double decoder = 3 * 30 + 2 * 6 + 12 * 3 + 3 * 10;
    assert_true(fabs(pair_flops(&z, 2, 3) - 6 * (encoder + decoder)) < 1e-9);
    const int64_t source[] = {0, 2, 4}, target[] = {0, 3, 6};
    xf_batch batch = XF_BATCH_INIT;
    batch.sentences = 2;
    batch.src_offsets = source;
    batch.tgt_offsets = target;
    assert_true(fabs(batch_flops(&z, &batch) - 12 * (encoder + decoder)) < 1e-9);
}

TEST(paths) {
    const struct table1 t = {.d = 8, .heads = 2, .window = 4, .kernel = 3};
    assert_int_equal(layer_path(&t, FULL, 100), 1);
    assert_int_equal(layer_path(&t, RECURRENT, 100), 100);
    assert_int_equal(layer_path(&t, RESTRICTED, 2), 1);
    assert_int_equal(layer_path(&t, RESTRICTED, 3), 1); /* two to either side */
    assert_int_equal(layer_path(&t, RESTRICTED, 4), 2);
    assert_int_equal(layer_path(&t, RESTRICTED, 101), 50);
    assert_int_equal(layer_path(&t, CONVOLUTION, 3), 1);
    assert_int_equal(layer_path(&t, CONVOLUTION, 9), 2);
    assert_int_equal(layer_path(&t, CONVOLUTION, 10), 3);
    assert_int_equal(layer_steps(&t, RECURRENT, 100), 100);
    assert_int_equal(layer_steps(&t, CONVOLUTION, 100), 1);
    assert_true(layer_work(&t, FULL, 10) == 2.0 * 100 * 8);
    assert_true(layer_work(&t, RESTRICTED, 5) == 2.0 * (3 + 4 + 5 + 4 + 3) * 8);
    assert_true(layer_work(&t, RECURRENT, 5) == 4.0 * 64);
    assert_true(layer_work(&t, CONVOLUTION, 5) == 15.0 * 64);
    assert_true(layer_work(&t, ENCODER, 10) == 1600 + 10.0 * 12 * 64);
}

/* There is room for every length that --min-length and --max-length allow. */
TEST(lengths) {
    int count = 0;
    for (int64_t n = LEAST_LENGTH; n <= MOST_LENGTH; n *= 2) ++count;
    assert_true(count <= MAX_LENGTHS);
}

TEST(threads) {
    assert_int_equal(device_threads("openblas on cpu:0, AMD EPYC, avx512, own kernels only, 1 thread, fp32"), 1);
    assert_int_equal(device_threads("openblas on cpu:0, AMD EPYC, avx512, own kernels only, 16 threads, fp32"), 16);
    assert_int_equal(device_threads("openblas on cpu:0, 12th Gen Intel(R) Core(TM) i7, avx2, 8 threads, fp32"), 8);
    assert_int_equal(device_threads("something else"), 1);
}

static void plain_forward(const struct layer *l, double *y) {
    for (int64_t t = 0; t < l->n; ++t) {
        for (int64_t o = 0; o < l->d; ++o) {
            double sum = l->kernel == 0 ? l->x[t * l->d + o] : 0;
            for (int64_t i = 0; i < l->d && l->kernel == 0 && t > 0; ++i)
                sum += l->weight[o * l->d + i] * y[(t - 1) * l->d + i];
            for (int64_t j = 0; j < l->kernel; ++j) {
                const int64_t at = t + j - l->kernel / 2;
                for (int64_t i = 0; i < l->d && at >= 0 && at < l->n; ++i)
                    sum += (double)l->x[at * l->d + i] * l->weight[(j * l->d + i) * l->d + o];
            }
            y[t * l->d + o] = l->kernel == 0 ? tanh(sum) : sum;
        }
    }
}

/* The scalar whose gradients the layer gives: the sum of y diff_y. */
static double objective(const struct layer *l, double *y) {
    double sum = 0;
    plain_forward(l, y);
    for (int64_t i = 0; i < l->n * l->d; ++i) sum += y[i] * l->diff_y[i];
    return sum;
}

static void check_gradient(const struct layer *l, float *values, const float *gradient, int64_t count, double *y) {
    for (int64_t i = 0; i < count; ++i) {
        const float old = values[i];
        values[i] = old + 0x1p-10f;
        const double above = objective(l, y), high = values[i];
        values[i] = old - 0x1p-10f;
        const double below = objective(l, y), low = values[i];
        values[i] = old;
        const double expected = (above - below) / (high - low);
        assert_true(fabs(expected - gradient[i]) < 1e-4 * (1 + fabs(expected)));
    }
}

static void check_layer(int64_t n, int64_t d, int64_t kernel) {
    struct layer l;
    double *y = allocate((size_t)(n * d) * sizeof *y);
    layer_open(&l, n, d, kernel);
    if (kernel == 0)
        recurrent_both(&l);
    else
        convolution_both(&l);
    plain_forward(&l, y);
    for (int64_t i = 0; i < n * d; ++i) assert_true(fabs(y[i] - l.y[i]) < 1e-5);
    check_gradient(&l, l.x, l.diff_x, n * d, y);
    check_gradient(&l, l.weight, l.diff_weight, (kernel > 0 ? kernel : 1) * d * d, y);
    layer_close(&l);
    free(y);
}

TEST(layers) {
    check_layer(7, 5, 0);
    check_layer(7, 5, 3);
    check_layer(6, 4, 4);
    check_layer(2, 3, 5); /* places of the kernel that no row sees */
}

int main(void) { return RUN_TESTS(NULL, NULL); }
