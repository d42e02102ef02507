/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `mosaic`: makes one image of the four of a batch, with their boxes. */
#include <math.h>
#include <string.h>
#include "ops/element/image_view.h"
#include "ops/element/mosaic_fields.h"
#include "ops/element/warp_op.h"

#define ROWS 4
/* draws behind that of p: where the four images meet */
enum { DRAW_Y = 1, DRAW_X };

struct mosaic_opts {
    struct cw_motion_opts moved; /* boxes and labels alone */
    struct cw_i64_list fill, size;
    char *image;
    double p;
};

static const struct cw_opt options[] = {
    CW_MOTION_FORMAT_ROW(offsetof(struct mosaic_opts, moved)),
    {.name = "boxes",
     .help = "a field f32[n,?,4] of boxes that move with the images",
     .type = CW_OPT_STR,
     .offset = offsetof(struct mosaic_opts, moved) + offsetof(struct cw_motion_opts, boxes)},
    {.name = "fill",
     .help = "what lies outside of the images: one number, or one a channel",
     .type = CW_OPT_I64_LIST,
     .offset = offsetof(struct mosaic_opts, fill),
     .def = "[114]",
     .min = 0,
     .max = 255,
     .len_min = 1,
     .len_max = CW_WARP_CHANNELS_MAX},
    {.name = "image",
     .help = "the field of the images",
     .type = CW_OPT_STR,
     .offset = offsetof(struct mosaic_opts, image),
     .def = "\"image\""},
    CW_MOTION_LABELS_ROW(offsetof(struct mosaic_opts, moved)),
    {.name = "p",
     .help = "how often; of other batches the first image is shown alone, in the middle",
     .type = CW_OPT_F64,
     .offset = offsetof(struct mosaic_opts, p),
     .def = "1.0",
     .min = 0,
     .max = 1},
    CW_IMAGE_SIZE_ROW(offsetof(struct mosaic_opts, size),
                      "half the height and width of the result: [h, w], or one number"),
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct mosaic_opts *o = opts;
    const struct cw_image_size half = cw_image_size(&o->size);
    if (o->fill.n == 2)
        return cw_err_set(err, CW_E_INVALID, "option fill: 2 numbers; images have 1 channel or 3");
    if (o->moved.labels.n > 0 && !o->moved.boxes)
        return cw_err_set(err, CW_E_INVALID, "option labels: there are no boxes");
    return cw_image_check_pixels(2 * half.h, 2 * half.w, err);
}

static struct cw_mosaic_named named_by(const struct mosaic_opts *o)
{
    return (struct cw_mosaic_named){
        .image = o->image, .boxes = o->moved.boxes, .labels = &o->moved.labels, .fills = o->fill.n};
}

/* Takes the first dimension off a field, whose rows become those of one element. */
static void join_rows(struct cw_field *field)
{
    memmove(&field->dims[0], &field->dims[1], (size_t)(field->rank - 1) * sizeof(field->dims[0]));
    field->rank--;
    field->dims[0] = -1;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct mosaic_opts *o = opts;
    const struct cw_image_size half = cw_image_size(&o->size);
    struct cw_mosaic_fields parts;
    (void)in_n;
    const struct cw_mosaic_named named = named_by(o);
    int rc = cw_mosaic_find(&named, &in[0], &parts, err);
    if (rc == 0)
        rc = cw_mosaic_check(&named, &parts, &in[0], err);
    if (rc < 0)
        return rc;
    CW_SPEC_AUTO out = cw_spec_copy(&in[0]);
    struct cw_field *image = &out.fields[parts.image];
    const int64_t channels = image->dims[3] < 0 ? -1 : image->dims[3];
    image->rank = 3;
    image->dims[0] = 2 * half.h;
    image->dims[1] = 2 * half.w;
    image->dims[2] = channels;
    for (size_t i = 0; i < out.n; i++)
        if ((int)i == parts.boxes || cw_field_set_has(&parts.labels, i))
            join_rows(&out.fields[i]);
    if (parts.boxes >= 0)
        out.fields[parts.boxes].dims[1] = 4;
    *ret_spec = cw_spec_take(&out);
    return 0;
}

/* ---- an element ---- */

/* Where an image comes to lie: its left upper corner in the result, and what is seen of it there. */
struct seat {
    int64_t y, x, top, left, bottom, right;
};

