/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/relaxed_trial.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "exec/exec.h"
#include "ops/kernels/num.h"
#include "plan/plan_nodes.h"

#define ELEMENTS 16

/* An element of the written order as it came out; views and bytes are its own. */
struct kept {
    uint64_t item;
    int64_t row;
    struct cw_element element;
    bool is_found; /* the relaxed order gives it, too */
};
#define KEPT_MAX                                                                                   \
    ((size_t)64 << 20) /* no more are looked at when these take so many bytes: nobody counts them */

struct difference {
    double sum, squares, values; /* of absolute differences, of their squares; how many values */
    double least, most;          /* of the written values */
    size_t texts, texts_other;   /* strings, and those that differ */
    bool is_u8;
};
struct trial {
    struct cw_plan *plan; /* the one that is looked at */
    const char *node;     /* whose elements are compared */
    uint64_t item;        /* that is computed */
    bool is_enough;       /* no more is to be seen of it */
    struct kept kept[ELEMENTS];
    size_t n, found_n;
    size_t bytes;      /* of what is kept */
    const char *wrong; /* what is, with the relaxed order; NULL: nothing */
    struct difference differences[CW_FIELDS_MAX];
};

/* ---- the elements ---- */

static bool is_passed_over(const struct cw_checked_node *node)
{
    return (node->op->kind == CW_OP_INDEX && node->inputs_n == 1) ||
           (node->op->traits & (CW_OP_CACHE | CW_OP_MARK));
}

/* Returns the node whose elements are the rows of batches. */
static size_t rows_node(const struct cw_checked *checked)
{
    size_t at = checked->graph->n - 1, i = at;

    while (checked->nodes[i].inputs_n == 1 && checked->nodes[i].op->kind != CW_OP_GROUP)
        i = checked->nodes[i].inputs[0];
    if (checked->nodes[i].op->kind == CW_OP_GROUP)
        at = checked->nodes[i].inputs[0];
    while (is_passed_over(&checked->nodes[at]))
        at = checked->nodes[at].inputs[0];
    return at;
}

/* Returns how many bytes it has. */
static size_t keep(struct kept *kept, const struct cw_element *element)
{
    size_t bytes = 0;
    kept->element.n = element->n;
    for (size_t f = 0; f < element->n; f++) {
        struct cw_view *view = &kept->element.fields[f];
        *view = element->fields[f];
        uint8_t *copy = CW_NEW_ARRAY(uint8_t, view->bytes + 1);
        if (view->bytes)
            memcpy(copy, view->data, view->bytes);
        view->data = copy;
        bytes += view->bytes;
    }
    return bytes;
}

static int enough(struct trial *t, struct cw_err *err)
{
    t->is_enough = true;
    return cw_err_set(err, CW_E_CANCELLED, "enough was seen");
}

static bool is_full(const struct trial *t)
{
    return t->n == ELEMENTS || t->bytes > KEPT_MAX;
}

static int on_written(void *arg, int64_t row, const struct cw_node *node,
                      const struct cw_spec *spec, const struct cw_element *element,
                      const char *source, struct cw_err *err)
{
    struct trial *t = arg;
    (void)spec;
    (void)source;

    if (row < 0 || !cw_str_eq(node->name, t->node))
        return cw_stop_check(t->plan->stop, err);
    if (is_full(t))
        return enough(t, err);
    t->kept[t->n].item = t->item;
    t->kept[t->n].row = row;
    t->bytes += keep(&t->kept[t->n++], element);
    return 0;
}

static void look_at(struct trial *t, struct cw_plan *plan)
{
    const struct cw_checked *checked = plan->checked;

    t->plan = plan;
    t->node = checked->graph->nodes[rows_node(checked)].name;
}

/* Computes an item. What the stop flag has ended fails with CANCELLED, and nothing else does. */
static int compute(struct trial *t, uint64_t item, cw_exec_trace_fn *fn, struct cw_err *err)
{
    int rc = cw_stop_check(t->plan->stop, err);

    t->item = item;
    t->is_enough = false;
    if (rc == 0)
        rc = cw_exec_trace(t->plan, 0, item, fn, t, err);
    if (cw_stop_is_set(t->plan->stop))
        return cw_stop_check(t->plan->stop, err);
    return t->is_enough ? 0 : rc;
}

static int see_written(struct trial *t, struct cw_err *err)
{
    const uint64_t items = CW_MIN(cw_plan_info(t->plan)->items, (uint64_t)ELEMENTS);
    int rc = 0;

    for (uint64_t item = 0; rc == 0 && !is_full(t) && item < items; item++)
        rc = compute(t, item, on_written, err);
    return rc;
}

static void forget(struct trial *t)
{
    for (size_t i = 0; i < t->n; i++)
        for (size_t f = 0; f < t->kept[i].element.n; f++)
            cw_mem_free((void *)(uintptr_t)t->kept[i].element.fields[f].data);
}

/* ---- how they differ ---- */

static bool has_same_shape(const struct cw_view *a, const struct cw_view *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(a->dims[0])) == 0 &&
           (a->dtype == CW_DTYPE_STR || a->bytes == b->bytes);
}

