/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel of kernel_list.h writes the same bytes at every level that this machine can run, for
 * random sizes at random addresses, and touches nothing beside. A kernel without a check here does
 * not compile. */
#include "support/cm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "ops/kernels/bands.h"
#include "ops/kernels/kernel_table.h"
#include "ops/kernels/normalize.h"
#include "ops/kernels/resample.h"
#include "ops/kernels/sinc.h"
#include "ops/kernels/stft.h"
#include "unit/ops/check_kernels.h"

/* ---- a check for each kernel: the two ways from one random input ---- */

/* floats of any bits, many of them of usual sizes */
static struct block floats(struct random *random, size_t n)
{
    struct block block = block_new(random, n * sizeof(float), sizeof(float));
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)cw_rng_u64(&random->rng, random->draws++);
        float v = (float)bits / 1e8f - 20.0f;
        if (bits % 5 == 0)
            memcpy(&v, &bits, sizeof(v));
        memcpy(block.at + i * sizeof(v), &v, sizeof(v));
    }
    return block;
}

/* Two blocks of floats have the same bits, but for those of NaNs, which are any: one_nan is called behind these
 * kernels. */
static void assert_same_floats(const struct block *a, const struct block *b)
{
    for (size_t i = 0; i + sizeof(float) <= a->bytes; i += sizeof(float)) {
        float x, y;
        memcpy(&x, a->at + i, sizeof(x));
        memcpy(&y, b->at + i, sizeof(y));
        assert_true((isnan(x) && isnan(y)) || memcmp(&x, &y, sizeof(x)) == 0);
    }
}

typedef void each_f32_fn(float *dst, const float *src, size_t n);

static void check_each_f32(each_f32_fn *plain, each_f32_fn *level, struct random *random)
{
    const size_t n = below(random, 70);
    struct block src = floats(random, n);
    struct block a = block_new(random, n * sizeof(float), sizeof(float)),
                 b = block_new(random, n * sizeof(float), sizeof(float));
    plain((float *)(void *)a.at, (float *)(void *)src.at, n);
    level((float *)(void *)b.at, (float *)(void *)src.at, n);
    assert_true(memcmp(a.at, b.at, n * sizeof(float)) == 0);
    level((float *)(void *)src.at, (float *)(void *)src.at, n); /* and in place */
    assert_true(memcmp(a.at, src.at, n * sizeof(float)) == 0);
    block_free(&a);
    block_free(&b);
    block_free(&src);
}

static void check_bands_run(const struct cw_kernels *plain, const struct cw_kernels *level,
                            struct random *random)
{
    const size_t n = 1 + below(random, 6), rows = 1 + below(random, 12),
                 columns = below(random, 90);
    struct block matrix = floats(random, n * rows), src = floats(random, rows * columns);
    struct block a = block_new(random, n * columns * sizeof(float), sizeof(float)),
                 b = block_new(random, n * columns * sizeof(float), sizeof(float));
    for (size_t i = 0; i < n * rows; i++)
        if (below(random, 3) == 0 || !isfinite(((float *)(void *)matrix.at)[i]))
            ((float *)(void *)matrix.at)[i] = 0;
    struct cw_bands bands;
    cw_bands_init(&bands, n, rows, (float *)(void *)matrix.at);
    struct cw_bands_job job = {.bands = &bands,
                               .src = (float *)(void *)src.at,
                               .dst = (float *)(void *)a.at,
                               .columns = columns};
    plain->bands_run(&job);
    job.dst = (float *)(void *)b.at;
    level->bands_run(&job);
    assert_same_floats(&a, &b);
    block_free(&a);
    block_free(&b);
    block_free(&src);
    block_free(&matrix);
    cw_bands_fini(&bands);
}

static void check_exp_f32(const struct cw_kernels *plain, const struct cw_kernels *level,
                          struct random *random)
{
    check_each_f32(plain->exp_f32, level->exp_f32, random);
}

static void check_log_f32(const struct cw_kernels *plain, const struct cw_kernels *level,
                          struct random *random)
{
    check_each_f32(plain->log_f32, level->log_f32, random);
}

static void check_mirror3(const struct cw_kernels *plain, const struct cw_kernels *level,
                          struct random *random)
{
    const size_t w = 1 + below(random, 70), h = 1 + below(random, 3), n = w * h * 3;
    struct block src = noise(random, n);
    struct block a = block_new(random, n, 1), b = block_new(random, n, 1);
    plain->mirror3(a.at, src.at, h, w);
    level->mirror3(b.at, src.at, h, w);
    assert_memory_equal(a.at, b.at, n);
    assert_memory_equal(a.at, src.at + 3 * (w - 1), 3);
    block_free(&a);
    block_free(&b);
    free(src.memory);
}