struct making {
    const struct cw_op_ctx *ctx;
    const struct mosaic_opts *o;
    struct cw_mosaic_fields parts;
    int64_t h, w, channels; /* of the result */
    size_t rows;
    struct cw_image image[ROWS];
    struct seat seat[ROWS];
    struct cw_view boxes[ROWS];
    bool is_alone; /* the first image is shown alone */
    uint8_t *keeps[ROWS];
    size_t kept_n;
};

static int get_row(const struct making *m, const struct cw_element *element, size_t i, size_t r,
                   struct cw_view *ret_row, struct cw_err *err)
{
    return cw_mosaic_row(&m->ctx->in->fields[i], &element->fields[i], r, ret_row, err);
}

static int get_image(struct making *m, const struct cw_element *element, size_t r,
                     struct cw_err *err)
{
    struct cw_view row;
    int rc = get_row(m, element, m->parts.image, r, &row, err);
    if (rc == 0)
        rc = cw_image_get(&row, &m->image[r], err);
    if (rc < 0)
        return rc;
    const int64_t channels = m->image[r].channels;
    if (channels != 1 && channels != 3)
        return cw_err_set(err, CW_E_INVALID, "an image of %lld channels, not of 1 or 3",
                          (long long)channels);
    if (r > 0 && channels != m->channels)
        return cw_err_set(err, CW_E_INVALID, "images of %lld and of %lld channels",
                          (long long)m->channels, (long long)channels);
    if (m->o->fill.n > 1 && (int64_t)m->o->fill.n != channels)
        return cw_err_set(err, CW_E_INVALID, "option fill: %zu numbers for images of %lld channels",
                          m->o->fill.n, (long long)channels);
    m->channels = channels;
    return 0;
}

static int get_rows(struct making *m, const struct cw_element *element, struct cw_err *err)
{
    const int64_t n = element->fields[m->parts.image].dims[0];
    if (n < 1 || n > ROWS)
        return cw_err_set(err, CW_E_INVALID, "%lld images: a mosaic is made of 1 to %d",
                          (long long)n, ROWS);
    int rc = 0;
    m->rows = (size_t)n;
    for (size_t r = 0; rc == 0 && r < m->rows; r++) {
        rc = get_image(m, element, r, err);
        if (rc == 0 && m->parts.boxes >= 0)
            rc = get_row(m, element, (size_t)m->parts.boxes, r, &m->boxes[r], err);
        if (rc == 0 && m->parts.boxes >= 0 && (m->boxes[r].rank != 2 || m->boxes[r].dims[1] != 4))
            rc = cw_err_set(err, CW_E_INVALID, "field \"%s\" is no list of boxes of 4 numbers",
                            m->o->moved.boxes);
        if (rc < 0)
            return cw_err_wrap(err, "row %zu", r);
    }
    return 0;
}

static struct seat seat_at(int64_t y, int64_t x, const struct cw_image *image, int64_t h, int64_t w)
{
    return (struct seat){.y = y,
                         .x = x,
                         .top = CW_MAX(y, 0),
                         .left = CW_MAX(x, 0),
                         .bottom = CW_MIN(y + image->h, h),
                         .right = CW_MIN(x + image->w, w)};
}

/* Draws where the images meet, and seats each with one of its corners there. */
static void seat_images(struct making *m)
{
    const double h = (double)m->h / 2, w = (double)m->w / 2;
    const struct cw_image *first = &m->image[0];
    m->is_alone = cw_u8_op_skips(m->ctx, m->o->p);
    if (m->is_alone) {
        m->rows = 1;
        m->seat[0] = seat_at((m->h - first->h) / 2, (m->w - first->w) / 2, first, m->h, m->w);
        return;
    }
    const int64_t y = (int64_t)floor(cw_rng_range(&m->ctx->rng, DRAW_Y, h / 2, h * 3 / 2)),
                  x = (int64_t)floor(cw_rng_range(&m->ctx->rng, DRAW_X, w / 2, w * 3 / 2));
    for (size_t r = 0; r < m->rows; r++)
        m->seat[r] = seat_at(r < 2 ? y - m->image[r].h : y, r % 2 == 0 ? x - m->image[r].w : x,
                             &m->image[r], m->h, m->w);
}

static void fill(const struct making *m, uint8_t *dst)
{
    const int64_t pixels = m->h * m->w;
    if (m->o->fill.n == 1 || m->channels == 1) {
        memset(dst, (int)m->o->fill.v[0], (size_t)(pixels * m->channels));
        return;
    }
    for (int64_t i = 0; i < pixels; i++)
        for (int64_t c = 0; c < m->channels; c++)
            dst[i * m->channels + c] = (uint8_t)m->o->fill.v[c];
}

