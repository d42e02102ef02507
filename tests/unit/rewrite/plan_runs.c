/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "plan/plan.h"
#include "rewrite/key.h"
#include "support/cm.h"

struct cw_checked *checked_of(struct cw_graph *graph)
{
    struct cw_checked *checked = NULL;
    struct cw_err err = {0};

    if (cw_graph_check(graph, &checked, &err) < 0)
        fail_msg("%s", err.msg);
    cw_graph_unref(graph);
    return checked;
}

static struct cw_hash hash_item(const struct cw_batch *batch, struct cw_hasher *hasher)
{
    cw_hasher_reset(hasher);
    cw_hasher_add_u64(hasher, batch->elements);
    cw_batch_hash(batch, hasher);
    return cw_hasher_get(hasher);
}

/* The plan is given up. */
static struct outcome run(struct cw_plan *plan, enum cw_bad_elements bad)
{
    struct cw_hasher *hasher = cw_hasher_new();
    struct outcome outcome = {0};
    struct cw_err err = {0};

    outcome.n = (size_t)cw_plan_info(plan)->items;
    outcome.ok = CW_NEW_ARRAY(bool, outcome.n + 1);
    outcome.hashes = CW_NEW_ARRAY(struct cw_hash, outcome.n + 1);
    for (size_t i = 0; i < outcome.n; i++) {
        struct cw_batch *batch = NULL;
        outcome.ok[i] = cw_exec_run(plan, 1, i, bad, &batch, &err) == 0;
        if (outcome.ok[i])
            outcome.hashes[i] = hash_item(batch, hasher);
        cw_batch_unref(batch);
    }
    cw_plan_unref(plan);
    cw_hasher_free(hasher);
    return outcome;
}

static struct cw_plan *open_written(struct cw_checked *checked)
{
    struct cw_plan *plan = NULL;
    struct cw_err err = {0};

    cw_exec_surveys();
    if (cw_plan_new(checked, 7, NULL, &plan, &err) < 0)
        fail_msg("%s", err.msg);
    return plan;
}

struct outcome outcome_of(struct cw_checked *checked, enum cw_bad_elements bad)
{
    return run(open_written(checked), bad);
}

struct outcome outcome_beside(struct cw_checked *written, struct cw_checked *checked,
                              enum cw_bad_elements bad)
{
    struct cw_plan *was = open_written(written), *plan = NULL;
    struct cw_err err = {0};
    CW_STR_AUTO text = {0};

    cw_key_set(written);
    cw_key_set(checked);
    if (cw_plan_open_beside(was, checked, &plan, &err) < 0) {
        cw_graph_print(written->graph, &text);
        cw_str_add(&text, " planned as ");
        cw_graph_print(checked->graph, &text);
        puts(cw_str_text(&text)); /* too long for fail_msg */
        fail_msg("%s", err.msg);
    }
    cw_plan_unref(was);
    return run(plan, bad);
}

void outcome_fini(struct outcome *outcome)
{
    cw_mem_free(outcome->ok);
    cw_mem_free(outcome->hashes);
    *outcome = (struct outcome){0};
}

bool outcome_is(const struct outcome *was, const struct outcome *is)
{
    bool same = was->n == is->n;

    for (size_t i = 0; same && i < was->n; i++)
        same = !was->ok[i] || (is->ok[i] && cw_hash_eq(was->hashes[i], is->hashes[i]));
    return same;
}

struct cw_hash hash_of(struct cw_checked *checked, enum cw_bad_elements bad)
{
    struct outcome outcome = outcome_of(checked, bad);
    struct cw_hasher *hasher = cw_hasher_new();

    for (size_t i = 0; i < outcome.n; i++) {
        cw_hasher_add_u64(hasher, outcome.ok[i]);
        cw_hasher_add_u64(hasher, outcome.hashes[i].hi);
        cw_hasher_add_u64(hasher, outcome.hashes[i].lo);
    }
    outcome_fini(&outcome);
    struct cw_hash hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return hash;
}

void plan_from(const char *names, struct cw_order_plan *ret_plan)
{
    cw_autofree char *copy = cw_mem_strdup(names);
    char *rest = NULL;

    *ret_plan = (struct cw_order_plan){.order = CW_NEW_ARRAY(char *, CW_GRAPH_NODES_MAX)};
    for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        ret_plan->order[ret_plan->n++] = cw_mem_strdup(name);
}
