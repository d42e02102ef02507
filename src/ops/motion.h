/* SPDX-License-Identifier: Apache-2.0 */
/* What moves together: an operator that moves the pixels of images also moves the masks, boxes and
 * points that belong to them. One motion is drawn for an element, and each field follows it by its
 * kind: a mask as an image whose values are never mixed, a box as the four corners of which it is the
 * hull, a point as itself. Where the operator cuts off what lies outside, boxes are cut off as well,
 * and one of which nothing is left goes, with its row of the fields in `labels`. */
#ifndef CW_OPS_MOTION_H
#define CW_OPS_MOTION_H

#include "conf/opt.h"
#include "data/element.h"

struct cw_op;
struct cw_op_ctx;
struct cw_op_facts;

/* How the four numbers of a box are meant: (x1, y1, x2, y2) or (x, y, w, h) in pixels, or
 * (x1, y1, x2, y2) in parts of the image's width and height. */
enum cw_box_format { CW_BOX_XYXY, CW_BOX_XYWH, CW_BOX_RELATIVE };
extern const char *const cw_box_format_names[];

/* The options of such an operator. */
struct cw_motion_opts {
    int box_format;
    char *boxes; /* NULL: there are none */
    struct cw_str_list labels, masks, points;
};
/* Their rows; `offset_` is that of the struct. */
#define CW_MOTION_FORMAT_ROW(offset_)                                                              \
    {                                                                                              \
        .name = "box_format",                                                                      \
        .help = "what the numbers of a box are: corners, or a corner and "                         \
                "the size, or corners in parts of the image",                                      \
        .type = CW_OPT_ENUM, .offset = (offset_) + offsetof(struct cw_motion_opts, box_format),    \
        .def = "\"xyxy\"", .flags = CW_OPT_NEWER, .names = cw_box_format_names                     \
    }
#define CW_MOTION_BOXES_ROW(offset_)                                                               \
    {                                                                                              \
        .name = "boxes", .help = "a field f32[?,4] of boxes that move with the image",             \
        .type = CW_OPT_STR, .offset = (offset_) + offsetof(struct cw_motion_opts, boxes),          \
        .flags = CW_OPT_NEWER                                                                      \
    }
#define CW_MOTION_LIST_ROW(offset_, name_, help_)                                                  \
    {                                                                                              \
        .name = #name_, .help = (help_), .type = CW_OPT_STR_LIST,                                  \
        .offset = (offset_) + offsetof(struct cw_motion_opts, name_), .def = "[]",                 \
        .flags = CW_OPT_NEWER, .len_max = CW_FIELDS_MAX                                            \
    }
#define CW_MOTION_LABELS_ROW(offset_)                                                              \
    CW_MOTION_LIST_ROW(offset_, labels, "fields with a row for each box, which goes with it")
#define CW_MOTION_MASKS_ROW(offset_)                                                               \
    CW_MOTION_LIST_ROW(offset_, masks, "images whose values are never mixed, that move as well")
#define CW_MOTION_POINTS_ROW(offset_)                                                              \
    CW_MOTION_LIST_ROW(offset_, points, "fields f32[...,2] of (x, y) that move with the image")

/* How places of one element's images move. */
struct cw_motion {
    /* A place (x, y) of the image in pixels becomes (m0 x + m1 y + m2, m3 x + m4 y + m5), divided by
     * m6 x + m7 y + m8. The corners of the image are (0, 0) and (in_w, in_h). */
    double m[9];
    int64_t in_h, in_w, out_h, out_w;
    bool by_centre; /* boxes whose middle is not inside of the result go as well */
};
/* The motions of which most operators consist. Each is put behind what *motion is already. */
void cw_motion_crop(struct cw_motion *motion, int64_t y, int64_t x, int64_t h, int64_t w);
void cw_motion_resize(struct cw_motion *motion, int64_t h, int64_t w);
void cw_motion_mirror(struct cw_motion *motion, bool horizontal);
/* The inverse of what a matrix says, which gives the place in the image of a place of the result.
 * Returns false if it has none. */