static void draw_image(const struct making *m, size_t r, uint8_t *dst)
{
    const struct cw_image *image = &m->image[r];
    const struct seat *seat = &m->seat[r];
    if (seat->right <= seat->left)
        return;
    for (int64_t y = seat->top; y < seat->bottom; y++)
        memcpy(dst + (y * m->w + seat->left) * m->channels,
               image->data + ((y - seat->y) * image->w + seat->left - seat->x) * m->channels,
               (size_t)((seat->right - seat->left) * m->channels));
}

static int put_image(const struct making *m, struct cw_view *view, struct cw_err *err)
{
    *view = (struct cw_view){.dtype = CW_DTYPE_U8, .rank = 3, .dims = {m->h, m->w, m->channels}};
    struct cw_op_ctx apart = *m->ctx;
    apart.slot = NULL;
    const int rc = cw_op_output(&apart, view, err);
    if (rc < 0)
        return rc;
    fill(m, view->data);
    for (size_t r = 0; r < m->rows; r++)
        draw_image(m, r, view->data);
    return 0;
}

/* ---- boxes and labels ---- */

static double within(double v, int64_t low, int64_t high)
{
    return fmin(fmax(v, (double)low), (double)high);
}

/* Where box i of image r is seen; returns false if nothing is. */
static bool move_box(const struct making *m, size_t r, size_t i, double ret_xyxy[4])
{
    const struct seat *seat = &m->seat[r];
    const struct cw_motion_boxes boxes = {.v = m->boxes[r].data,
                                          .n = (size_t)m->boxes[r].dims[0],
                                          .format = m->o->moved.box_format,
                                          .h = m->image[r].h,
                                          .w = m->image[r].w};
    cw_motion_box(&boxes, i, ret_xyxy);
    for (int k = 0; k < 4; k += 2) {
        ret_xyxy[k] = within(ret_xyxy[k] + (double)seat->x, seat->left, seat->right);
        ret_xyxy[k + 1] = within(ret_xyxy[k + 1] + (double)seat->y, seat->top, seat->bottom);
    }
    return ret_xyxy[2] > ret_xyxy[0] && ret_xyxy[3] > ret_xyxy[1];
}

static int choose_boxes(struct making *m, struct cw_err *err)
{
    double xyxy[4];
    for (size_t r = 0; r < m->rows; r++) {
        const size_t n = (size_t)m->boxes[r].dims[0];
        const float *v = m->boxes[r].data;
        m->keeps[r] = cw_op_scratch(m->ctx, n + 1, err);
        if (!m->keeps[r])
            return CW_E_NOMEM;
        for (size_t k = 0; k < 4 * n; k++)
            if (!isfinite(v[k]))
                return cw_err_set(err, CW_E_INVALID, "field \"%s\": box %zu of row %zu has %g",
                                  m->o->moved.boxes, k / 4, r, (double)v[k]);
        for (size_t i = 0; i < n; i++)
            m->kept_n += m->keeps[r][i] = move_box(m, r, i, xyxy);
    }
    return 0;
}

static int put_boxes(const struct making *m, struct cw_view *view, struct cw_err *err)
{
    *view = (struct cw_view){.dtype = CW_DTYPE_F32, .rank = 2, .dims = {(int64_t)m->kept_n, 4}};
    view->bytes = m->kept_n * 4 * sizeof(float);
    float *to = cw_op_scratch(m->ctx, view->bytes + 1, err);
    view->data = to;
    for (size_t r = 0; to && r < m->rows; r++)
        for (size_t i = 0; i < (size_t)m->boxes[r].dims[0]; i++) {
            double xyxy[4];
            if (!m->keeps[r][i])
                continue;
            (void)move_box(m, r, i, xyxy);
            cw_motion_box_put(m->o->moved.box_format, m->h, m->w, xyxy, to);
            to += 4;
        }
    return to ? 0 : CW_E_NOMEM;
}

