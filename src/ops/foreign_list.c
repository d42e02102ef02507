/* SPDX-License-Identifier: Apache-2.0 */
/* The list of operators that are not part of cachew. */
#include "ops/foreign_table.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"

/* Entries are set once and never changed; `n` counts those that are. */
static struct {
    struct cw_mutex mutex;
    _Atomic size_t n;
    struct cw_foreign *v[CW_FOREIGN_MAX];
} all = {.mutex = CW_MUTEX_INIT};

static size_t count(void)
{
    return atomic_load_explicit(&all.n, memory_order_acquire);
}

const struct cw_foreign *cw_foreign_of(const void *opts)
{
    return all.v[((const struct cw_foreign_opts *)opts)->index];
}

const struct cw_foreign *cw_foreign_of_op(const struct cw_op *op)
{
    return op->foreign ? (const struct cw_foreign *)(const void *)op : NULL; /* its first member */
}

const struct cw_foreign *cw_foreign_loaded(size_t i)
{
    for (size_t k = 0, n = count(); k < n; k++)
        if (all.v[k]->impl && i-- == 0)
            return all.v[k];
    return NULL;
}

/* Whether b is to be preferred to a where a pipeline has only the name. */
static bool is_better(const struct cw_foreign *a, const struct cw_foreign *b)
{
    if (!a || !b->impl != !a->impl)
        return !a || b->impl;
    return b->announced >= a->announced;
}

const struct cw_op *cw_foreign_find(const char *name)
{
    const struct cw_foreign *best = NULL;
    for (size_t k = 0, n = count(); k < n; k++) {
        const struct cw_foreign *it = all.v[k];
        if (it->announced && strcmp(it->op.name, name) == 0 && is_better(best, it))
            best = it;
    }
    return best ? &best->op : NULL;
}

const char *cw_foreign_nearest(const char *name)
{
    const size_t n = count();
    cw_autofree const char **names = CW_NEW_ARRAY(const char *, n + 1);
    for (size_t k = 0, m = 0; k < n; k++)
        if (all.v[k]->announced)
            names[m++] = all.v[k]->op.name;
    return cw_str_nearest(name, names);
}

size_t cw_foreign_begin(void)
{
    cw_mutex_lock(&all.mutex);
    return count();
}

struct cw_foreign *cw_foreign_at(size_t i)
{
    return all.v[i];
}

void cw_foreign_end(struct cw_foreign *added)
{
    const size_t n = count();
    if (added) {
        all.v[n] = added;
        atomic_store_explicit(&all.n, n + 1, memory_order_release);
    }
    cw_mutex_unlock(&all.mutex);
}
