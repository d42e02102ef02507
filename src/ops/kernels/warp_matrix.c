/* SPDX-License-Identifier: Apache-2.0 */
/* The matrices of rotations, of affine changes and of perspectives. */
#include "ops/kernels/warp.h"

#include <math.h>
#include "ops/kernels/exact_math.h"

#define PI 3.14159265358979323846

static double radians(double degrees)
{
    return degrees * (PI / 180.0);
}

/* to 15 places, as Pillow does, so that a right angle is one */
static double rounded(double v)
{
    return rint(v * 1e15) / 1e15;
}

struct cw_warp_matrix cw_warp_rotation(double degrees, int64_t h, int64_t w)
{
    double turn = fmod(degrees, 360.0);
    turn = turn < 0 ? turn + 360.0 : turn;
    const double angle = -radians(turn), x = (double)w / 2.0, y = (double)h / 2.0;
    const double cosine = rounded(cw_exact_cos(angle)), sine = rounded(cw_exact_sin(angle));
    struct cw_warp_matrix matrix = {.m = {cosine, sine, 0, -sine, cosine, 0}};
    matrix.m[2] = cosine * -x + sine * -y + x;
    matrix.m[5] = -sine * -x + cosine * -y + y;
    return matrix;
}

struct cw_warp_matrix cw_warp_affine(const struct cw_warp_affine *affine, int64_t h, int64_t w)
{
    const double rot = radians(affine->angle), sx = radians(affine->shear_x),
                 sy = radians(affine->shear_y), cx = (double)w * 0.5, cy = (double)h * 0.5,
                 cos_sy = cw_exact_cos(sy), tan_sx = cw_exact_sin(sx) / cw_exact_cos(sx);
    const double turn = cw_exact_cos(rot - sy), rise = cw_exact_sin(rot - sy);
    const double a = turn / cos_sy, b = -turn * tan_sx / cos_sy - cw_exact_sin(rot),
                 c = rise / cos_sy, d = -rise * tan_sx / cos_sy + cw_exact_cos(rot);
    struct cw_warp_matrix matrix = {
        .m = {d / affine->scale, -b / affine->scale, 0, -c / affine->scale, a / affine->scale, 0}};
    double *m = matrix.m;
    const double x = -cx - affine->translate_x, y = -cy - affine->translate_y;
    m[2] = m[0] * x + m[1] * y + cx;
    m[5] = m[3] * x + m[4] * y + cy;
    return matrix;
}

#define UNKNOWNS 8

/* Solves eight equations by elimination with the largest pivot of each column; the last column is the
 * right side. */
static bool solve(double rows[UNKNOWNS][UNKNOWNS + 1])
{
    for (int k = 0; k < UNKNOWNS; k++) {
        int best = k;
        for (int i = k + 1; i < UNKNOWNS; i++)
            best = fabs(rows[i][k]) > fabs(rows[best][k]) ? i : best;
        if (fabs(rows[best][k]) < 1e-9)
            return false;
        for (int j = 0; j <= UNKNOWNS; j++) {
            const double v = rows[k][j];
            rows[k][j] = rows[best][j];
            rows[best][j] = v;
        }
        for (int i = 0; i < UNKNOWNS; i++) {
            const double share = i == k ? 0 : rows[i][k] / rows[k][k];
            for (int j = k; j <= UNKNOWNS; j++)
                rows[i][j] -= share * rows[k][j];
        }
    }
    return true;
}

bool cw_warp_perspective(const struct cw_warp_point from[4], const struct cw_warp_point to[4],
                         struct cw_warp_matrix *ret_matrix)
{
    double rows[UNKNOWNS][UNKNOWNS + 1];
    for (int i = 0; i < 4; i++) {
        const double x = to[i].x, y = to[i].y, u = from[i].x, v = from[i].y;
        const double first[UNKNOWNS + 1] = {x, y, 1, 0, 0, 0, -u * x, -u * y, u},
                                      second[UNKNOWNS + 1] = {0, 0, 0, x, y, 1, -v * x, -v * y, v};
        for (int j = 0; j <= UNKNOWNS; j++) {
            rows[2 * i][j] = first[j];
            rows[2 * i + 1][j] = second[j];
        }
    }
    if (!solve(rows))
        return false;
    *ret_matrix = (struct cw_warp_matrix){.perspective = true};
    for (int k = 0; k < UNKNOWNS; k++)
        ret_matrix->m[k] = rows[k][UNKNOWNS] / rows[k][k];
    return true;
}