static void check_one_nan(const struct cw_kernels *plain, const struct cw_kernels *level,
                          struct random *random)
{
    const size_t n = below(random, 70);
    struct block a = floats(random, n), b = block_new(random, n * sizeof(float), sizeof(float));
    const uint32_t nan[] = {0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff};
    for (size_t i = 0; i < n; i++)
        if (below(random, 4) == 0)
            memcpy(a.at + i * sizeof(float), &nan[below(random, 4)], sizeof(float));
    memcpy(b.at, a.at, n * sizeof(float));
    struct block before = block_new(random, n * sizeof(float), sizeof(float));
    memcpy(before.at, a.at, n * sizeof(float));
    plain->one_nan((float *)(void *)a.at, n);
    level->one_nan((float *)(void *)b.at, n);
    assert_true(memcmp(a.at, b.at, n * sizeof(float)) == 0);
    for (size_t i = 0; i < n * sizeof(float); i += sizeof(float)) {
        float was;
        memcpy(&was, before.at + i, sizeof(was));
        assert_true(memcmp(a.at + i, isnan(was) ? (const void *)&nan[0] : (const void *)&was,
                           sizeof(was)) == 0);
    }
    block_free(&a);
    block_free(&b);
    block_free(&before);
}

static void check_normalize_u8(const struct cw_kernels *plain, const struct cw_kernels *level,
                               struct random *random)
{
    static const float mean[5] = {0.485f, 0.456f, 0.406f, 0.5f, 0.1f},
                       std[5] = {0.229f, 0.224f, 0.225f, 0.25f, 3.0f};
    struct cw_normalize normalize;
    const size_t channels = 1 + below(random, 5);
    cw_normalize_init(&normalize, 255.0f, mean, std, channels);
    /* large ones are written in another way */
    const size_t n = channels * (below(random, 200) + (below(random, 20) ? 0 : 15000));
    struct block src = noise(random, n);
    struct block a = block_new(random, n * sizeof(float), sizeof(float)),
                 b = block_new(random, n * sizeof(float), sizeof(float));
    plain->normalize_u8(&normalize, (float *)(void *)a.at, src.at, n, n);
    level->normalize_u8(&normalize, (float *)(void *)b.at, src.at, n, n);
    if (n > 0)
        assert_memory_equal(a.at, b.at, n * sizeof(float));
    block_free(&a);
    block_free(&b);
    free(src.memory);
    cw_normalize_fini(&normalize);
}

/* an axis of a random resize */
struct random_axis {
    struct cw_filter_axis axis;
    int32_t in, out;
};

static struct random_axis axis_new(struct random *random, size_t most)
{
    struct random_axis axis = {.in = 1 + (int32_t)below(random, most),
                               .out = 1 + (int32_t)below(random, 90)};
    assert_int_equal(cw_filter_prepare(&axis.axis, axis.in, axis.out,
                                       (enum cw_filter)below(random, CW_FILTERS), NULL),
                     0);
    return axis;
}

static void check_resample_x(const struct cw_kernels *plain, const struct cw_kernels *level,
                             struct random *random)
{
    struct random_axis x = axis_new(random, below(random, 4) ? 40 : 400);
    const size_t channels = below(random, 5) ? 3 : 1 + below(random, 4);
    const size_t rows = 1 + below(random, 9), in_row = (size_t)x.in * channels,
                 out_row = (size_t)x.out * channels;
    struct block src = noise(random, rows * in_row);
    struct block a = block_new(random, rows * out_row, 1), b = block_new(random, rows * out_row, 1);
    struct cw_resample_x pass = {.src = src.at,
                                 .src_stride = in_row,
                                 .src_bytes = in_row,
                                 .dst = a.at,
                                 .dst_stride = out_row,
                                 .rows = (int32_t)rows,
                                 .channels = (int32_t)channels,
                                 .axis = &x.axis};
    plain->resample_x(&pass);
    pass.dst = b.at;
    level->resample_x(&pass);
    assert_memory_equal(a.at, b.at, rows * out_row);
    block_free(&a);
    block_free(&b);
    free(src.memory);
    cw_filter_fini(&x.axis);
}

