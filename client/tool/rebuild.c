/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/rebuild.h"

#include "base/mem.h"
#include "client/delivery/rebatch.h"
#include "client/model/trainer_batch.h"
#include "plan/plan_nodes.h"

void tool_rebuilt_fini(struct tool_rebuilt *rebuilt)
{
    for (size_t i = 0; i < rebuilt->rows_n; i++)
        cw_mem_free(rebuilt->rows[i].source);
    cw_mem_free(rebuilt->rows);
    cachew_batch_release(rebuilt->batch);
    *rebuilt = (struct tool_rebuilt){0};
}

static void set_batch(struct tool_rebuilt *rebuilt, const struct cw_plan *plan, uint64_t seed,
                      uint64_t epoch, uint64_t number, struct cw_batch *data)
{
    rebuilt->batch = cw_public_batch_new();
    rebuilt->batch->data = data;
    rebuilt->batch->seed = seed;
    rebuilt->batch->epoch = epoch;
    rebuilt->batch->number = number;
    rebuilt->batch->fingerprint = cw_plan_info(plan)->fingerprint;
}

static int no_such_batch(uint64_t epoch, uint64_t number, uint64_t n, struct cw_err *err)
{
    return cw_err_set(err, CW_E_NOT_FOUND, "there is no batch %llu: epoch %llu has %llu, from 0",
                      (unsigned long long)number, (unsigned long long)epoch, (unsigned long long)n);
}

/* ---- which rows of an item are elements of the output ---- */

struct survivors {
    struct tool_rebuilt *rebuilt;
    const struct cw_plan *plan;
    /* One entry for each node: whether on_row is called for no later node of a row, so that the row
     * is complete with it. */
    bool *is_top;
    uint64_t item;
    /* The surviving rows that are still to be skipped, and then still to be taken. */
    int64_t skip, left;
    int64_t row; /* The row that is shown; -1 if there is none. */
    bool whole;
    struct cw_str source;
};

/* Finds the nodes that are shown last: those below index operators, which compute nothing. */
static bool *find_tops(const struct cw_plan *plan, uint64_t epoch, uint64_t item)
{
    bool *marks = CW_NEW_ARRAY(bool, plan->n);
    cw_autofree struct cw_plan_item *cut = CW_NEW(struct cw_plan_item);
    cw_plan_item(plan, epoch, item, cut);
    marks[cut->node] = true;
    for (size_t i = cut->node + 1; i-- > 0;) {
        const struct cw_plan_node *node = &plan->nodes[i];
        if (!marks[i] || node->parts || (node->step != CW_STEP_INDEX && node->step != CW_STEP_PASS))
            continue;
        marks[i] = false;
        for (size_t k = 0; k < node->inputs_n; k++)
            marks[node->inputs[k]] = true;
    }
    return marks;
}

static void end_row(struct survivors *s)
{
    bool whole = s->row >= 0 && s->whole;
    if (whole && s->skip > 0) {
        s->skip--;
    } else if (whole && s->left > 0) {
        struct tool_rebuilt *r = s->rebuilt;
        s->left--;
        CW_GROW(r->rows, r->rows_n, r->rows_cap);
        r->rows[r->rows_n++] =
            (struct tool_row){s->item, s->row, cw_mem_strdup(cw_str_text(&s->source))};
    }
    s->row = -1;
}

static int on_row(void *arg, int64_t row, const struct cw_node *node, const struct cw_spec *spec,
                  const struct cw_element *element, const char *source, struct cw_err *err)
{
    struct survivors *s = arg;
    (void)spec;
    (void)element;
    (void)err;
    if (row != s->row) {
        end_row(s);
        s->row = row;
        cw_str_clear(&s->source);
        cw_str_add(&s->source, source);
    }
    s->whole = s->is_top[node - s->plan->checked->graph->nodes];
    return 0;
}

/* Adds the surviving rows [lo, hi) of the item to the batch's rows. */
static int add_rows(struct tool_rebuilt *rebuilt, struct cw_plan *plan, uint64_t epoch,
                    uint64_t item, int64_t lo, int64_t hi, struct cw_err *err)
{
    struct survivors s = {
        .rebuilt = rebuilt, .plan = plan, .item = item, .skip = lo, .left = hi - lo, .row = -1};
    s.is_top = find_tops(plan, epoch, item);
    int rc = cw_exec_trace(plan, epoch, item, on_row, &s, err);
    end_row(&s);
    cw_str_fini(&s.source);
    cw_mem_free(s.is_top);
    return rc;
}

/* ---- sparse pipelines: items from the beginning of the epoch, cut into batches as a client does
 * ---- */

struct wanted {
    struct cw_batch *batch; /* The batch that is wanted; NULL until it is found. */
    uint64_t number;
    /* The first row of the batch, and the one behind its last, counted in the epoch. */
    uint64_t begin, end;
    uint64_t *ends; /* For each item that was rebatched: the rows of the epoch up to its end. */
    size_t items, ends_cap;
};

static void on_batch(void *arg, struct cw_batch *batch, const struct cw_pos *after)
{
    struct wanted *wanted = arg;
    if (batch->item != wanted->number) {
        cw_batch_unref(batch);
        return;
    }
    wanted->batch = batch;
    wanted->end = after->rows;
    wanted->begin = after->rows - batch->elements;
}

static struct cw_buf *on_alloc(void *arg, size_t bytes)
{
    (void)arg;
    return cw_buf_new(bytes);
}

