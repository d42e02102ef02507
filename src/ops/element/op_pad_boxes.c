/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `pad_boxes`: gives each element the same number of boxes, for batches. */
#include "ops/element/boxes_op.h"

#include <string.h>
#include "ops/kernels/num.h"

#define COUNT_MAX 65536

enum more { ERROR, DROP };
static const char *const more_names[] = {"error", "drop", NULL};

struct pad_boxes_opts {
    struct cw_motion_opts moved;
    int64_t count;
    double fill, label_fill;
    int more;
    char *valid;
};

static const struct cw_opt options[] = {
    CW_MOTION_BOXES_ROW(offsetof(struct pad_boxes_opts, moved)),
    {.name = "count",
     .help = "how many boxes each element gets",
     .type = CW_OPT_I64,
     .offset = offsetof(struct pad_boxes_opts, count),
     .min = 1,
     .max = COUNT_MAX,
     .flags = CW_OPT_REQUIRED},
    {.name = "fill",
     .help = "the four numbers of a box that is put there",
     .type = CW_OPT_F64,
     .offset = offsetof(struct pad_boxes_opts, fill),
     .def = "0.0"},
    {.name = "label_fill",
     .help = "the values of a row of the labels that is put there",
     .type = CW_OPT_F64,
     .offset = offsetof(struct pad_boxes_opts, label_fill),
     .def = "0.0"},
    CW_MOTION_LABELS_ROW(offsetof(struct pad_boxes_opts, moved)),
    {.name = "more",
     .help = "what becomes of more boxes: an error, or the last ones are dropped",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct pad_boxes_opts, more),
     .def = "\"error\"",
     .names = more_names},
    {.name = "valid",
     .help = "name of a field bool[count] that says which boxes are the element's own",
     .type = CW_OPT_STR,
     .offset = offsetof(struct pad_boxes_opts, valid)},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct pad_boxes_opts *o = opts;
    return cw_boxes_op_check(&o->moved, err);
}

/* Without the rows the shape must be known, since there may be none to take it from. */
static int check_rows(const struct cw_field *field, struct cw_err *err)
{
    for (int d = 1; d < field->rank; d++)
        if (field->dims[d] < 0)
            return cw_err_set(err, CW_E_INVALID,
                              "field \"%s\": only its number of rows may be unknown", field->name);
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct pad_boxes_opts *o = opts;
    struct cw_motion_fields fields;
    (void)in_n;
    int rc = cw_motion_find_named(&o->moved, NULL, in, &fields, err);
    if (rc < 0)
        return rc;
    *ret_spec = cw_spec_copy(in);
    for (size_t i = 0; i < in->n && rc == 0; i++) {
        if (!cw_field_set_has(&fields.all, i))
            continue;
        rc = check_rows(&in->fields[i], err);
        ret_spec->fields[i].dims[0] = o->count;
    }
    return rc == 0 && o->valid ? cw_spec_add(ret_spec, o->valid, CW_DTYPE_BOOL, 1, &o->count, err)
                               : rc;
}

/* Makes a view have `count` rows. */
static int fill_rows(const struct cw_op_ctx *ctx, const struct cw_field *field, double value,
                     struct cw_view *view, struct cw_err *err)
{
    const void *from = view->data;
    const size_t had = view->bytes, each = cw_dtype_bytes(view->dtype);
    memcpy(view->dims, field->dims, sizeof(view->dims));
    const int rc = cw_op_output(ctx, view, err);
    if (rc < 0)
        return rc;
    const size_t own = CW_MIN(had, view->bytes);
    if (own > 0)
        memcpy(view->data, from, own);
    for (size_t i = own / each; i < view->bytes / each; i++)
        cw_num_put_f64(view->dtype, view->data, i, value);
    return 0;
}

static int add_valid(const struct cw_op_ctx *ctx, int64_t count, size_t own,
                     struct cw_element *element, struct cw_err *err)
{
    struct cw_view view = {.dtype = CW_DTYPE_BOOL, .rank = 1, .dims = {count}};
    const int rc = cw_op_output(ctx, &view, err);
    if (rc < 0)
        return rc;
    memset(view.data, 0, view.bytes);
    memset(view.data, 1, CW_MIN(own, view.bytes));
    element->fields[element->n++] = view;
    return 0;
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct pad_boxes_opts *o = opts;
    struct cw_boxes_op of;
    (void)state;
    (void)scratch;
    int rc = cw_boxes_op_get(ctx, &o->moved, element, &of, err);
    if (rc < 0)
        return rc;
    if (o->more == ERROR && of.boxes.n > (size_t)o->count)
        return cw_err_set(err, CW_E_LIMIT, "field \"%s\" has %zu boxes: at most %lld",
                          o->moved.boxes, of.boxes.n, (long long)o->count);
    for (size_t i = 0; i < element->n && rc == 0; i++)
        if (cw_field_set_has(&of.fields.all, i))
            rc = fill_rows(ctx, &ctx->out->fields[i], i == of.at ? o->fill : o->label_fill,
                           &element->fields[i], err);
    return rc == 0 && o->valid ? add_valid(ctx, o->count, of.boxes.n, element, err) : rc;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct pad_boxes_opts *o = opts;
    (void)fields;
    (void)fields_n;
    cw_boxes_op_facts(&o->moved, in, ret_facts);
    if (o->valid) {
        ret_facts->names_field = true;
        cw_field_set_add(&ret_facts->writes, in->n);
    }
}

const struct cw_op cw_op_pad_boxes = {
    .name = "pad_boxes",
    .version = 1,
    .summary = "as many boxes in each element",
    .doc = "Gives each element `count` boxes, and as many rows of each field in `labels`, so that "
           "`batch` can put elements together: behind\n"
           "an element's own there are boxes of the number `fill` and rows of the number "
           "`label_fill`, "
           "as `cast` converts it. `valid`\n"
           "adds a field that tells them apart.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_GROW,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct pad_boxes_opts),
    .check = check,
    .infer = infer,
    .apply = apply,
    .facts = facts,
};