bool cw_motion_inverse(struct cw_motion *motion, const double of[9]);

/* The boxes of an element, for a motion that depends on them. */
struct cw_motion_boxes {
    const float *v;
    size_t n;
    int format;
    int64_t h, w; /* size of the image that they are in */
};
/* Box i as corners in pixels. */
void cw_motion_box(const struct cw_motion_boxes *boxes, size_t i, double ret_xyxy[4]);
/* The inverse: four numbers in the format, for an image of h x w. */
void cw_motion_box_put(int format, int64_t h, int64_t w, const double xyxy[4], float ret_v[4]);

/* What an operator provides of it (`moves` in op.h). */
struct cw_op_moves {
    size_t opts_offset; /* of struct cw_motion_opts in its options */
    bool clips;         /* it cuts off what lies outside of its result */
    /* Says how places move in this element, with the draws of apply_field. On entry *motion is that
     * of an image of in_h x in_w that stays. boxes: NULL if there are none. Returns 1 if everything
     * stays as it is. */
    int (*motion)(const struct cw_op_ctx *ctx, const void *opts,
                  const struct cw_motion_boxes *boxes, struct cw_motion *motion,
                  struct cw_err *err);
    /* infer_field for masks; NULL: that for images. */
    int (*infer_mask)(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                      struct cw_err *err);
};

/* The fields that move with the images of a node. */
struct cw_motion_fields {
    struct cw_field_set masks, boxes, labels, points, all;
};
/* Finds them in a spec; all are empty for an operator without `moves`. Messages name the option. */
int cw_motion_find(const struct cw_op *op, const void *opts, const struct cw_spec *in,
                   struct cw_motion_fields *ret_fields, struct cw_err *err);
/* The same for an operator that works on whole elements. accepts: which fields can be masks; NULL if
 * it has no option `masks`. */
int cw_motion_find_named(const struct cw_motion_opts *o,
                         bool (*accepts)(const struct cw_field *field), const struct cw_spec *in,
                         struct cw_motion_fields *ret_fields, struct cw_err *err);
/* Sets the specs of these fields in *out, which has those of the input. */
int cw_motion_infer(const struct cw_op *op, const void *opts, const struct cw_spec *in,
                    const struct cw_motion_fields *fields, struct cw_spec *out, struct cw_err *err);
/* Adds these fields to what an operator says of itself; the other functions that want an operator's
 * facts call this one instead of `facts`, which it calls. */
void cw_op_facts_get(const struct cw_op *op, const void *opts, const struct cw_spec *in,
                     const size_t *fields, size_t fields_n, struct cw_op_facts *ret_facts);

/* One element whose fields move. */
struct cw_motion_run {
    const struct cw_op *op;
    const void *opts;
    void *state, *scratch;
    struct cw_motion_fields fields;
    struct cw_motion motion;
    bool stays;
    const uint8_t *keeps; /* for each box whether it stays; NULL: all do */
    size_t boxes_n, kept_n;
};
/* Draws the motion, before any field has moved: *ret_run and ctx->motion are set. ctx->fields are the
 * images. INVALID if a mask is of another size than the image, a box or point is no number, or there
 * is not one label a box. */
int cw_motion_begin(struct cw_op_ctx *ctx, struct cw_motion_run *run,
                    const struct cw_element *element, struct cw_err *err);
/* Of the fields whose rows go with the boxes, all must have n rows. */
int cw_motion_check_labels(const struct cw_op_ctx *ctx, const struct cw_motion_fields *fields,
                           const struct cw_element *element, size_t n, struct cw_err *err);
/* Keeps the rows of a view for which keeps[i] is set, kept_n of n. */
int cw_motion_keep_rows(const struct cw_op_ctx *ctx, const uint8_t *keeps, size_t n, size_t kept_n,
                        struct cw_view *view, struct cw_err *err);
/* Moves a field, one of run->fields.all. *view is what comes in. The result is in ctx->slot if that
 * fits. */
int cw_motion_apply(struct cw_op_ctx *ctx, const struct cw_motion_run *run, size_t field,
                    struct cw_view *view, struct cw_err *err);

#endif
