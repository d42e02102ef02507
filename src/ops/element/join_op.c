/* SPDX-License-Identifier: Apache-2.0 */
/* One field of several, which are its parts along an axis. */
#include "ops/element/join_op.h"

#include <string.h>

#include "ops/element/axis.h"
#include "ops/element/pick_op.h"

const struct cw_opt cw_join_options[] = {
    CW_AXIS_ROW(offsetof(struct cw_join_opts, axis),
                "the axis of the result along which they lie; -1 is the last"),
    CW_PICK_ROW(offsetof(struct cw_join_opts, names), "the fields, in their order in the result"),
    {.name = "out",
     .help = "name of the result; default: that of the first field",
     .type = CW_OPT_STR,
     .offset = offsetof(struct cw_join_opts, out)},
    {0},
};

static const char *name_of(const struct cw_join_opts *o)
{
    return o->out && o->out[0] ? o->out : o->names.v[0];
}

/* Merges the dims of a part, without the axis, into those of the result; dims that both know must be
 * equal. */
static bool merge(int64_t *dims, const int64_t *part, int rank, int but)
{
    for (int i = 0; i < rank; i++) {
        if (i == but)
            continue;
        if (dims[i] < 0)
            dims[i] = part[i];
        if (part[i] >= 0 && part[i] != dims[i])
            return false;
    }
    return true;
}

static int add_part(const struct cw_spec *in, size_t first, size_t field, int axis, bool is_new,
                    int64_t *dims, struct cw_err *err)
{
    const struct cw_field *part = &in->fields[field];
    if (!merge(dims, part->dims, part->rank, is_new ? -1 : axis))
        return cw_err_set(err, CW_E_INVALID,
                          "option names: fields \"%s\" and \"%s\" have different shapes",
                          in->fields[first].name, part->name);
    if (!is_new && field != first)
        dims[axis] = dims[axis] < 0 || part->dims[axis] < 0 ? -1 : dims[axis] + part->dims[axis];
    return 0;
}

int cw_join_infer(const struct cw_join_opts *o, bool is_new, const struct cw_spec *in,
                  struct cw_spec *ret_spec, struct cw_err *err)
{
    size_t fields[CW_FIELDS_MAX];
    struct cw_field result = {0};
    int axis = 0;
    int rc = cw_pick_fields(in, &o->names, fields, err);
    if (rc == 0)
        rc = cw_pick_check_kin(in, fields, o->names.n, err);
    if (rc < 0)
        return rc;
    const struct cw_field *first = &in->fields[fields[0]];
    if (is_new && first->rank == CW_RANK_MAX)
        return cw_err_set(err, CW_E_LIMIT, "option names: \"%s\" has %d dimensions already",
                          first->name, CW_RANK_MAX);
    rc = cw_axis_of(o->axis, first->rank + is_new, &axis, err);
    result.dtype = first->dtype;
    result.rank = first->rank;
    memcpy(result.dims, first->dims, sizeof(result.dims));
    for (size_t k = 0; rc == 0 && k < o->names.n; k++)
        rc = add_part(in, fields[0], fields[k], axis, is_new, result.dims, err);
    if (rc < 0)
        return rc;
    if (is_new)
        cw_axis_insert(axis, (int64_t)o->names.n, &result.rank, result.dims);
    if (strlen(name_of(o)) >= sizeof(result.name))
        return cw_err_set(err, CW_E_INVALID, "option out: longer than %d characters",
                          CW_FIELD_NAME_BYTES - 1);
    memcpy(result.name, name_of(o), strlen(name_of(o)));
    return cw_pick_join_spec(in, fields, o->names.n, &result, ret_spec, err);
}

/* The shape of the result, from the data; the parts may turn out to differ. */
static int find_shape(const struct cw_op_ctx *ctx, const struct cw_join_opts *o, bool is_new,
                      const struct cw_element *element, const size_t *fields, int axis,
                      struct cw_view *out, struct cw_err *err)
{
    const struct cw_view *first = &element->fields[fields[0]];
    *out = (struct cw_view){.dtype = first->dtype, .rank = first->rank};
    memcpy(out->dims, first->dims, sizeof(out->dims));
    for (size_t k = 1; k < o->names.n; k++) {
        const struct cw_view *part = &element->fields[fields[k]];
        if (!merge(out->dims, part->dims, part->rank, is_new ? -1 : axis))
            return cw_err_set(err, CW_E_INVALID, "fields \"%s\" and \"%s\" have different shapes",
                              ctx->in->fields[fields[0]].name, ctx->in->fields[fields[k]].name);
        if (!is_new)
            out->dims[axis] += part->dims[axis];
    }
    if (is_new)
        cw_axis_insert(axis, (int64_t)o->names.n, &out->rank, out->dims);
    return 0;
}

/* Single values: a loop of its own, since they are what columns of a table are. */
static void copy_values(uint8_t *dst, const uint8_t *src, size_t n, size_t step, size_t bytes)
{
    if (bytes == 4)
        for (size_t i = 0; i < n; i++)
            memcpy(dst + i * step, src + 4 * i, 4);
    else if (bytes == 8)
        for (size_t i = 0; i < n; i++)
            memcpy(dst + i * step, src + 8 * i, 8);
    else
        for (size_t i = 0; i < n; i++)
            memcpy(dst + i * step, src + bytes * i, bytes);
}

static void copy_part(const struct cw_view *out, int axis, const struct cw_view *part, bool is_new,
                      size_t *at)
{
    struct cw_axis_span whole;
    cw_axis_span(out->rank, out->dims, axis, &whole);
    const size_t bytes = cw_dtype_bytes(out->dtype) * whole.inner;
    const size_t n = is_new ? 1 : (size_t)part->dims[axis];
    uint8_t *dst = (uint8_t *)out->data + *at * bytes;
    if (part->bytes > 0)
        copy_values(dst, part->data, whole.outer, whole.n * bytes, n * bytes);
    *at += n;
}

int cw_join_apply(const struct cw_op_ctx *ctx, const struct cw_join_opts *o, bool is_new,
                  struct cw_element *element, struct cw_err *err)
{
    size_t fields[CW_FIELDS_MAX], at = 0;
    struct cw_view out;
    int axis = 0;
    int rc = cw_pick_fields(ctx->in, &o->names, fields, err);
    if (rc == 0)
        rc = cw_axis_of(o->axis, element->fields[fields[0]].rank + is_new, &axis, err);
    if (rc == 0)
        rc = find_shape(ctx, o, is_new, element, fields, axis, &out, err);
    if (rc < 0)
        return rc;
    struct cw_op_ctx anywhere = *ctx; /* the slot is that of field 0 of the output */
    if (cw_pick_place(fields, o->names.n) != 0)
        anywhere.slot = NULL;
    rc = cw_op_output(&anywhere, &out, err);
    if (rc < 0)
        return rc;
    for (size_t k = 0; k < o->names.n; k++)
        copy_part(&out, axis, &element->fields[fields[k]], is_new, &at);
    cw_pick_join(element, fields, o->names.n, &out);
    return 0;
}

bool cw_join_names(const void *opts, struct cw_op_names *names)
{
    cw_pick_names(&((const struct cw_join_opts *)opts)->names, names);
    return true;
}

void cw_join_facts(const struct cw_join_opts *o, const struct cw_spec *in,
                   struct cw_op_facts *ret_facts)
{
    struct cw_field_set reads = {{0}};
    *ret_facts = (struct cw_op_facts){0};
    if (cw_pick_mask(in, &o->names, &reads, NULL) == 0)
        cw_pick_facts(&reads, in, ret_facts);
}
