/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/infer_op.h"

#include <string.h>
#include "base/mem.h"

/* Whether the operator does not work on such a field: rows of different shapes in a batch, or a list of
 * strings (which a batch of strings is as well), unless it says that it takes lists. */
static bool is_packed(const struct cw_op *op, const struct cw_field *field)
{
    return cw_field_is_ragged(field) ||
           (field->dtype == CW_DTYPE_STR && field->rank > 0 && !op->takes_lists);
}

static int no_such_field(const char *name, const struct cw_spec *in, struct cw_err *err)
{
    const char *names[CW_FIELDS_MAX + 1] = {0};
    for (size_t i = 0; i < in->n; i++)
        names[i] = in->fields[i].name;
    const char *near = cw_str_nearest(name, names);
    CW_STR_AUTO spec = {0};
    cw_spec_print(in, &spec);
    return cw_err_set(err, CW_E_INVALID, "fields: there is no \"%s\"%s%s%s; what comes in is %s",
                      name, near ? ", did you mean \"" : "", near ? near : "", near ? "\"?" : "",
                      cw_str_text(&spec));
}

static int pick_named(const struct cw_op_written *written, const struct cw_spec *in, bool *picked,
                      struct cw_err *err)
{
    for (size_t k = 0; k < written->names_n; k++) {
        int i = cw_spec_find(in, written->names[k]);
        if (i < 0)
            return no_such_field(written->names[k], in, err);
        if (picked[i])
            return cw_err_set(err, CW_E_INVALID, "fields: \"%s\" is named twice",
                              written->names[k]);
        if (is_packed(written->op, &in->fields[i]))
            return cw_err_set(
                err, CW_E_INVALID, "fields: \"%s\" is a %s; put the operator before the batch",
                written->names[k],
                cw_field_is_ragged(&in->fields[i]) ? "ragged batch"
                                                   : "batch of strings, or a list of them");
        picked[i] = true;
    }
    return 0;
}

static int pick_fields(const struct cw_op_written *written, const struct cw_spec *in,
                       struct cw_op_inferred *inferred, struct cw_err *err)
{
    bool picked[CW_FIELDS_MAX] = {0};
    const struct cw_op *op = written->op;
    int rc = pick_named(written, in, picked, err);
    if (rc)
        return rc;
    struct cw_motion_fields moved;
    rc = cw_motion_find(op, written->opts, in, &moved, err);
    if (rc < 0)
        return rc;
    cw_autofree size_t *chosen = CW_NEW_ARRAY(size_t, in->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < in->n; i++) {
        const bool moves = cw_field_set_has(&moved.all, i);
        if (moves && picked[i])
            return cw_err_set(err, CW_E_INVALID,
                              "fields: \"%s\" is also named by an option as moving with them",
                              in->fields[i].name);
        if (written->names_n
                ? picked[i]
                : (!moves && !is_packed(op, &in->fields[i]) && cw_op_accepts(op, &in->fields[i])))
            chosen[n++] = i;
    }
    if (n) {
        inferred->fields = cw_steal(&chosen);
        inferred->fields_n = n;
        return 0;
    }
    CW_STR_AUTO spec = {0};
    cw_spec_print(in, &spec);
    return cw_err_set(err, CW_E_INVALID, "works on none of the fields that come in: %s",
                      cw_str_text(&spec));
}

static int infer_fields(const struct cw_op_written *written, const struct cw_spec *in,
                        struct cw_op_inferred *inferred, struct cw_err *err)
{
    const struct cw_op *op = written->op;
    CW_SPEC_AUTO out = cw_spec_copy(in);
    struct cw_motion_fields moved;
    int moved_rc = cw_motion_find(op, written->opts, in, &moved, err);
    if (moved_rc == 0)
        moved_rc = cw_motion_infer(op, written->opts, in, &moved, &out, err);
    if (moved_rc < 0)
        return moved_rc;
    for (size_t k = 0; k < inferred->fields_n; k++) {
        size_t i = inferred->fields[k];
        struct cw_field field = in->fields[i];
        int rc = op->infer_field(written->opts, &in->fields[i], &field, err);
        if (rc < 0)
            return cw_err_wrap(err, "field \"%s\"", in->fields[i].name);
        out.fields[i] = field;
    }
    if (op->out_name && inferred->fields_n == 1 && cw_spec_find(in, op->out_name) < 0) {
        struct cw_field *field = &out.fields[inferred->fields[0]];
        memset(field->name, 0, sizeof(field->name));
        memcpy(field->name, op->out_name, strnlen(op->out_name, sizeof(field->name) - 1));
    }
    inferred->out = cw_spec_take(&out);
    return 0;
}

/* Refuses batches of batches of ragged rows: where rows begin has one dimension (data/ragged.h). */
static int check_group(const struct cw_spec *in, struct cw_err *err)
{
    for (size_t i = 0; i < in->n; i++) {
        if (cw_field_is_ragged(&in->fields[i]))
            return cw_err_set(
                err, CW_E_UNSUPPORTED,
                "field \"%s\" is a ragged batch already; rows of different shapes can "
                "be batched once",
                in->fields[i].name);
    }
    return 0;
}

void cw_op_inferred_fini(struct cw_op_inferred *inferred)
{
    cw_spec_fini(&inferred->out);
    cw_mem_free(inferred->fields);
    *inferred = (struct cw_op_inferred){0};
}

static int infer_whole(const struct cw_op_written *written, const struct cw_spec *in, size_t in_n,
                       struct cw_op_inferred *inferred, struct cw_err *err)
{
    const struct cw_op *op = written->op;
    CW_SPEC_AUTO out = {0};
    if (written->names_n)
        return cw_err_set(err, CW_E_INVALID,
                          "fields: this operator works on whole elements, not on chosen fields");
    int rc = op->kind == CW_OP_GROUP && !op->takes_batches ? check_group(&in[0], err) : 0;
    if (rc >= 0)
        rc = op->infer(written->opts, in, in_n, &out, err);
    if (rc >= 0)
        inferred->out = cw_spec_take(&out);
    return rc;
}

int cw_op_infer(const struct cw_op_written *written, const struct cw_spec *in, size_t in_n,
                struct cw_op_inferred *ret_inferred, struct cw_err *err)
{
    int rc;
    *ret_inferred = (struct cw_op_inferred){0};
    if (written->op->traits & CW_OP_FIELDWISE) {
        rc = pick_fields(written, &in[0], ret_inferred, err);
        if (!rc)
            rc = infer_fields(written, &in[0], ret_inferred, err);
    } else {
        rc = infer_whole(written, in, in_n, ret_inferred, err);
    }
    if (rc < 0)
        return rc;
    if (!ret_inferred->out.n)
        return cw_err_set(err, CW_E_INVALID, "gives elements without any field");
    return 0;
}
