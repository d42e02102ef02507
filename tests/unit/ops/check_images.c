/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the kernels that change the samples of images. */
#include "unit/ops/check_kernels.h"

#include "ops/kernels/neighbours.h"

void check_saturate(const struct cw_kernels *plain, const struct cw_kernels *level,
                    struct random *random)
{
    const size_t pixels = below(random, 80), n = 3 * pixels;
    const float factor = (float)below(random, 3000) / 1000.0f;
    struct block src = noise(random, n);
    struct block a = block_new(random, n, 1), b = block_new(random, n, 1);
    plain->saturate(a.at, src.at, pixels, factor);
    level->saturate(b.at, src.at, pixels, factor);
    assert_true(memcmp(a.at, b.at, n) == 0);
    memcpy(b.at, src.at, n); /* and in place */
    level->saturate(b.at, b.at, pixels, factor);
    assert_true(memcmp(a.at, b.at, n) == 0);
    block_free(&a);
    block_free(&b);
    free(src.memory);
}

void check_shift_hue(const struct cw_kernels *plain, const struct cw_kernels *level,
                     struct random *random)
{
    const size_t pixels = below(random, 300), n = 3 * pixels;
    const uint8_t shift = (uint8_t)below(random, 256);
    struct block src = noise(random, n);
    struct block a = block_new(random, n, 1), b = block_new(random, n, 1);
    for (size_t i = 0; i < n; i++) /* pixels without a colour, and with hardly any */
        if (i / 3 % 5 == 0)
            src.at[i] = (uint8_t)(src.at[i - i % 3] + (i % 7 == 0));
    plain->shift_hue(a.at, src.at, pixels, shift);
    level->shift_hue(b.at, src.at, pixels, shift);
    assert_true(memcmp(a.at, b.at, n) == 0);
    memcpy(b.at, src.at, n); /* and in place */
    level->shift_hue(b.at, b.at, pixels, shift);
    assert_true(memcmp(a.at, b.at, n) == 0);
    block_free(&a);
    block_free(&b);
    free(src.memory);
}

void check_grey(const struct cw_kernels *plain, const struct cw_kernels *level,
                struct random *random)
{
    const size_t n = below(random, 120);
    struct block src = noise(random, 3 * n);
    struct block a = block_new(random, n, 1), b = block_new(random, n, 1);
    plain->grey(a.at, src.at, n);
    level->grey(b.at, src.at, n);
    assert_true(memcmp(a.at, b.at, n) == 0);
    block_free(&a);
    block_free(&b);
    free(src.memory);
}

/* Weights of a random width, from one that only copies to one that has most weights 0. */
static struct cw_blur_axis blur_axis(struct random *random)
{
    struct cw_blur_axis axis;
    const size_t taps = 1 + 2 * below(random, below(random, 9) ? 15 : 128);
    cw_blur_axis_init(&axis, taps, 0.01 + (double)below(random, 400) / 100);
    return axis;
}

void check_blur_y(const struct cw_kernels *plain, const struct cw_kernels *level,
                  struct random *random)
{
    const struct cw_blur_axis axis = blur_axis(random);
    const size_t n = 1 + below(random, 90);
    const uint8_t *rows[CW_BLUR_TAPS_MAX];
    uint32_t sums[90];
    struct block src = noise(random, n + 8);
    struct block a = block_new(random, 2 * n, 2), b = block_new(random, 2 * n, 2);
    for (size_t i = 0; i < axis.taps; i++)
        rows[i] = src.at + below(random, 9);
    struct cw_blur_y pass = {
        .dst = (uint16_t *)(void *)a.at, .rows = rows, .axis = &axis, .n = n, .sums = sums};
    plain->blur_y(&pass);
    pass.dst = (uint16_t *)(void *)b.at;
    level->blur_y(&pass);
    assert_true(memcmp(a.at, b.at, 2 * n) == 0);
    block_free(&a);
    block_free(&b);
    free(src.memory);
}

void check_blur_x(const struct cw_kernels *plain, const struct cw_kernels *level,
                  struct random *random)
{
    const struct cw_blur_axis axis = blur_axis(random);
    const size_t n = 1 + below(random, 90), step = 1 + below(random, 4);
    const size_t words = n + (axis.taps - 1) * step;
    uint32_t sums[90];
    struct block a = block_new(random, n, 1), b = block_new(random, n, 1);
    uint16_t *src = malloc(2 * words);
    assert_non_null(src);
    for (size_t i = 0; i < words;
         i++) /* as the other pass leaves them: up to 255 and no fraction */
        src[i] =
            (uint16_t)(below(random, 3) ? below(random, 255 * 256 + 1) : i / 5 % 2 * 255 * 256);
    struct cw_blur_x pass = {
        .dst = a.at, .src = src, .axis = &axis, .step = step, .n = n, .sums = sums};
    plain->blur_x(&pass);
    pass.dst = b.at;
    level->blur_x(&pass);
    assert_true(memcmp(a.at, b.at, n) == 0);
    block_free(&a);
    block_free(&b);
    free(src);
}
