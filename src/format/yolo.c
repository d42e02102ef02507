/* SPDX-License-Identifier: Apache-2.0 */
#include "format/yolo.h"

#include <math.h>
#include <string.h>
#include "format/decimal.h"

#define PART_MAX 1.01 /* numbers were rounded by those who wrote them */

size_t cw_yolo_room(const char *text, size_t n)
{
    size_t lines = n > 0;
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    return lines;
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
        p++;
    return p;
}

static int not_a_number(const char *p, const char *end, struct cw_err *err)
{
    const int n = (int)CW_MIN(end - p, 16);
    return cw_err_set(err, CW_E_CORRUPT, "not a number: \"%.*s\"", n, p);
}

/* Reads a number, and goes behind it. */
static int read_number(const char **p, const char *end, struct cw_decimal *ret_decimal,
                       struct cw_err *err)
{
    const char *behind = cw_decimal_scan(*p, end, CW_DECIMAL_CSV, ret_decimal);
    const char *next = behind ? skip_blanks(behind, end) : NULL;
    if (!behind || (next == behind && next < end)) /* something sticks to it */
        return not_a_number(*p, end, err);
    *p = next;
    return 0;
}

static int read_part(const char **p, const char *end, double *ret, struct cw_err *err)
{
    const char *at = *p;
    struct cw_decimal decimal;
    const int rc = read_number(p, end, &decimal, err);
    if (rc < 0)
        return rc;
    if (!cw_decimal_put(&decimal, CW_DTYPE_F64, ret))
        return not_a_number(at, end, err);
    if (*ret < 0 || *ret > PART_MAX)
        return cw_err_set(err, CW_E_CORRUPT, "%g is no part of an image: 0 to 1", *ret);
    return 0;
}

static void set_box(const double first[4], float ret_box[4])
{
    for (int k = 0; k < 2; k++) {
        ret_box[k] = (float)(first[k] - first[k + 2] / 2);
        ret_box[k + 2] = (float)(first[k] + first[k + 2] / 2);
    }
}

/* Reads the numbers behind the class. */
static int read_shape(const char *p, const char *end, float ret_box[4], struct cw_err *err)
{
    double first[4] = {0}, least[2] = {2, 2}, most[2] = {-1, -1}, v;
    size_t n = 0;
    for (; p < end; n++) {
        const int rc = read_part(&p, end, &v, err);
        if (rc < 0)
            return rc;
        if (n < 4)
            first[n] = v;
        least[n % 2] = fmin(least[n % 2], v);
        most[n % 2] = fmax(most[n % 2], v);
    }
    if (n != 4 && (n < 6 || n % 2 != 0))
        return cw_err_set(
            err, CW_E_CORRUPT,
            "%zu numbers behind the class: a box has 4, and a polygon 6 or more in pairs", n);
    if (n == 4) {
        set_box(first, ret_box);
        return 0;
    }
    for (int k = 0; k < 2; k++) {
        ret_box[k] = (float)least[k];
        ret_box[k + 2] = (float)most[k];
    }
    return 0;
}

/* Reads a line. Returns 1 if there is nothing on it. */
static int read_line(const char *p, const char *end, int64_t *ret_class, float *ret_box,
                     struct cw_err *err)
{
    struct cw_decimal decimal;
    p = skip_blanks(p, end);
    if (p == end)
        return 1;
    const char *at = p;
    const int rc = read_number(&p, end, &decimal, err);
    if (rc < 0)
        return rc;
    if (!cw_decimal_put(&decimal, CW_DTYPE_I64, ret_class) || *ret_class < 0)
        return cw_err_set(err, CW_E_CORRUPT, "\"%.*s\" is no number of a class",
                          (int)CW_MIN(end - at, 16), at);
    return read_shape(p, end, ret_box, err);
}

int cw_yolo_read(const char *text, size_t n, int64_t *ret_class, float *ret_box, size_t *ret_n,
                 struct cw_err *err)
{
    const char *p = text, *end = text + n;
    size_t objects = 0;
    for (size_t line = 1; p < end; line++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *behind = newline ? newline : end;
        const int rc = read_line(p, behind, &ret_class[objects], ret_box + 4 * objects, err);
        if (rc < 0)
            return cw_err_wrap(err, "line %zu", line);
        objects += rc == 0;
        p = newline ? newline + 1 : end;
    }
    *ret_n = objects;
    return 0;
}
