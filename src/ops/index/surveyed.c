/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/index/surveyed.h"

#include "base/mem.h"
#include "ops/op_util.h"

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    const struct cw_surveyed *surveyed = state;
    (void)opts;
    (void)in_n;
    (void)inputs_n;
    (void)err;
    *ret_n = (int64_t)(surveyed->has_parts ? surveyed->parts.all : surveyed->select.set_n);
    return 0;
}

/* The order that is asked for a position, of all elements that are kept. */
static struct cw_at at_order(const struct cw_surveyed *surveyed,
                             const struct cw_surveyed_order *order, const struct cw_at *at)
{
    struct cw_at its = *at;
    its.tag = order->tag;
    its.in_n = &at->n;
    its.n = (int64_t)surveyed->select.set_n;
    return its;
}

static int64_t map(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input)
{
    const struct cw_surveyed *surveyed = state;
    uint64_t part;
    (void)opts;
    *ret_input = 0;
    if (surveyed->has_parts) /* no order stands before it */
        return cw_surveyed_part_at(surveyed, pos, &part);
    for (size_t i = 0; i < surveyed->orders_n; i++) {
        const struct cw_surveyed_order *order = &surveyed->orders[i];
        struct cw_at its = at_order(surveyed, order, at);
        size_t input = 0;
        pos = order->op->map(order->opts, NULL, &its, pos, &input);
    }
    return (int64_t)cw_select_at(&surveyed->select, (uint64_t)pos);
}

static void map_run(const void *opts, void *state, const struct cw_at *at, int64_t *pos, size_t n)
{
    const struct cw_surveyed *surveyed = state;
    (void)opts;
    for (size_t i = 0; i < surveyed->orders_n; i++) {
        const struct cw_surveyed_order *order = &surveyed->orders[i];
        const struct cw_at its = at_order(surveyed, order, at);
        order->op->map_run(order->opts, NULL, &its, pos, n);
    }
    cw_select_run(&surveyed->select, pos, n);
}

static void manifest(const void *opts, void *state, struct cw_value *ret_value)
{
    const struct cw_surveyed *surveyed = state;
    (void)opts;
    cw_value_set_object(ret_value);
    cw_survey_note_write(&surveyed->note, ret_value);
}

static void close_state(void *state)
{
    cw_surveyed_free(state);
}

static void set_op(struct cw_surveyed *surveyed, const struct cw_op *op)
{
    surveyed->op = (struct cw_op){.name = op->name,
                                  .version = op->version,
                                  .summary = op->summary,
                                  .doc = op->doc,
                                  .kind = CW_OP_INDEX,
                                  .inputs_min = 1,
                                  .inputs_max = 1,
                                  .infer = surveyed->has_parts ? op->infer : cw_op_infer_same,
                                  .close = close_state,
                                  .count = count,
                                  .map = map,
                                  .map_run = surveyed->has_parts ? NULL : map_run,
                                  .manifest = manifest};
}

int cw_surveyed_new(const struct cw_op *op, struct cw_fates *fates,
                    const struct cw_survey_note *note, struct cw_surveyed **ret_surveyed,
                    struct cw_err *err)
{
    struct cw_surveyed *s = CW_NEW(struct cw_surveyed);
    const bool gives_bad = note->bad_n > 0 && !note->skips_bad;
    const uint8_t *bad = gives_bad ? fates->bad : NULL;
    s->has_parts = fates->kind == CW_FATES_PARTS;
    cw_survey_note_copy(note, &s->note);
    set_op(s, op);
    if (s->has_parts ? !cw_part_sums_init(&s->parts, fates->values, bad, fates->n)
                     : !cw_select_init(&s->select, fates->kept, bad, fates->n)) {
        cw_fates_fini(fates);
        cw_surveyed_free(s);
        return cw_err_set(err, CW_E_NOMEM, "no memory for what is known of %llu elements",
                          (unsigned long long)note->n);
    }
    if (gives_bad)
        s->bad = cw_steal(&fates->bad);
    cw_fates_fini(fates);
    *ret_surveyed = s;
    return 0;
}

void cw_surveyed_free(struct cw_surveyed *surveyed)
{
    if (!surveyed)
        return;
    cw_select_fini(&surveyed->select);
    cw_part_sums_fini(&surveyed->parts);
    cw_survey_note_fini(&surveyed->note);
    cw_mem_free(surveyed->bad);
    cw_mem_free(surveyed->orders);
    cw_mem_free(surveyed);
}

void cw_surveyed_add_order(struct cw_surveyed *surveyed, const struct cw_op *op, const void *opts,
                           uint64_t tag)
{
    const size_t n = surveyed->orders_n++;
    surveyed->orders = cw_mem_grow(surveyed->orders, surveyed->orders_n, sizeof(*surveyed->orders));
    surveyed->orders[n] = (struct cw_surveyed_order){.op = op, .opts = opts, .tag = tag};
}
