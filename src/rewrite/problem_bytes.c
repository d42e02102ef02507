/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/problem_bytes.h"

#include <math.h>
#include <string.h>

#include "ops/op_facts.h"

double cw_problem_known_bytes(const struct cw_field *field)
{
    int64_t n = field->dtype == CW_DTYPE_STR ? -1 : cw_field_count(field);

    return n < 0 ? -1 : (double)n * (double)cw_dtype_bytes(field->dtype);
}

void cw_problem_set_bytes(const struct cw_spec *spec, const struct cw_field_set *fields,
                          double measured, double *bytes)
{
    double unknown = 0;

    for (size_t f = 0; f < spec->n; f++) {
        if (!cw_field_set_has(fields, f))
            continue;
        double known = cw_problem_known_bytes(&spec->fields[f]);
        if (known >= 0)
            bytes[f] = known;
        unknown += known < 0;
        measured -= fmax(known, 0);
    }
    for (size_t f = 0; measured >= 0 && f < spec->n; f++)
        if (cw_field_set_has(fields, f) && cw_problem_known_bytes(&spec->fields[f]) < 0)
            bytes[f] = measured / unknown;
}

/* ---- nodes before the chain ---- */

static double *bytes_of(double *bytes, size_t node)
{
    return bytes + CW_FIELDS_MAX * node;
}

/* The fields of all inputs, one after the other; of other nodes with several inputs, those of the first. */
static void copy_inputs(const struct cw_checked *checked, size_t node, double *bytes)
{
    const struct cw_checked_node *it = &checked->nodes[node];
    const size_t n = it->op->traits & CW_OP_MERGE ? it->inputs_n : CW_MIN(it->inputs_n, (size_t)1);
    size_t at = 0;

    for (size_t k = 0; k < n; k++) {
        const size_t fields = checked->nodes[it->inputs[k]].out.n;
        for (size_t f = 0; f < fields && at < CW_FIELDS_MAX; f++)
            bytes_of(bytes, node)[at++] = bytes_of(bytes, it->inputs[k])[f];
    }
}

/* What an operator adds and writes; of one that does not say it, everything. */
static struct cw_field_set changed_by(const struct cw_checked *checked, size_t node)
{
    const struct cw_checked_node *it = &checked->nodes[node];
    struct cw_field_set changed = cw_field_set_of_first(it->out.n);
    struct cw_op_facts facts = {0};

    if (it->inputs_n == 0 || !it->op->facts)
        return changed;
    const struct cw_spec *in = &checked->nodes[it->inputs[0]].out;
    const struct cw_field_set had = cw_field_set_of_first(in->n);
    cw_op_facts_get(it->op, it->opts, in, it->fields, it->fields_n, &facts);
    if (!facts.known)
        return changed;
    cw_field_set_subtract(&changed, &had);
    cw_field_set_join(&changed, &facts.writes);
    return changed;
}

void cw_problem_pass_bytes(const struct cw_checked *checked, const struct cw_cost_profile *profile,
                           size_t node, bool whole, double *bytes)
{
    const struct cw_checked_node *it = &checked->nodes[node];
    const struct cw_cost_profile_node *measured =
        cw_cost_profile_find(profile, checked->graph->nodes[node].name);
    double *own = bytes_of(bytes, node);

    copy_inputs(checked, node, bytes);
    if (it->op->kind == CW_OP_GROUP) {
        const double n = it->op->group_size ? (double)it->op->group_size(it->opts) : 1;
        for (size_t f = 0; f < it->out.n; f++)
            own[f] *= n;
        return;
    }
    if (!measured)
        return;
    const struct cw_field_set changed = changed_by(checked, node);
    cw_problem_set_bytes(&it->out, &changed,
                         whole && measured->whole.out_bytes > 0 ? measured->whole.out_bytes
                                                                : measured->out_bytes,
                         own);
}
