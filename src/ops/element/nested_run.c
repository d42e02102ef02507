/* SPDX-License-Identifier: Apache-2.0 */
/* Runs chains that stand in options. */
#include "base/mem.h"
#include "ops/apply_field.h"
#include "ops/element/nested_int.h"

struct cw_nested_run {
    const struct cw_nested *nested;
    void **scratch; /* of each operator */
    struct cw_spec in;
    struct cw_nested_link *links; /* NULL: no element has come yet */
};

struct cw_nested_run *cw_nested_run_new(const struct cw_nested *nested)
{
    struct cw_nested_run *run = CW_NEW(struct cw_nested_run);
    run->nested = nested;
    run->scratch = CW_NEW_ARRAY(void *, nested->n);
    for (size_t i = 0; i < nested->n; i++)
        if (nested->v[i].op->scratch_new)
            run->scratch[i] = nested->v[i].op->scratch_new(nested->v[i].opts, nested->v[i].state);
    return run;
}

static void drop_links(struct cw_nested_run *run)
{
    for (size_t i = 0; run->links && i < run->nested->n; i++)
        cw_nested_link_fini(&run->links[i]);
    cw_mem_free(run->links);
    run->links = NULL;
    cw_spec_fini(&run->in);
}

void cw_nested_run_free(struct cw_nested_run *run)
{
    if (!run)
        return;
    for (size_t i = 0; i < run->nested->n; i++)
        if (run->scratch[i] && run->nested->v[i].op->scratch_free)
            run->nested->v[i].op->scratch_free(run->scratch[i]);
    drop_links(run);
    cw_mem_free(run->scratch);
    cw_mem_free(run);
}

/* Finds out, at the first element, which fields each operator works on. */
static int make_links(struct cw_nested_run *run, const struct cw_spec *in, struct cw_err *err)
{
    int rc = 0;
    run->in = cw_spec_copy(in);
    run->links = CW_NEW_ARRAY(struct cw_nested_link, run->nested->n);
    for (size_t i = 0; rc == 0 && i < run->nested->n; i++)
        rc = cw_nested_link_infer(run->nested, i,
                                  i == 0 ? &run->in : &run->links[i - 1].inferred.out,
                                  &run->links[i], err);
    if (rc < 0)
        drop_links(run);
    return rc;
}

static int apply_op(struct cw_nested_run *run, size_t i, const struct cw_op_ctx *ctx,
                    const struct cw_rng *rng, struct cw_element *element, struct cw_err *err)
{
    const struct cw_nested_op *op = &run->nested->v[i];
    const struct cw_nested_link *link = &run->links[i];
    const struct cw_op_callee callee = {.op = op->op,
                                        .opts = op->opts,
                                        .state = op->state,
                                        .scratch = run->scratch[i],
                                        .moved = &link->moved};
    struct cw_op_ctx own = {.arena = ctx->arena,
                            .stop = ctx->stop,
                            .scratch = run->scratch[i],
                            .elsewhere_ns = ctx->elsewhere_ns,
                            .in = link->in,
                            .out = &link->inferred.out,
                            .fields = link->inferred.fields,
                            .fields_n = link->inferred.fields_n};
    uint64_t bytes = 0;
    cw_rng_fork(rng, i, &own.rng);
    const int rc = cw_op_apply(&callee, &own, element, &bytes, err);
    return rc < 0
               ? cw_err_wrap(err, "%s: operator %zu (%s)", run->nested->where, i + 1, op->op->name)
               : 0;
}

int cw_nested_apply(struct cw_nested_run *run, const struct cw_op_ctx *ctx,
                    const struct cw_rng *rng, struct cw_element *element, struct cw_err *err)
{
    int rc = run->links ? 0 : make_links(run, ctx->in, err);
    for (size_t i = 0; rc == 0 && i < run->nested->n; i++)
        rc = apply_op(run, i, ctx, rng, element, err);
    return rc;
}
