/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the masks, boxes, labels and points of one element. */
#include <math.h>
#include <string.h>
#include "ops/op.h"

static const struct cw_motion_opts *opts_of(const struct cw_motion_run *run)
{
    return (const void *)((const char *)run->opts + run->op->moves->opts_offset);
}

/* The height and width of an image, of which only a part may be there. */
static int size_of(const struct cw_view *view, int64_t *ret_h, int64_t *ret_w, struct cw_err *err)
{
    *ret_h = view->full_h ? view->full_h : view->dims[0];
    *ret_w = view->full_h ? view->full_w : view->dims[1];
    if (*ret_h < 1 || *ret_w < 1)
        return cw_err_set(err, CW_E_INVALID, "an image of %lld x %lld has no pixels",
                          (long long)*ret_h, (long long)*ret_w);
    return 0;
}

static int check_masks(const struct cw_op_ctx *ctx, const struct cw_motion_run *run,
                       const struct cw_element *element, struct cw_err *err)
{
    for (size_t i = 0; i < element->n; i++) {
        int64_t h, w;
        if (!cw_field_set_has(&run->fields.masks, i))
            continue;
        const int rc = size_of(&element->fields[i], &h, &w, err);
        if (rc < 0)
            return rc;
        if (h != run->motion.in_h || w != run->motion.in_w)
            return cw_err_set(err, CW_E_INVALID,
                              "mask \"%s\" is %lld x %lld, and its image is %lld x %lld",
                              ctx->in->fields[i].name, (long long)h, (long long)w,
                              (long long)run->motion.in_h, (long long)run->motion.in_w);
    }
    return 0;
}

static int check_finite(const char *name, const float *v, size_t n, size_t row, struct cw_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i]))
            return cw_err_set(err, CW_E_INVALID, "field \"%s\": row %zu has %g", name, i / row,
                              (double)v[i]);
    return 0;
}

int cw_motion_check_labels(const struct cw_op_ctx *ctx, const struct cw_motion_fields *fields,
                           const struct cw_element *element, size_t n, struct cw_err *err)
{
    for (size_t i = 0; i < element->n; i++) {
        const struct cw_view *view = &element->fields[i];
        if (cw_field_set_has(&fields->labels, i) && (view->rank < 1 || view->dims[0] != (int64_t)n))
            return cw_err_set(err, CW_E_INVALID, "field \"%s\" has %lld rows for %zu boxes",
                              ctx->in->fields[i].name,
                              (long long)(view->rank < 1 ? 0 : view->dims[0]), n);
    }
    return 0;
}

static int get_boxes(const struct cw_op_ctx *ctx, struct cw_motion_run *run,
                     const struct cw_element *element, struct cw_motion_boxes *ret_boxes,
                     struct cw_err *err)
{
    const size_t i = cw_field_set_first(&run->fields.boxes);
    const struct cw_view *view = &element->fields[i];
    const char *name = ctx->in->fields[i].name;
    if (view->rank != 2 || view->dims[1] != 4)
        return cw_err_set(err, CW_E_INVALID, "field \"%s\" is no list of boxes of 4 numbers", name);
    run->boxes_n = run->kept_n = (size_t)view->dims[0];
    *ret_boxes = (struct cw_motion_boxes){.v = view->data,
                                          .n = run->boxes_n,
                                          .format = opts_of(run)->box_format,
                                          .h = run->motion.in_h,
                                          .w = run->motion.in_w};
    const int rc = check_finite(name, ret_boxes->v, 4 * run->boxes_n, 4, err);
    return rc < 0 ? rc : cw_motion_check_labels(ctx, &run->fields, element, run->boxes_n, err);
}

