/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/index/weights.h"

#include <stdatomic.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "format/decimal.h"
#include "format/read_at.h"
#include "ops/kernels/exact_math.h"

#define FILE_BYTES_MAX (INT64_C(1) << 36)

void cw_weights_fini(struct cw_weights *weights)
{
    cw_mem_free(weights->v);
    *weights = (struct cw_weights){0};
}

/* Adds a number that is a weight. The sum of all must be finite. */
static bool add(struct cw_weights *weights, double value)
{
    if (!isfinite(value) || value < 0 || value > 0x1p500)
        return false;
    weights->v[weights->n++] = value;
    weights->drawn += value > 0;
    return true;
}

static int check_any(const struct cw_weights *weights, const char *what, struct cw_err *err)
{
    if (weights->drawn > 0)
        return 0;
    return cw_err_set(err, CW_E_INVALID, "%s: no weight is greater than 0", what);
}

int cw_weights_from_list(const struct cw_f64_list *list, const char *what,
                         struct cw_weights *ret_weights, struct cw_err *err)
{
    struct cw_weights weights = {.v = CW_NEW_ARRAY(double, list->n + 1)};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < list->n; i++)
        if (!add(&weights, list->v[i]))
            rc = cw_err_set(err, CW_E_INVALID, "%s: number %zu is %g, not a weight", what, i,
                            list->v[i]);
    if (rc == 0)
        rc = check_any(&weights, what, err);
    if (rc < 0)
        cw_weights_fini(&weights);
    else
        *ret_weights = weights;
    return rc;
}

/* ---- files ---- */

static int not_a_weight(const char *path, int64_t line, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT,
                      "%s line %lld: must be numbers of at least 0, with white space between them",
                      path, (long long)line);
}

/* Reads the numbers of a text. */
static int parse(const char *path, const char *p, const char *end, struct cw_weights *weights,
                 struct cw_err *err)
{
    for (int64_t line = 1;; p++) {
        for (; p < end && isspace((unsigned char)*p); p++)
            line += *p == '\n';
        if (p == end)
            return check_any(weights, path, err);
        struct cw_decimal decimal;
        double value = -1;
        const char *next = cw_decimal_scan(p, end, CW_DECIMAL_CSV, &decimal);
        if (!next || (next < end && !isspace((unsigned char)*next)) ||
            !cw_decimal_put(&decimal, CW_DTYPE_F64, &value) || !add(weights, value))
            return not_a_weight(path, line, err);
        p = next;
        if (p == end)
            return check_any(weights, path, err);
        line += *p == '\n';
    }
}

/* Returns how many words a text has. */
static int64_t count_words(const char *p, const char *end)
{
    int64_t n = 0;
    bool in_word = false;
    for (; p < end; p++) {
        bool is_space = isspace((unsigned char)*p) != 0;
        n += !is_space && !in_word;
        in_word = !is_space;
    }
    return n;
}

static int read_all(const char *path, const struct cw_stop *stop, char **ret_text, size_t *ret_n,
                    struct cw_err *err)
{
    struct cw_io_file opened;
    struct cw_readable file;
    int rc = cw_readable_open(path, &opened, &file, err);
    if (rc < 0)
        return rc;
    file.stop = stop;
    char *text = NULL;
    if (file.size > FILE_BYTES_MAX || !(text = cw_mem_try((size_t)file.size + 1)))
        rc = cw_err_set(err, CW_E_NOMEM, "%s: no memory for %llu bytes", path,
                        (unsigned long long)file.size);
    if (rc == 0)
        rc = cw_readable_get(&file, 0, text, (size_t)file.size, err);
    cw_io_close(&opened);
    if (rc < 0) {
        cw_mem_free(text);
        return rc;
    }
    *ret_text = text;
    *ret_n = (size_t)file.size;
    return 0;
}

