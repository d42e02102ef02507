/* SPDX-License-Identifier: Apache-2.0 */
/* Which fields move with the images of an operator: found in specs, and in what it says of itself. */
#include "ops/motion.h"

#include <string.h>
#include "ops/op.h"

static const struct cw_motion_opts *opts_of(const struct cw_op *op, const void *opts)
{
    return (const void *)((const char *)opts + op->moves->opts_offset);
}

/* Finds one field by its name; *set gets it. */
static int find_one(const char *option, const char *name, const struct cw_spec *in,
                    struct cw_field_set *set, const struct cw_field **ret_field, struct cw_err *err)
{
    const int i = cw_spec_find(in, name);
    if (i < 0)
        return cw_err_set(err, CW_E_INVALID, "option %s: there is no field \"%s\"", option, name);
    if (cw_field_set_has(set, (size_t)i))
        return cw_err_set(err, CW_E_INVALID, "option %s: \"%s\" is named twice", option, name);
    if (cw_field_is_ragged(&in->fields[i]))
        return cw_err_set(err, CW_E_INVALID, "option %s: \"%s\" is a ragged batch", option, name);
    cw_field_set_add(set, (size_t)i);
    *ret_field = &in->fields[i];
    return 0;
}

static int not_such(const char *option, const struct cw_field *field, const char *what,
                    struct cw_err *err)
{
    CW_STR_AUTO text = {0};
    cw_field_print(field, &text);
    return cw_err_set(err, CW_E_INVALID, "option %s: %s is not %s", option, cw_str_text(&text),
                      what);
}

static bool ends_with(const struct cw_field *field, int64_t last)
{
    return field->dtype == CW_DTYPE_F32 && field->rank > 0 &&
           (field->dims[field->rank - 1] == last || field->dims[field->rank - 1] == -1);
}

static int find_masks(bool (*accepts)(const struct cw_field *field),
                      const struct cw_str_list *names, const struct cw_spec *in,
                      struct cw_field_set *ret_set, struct cw_err *err)
{
    const struct cw_field *field;
    for (size_t i = 0; i < names->n; i++) {
        const int rc = find_one("masks", names->v[i], in, ret_set, &field, err);
        if (rc < 0)
            return rc;
        if (!accepts(field))
            return not_such("masks", field, "an image that this operator moves", err);
    }
    return 0;
}

static int find_boxes(const char *name, const struct cw_spec *in, struct cw_field_set *ret_set,
                      struct cw_err *err)
{
    const struct cw_field *field;
    const int rc = find_one("boxes", name, in, ret_set, &field, err);
    if (rc < 0)
        return rc;
    return ends_with(field, 4) && field->rank == 2
               ? 0
               : not_such("boxes", field, "f32[?,4]; cast makes it f32", err);
}

static int find_labels(const struct cw_str_list *names, const struct cw_spec *in,
                       struct cw_field_set *ret_set, struct cw_err *err)
{
    const struct cw_field *field;
    for (size_t i = 0; i < names->n; i++) {
        const int rc = find_one("labels", names->v[i], in, ret_set, &field, err);
        if (rc < 0)
            return rc;
        if (field->dtype == CW_DTYPE_STR || field->rank < 1)
            return not_such("labels", field, "a list of numbers", err);
    }
    return 0;
}

static int find_points(const struct cw_str_list *names, const struct cw_spec *in,
                       struct cw_field_set *ret_set, struct cw_err *err)
{
    const struct cw_field *field;
    for (size_t i = 0; i < names->n; i++) {
        const int rc = find_one("points", names->v[i], in, ret_set, &field, err);
        if (rc < 0)
            return rc;
        if (!ends_with(field, 2))
            return not_such("points", field, "f32[...,2]; cast makes it f32", err);
    }
    return 0;
}

int cw_motion_find_named(const struct cw_motion_opts *o,
                         bool (*accepts)(const struct cw_field *field), const struct cw_spec *in,
                         struct cw_motion_fields *ret_fields, struct cw_err *err)
{
    struct cw_motion_fields fields = {0};
    if (o->labels.n > 0 && !o->boxes)
        return cw_err_set(err, CW_E_INVALID, "option labels: there are no boxes");
    int rc = find_masks(accepts, &o->masks, in, &fields.masks, err);
    if (rc == 0 && o->boxes)
        rc = find_boxes(o->boxes, in, &fields.boxes, err);
    if (rc == 0)
        rc = find_labels(&o->labels, in, &fields.labels, err);
    if (rc == 0)
        rc = find_points(&o->points, in, &fields.points, err);
    if (rc < 0)
        return rc;
    struct cw_field_set rows = fields.labels;
    cw_field_set_join(&rows, &fields.points);
    if (cw_field_set_meets(&fields.masks, &fields.boxes) ||
        cw_field_set_meets(&fields.masks, &rows) || cw_field_set_meets(&fields.boxes, &rows))
        return cw_err_set(
            err, CW_E_INVALID,
            "options masks, boxes, labels and points: one field is named in two; only "
            "points may be labels, too");
    fields.all = rows;
    cw_field_set_join(&fields.all, &fields.masks);
    cw_field_set_join(&fields.all, &fields.boxes);
    *ret_fields = fields;
    return 0;
}

int cw_motion_find(const struct cw_op *op, const void *opts, const struct cw_spec *in,
                   struct cw_motion_fields *ret_fields, struct cw_err *err)
{
    *ret_fields = (struct cw_motion_fields){0};
    return op->moves ? cw_motion_find_named(opts_of(op, opts), op->accepts, in, ret_fields, err)
                     : 0;
}

static int infer_mask(const struct cw_op *op, const void *opts, const struct cw_field *in,
                      struct cw_field *ret_field, struct cw_err *err)
{
    const int rc = op->moves->infer_mask ? op->moves->infer_mask(opts, in, ret_field, err)
                                         : op->infer_field(opts, in, ret_field, err);
    return rc < 0 ? cw_err_wrap(err, "mask \"%s\"", in->name) : 0;
}

int cw_motion_infer(const struct cw_op *op, const void *opts, const struct cw_spec *in,
                    const struct cw_motion_fields *fields, struct cw_spec *out, struct cw_err *err)
{
    for (size_t i = 0; i < in->n; i++) {
        int rc = 0;
        if (cw_field_set_has(&fields->masks, i))
            rc = infer_mask(op, opts, &in->fields[i], &out->fields[i], err);
        else if ((cw_field_set_has(&fields->boxes, i) || cw_field_set_has(&fields->labels, i)) &&
                 op->moves->clips)
            out->fields[i].dims[0] = -1;
        if (rc < 0)
            return rc;
    }
    return 0;
}

void cw_op_facts_get(const struct cw_op *op, const void *opts, const struct cw_spec *in,
                     const size_t *fields, size_t fields_n, struct cw_op_facts *ret_facts)
{
    struct cw_motion_fields moved;
    if (!op->facts)
        return;
    op->facts(opts, in, fields, fields_n, ret_facts);
    if (cw_motion_find(op, opts, in, &moved, NULL) < 0 || cw_field_set_is_empty(&moved.all))
        return;
    cw_field_set_join(&ret_facts->reads, &moved.all);
    cw_field_set_join(&ret_facts->writes, &moved.all);
    ret_facts->refuses = ret_facts->refuses_values = true;
    /* Where the image goes alone is no longer all that there is to it. */
    ret_facts->effect = CW_EFFECT_OTHER;
}
