/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `sanitize_boxes`: takes out boxes that are none, with their labels. */
#include "ops/element/boxes_op.h"

#include "ops/element/image_view.h"

struct sanitize_boxes_opts {
    struct cw_motion_opts moved;
    char *image;
    double min_area, min_size;
};

static const struct cw_opt options[] = {
    CW_MOTION_FORMAT_ROW(offsetof(struct sanitize_boxes_opts, moved)),
    CW_MOTION_BOXES_ROW(offsetof(struct sanitize_boxes_opts, moved)),
    {.name = "image",
     .help = "the image: boxes that reach over its edges are taken out, too",
     .type = CW_OPT_STR,
     .offset = offsetof(struct sanitize_boxes_opts, image)},
    CW_MOTION_LABELS_ROW(offsetof(struct sanitize_boxes_opts, moved)),
    {.name = "min_area",
     .help = "least width times height",
     .type = CW_OPT_F64,
     .offset = offsetof(struct sanitize_boxes_opts, min_area),
     .def = "1.0",
     .min = 0,
     .max = 1e12},
    {.name = "min_size",
     .help =
         "least width and least height, in pixels, or in parts of the image if boxes are relative "
         "and no image is named",
     .type = CW_OPT_F64,
     .offset = offsetof(struct sanitize_boxes_opts, min_size),
     .def = "1.0",
     .min = 0,
     .max = 1e9},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct sanitize_boxes_opts *o = opts;
    return cw_boxes_op_check(&o->moved, err);
}

/* The number of the image's field; -1: none is named. */
static int find_image(const struct sanitize_boxes_opts *o, const struct cw_spec *in, int *ret_at,
                      struct cw_err *err)
{
    *ret_at = o->image ? cw_spec_find(in, o->image) : -1;
    if (o->image && (*ret_at < 0 || !cw_image_accepts(&in->fields[*ret_at])))
        return cw_err_set(err, CW_E_INVALID, "option image: there is no image \"%s\"", o->image);
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct sanitize_boxes_opts *o = opts;
    struct cw_motion_fields fields;
    int at;
    (void)in_n;
    int rc = cw_motion_find_named(&o->moved, NULL, in, &fields, err);
    if (rc == 0)
        rc = find_image(o, in, &at, err);
    if (rc < 0)
        return rc;
    *ret_spec = cw_spec_copy(in);
    for (size_t i = 0; i < in->n; i++)
        if (cw_field_set_has(&fields.all, i))
            ret_spec->fields[i].dims[0] = -1;
    return 0;
}

/* Comparisons with NaN are false, so a box with one is none. */
static bool is_sound(const struct sanitize_boxes_opts *o, const struct cw_motion_boxes *boxes,
                     size_t i)
{
    double b[4];
    cw_motion_box(boxes, i, b);
    const double w = b[2] - b[0], h = b[3] - b[1];
    if (!(w >= o->min_size && h >= o->min_size && w * h >= o->min_area && w > 0 && h > 0))
        return false;
    return !o->image ||
           (b[0] >= 0 && b[1] >= 0 && b[2] <= (double)boxes->w && b[3] <= (double)boxes->h);
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct sanitize_boxes_opts *o = opts;
    struct cw_boxes_op of;
    size_t kept_n = 0;
    int at;
    (void)state;
    (void)scratch;
    int rc = cw_boxes_op_get(ctx, &o->moved, element, &of, err);
    if (rc == 0)
        rc = find_image(o, ctx->in, &at, err);
    uint8_t *keeps = rc == 0 ? cw_op_scratch(ctx, of.boxes.n + 1, err) : NULL;
    if (!keeps)
        return rc < 0 ? rc : CW_E_NOMEM;
    if (at >= 0) {
        of.boxes.h = element->fields[at].dims[0];
        of.boxes.w = element->fields[at].dims[1];
    }
    for (size_t i = 0; i < of.boxes.n; i++)
        kept_n += keeps[i] = is_sound(o, &of.boxes, i);
    for (size_t i = 0; i < element->n && rc == 0 && kept_n < of.boxes.n; i++)
        if (cw_field_set_has(&of.fields.all, i))
            rc = cw_motion_keep_rows(ctx, keeps, of.boxes.n, kept_n, &element->fields[i], err);
    return rc;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct sanitize_boxes_opts *o = opts;
    int at;
    (void)fields;
    (void)fields_n;
    cw_boxes_op_facts(&o->moved, in, ret_facts);
    if (find_image(o, in, &at, NULL) == 0 && at >= 0)
        cw_field_set_add(&ret_facts->reads, (size_t)at);
}

const struct cw_op cw_op_sanitize_boxes = {
    .name = "sanitize_boxes",
    .version = 1,
    .summary = "boxes that are none are taken out",
    .doc =
        "Takes out boxes that are narrower or lower than `min_size`, or smaller than `min_area`, "
        "or have a number that is none, and, if\n"
        "`image` is named, those that reach over its edges; each with its row of the fields in "
        "`labels`. The others stay as they\n"
        "are, in their order. As torchvision's SanitizeBoundingBoxes.",
    .kind = CW_OP_ELEMENT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct sanitize_boxes_opts),
    .check = check,
    .infer = infer,
    .apply = apply,
    .facts = facts,
};
