/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of ranges that are read ahead, and readers of what is there. */
#include "io/ahead.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "io/ahead_int.h"
#include "io/file_waits.h"
#include "io/source_url.h"

#define RANGE_MAX ((uint64_t)64 << 20) /* a longer one is left to the reader, who needs no copy */

/* A range that was asked for. */
struct ask {
    char *url;
    const struct cw_io_scheme *scheme;
    uint64_t offset;
    size_t n;
};
struct cw_ahead {
    /* ---- before it begins; of one thread ---- */
    struct ask *asks;
    size_t asks_n, asks_cap;
    uint64_t room; /* bytes that may still be added */
    struct cw_map noted;
    /* ---- guarded by cw_ahead_lock ---- */
    int refs;
    bool begun, dropped;
    struct cw_ahead_range **ranges;
    size_t n, left; /* ranges, and those that have not ended */
    void (*done)(void *arg);
    void *arg;
};

void cw_ahead_set_limit(size_t requests)
{
    cw_ahead_lock();
    cw_ahead_limit_to(requests);
    cw_ahead_unlock();
}

size_t cw_ahead_limit(void)
{
    cw_ahead_lock();
    size_t limit = cw_ahead_limit_is();
    cw_ahead_unlock();
    return limit;
}

bool cw_ahead_is_for(const char *url)
{
    if (!cw_url_remote_scheme(url) && !cw_file_waits())
        return false;
    const struct cw_io_scheme *scheme = cw_io_scheme_of(url);
    return scheme && scheme->fetch && cw_ahead_limit() > 0;
}

void cw_ahead_counts(struct cw_ahead_counts *ret_counts)
{
    cw_ahead_lock();
    *ret_counts = *cw_ahead_counters();
    cw_ahead_unlock();
}

/* ---- lists ---- */

struct cw_ahead *cw_ahead_new(uint64_t bytes_max)
{
    struct cw_ahead *ahead = CW_NEW(struct cw_ahead);
    ahead->refs = 1;
    ahead->room = bytes_max;
    return ahead;
}

struct cw_ahead *cw_ahead_ref(struct cw_ahead *ahead)
{
    cw_ahead_lock();
    ahead->refs++;
    cw_ahead_unlock();
    return ahead;
}

void cw_ahead_add(struct cw_ahead *ahead, const char *url, uint64_t offset, uint64_t n)
{
    if (n == 0 || n > RANGE_MAX || n > ahead->room || !cw_ahead_is_for(url))
        return;
    ahead->room -= n;
    CW_GROW(ahead->asks, ahead->asks_n, ahead->asks_cap);
    ahead->asks[ahead->asks_n++] =
        (struct ask){cw_mem_strdup(url), cw_io_scheme_of(url), offset, (size_t)n};
}

bool cw_ahead_note(struct cw_ahead *ahead, uint64_t key)
{
    return cw_map_set(&ahead->noted, key, ahead) == NULL;
}

static int compare(const void *a, const void *b)
{
    const struct ask *x = a, *y = b;
    int order = strcmp(x->url, y->url);
    return order != 0 ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

static void forget_asks(struct cw_ahead *ahead)
{
    for (size_t i = 0; i < ahead->asks_n; i++)
        cw_mem_free(ahead->asks[i].url);
    cw_mem_free(ahead->asks);
    cw_map_fini(&ahead->noted);
    ahead->noted = (struct cw_map){0};
    ahead->asks = NULL;
    ahead->asks_n = ahead->asks_cap = 0;
}

/* A range that the list waits for has ended. Called with the lock held. */
static void range_ended(struct cw_ahead *ahead)
{
    if (--ahead->left > 0 || !ahead->done)
        return;
    void (*done)(void *arg) = ahead->done;
    ahead->done = NULL;
    done(ahead->arg);
}

/* Called with the lock held. */
static void get_range(struct cw_ahead *ahead, const struct ask *ask)
{
    struct cw_ahead_range *range = cw_ahead_range_get(ask->scheme, ask->url, ask->offset, ask->n);
    if (ahead->n > 0 && ahead->ranges[ahead->n - 1] == range) {
        cw_ahead_range_leave(range); /* one use is enough */
        return;
    }
    ahead->ranges[ahead->n++] = range;
    if (range->state >= CW_AHEAD_THERE)
        return;
    CW_GROW(range->lists, range->lists_n, range->lists_cap);
    range->lists[range->lists_n++] = ahead;
    range->ended = range_ended;
    ahead->left++;
}

size_t cw_ahead_begin(struct cw_ahead *ahead, void (*done)(void *arg), void *arg)
{
    /* neighbours come one after the other */
    if (ahead->asks_n > 1)
        qsort(ahead->asks, ahead->asks_n, sizeof(ahead->asks[0]), compare);
    struct cw_ahead_range **ranges = CW_NEW_ARRAY(struct cw_ahead_range *, ahead->asks_n + 1);
    size_t bytes = 0;
    cw_ahead_lock();
    ahead->ranges = ranges;
    ahead->begun = true;
    ahead->done = done;
    ahead->arg = arg;
    for (size_t i = 0; i < ahead->asks_n && !ahead->dropped; i++) {
        get_range(ahead, &ahead->asks[i]);
        bytes += ahead->asks[i].n;
    }
    cw_ahead_pump();
    if (ahead->left == 0 && ahead->done && !ahead->dropped) {
        ahead->done = NULL;
        done(arg);
    }
    cw_ahead_unlock();
    forget_asks(ahead);
    return bytes;
}

bool cw_ahead_is_done(const struct cw_ahead *ahead)
{
    cw_ahead_lock();
    bool is = ahead->begun && ahead->left == 0;
    cw_ahead_unlock();
    return is;
}

/* Called with the lock held. */
static void leave(struct cw_ahead *ahead, struct cw_ahead_range *range)
{
    size_t kept = 0;
    for (size_t i = 0; i < range->lists_n; i++)
        if (range->lists[i] != ahead)
            range->lists[kept++] = range->lists[i];
    range->lists_n = kept;
    cw_ahead_range_leave(range);
}

void cw_ahead_unref(struct cw_ahead *ahead)
{
    if (!ahead)
        return;
    cw_ahead_lock();
    bool last = --ahead->refs == 0;
    cw_ahead_unlock();
    if (!last)
        return;
    forget_asks(ahead);
    cw_mem_free(ahead->ranges);
    cw_mem_free(ahead);
}

void cw_ahead_free(struct cw_ahead *ahead)
{
    if (!ahead)
        return;
    cw_ahead_lock();
    ahead->dropped = true;
    ahead->done = NULL;
    for (size_t i = 0; i < ahead->n; i++)
        leave(ahead, ahead->ranges[i]);
    ahead->n = 0;
    cw_ahead_unlock();
    cw_ahead_unref(ahead);
}
