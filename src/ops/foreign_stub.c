/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for an operator of which only the definition is known here. What it gives is written in a
 * pipeline that was prepared; it is never called on data. */
#include <string.h>

#include "ops/foreign_table.h"
#include "ops/op_util.h"

static const struct cw_foreign_opts *head(const void *opts)
{
    return opts;
}

static int not_here(const void *opts, struct cw_err *err)
{
    const struct cw_foreign *foreign = cw_foreign_of(opts);
    const struct cw_op *other = cw_foreign_find(foreign->op.name);
    const struct cw_foreign *here = other ? cw_foreign_of_op(other) : NULL;
    if (here && here->impl)
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "the job was prepared with %s from the plugin %s (%.8s), and this worker "
                          "has it from %s (%.8s): give all workers the same file",
                          foreign->op.name, foreign->library, foreign->hash, here->library,
                          here->hash);
    return cw_err_set(err, CW_E_UNSUPPORTED,
                      "%s is of the plugin %s (%.8s), which is not loaded here: start the worker "
                      "with --plugin FILE",
                      foreign->op.name, foreign->library, foreign->hash);
}

static bool is_complete(const void *opts)
{
    return head(opts)->gives.n > 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    (void)in;
    (void)in_n;
    return cw_op_spec_from_list(&head(opts)->gives, ret_spec, err);
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    CW_SPEC_AUTO spec = {0};
    int rc = cw_op_spec_from_list(&head(opts)->gives, &spec, err);
    if (rc < 0)
        return rc;
    int i = cw_spec_find(&spec, in->name);
    if (i < 0)
        return cw_err_set(err, CW_E_INVALID, "option gives: there is no \"%s\"", in->name);
    *ret_field = spec.fields[i];
    return 0;
}

static int open_it(const void *opts, const struct cw_op_open *how, void **ret_state,
                   struct cw_err *err)
{
    (void)how;
    (void)ret_state;
    return not_here(opts, err);
}

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    (void)state;
    (void)in_n;
    (void)inputs_n;
    (void)ret_n;
    return not_here(opts, err);
}

static int read_it(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                   struct cw_element *ret_element, struct cw_err *err)
{
    (void)ctx;
    (void)state;
    (void)pos;
    (void)ret_element;
    return not_here(opts, err);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    (void)ctx;
    (void)state;
    (void)scratch;
    (void)in;
    (void)out;
    return not_here(opts, err);
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    (void)ctx;
    (void)state;
    (void)scratch;
    (void)element;
    return not_here(opts, err);
}

static int inside(const struct cw_op_ctx *ctx, const void *opts, const struct cw_op_rows *rows,
                  struct cw_err *err)
{
    (void)ctx;
    (void)rows;
    return not_here(opts, err);
}

void cw_foreign_stub(struct cw_foreign *foreign)
{
    struct cw_op *op = &foreign->op;
    op->is_complete = is_complete;
    op->completed = "gives";
    op->open = open_it;
    if (op->traits & CW_OP_FIELDWISE) {
        op->infer_field = infer_field;
        op->apply_field = apply_field;
    } else {
        op->infer = infer;
    }
    if (op->kind == CW_OP_SOURCE || op->kind == CW_OP_INDEX)
        op->count = count;
    if (op->kind == CW_OP_SOURCE)
        op->read = read_it;
    if (op->kind == CW_OP_INDEX)
        op->map = cw_op_map_same;
    if (op->kind == CW_OP_ELEMENT && !op->apply_field)
        op->apply = apply;
    if (op->kind == CW_OP_GROUP)
        op->inside = inside;
    cw_foreign_common(foreign);
}
