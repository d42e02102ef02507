/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/relaxed_trial.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "exec/exec.h"
#include "ops/kernels/num.h"

#define ELEMENTS 16

/* An element as it came out; views and bytes are its own. */
struct kept {
    uint64_t item;
    int64_t row;
    struct cw_element element;
};
#define KEPT_MAX                                                                                   \
    ((size_t)64 << 20) /* no more are looked at when these take so many bytes: nobody counts them */

struct side {
    const char *node; /* whose elements are compared */
    struct kept kept[2 * ELEMENTS];
    size_t n, most;
    size_t bytes; /* of what is kept */
};
struct difference {
    double sum, squares, values; /* of absolute differences, of their squares; how many values */
    double least, most;          /* of the written values */
    size_t texts, texts_other;   /* strings, and those that differ */
    bool is_u8;
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

struct looking {
    struct side *side;
    uint64_t item;
};

static int on_element(void *arg, int64_t row, const struct cw_node *node,
                      const struct cw_spec *spec, const struct cw_element *element,
                      const char *source, struct cw_err *err)
{
    const struct looking *looking = arg;
    struct side *side = looking->side;
    (void)spec;
    (void)source;

    if (row < 0 || !cw_str_eq(node->name, side->node))
        return 0;
    if (side->n == side->most || side->bytes > KEPT_MAX)
        return cw_err_set(err, CW_E_CANCELLED, "enough was seen");
    side->kept[side->n].item = looking->item;
    side->kept[side->n].row = row;
    side->bytes += keep(&side->kept[side->n++], element);
    return 0;
}

static int look(const struct cw_checked *checked, size_t most, struct side *side,
                struct cw_err *err)
{
    struct cw_checked *ref = cw_checked_ref((struct cw_checked *)(uintptr_t)checked);
    struct cw_plan *plan = NULL;
    int rc = cw_plan_new(ref, 0, NULL, &plan, err);

    side->most = most;
    side->node = checked->graph->nodes[rows_node(checked)].name;
    for (uint64_t item = 0; rc == 0 && side->n < most && side->bytes <= KEPT_MAX &&
                            item < CW_MIN(cw_plan_info(plan)->items, most);
         item++) {
        struct looking looking = {.side = side, .item = item};
        rc = cw_exec_trace(plan, 0, item, on_element, &looking, err);
        if (rc == CW_E_CANCELLED)
            rc = 0;
    }
    cw_plan_unref(plan);
    cw_checked_unref(ref);
    return rc;
}

static void forget(struct side *side)
{
    for (size_t i = 0; i < side->n; i++)
        for (size_t f = 0; f < side->kept[i].element.n; f++)
            cw_mem_free((void *)(uintptr_t)side->kept[i].element.fields[f].data);
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

/* Returns the relaxed element of the same row; NULL: it could not be computed. */
static const struct cw_element *find(const struct side *side, const struct kept *like)
{
    for (size_t i = 0; i < side->n; i++)
        if (side->kept[i].item == like->item && side->kept[i].row == like->row)
            return &side->kept[i].element;
    return NULL;
}

/* Returns what is wrong; NULL: nothing. */
static const char *compare(const struct side *written, const struct side *relaxed,
                           struct difference *differences)
{
    for (size_t i = 0; i < written->n; i++) {
        const struct cw_element *a = &written->kept[i].element,
                                *b = find(relaxed, &written->kept[i]);
        if (!b)
            return "an element cannot be computed that can be in the written order";
        for (size_t f = 0; f < a->n; f++) {
            if (f >= b->n || !has_same_shape(&a->fields[f], &b->fields[f]))
                return "an element has another shape than in the written order";
            add(&a->fields[f], &b->fields[f], &differences[f]);
        }
    }
    return NULL;
}

static bool tell(const struct cw_checked *checked, const struct side *written,
                 const struct side *relaxed, struct cw_str *notes)
{
    cw_autofree struct difference *differences = CW_NEW_ARRAY(struct difference, CW_FIELDS_MAX);
    const struct cw_spec *spec = &checked->nodes[rows_node(checked)].out;
    const char *wrong = compare(written, relaxed, differences);

    if (wrong) {
        cw_str_addf(notes, "the relaxed order is not used: %s\n", wrong);
        return false;
    }
    for (size_t f = 0; f < spec->n; f++)
        tell_field(spec->fields[f].name, &differences[f], notes);
    return true;
}

bool cw_relaxed_trial(const struct cw_checked *written, const struct cw_checked *relaxed,
                      struct cw_str *notes)
{
    struct side *sides = CW_NEW_ARRAY(struct side, 2);
    struct cw_err err = {0};
    bool is_taken = true;

    if (look(written, ELEMENTS, &sides[0], &err) < 0) {
        cw_str_addf(notes, "nothing was compared: %s\n", err.msg);
    } else if (look(relaxed, 2 * ELEMENTS, &sides[1], &err) < 0) { /* it may have fewer bad ones */
        cw_str_addf(notes, "the relaxed order is not used: %s\n", err.msg);
        is_taken = false;
    } else {
        is_taken = tell(written, &sides[0], &sides[1], notes);
    }
    forget(&sides[0]);
    forget(&sides[1]);
    cw_mem_free(sides);
    return is_taken;
}