static void check_resample_y(const struct cw_kernels *plain, const struct cw_kernels *level,
                             struct random *random)
{
    struct random_axis y = axis_new(random, 60);
    const size_t row = 1 + below(random, 100);
    struct block src = noise(random, (size_t)y.in * row);
    struct block a = block_new(random, (size_t)y.out * row, 1),
                 b = block_new(random, (size_t)y.out * row, 1);
    struct cw_resample_y pass = {
        .src = src.at, .src_stride = row, .dst = a.at, .row_bytes = row, .axis = &y.axis};
    plain->resample_y(&pass);
    pass.dst = b.at;
    level->resample_y(&pass);
    assert_memory_equal(a.at, b.at, (size_t)y.out * row);
    block_free(&a);
    block_free(&b);
    free(src.memory);
    cw_filter_fini(&y.axis);
}

static void check_sinc_run(const struct cw_kernels *plain, const struct cw_kernels *level,
                           struct random *random)
{
    const struct cw_sinc_design design = {.from = 1 + (int64_t)below(random, 12),
                                          .to = 1 + (int64_t)below(random, 12),
                                          .width = 1 + (int64_t)below(random, 8),
                                          .rolloff = 0.95,
                                          .window = CW_SINC_HANN};
    struct cw_sinc sinc;
    assert_int_equal(cw_sinc_init(&sinc, &design, NULL), 0);
    const size_t n = below(random, 60), step = 1 + below(random, 2);
    const size_t out = (size_t)cw_sinc_length(&sinc, (int64_t)n);
    struct block x = floats(random, cw_sinc_padded(&sinc, n));
    struct block a = block_new(random, out * step * sizeof(float), sizeof(float)),
                 b = block_new(random, out * step * sizeof(float), sizeof(float));
    struct cw_sinc_job job = {.sinc = &sinc,
                              .x = (float *)(void *)x.at,
                              .dst = (float *)(void *)a.at,
                              .n = out,
                              .step = step};
    plain->sinc_run(&job);
    job.dst = (float *)(void *)b.at;
    level->sinc_run(&job);
    assert_same_floats(&a, &b);
    block_free(&a);
    block_free(&b);
    block_free(&x);
    cw_sinc_fini(&sinc);
}

static void check_stft_block(const struct cw_kernels *plain, const struct cw_kernels *level,
                             struct random *random)
{
    size_t n = 1 + below(random, 130);
    while (!cw_stft_can(n))
        n--;
    struct cw_stft stft;
    struct block window = floats(random, n);
    cw_stft_init(&stft, n, (float *)(void *)window.at);
    const size_t hop = 1 + below(random, 40), frames = 1 + below(random, CW_STFT_LANES);
    struct block x = floats(random, (CW_STFT_LANES - 1) * hop + n);
    const size_t row = frames + below(random, 3), out = 2 * cw_stft_rows(&stft) * row;
    struct block work = block_new(random, cw_stft_work_floats(&stft) * sizeof(float), 4);
    struct block a = block_new(random, out * sizeof(float), 4),
                 b = block_new(random, out * sizeof(float), 4);
    struct cw_stft_job job = {.stft = &stft,
                              .x = (float *)(void *)x.at,
                              .hop = hop,
                              .frames = frames,
                              .form = (enum cw_stft_form)below(random, CW_STFT_POWER + 1),
                              .dst = (float *)(void *)a.at,
                              .row = row,
                              .work = (float *)(void *)work.at};
    plain->stft_block(&job);
    job.dst = (float *)(void *)b.at;
    level->stft_block(&job);
    assert_same_floats(&a, &b);
    block_free(&a);
    block_free(&b);
    block_free(&work);
    block_free(&x);
    block_free(&window);
    cw_stft_fini(&stft);
}

static void check_tone_map(const struct cw_kernels *plain, const struct cw_kernels *level,
                           struct random *random)
{
    const size_t n = below(random, 200);
    struct block src = noise(random, n), table = noise(random, 256);
    struct block a = block_new(random, n, 1), b = block_new(random, n, 1);
    plain->tone_map(a.at, src.at, n, table.at);
    level->tone_map(b.at, src.at, n, table.at);
    assert_true(memcmp(a.at, b.at, n) == 0);
    memcpy(b.at, src.at, n); /* and in place */
    level->tone_map(b.at, b.at, n, table.at);
    assert_true(memcmp(a.at, b.at, n) == 0);
    block_free(&a);
    block_free(&b);
    free(src.memory);
    free(table.memory);
}