static int check_points(const struct cw_op_ctx *ctx, const struct cw_motion_run *run,
                        const struct cw_element *element, struct cw_err *err)
{
    for (size_t i = 0; i < element->n; i++) {
        const struct cw_view *view = &element->fields[i];
        if (!cw_field_set_has(&run->fields.points, i))
            continue;
        if (view->rank < 1 || view->dims[view->rank - 1] != 2)
            return cw_err_set(err, CW_E_INVALID, "field \"%s\" is no list of points of 2 numbers",
                              ctx->in->fields[i].name);
        const int rc =
            check_finite(ctx->in->fields[i].name, view->data, view->bytes / sizeof(float), 2, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static void move_point(const struct cw_motion *motion, double x, double y, double ret_xy[2])
{
    const double *m = motion->m, depth = m[6] * x + m[7] * y + m[8];
    ret_xy[0] = (m[0] * x + m[1] * y + m[2]) / depth;
    ret_xy[1] = (m[3] * x + m[4] * y + m[5]) / depth;
}

/* The hull of where the corners go. */
static void move_box(const struct cw_motion *motion, const double from[4], double ret_to[4])
{
    for (int corner = 0; corner < 4; corner++) {
        double at[2];
        move_point(motion, from[corner & 1 ? 2 : 0], from[corner & 2 ? 3 : 1], at);
        for (int k = 0; k < 2; k++) {
            ret_to[k] = corner == 0 ? at[k] : fmin(ret_to[k], at[k]);
            ret_to[k + 2] = corner == 0 ? at[k] : fmax(ret_to[k + 2], at[k]);
        }
    }
}

static double within(double v, int64_t side)
{
    return fmin(fmax(v, 0), (double)side);
}

static bool is_inside(const struct cw_motion *motion, double x, double y)
{
    return x > 0 && y > 0 && x < (double)motion->out_w && y < (double)motion->out_h;
}

/* Moves a box; returns whether something is left of it. */
static bool keep_box(const struct cw_motion_run *run, const double from[4], double ret_to[4])
{
    const struct cw_motion *motion = &run->motion;
    double *b = ret_to;
    const bool is_box = from[2] > from[0] && from[3] > from[1];
    move_box(motion, from, b);
    if (!run->op->moves->clips)
        return true;
    if (motion->by_centre && !is_inside(motion, 0.5 * (b[0] + b[2]), 0.5 * (b[1] + b[3])))
        return false;
    for (int k = 0; k < 4; k++)
        b[k] = within(b[k], k % 2 ? motion->out_h : motion->out_w);
    return is_box && b[2] > b[0] && b[3] > b[1];
}

static int choose_boxes(const struct cw_op_ctx *ctx, struct cw_motion_run *run,
                        const struct cw_motion_boxes *boxes, struct cw_err *err)
{
    uint8_t *keeps = cw_op_scratch(ctx, boxes->n + 1, err);
    double from[4], to[4];
    if (!keeps)
        return CW_E_NOMEM;
    run->kept_n = 0;
    for (size_t i = 0; i < boxes->n; i++) {
        cw_motion_box(boxes, i, from);
        keeps[i] = keep_box(run, from, to);
        run->kept_n += keeps[i];
    }
    run->keeps = keeps;
    return 0;
}

int cw_motion_begin(struct cw_op_ctx *ctx, struct cw_motion_run *run,
                    const struct cw_element *element, struct cw_err *err)
{
    struct cw_motion *motion = &run->motion;
    struct cw_motion_boxes boxes = {0};
    int rc = size_of(&element->fields[ctx->fields[0]], &motion->in_h, &motion->in_w, err);
    motion->out_h = motion->in_h;
    motion->out_w = motion->in_w;
    motion->m[0] = motion->m[4] = motion->m[8] = 1;
    if (rc == 0)
        rc = check_masks(ctx, run, element, err);
    const bool has_boxes = !cw_field_set_is_empty(&run->fields.boxes);
    if (rc == 0 && has_boxes)
        rc = get_boxes(ctx, run, element, &boxes, err);
    if (rc == 0)
        rc = check_points(ctx, run, element, err);
    if (rc == 0)
        rc = run->op->moves->motion(ctx, run->opts, has_boxes ? &boxes : NULL, motion, err);
    if (rc < 0)
        return rc;
    run->stays = rc == 1;
    ctx->motion = run->stays ? NULL : motion;
    if (run->stays || cw_field_set_is_empty(&run->fields.boxes) || !run->op->moves->clips)
        return 0;
    return choose_boxes(ctx, run, &boxes, err);
}

static int apply_mask(struct cw_op_ctx *ctx, const struct cw_motion_run *run, struct cw_view *view,
                      struct cw_err *err)
{
    const struct cw_view in = *view;
    ctx->is_mask = true;
    const int rc = run->op->apply_field(ctx, run->opts, run->state, run->scratch, &in, view, err);
    ctx->is_mask = false;
    return rc;
}

static int apply_boxes(const struct cw_op_ctx *ctx, const struct cw_motion_run *run,
                       struct cw_view *view, struct cw_err *err)
{
    const struct cw_motion_boxes boxes = {.v = view->data,
                                          .n = run->boxes_n,
                                          .format = opts_of(run)->box_format,
                                          .h = run->motion.in_h,
                                          .w = run->motion.in_w};
    view->dims[0] = (int64_t)run->kept_n;
    const int rc = cw_op_output(ctx, view, err);
    float *to = view->data;
    for (size_t i = 0; rc == 0 && i < boxes.n; i++) {
        double from[4], moved[4];
        if (run->keeps && !run->keeps[i])
            continue;
        cw_motion_box(&boxes, i, from);
        (void)keep_box(run, from, moved);
        cw_motion_box_put(boxes.format, run->motion.out_h, run->motion.out_w, moved, to);
        to += 4;
    }
    return rc;
}

/* A perspective may have no place for a point: 0 / 0, whose bits would be the processor's. */
static float point_value(double v)
{
    return isnan(v) ? NAN : (float)v;
}

static int apply_points(const struct cw_op_ctx *ctx, const struct cw_motion_run *run,
                        struct cw_view *view, struct cw_err *err)
{
    const float *from = view->data;
    const bool is_relative = opts_of(run)->box_format == CW_BOX_RELATIVE;
    const struct cw_motion *m = &run->motion;
    const double in_x = is_relative ? (double)m->in_w : 1, in_y = is_relative ? (double)m->in_h : 1,
                 out_x = is_relative ? (double)m->out_w : 1,
                 out_y = is_relative ? (double)m->out_h : 1;
    const int rc = cw_op_output(ctx, view, err);
    float *to = view->data;
    for (size_t i = 0; rc == 0 && i + 1 < view->bytes / sizeof(float); i += 2) {
        double at[2];
        move_point(m, (double)from[i] * in_x, (double)from[i + 1] * in_y, at);
        to[i] = point_value(at[0] / out_x);
        to[i + 1] = point_value(at[1] / out_y);
    }
    return rc;
}

int cw_motion_keep_rows(const struct cw_op_ctx *ctx, const uint8_t *keeps, size_t n, size_t kept_n,
                        struct cw_view *view, struct cw_err *err)
{
    const size_t row = n > 0 ? view->bytes / n : 0;
    const char *from = view->data;
    view->dims[0] = (int64_t)kept_n;
    const int rc = cw_op_output(ctx, view, err);
    char *to = view->data;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (!keeps[i])
            continue;
        memcpy(to, from + i * row, row);
        to += row;
    }
    return rc;
}

int cw_motion_apply(struct cw_op_ctx *ctx, const struct cw_motion_run *run, size_t field,
                    struct cw_view *view, struct cw_err *err)
{
    const bool drops =
        cw_field_set_has(&run->fields.labels, field) && run->keeps && run->kept_n < run->boxes_n;
    int rc = 0;
    if (run->stays)
        return 0;
    if (cw_field_set_has(&run->fields.masks, field))
        return apply_mask(ctx, run, view, err);
    if (cw_field_set_has(&run->fields.boxes, field))
        return apply_boxes(ctx, run, view, err);
    if (drops)
        rc = cw_motion_keep_rows(ctx, run->keeps, run->boxes_n, run->kept_n, view, err);
    if (rc == 0 && cw_field_set_has(&run->fields.points, field)) {
        struct cw_op_ctx apart = *ctx;
        apart.slot = drops ? NULL : ctx->slot;
        rc = apply_points(&apart, run, view, err);
    }
    return rc;
}
