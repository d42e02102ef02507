/* SPDX-License-Identifier: Apache-2.0 */
/* Computes elements for surveys (plan/survey.h), row by row, without keeping them. */
#include <string.h>

#include "base/hash.h"
#include "cache/record/record_cache.h"
#include "exec/eval.h"
#include "exec/take_apart.h"
#include "format/source_file.h"
#include "ops/index/surveyed.h"
#include "plan/survey.h"

#define ARENA_BYTES ((size_t)1 << 20)
#define STOP_ROWS 64 /* after so many rows it is looked whether they are still wanted */

/* ret_parts: NULL unless they are counted */
static int compute_row(struct cw_thread_context *work, size_t node, int64_t pos,
                       uint64_t *ret_parts, struct cw_err *err)
{
    struct cw_walk_at at = {.node = node, .pos = pos};
    cw_arena_reset(work->arena);
    int rc = cw_eval(work, &at, work->element, err);
    if (rc == CW_EVAL_KEEP && ret_parts) {
        rc = cw_take_apart_count(work, node, work->element, ret_parts, err);
        if (rc == 0 && *ret_parts == 0)
            rc = CW_EVAL_DROP;
    }
    cw_cache_unpin(&work->pins);
    return rc;
}

static int name_row(const struct cw_thread_context *work, size_t node, int64_t pos,
                    struct cw_err *err)
{
    const struct cw_plan_node *failed = &work->plan->nodes[work->failed];
    const struct cw_walk_at at = {.node = node, .pos = pos};
    CW_STR_AUTO source = {0};
    int64_t id;
    cw_eval_describe(work->plan, 0, &at, &id, &source);
    return cw_err_wrap(err, "node \"%s\" (%s), element %lld (%s)", failed->node->name,
                       failed->op->name, (long long)(id < 0 ? pos : id), cw_str_text(&source));
}

/* Of an element whose value is asked for there is none if it is bad. */
static bool may_be_bad(const struct cw_plan *plan, int rc)
{
    return cw_err_is_of_data(rc) && (plan->survey_field == SIZE_MAX || plan->skips_bad);
}

/* Returns the fate, or an error that says nothing of the element itself. */
static int fate_of(struct cw_thread_context *work, size_t node, int64_t pos, uint64_t *ret_parts,
                   struct cw_err *err)
{
    struct cw_err its;
    its.code = 0;
    its.msg[0] = '\0';
    int rc = compute_row(work, node, pos, ret_parts, &its);
    if (rc >= 0)
        return rc == CW_EVAL_KEEP ? CW_FATE_KEPT : CW_FATE_LEFT_OUT;
    if (may_be_bad(work->plan, rc))
        return CW_FATE_BAD;
    *err = its;
    err->code = rc;
    return name_row(work, node, pos, err);
}

static uint64_t value_of(const struct cw_thread_context *work)
{
    const struct cw_view *view = &work->element->fields[work->plan->survey_field];
    uint64_t value = 0;
    if (view->dtype == CW_DTYPE_STR)
        return cw_hash_u64(view->data, view->bytes);
    memcpy(&value, view->data, CW_MIN(view->bytes, sizeof(value)));
    return value;
}

static int find_fates(struct cw_plan *plan, size_t node, int64_t first, size_t n,
                      uint8_t *ret_fates, uint64_t *ret_values, struct cw_err *err)
{
    struct cw_arena *arena = cw_arena_new(ARENA_BYTES);
    struct cw_thread_context *work = cw_thread_context_get(plan, arena, 0, plan->stop);
    const bool counts = cw_plan_counts_parts(plan);
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < n; i++) {
        uint64_t value = 0;
        rc = i % STOP_ROWS == 0 ? cw_stop_check(plan->stop, err) : 0;
        if (rc == 0)
            rc = fate_of(work, node, first + (int64_t)i, counts ? &value : NULL, err);
        if (rc >= 0)
            ret_fates[i] = (uint8_t)rc;
        if (rc == CW_FATE_KEPT && ret_values && !counts)
            value = value_of(work);
        if (ret_values)
            ret_values[i] = rc == CW_FATE_KEPT ? value : 0;
    }
    cw_thread_context_put(work);
    cw_arena_free(arena);
    return CW_MIN(rc, 0);
}

void cw_exec_surveys(void)
{
    cw_survey_set(find_fates);
}