int cw_weights_parse(const char *name, const char *text, size_t n, struct cw_weights *ret_weights,
                     struct cw_err *err)
{
    struct cw_weights weights = {0};
    int64_t words = count_words(text, text + n);
    if (words > CW_WEIGHTS_MAX || !(weights.v = cw_mem_try(((size_t)words + 1) * sizeof(double))))
        return cw_err_set(err, CW_E_LIMIT, "%s: %lld numbers are too many", name, (long long)words);
    int rc = parse(name, text, text + n, &weights, err);
    if (rc < 0)
        cw_weights_fini(&weights);
    else
        *ret_weights = weights;
    return rc;
}

int cw_weights_from_file(const char *path, const struct cw_stop *stop, uint64_t *ret_sum,
                         struct cw_weights *ret_weights, struct cw_err *err)
{
    cw_autofree char *text = NULL;
    size_t n = 0;
    int rc = read_all(path, stop, &text, &n, err);
    if (rc == 0)
        rc = cw_weights_parse(path, text, n, ret_weights, err);
    if (rc < 0)
        return cw_err_wrap(err, "option file");
    *ret_sum = cw_hash_u64(text, n);
    return 0;
}

/* ---- the alias table ---- */

void cw_alias_init(struct cw_alias *alias, const struct cw_weights *weights)
{
    int64_t n = weights->n, small_n = 0, large_n = n;
    *alias = (struct cw_alias){.keep = CW_NEW_ARRAY(double, (size_t)n),
                               .alias = CW_NEW_ARRAY(uint32_t, (size_t)n),
                               .n = n};
    /* places below the average from the front, the others from the back */
    cw_autofree uint32_t *todo = CW_NEW_ARRAY(uint32_t, (size_t)n);
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += weights->v[i];
    for (int64_t i = 0; i < n; i++) {
        alias->keep[i] = weights->v[i] / sum * (double)n;
        alias->alias[i] = (uint32_t)i;
        todo[alias->keep[i] < 1 ? small_n++ : --large_n] = (uint32_t)i;
    }
    while (small_n > 0 && large_n < n) {
        uint32_t small = todo[--small_n], large = todo[large_n];
        alias->alias[small] = large;
        alias->keep[large] = alias->keep[large] + alias->keep[small] - 1;
        if (alias->keep[large] < 1) {
            large_n++;
            todo[small_n++] = large;
        }
    }
    /* what rounding left over: full places. A weight of 0 is never one of them unless all that is left is. */
    while (small_n > 0) {
        uint32_t i = todo[--small_n];
        alias->keep[i] = weights->v[i] > 0 ? 1 : 0;
    }
    while (large_n < n)
        alias->keep[todo[large_n++]] = 1;
}

void cw_alias_fini(struct cw_alias *alias)
{
    cw_mem_free(alias->keep);
    cw_mem_free(alias->alias);
    *alias = (struct cw_alias){0};
}

int64_t cw_alias_draw(const struct cw_alias *alias, const struct cw_rng *rng)
{
    int64_t i = (int64_t)cw_rng_below(rng, 0, (uint64_t)alias->n);
    return cw_rng_unit(rng, 2) < alias->keep[i] ? i : (int64_t)alias->alias[i];
}

/* ---- without replacement ---- */

static int by_key(const void *a, const void *b)
{
    const struct cw_weights_key *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

void cw_weights_order(const struct cw_weights *weights, uint64_t seed, uint64_t tag, uint64_t epoch,
                      uint64_t rep, struct cw_weights_key *keys, _Atomic uint32_t *order)
{
    size_t n = 0;
    for (int64_t i = 0; i < weights->n; i++) {
        struct cw_rng rng;
        if (!(weights->v[i] > 0))
            continue;
        cw_rng_init(&rng, seed, tag, epoch, rep, (uint64_t)i);
        /* u is in (0, 1] */
        keys[n].key = -cw_exact_log(1 - cw_rng_unit(&rng, 0)) / weights->v[i];
        keys[n++].i = (uint32_t)i;
    }
    qsort(keys, n, sizeof(*keys), by_key);
    for (size_t i = 0; i < n; i++)
        atomic_store_explicit(&order[i], keys[i].i, memory_order_release);
}