static void check_split(void (*plain)(void *, const void *, size_t, size_t),
                        void (*level)(void *, const void *, size_t, size_t), size_t bytes,
                        struct random *random)
{
    const size_t pixels = below(random, 100), plane = pixels + below(random, 3);
    struct block src = noise(random, 3 * pixels * bytes);
    struct block a = block_new(random, 3 * plane * bytes, bytes),
                 b = block_new(random, 3 * plane * bytes, bytes);
    memset(a.at, 7, 3 * plane * bytes); /* what is between the planes is not written */
    memset(b.at, 7, 3 * plane * bytes);
    plain(a.at, src.at, pixels, plane);
    level(b.at, src.at, pixels, plane);
    assert_true(memcmp(a.at, b.at, 3 * plane * bytes) == 0);
    for (size_t i = 0; i < pixels; i++)
        for (size_t c = 0; c < 3; c++)
            assert_memory_equal(a.at + (c * plane + i) * bytes, src.at + (3 * i + c) * bytes,
                                bytes);
    block_free(&a);
    block_free(&b);
    free(src.memory);
}

static void check_split3_u8(const struct cw_kernels *plain, const struct cw_kernels *level,
                            struct random *random)
{
    check_split(plain->split3_u8, level->split3_u8, 1, random);
}

static void check_split3_f32(const struct cw_kernels *plain, const struct cw_kernels *level,
                             struct random *random)
{
    check_split(plain->split3_f32, level->split3_f32, 4, random);
}

static const struct {
    const char *name;
    check_fn *check;
} checks[] = {
#define CW_KERNEL(name, parameters) {#name, check_##name},
#include "ops/kernels/kernel_list.h"
#undef CW_KERNEL
};

#define ROUNDS 300

static void every_level_writes_the_same(void **state)
{
    (void)state;
    for (int level = 0; level < CW_CPU_LEVELS; level++) {
        const struct cw_kernels *kernels = cw_kernels_at((enum cw_cpu_level)level);
        for (size_t i = 0; kernels && i < CW_ARRAY_LEN(checks); i++)
            for (uint64_t round = 0; round < ROUNDS; round++) {
                struct random random = {0};
                cw_rng_init(&random.rng, round, i, 0, 0, 0);
                checks[i].check(cw_kernels_at(CW_CPU_LEVEL_PLAIN), kernels, &random);
            }
    }
}

static void levels_have_all_kernels(void **state)
{
    (void)state;
    assert_non_null(cw_kernels_at(CW_CPU_LEVEL_PLAIN));
    for (int level = 0; level < CW_CPU_LEVELS; level++) {
        const struct cw_kernels *kernels = cw_kernels_at((enum cw_cpu_level)level);
        assert_int_equal(kernels != NULL, (enum cw_cpu_level)level <= cw_cpu_best());
#define CW_KERNEL(name, parameters) assert_true(!kernels || kernels->name != NULL);
#include "ops/kernels/kernel_list.h"
#undef CW_KERNEL
    }
    assert_ptr_equal(cw_kernels(), cw_kernels_at(cw_cpu_level()));
    assert_true(cw_cpu_level() <= cw_cpu_best());
}

/* The environment is that of this process: where CACHEW_CPU is set, it caps the level. */
static void the_environment_caps_the_level(void **state)
{
    (void)state;
    const char *asked = getenv("CACHEW_CPU");
    enum cw_cpu_level most;
    assert_int_equal(cw_cpu_parse(asked, &most, NULL), 0);
    assert_int_equal(cw_cpu_level(), most < cw_cpu_best() ? most : cw_cpu_best());
    assert_int_equal(cw_cpu_check(NULL), 0);
}

static void names_are_parsed(void **state)
{
    (void)state;
    struct cw_err err = {0};
    enum cw_cpu_level level = CW_CPU_LEVELS;
    for (int i = 0; i < CW_CPU_LEVELS; i++) {
        assert_int_equal(cw_cpu_parse(cw_cpu_level_name((enum cw_cpu_level)i), &level, &err), 0);
        assert_int_equal(level, i);
    }
    assert_int_equal(cw_cpu_parse(NULL, &level, &err), 0);
    assert_int_equal(level, CW_CPU_LEVELS - 1);
    assert_int_equal(cw_cpu_parse("", &level, &err), 0);
    assert_int_equal(level, CW_CPU_LEVELS - 1);
    assert_int_equal(cw_cpu_parse("Plain", &level, &err), CW_E_INVALID);
    assert_int_equal(level, CW_CPU_LEVEL_PLAIN);
    assert_string_equal(err.msg, "CACHEW_CPU: \"Plain\" is none of plain, avx2, avx512");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_writes_the_same), cmocka_unit_test(levels_have_all_kernels),
        cmocka_unit_test(the_environment_caps_the_level), cmocka_unit_test(names_are_parsed)};
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