static void add_numbers(const struct cw_view *a, const struct cw_view *b, struct difference *d)
{
    const size_t n = a->bytes / cw_dtype_bytes(a->dtype);
    cw_autofree double *x = CW_NEW_ARRAY(double, n + 1), *y = CW_NEW_ARRAY(double, n + 1);

    cw_num_convert(CW_DTYPE_F64, x, a->dtype, a->data, n);
    cw_num_convert(CW_DTYPE_F64, y, b->dtype, b->data, n);
    for (size_t i = 0; i < n; i++) {
        const double by = fabs(x[i] - y[i]);
        d->sum += by;
        d->squares += by * by;
        d->least = d->values + (double)i > 0 ? fmin(d->least, x[i]) : x[i];
        d->most = d->values + (double)i > 0 ? fmax(d->most, x[i]) : x[i];
    }
    d->values += (double)n;
    d->is_u8 = a->dtype == CW_DTYPE_U8;
}

static void add(const struct cw_view *a, const struct cw_view *b, struct difference *d)
{
    if (a->dtype != CW_DTYPE_STR) {
        add_numbers(a, b, d);
        return;
    }
    d->texts++;
    d->texts_other += a->bytes != b->bytes || (a->bytes && memcmp(a->data, b->data, a->bytes) != 0);
}

static void tell_field(const char *name, const struct difference *d, struct cw_str *notes)
{
    if (d->texts)
        cw_str_addf(notes, "field \"%s\": %zu of %zu strings differ\n", name, d->texts_other,
                    d->texts);
    if (d->values < 1)
        return;
    const double peak = d->is_u8 ? 255 : d->most - d->least, mean = d->squares / d->values;
    cw_str_addf(notes, "field \"%s\": mean absolute difference %.6g", name, d->sum / d->values);
    if (mean > 0 && peak > 0)
        cw_str_addf(notes, ", PSNR %.1f dB\n", 10 * log10(peak * peak / mean));
    else
        cw_str_add(notes, mean > 0 ? "\n" : ", PSNR inf\n");
}

static void compare(struct trial *t, const struct cw_element *written,
                    const struct cw_element *relaxed)
{
    for (size_t f = 0; !t->wrong && f < written->n; f++)
        if (f < relaxed->n && has_same_shape(&written->fields[f], &relaxed->fields[f]))
            add(&written->fields[f], &relaxed->fields[f], &t->differences[f]);
        else
            t->wrong = "an element has another shape than in the written order";
}

/* Elements that the written order lacks, since they are bad there, are passed over, however many they are. */
static int on_relaxed(void *arg, int64_t row, const struct cw_node *node,
                      const struct cw_spec *spec, const struct cw_element *element,
                      const char *source, struct cw_err *err)
{
    struct trial *t = arg;
    (void)spec;
    (void)source;

    if (row < 0 || !cw_str_eq(node->name, t->node))
        return cw_stop_check(t->plan->stop, err);
    for (size_t i = 0; i < t->n; i++) {
        struct kept *kept = &t->kept[i];
        if (kept->item != t->item || kept->row != row || kept->is_found)
            continue;
        compare(t, &kept->element, element);
        kept->is_found = true;
        t->found_n++;
    }
    return t->found_n == t->n || t->wrong ? enough(t, err) : 0;
}

static int see_relaxed(struct trial *t, struct cw_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && !t->wrong && i < t->n; i++)
        if (i == 0 || t->kept[i].item != t->kept[i - 1].item)
            rc = compute(t, t->kept[i].item, on_relaxed, err);
    if (rc == 0 && !t->wrong && t->found_n < t->n)
        t->wrong = "an element cannot be computed that can be in the written order";
    return rc;
}

static bool tell(const struct trial *t, const struct cw_checked *written, struct cw_str *notes)
{
    const struct cw_spec *spec = &written->nodes[rows_node(written)].out;

    if (t->wrong) {
        cw_str_addf(notes, "the relaxed order is not used: %s\n", t->wrong);
        return false;
    }
    for (size_t f = 0; f < spec->n; f++)
        tell_field(spec->fields[f].name, &t->differences[f], notes);
    return true;
}

/* ---- both ---- */

/* Opens the sources where they are not those of the open plan, or where there is none. */
static int open_one(struct cw_plan *open, struct cw_checked *checked, struct cw_plan **ret_plan,
                    struct cw_err *err)
{
    int rc = open ? cw_plan_open_trial(open, checked, ret_plan, err) : CW_E_INVALID;

    return rc == CW_E_INVALID ? cw_plan_open(checked, open ? open->seed : 0, NULL,
                                             open ? open->stop : NULL, ret_plan, err)
                              : rc;
}

int cw_relaxed_trial(struct cw_plan *open, struct cw_checked *written, struct cw_checked *relaxed,
                     struct cw_str *notes, bool *ret_is_taken, struct cw_err *err)
{
    struct trial *t = CW_NEW(struct trial);
    struct cw_plan *first = NULL, *second = NULL;
    bool is_taken = true, has_seen = false;
    int rc = open_one(open, written, &first, err);

    if (rc == 0) {
        look_at(t, first);
        rc = see_written(t, err);
        has_seen = rc == 0;
    }
    if (rc == 0)
        rc = open_one(open ? open : first, relaxed, &second, err);
    if (rc == 0) {
        look_at(t, second);
        rc = see_relaxed(t, err);
    }
    if (rc == 0)
        is_taken = tell(t, written, notes);
    else if (rc != CW_E_CANCELLED && !has_seen)
        cw_str_addf(notes, "nothing was compared: %s\n", err->msg);
    else if (rc != CW_E_CANCELLED)
        cw_str_addf(notes, "the relaxed order is not used: %s\n", err->msg);
    cw_plan_unref(second);
    cw_plan_unref(first);
    forget(t);
    cw_mem_free(t);
    *ret_is_taken = is_taken && (rc == 0 || !has_seen);
    return rc == CW_E_CANCELLED ? rc : 0;
}
