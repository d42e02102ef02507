/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of motions: matrices of 3 x 3 in rows, and boxes in their formats. Everything is in
 * double in one order of operations, so it is the same on every CPU. */
#include "ops/motion.h"

#include <math.h>
#include <string.h>

const char *const cw_box_format_names[] = {"xyxy", "xywh", "relative", NULL};

/* *m becomes what `by` does with the results of *m. */
static void put_behind(double m[9], const double by[9])
{
    double product[9];
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++)
            product[3 * row + column] = by[3 * row] * m[column] + by[3 * row + 1] * m[3 + column] +
                                        by[3 * row + 2] * m[6 + column];
    memcpy(m, product, sizeof(product));
}

static void set_out(struct cw_motion *motion, int64_t h, int64_t w)
{
    motion->out_h = h;
    motion->out_w = w;
}

void cw_motion_crop(struct cw_motion *motion, int64_t y, int64_t x, int64_t h, int64_t w)
{
    const double by[9] = {1, 0, -(double)x, 0, 1, -(double)y, 0, 0, 1};
    put_behind(motion->m, by);
    set_out(motion, h, w);
}

void cw_motion_resize(struct cw_motion *motion, int64_t h, int64_t w)
{
    const double by[9] = {
        (double)w / (double)motion->out_w, 0, 0, 0, (double)h / (double)motion->out_h, 0, 0, 0, 1};
    put_behind(motion->m, by);
    set_out(motion, h, w);
}

void cw_motion_mirror(struct cw_motion *motion, bool horizontal)
{
    const double across[9] = {-1, 0, (double)motion->out_w, 0, 1, 0, 0, 0, 1},
                 down[9] = {1, 0, 0, 0, -1, (double)motion->out_h, 0, 0, 1};
    put_behind(motion->m, horizontal ? across : down);
}

/* The minor of row r and column c, with its sign. */
static double cofactor(const double m[9], int r, int c)
{
    const int r1 = (r + 1) % 3, r2 = (r + 2) % 3, c1 = (c + 1) % 3, c2 = (c + 2) % 3;
    return m[3 * r1 + c1] * m[3 * r2 + c2] - m[3 * r1 + c2] * m[3 * r2 + c1];
}

bool cw_motion_inverse(struct cw_motion *motion, const double of[9])
{
    double inverse[9];
    const double det =
        of[0] * cofactor(of, 0, 0) + of[1] * cofactor(of, 0, 1) + of[2] * cofactor(of, 0, 2);
    if (!(fabs(det) > 1e-12))
        return false;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            inverse[3 * c + r] = cofactor(of, r, c) / det;
    put_behind(motion->m, inverse);
    return true;
}

void cw_motion_box(const struct cw_motion_boxes *boxes, size_t i, double ret_xyxy[4])
{
    const float *v = boxes->v + 4 * i;
    const bool is_relative = boxes->format == CW_BOX_RELATIVE;
    const double x = is_relative ? (double)boxes->w : 1, y = is_relative ? (double)boxes->h : 1;
    for (int k = 0; k < 4; k++)
        ret_xyxy[k] = (double)v[k] * (k % 2 ? y : x);
    if (boxes->format == CW_BOX_XYWH) {
        ret_xyxy[2] += ret_xyxy[0];
        ret_xyxy[3] += ret_xyxy[1];
    }
}

void cw_motion_box_put(int format, int64_t h, int64_t w, const double xyxy[4], float ret_v[4])
{
    const bool is_relative = format == CW_BOX_RELATIVE, is_sized = format == CW_BOX_XYWH;
    const double x = is_relative ? (double)w : 1, y = is_relative ? (double)h : 1;
    for (int k = 0; k < 4; k++) {
        const double v = is_sized && k >= 2 ? xyxy[k] - xyxy[k - 2] : xyxy[k];
        ret_v[k] = (float)(v / (k % 2 ? y : x));
    }
}
