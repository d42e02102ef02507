/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lists of numbers without recursion: what is known of each level is how many items it has. */
#include "format/json_list.h"

#include <string.h>

#include "format/decimal.h"

int cw_json_scalar(const char *p, size_t n, enum cw_dtype dtype, void *dst, size_t *ret_used,
                   struct cw_err *err)
{
    struct cw_decimal d;
    if (dtype == CW_DTYPE_BOOL) {
        const bool is_true = n >= 4 && memcmp(p, "true", 4) == 0;
        if (!is_true && (n < 5 || memcmp(p, "false", 5) != 0))
            return cw_err_set(err, CW_E_CORRUPT, "\"%.*s\" is not true or false",
                              (int)CW_MIN(n, 40), p);
        memcpy(dst, &is_true, 1);
        *ret_used = is_true ? 4 : 5;
        return 0;
    }
    const char *end = cw_decimal_scan(p, p + n, CW_DECIMAL_JSON, &d);
    if (!end)
        return cw_err_set(err, CW_E_CORRUPT, "\"%.*s\" is no number", (int)CW_MIN(n, 40), p);
    if (!cw_decimal_put(&d, dtype, dst))
        return cw_err_set(err, CW_E_CORRUPT, "%.*s is no %s", (int)CW_MIN(d.n, 40), p,
                          cw_dtype_name(dtype));
    *ret_used = (size_t)(end - p);
    return 0;
}

struct list {
    const char *p, *end;
    int depth; /* number of lists that are open */
    int rank;
    int64_t count[CW_RANK_MAX]; /* items so far of the open list of each level */
    int64_t dims[CW_RANK_MAX];  /* how many it must have; -1: not known yet */
    char *out;
    bool wants_item; /* a comma was read, or a list has begun */
};

static void pass_spaces(struct list *l)
{
    while (l->p < l->end && (*l->p == ' ' || *l->p == '\t' || *l->p == '\n' || *l->p == '\r'))
        l->p++;
}

static int open_list(struct list *l, struct cw_err *err)
{
    if (l->depth == l->rank)
        return cw_err_set(err, CW_E_CORRUPT, "lists are nested more than %d deep", l->rank);
    l->count[l->depth++] = 0;
    l->wants_item = true;
    l->p++;
    return 0;
}

static int close_list(struct list *l, struct cw_err *err)
{
    const int at = l->depth - 1;
    if (l->wants_item && l->count[at] > 0)
        return cw_err_set(err, CW_E_CORRUPT, "a list ends with a comma");
    if (l->dims[at] >= 0 && l->dims[at] != l->count[at])
        return cw_err_set(err, CW_E_CORRUPT, "a list has %lld items where there must be %lld",
                          (long long)l->count[at], (long long)l->dims[at]);
    l->dims[at] = l->count[at];
    l->depth--;
    if (l->depth > 0)
        l->count[l->depth - 1]++;
    l->wants_item = false;
    l->p++;
    return 0;
}

static int read_item(struct list *l, enum cw_dtype dtype, struct cw_err *err)
{
    size_t used = 0;
    if (l->depth < l->rank)
        return cw_err_set(err, CW_E_CORRUPT, "an item is no list; lists are to be nested %d deep",
                          l->rank);
    int rc = cw_json_scalar(l->p, (size_t)(l->end - l->p), dtype, l->out, &used, err);
    l->p += used;
    l->out += cw_dtype_bytes(dtype);
    l->count[l->depth - 1]++;
    l->wants_item = false;
    return rc;
}

static int step(struct list *l, enum cw_dtype dtype, struct cw_err *err)
{
    pass_spaces(l);
    if (l->p == l->end)
        return cw_err_set(err, CW_E_CORRUPT, "a list is not closed");
    if (*l->p == ']')
        return close_list(l, err);
    if (!l->wants_item) {
        if (*l->p != ',')
            return cw_err_set(err, CW_E_CORRUPT, "0x%02x where a comma is expected in a list",
                              (unsigned)(unsigned char)*l->p);
        l->p++;
        l->wants_item = true;
        return 0;
    }
    return *l->p == '[' ? open_list(l, err) : read_item(l, dtype, err);
}

/* Every number but the first has a comma before it. */
static size_t items_max(const char *p, size_t n)
{
    size_t commas = 0;
    for (size_t i = 0; i < n; i++)
        commas += p[i] == ',';
    return commas + 1;
}

int cw_json_list(const char *p, size_t n, const struct cw_field *field, struct cw_arena *arena,
                 struct cw_view *ret_view, struct cw_err *err)
{
    struct list l = {.p = p, .end = p + n, .rank = field->rank};
    const size_t room = items_max(p, n) * cw_dtype_bytes(field->dtype);
    char *begin = cw_arena_alloc(arena, room);
    if (!begin)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %zu bytes", room);
    l.out = begin;
    memcpy(l.dims, field->dims, sizeof(l.dims));
    int rc = open_list(&l, err);
    while (rc == 0 && l.depth > 0)
        rc = step(&l, field->dtype, err);
    if (rc < 0)
        return rc;
    *ret_view = (struct cw_view){.dtype = field->dtype,
                                 .rank = field->rank,
                                 .data = begin,
                                 .bytes = (size_t)(l.out - begin)};
    for (int d = 0; d < field->rank; d++)
        ret_view->dims[d] = CW_MAX(l.dims[d], 0);
    return 0;
}