/* Feeds items to the rebatcher until the batch is complete. */
static int join_items(struct cw_plan *plan, uint64_t epoch, struct cw_rebatch *join,
                      struct wanted *wanted, struct cw_err *err)
{
    uint64_t n = cw_plan_info(plan)->items;
    int rc = 0;
    for (uint64_t item = 0; rc == 0 && item < n && !wanted->batch && !cw_rebatch_is_full(join);
         item++) {
        struct cw_batch *batch = NULL;
        rc = cw_exec_run(plan, epoch, item, CW_BAD_SKIP, &batch, err);
        if (rc < 0)
            return rc;
        batch->item = item;
        struct cw_item_rows *rows = cw_item_rows_new(batch, NULL, 0);
        rc = cw_rebatch_item(join, rows, err);
        cw_item_rows_free(rows);
        CW_GROW(wanted->ends, wanted->items, wanted->ends_cap);
        wanted->ends[wanted->items++] = join->at.rows;
    }
    return rc;
}

static int rebuild_sparse(struct cw_plan *plan, uint64_t seed, uint64_t epoch, uint64_t number,
                          struct tool_rebuilt *rebuilt, struct cw_err *err)
{
    const struct cw_plan_info *info = cw_plan_info(plan);
    struct wanted wanted = {.number = number};
    struct cw_rebatch_conf conf = {
        .rules = info->join, .out = &info->out, .pads = info->pads, .consumers = 1};
    struct cw_pos from = {.epoch = epoch};
    struct cw_rebatch join;
    /* The preceding batch is made as well, so that its bad elements are not counted in this one. */
    cw_rebatch_init(&join, &conf, &from, number > 0 ? number - 1 : 0, on_batch, on_alloc, &wanted);
    int rc = join_items(plan, epoch, &join, &wanted, err);
    uint64_t batches = join.at.batches + (join.fill > 0 && !info->join.drop_remainder);
    if (rc == 0 && !wanted.batch)
        rc = cw_rebatch_end(&join, err);
    if (rc == 0 && !wanted.batch)
        rc = no_such_batch(epoch, number, batches, err);
    cw_rebatch_fini(&join);
    if (wanted.batch)
        set_batch(rebuilt, plan, seed, epoch, number, wanted.batch);
    for (size_t i = 0; rc == 0 && i < wanted.items; i++) {
        uint64_t start = i > 0 ? wanted.ends[i - 1] : 0;
        uint64_t lo = CW_MAX(wanted.begin, start), hi = CW_MIN(wanted.end, wanted.ends[i]);
        if (lo < hi)
            rc = add_rows(rebuilt, plan, epoch, i, (int64_t)(lo - start), (int64_t)(hi - start),
                          err);
    }
    cw_mem_free(wanted.ends);
    return rc;
}

static int rebuild_dense(struct cw_plan *plan, uint64_t seed, uint64_t epoch, uint64_t number,
                         struct tool_rebuilt *rebuilt, struct cw_err *err)
{
    struct cw_batch *batch = NULL;
    if (number >= cw_plan_info(plan)->items)
        return no_such_batch(epoch, number, cw_plan_info(plan)->items, err);
    int rc = cw_exec_run(plan, epoch, number, CW_BAD_SKIP, &batch, err);
    if (rc < 0)
        return rc;
    set_batch(rebuilt, plan, seed, epoch, number, batch);
    return add_rows(rebuilt, plan, epoch, number, 0, INT64_MAX, err);
}

int tool_rebuild(struct cw_plan *plan, uint64_t seed, uint64_t epoch, uint64_t number,
                 struct tool_rebuilt *ret_rebuilt, struct cw_err *err)
{
    struct tool_rebuilt rebuilt = {0};
    int rc = cw_plan_info(plan)->sparse ? rebuild_sparse(plan, seed, epoch, number, &rebuilt, err)
                                        : rebuild_dense(plan, seed, epoch, number, &rebuilt, err);
    if (rc == 0)
        *ret_rebuilt = rebuilt;
    else
        tool_rebuilt_fini(&rebuilt);
    return rc;
}

/* ---- the results of each operator ---- */

struct tracing {
    const struct tool_rebuilt *rebuilt;
    size_t lo, hi; /* The batch's rows that belong to the item that is being traced. */
    size_t at;
    tool_trace_fn *fn;
    void *arg;
};

static int on_trace(void *arg, int64_t row, const struct cw_node *node, const struct cw_spec *spec,
                    const struct cw_element *element, const char *source, struct cw_err *err)
{
    struct tracing *t = arg;
    (void)source;
    if (row < 0)
        return t->fn(t->arg, -1, node, spec, element, err);
    while (t->at < t->hi && t->rebuilt->rows[t->at].row < row)
        t->at++;
    if (t->at == t->hi || t->rebuilt->rows[t->at].row != row)
        return 0;
    return t->fn(t->arg, (int64_t)t->at, node, spec, element, err);
}

int tool_rebuilt_trace(struct cw_plan *plan, uint64_t epoch, const struct tool_rebuilt *rebuilt,
                       tool_trace_fn *fn, void *arg, struct cw_err *err)
{
    struct tracing t = {.rebuilt = rebuilt, .fn = fn, .arg = arg};
    int rc = 0;
    for (; rc == 0 && t.lo < rebuilt->rows_n; t.lo = t.hi) {
        uint64_t item = rebuilt->rows[t.lo].item;
        for (t.hi = t.lo; t.hi < rebuilt->rows_n && rebuilt->rows[t.hi].item == item;)
            t.hi++;
        t.at = t.lo;
        rc = cw_exec_trace(plan, epoch, item, on_trace, &t, err);
    }
    return rc;
}