/* Keeps the rows of the boxes that are kept. */
static int put_labels(const struct making *m, size_t i, struct cw_element *element,
                      struct cw_err *err)
{
    struct cw_view row[ROWS];
    size_t each = 0;
    for (size_t r = 0; r < m->rows; r++) {
        const int rc = get_row(m, element, i, r, &row[r], err);
        const size_t n = (size_t)m->boxes[r].dims[0];
        if (rc < 0)
            return rc;
        if (row[r].rank < 1 || row[r].dims[0] != (int64_t)n)
            return cw_err_set(err, CW_E_INVALID,
                              "field \"%s\": row %zu has %lld labels for %zu boxes",
                              m->ctx->in->fields[i].name, r,
                              (long long)(row[r].rank < 1 ? 0 : row[r].dims[0]), n);
        each = n > 0 ? row[r].bytes / n : each;
    }
    struct cw_view *view = &element->fields[i];
    *view = row[0];
    view->dims[0] = (int64_t)m->kept_n;
    view->bytes = m->kept_n * each;
    char *to = cw_op_scratch(m->ctx, view->bytes + 1, err);
    view->data = to;
    for (size_t r = 0; to && r < m->rows; r++)
        for (size_t k = 0; k < (size_t)m->boxes[r].dims[0]; k++)
            if (m->keeps[r][k]) {
                memcpy(to, (const char *)row[r].data + k * each, each);
                to += each;
            }
    return to ? 0 : CW_E_NOMEM;
}

static int put_objects(struct making *m, struct cw_element *element, struct cw_err *err)
{
    int rc = choose_boxes(m, err);
    for (size_t i = 0; rc == 0 && i < element->n; i++)
        if (cw_field_set_has(&m->parts.labels, i))
            rc = put_labels(m, i, element, err);
    return rc < 0 ? rc : put_boxes(m, &element->fields[m->parts.boxes], err);
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct mosaic_opts *o = opts;
    const struct cw_image_size half = cw_image_size(&o->size);
    struct making m = {.ctx = ctx, .o = o, .h = 2 * half.h, .w = 2 * half.w};
    (void)state;
    (void)scratch;
    const struct cw_mosaic_named named = named_by(o);
    int rc = cw_mosaic_find(&named, ctx->in, &m.parts, err);
    if (rc == 0)
        rc = get_rows(&m, element, err);
    if (rc < 0)
        return rc;
    seat_images(&m);
    if (m.parts.boxes >= 0)
        rc = put_objects(&m, element, err);
    return rc < 0 ? rc : put_image(&m, &element->fields[m.parts.image], err);
}

static bool draws(const void *opts)
{
    const struct mosaic_opts *o = opts;
    return o->p > 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    struct cw_mosaic_fields parts;
    const struct cw_mosaic_named named = named_by(opts);
    (void)fields;
    (void)fields_n;
    *ret_facts = (struct cw_op_facts){.refuses = true, .refuses_values = true};
    if (cw_mosaic_find(&named, in, &parts, NULL) < 0)
        return;
    ret_facts->known = true;
    ret_facts->reads = parts.labels;
    cw_field_set_add(&ret_facts->reads, parts.image);
    if (parts.boxes >= 0)
        cw_field_set_add(&ret_facts->reads, (size_t)parts.boxes);
    ret_facts->writes = ret_facts->reads;
}

const struct cw_op cw_op_mosaic = {
    .name = "mosaic",
    .version = 1,
    .summary = "four images of a batch laid side by side, with their boxes",
    .doc =
        "Behind a batch of four, which may be ragged (`{\"op\": \"batch\", \"size\": 4, "
        "\"ragged\": true}`): makes one image of them, as\n"
        "YOLO's Mosaic does (Bochkovskiy et al., \"YOLOv4\", 2020; Ultralytics' load_mosaic), of "
        "twice `size`. The images meet in a\n"
        "point that is drawn from the middle half of the result, the first left above it, then "
        "right above, left below and\n"
        "right below; what sticks out is cut off, and `fill` is where there is none. `resize` "
        "before it brings the longer side\n"
        "of each to `size`; a crop or `affine` behind it goes back to one `size`, as YOLO does.\n"
        "\n"
        "Boxes are moved and cut off, and those of which nothing is left go, with their rows of "
        "`labels`; the result has those\n"
        "of all four. Other fields stay as the batch has them: `drop` what a further batch cannot "
        "take. The last batch may have\n"
        "fewer images, whose places are then filled. Draw 0 says, by `p`, whether it is a mosaic; "
        "draws 1 and 2 are the height\n"
        "and the column of the point.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_GEOMETRIC,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct mosaic_opts),
    .check = check,
    .infer = infer,
    .apply = apply,
    .facts = facts,
    .draws = draws,
};
