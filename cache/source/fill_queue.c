/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of blocks that wait to be added to a slower tier, and the counters of a tier. */
#include "cache/source/tiers.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"

void cw_fill_queue_init(struct cw_fill_queue *q, uint64_t limit)
{
    *q = (struct cw_fill_queue){.limit = limit};
    cw_mutex_init(&q->mutex);
    cw_cond_init(&q->more);
    cw_cond_init(&q->room);
}

void cw_fill_queue_fini(struct cw_fill_queue *q)
{
    for (size_t i = 0; i < q->n; i++)
        cw_buf_unref(q->v[(q->first + i) % q->cap].buf);
    cw_mem_free(q->v);
    cw_cond_fini(&q->more);
    cw_cond_fini(&q->room);
    cw_mutex_fini(&q->mutex);
}

static void add(struct cw_fill_queue *q, struct cw_hash key, struct cw_buf *buf)
{
    if (q->n == q->cap) {
        size_t cap = q->cap ? 2 * q->cap : 16;
        struct cw_fill_item *v = CW_NEW_ARRAY(struct cw_fill_item, cap);
        for (size_t i = 0; i < q->n; i++)
            v[i] = q->v[(q->first + i) % q->cap];
        cw_mem_free(q->v);
        q->v = v;
        q->cap = cap;
        q->first = 0;
    }
    q->v[(q->first + q->n++) % q->cap] = (struct cw_fill_item){key, cw_buf_ref(buf)};
    q->bytes += buf->len;
    atomic_fetch_add(&q->pending, buf->len);
    cw_cond_signal(&q->more);
}

static bool has(const struct cw_fill_queue *q, struct cw_hash key)
{
    for (size_t i = 0; i < q->n; i++)
        if (cw_hash_eq(q->v[(q->first + i) % q->cap].key, key))
            return true;
    return false;
}

bool cw_fill_queue_push(struct cw_fill_queue *q, struct cw_hash key, struct cw_buf *buf, bool wait)
{
    cw_mutex_lock(&q->mutex);
    while (wait && !q->stopping && q->n > 0 && q->bytes + buf->len > q->limit)
        cw_cond_wait(&q->room, &q->mutex);
    bool room = q->n == 0 || q->bytes + buf->len <= q->limit;
    bool ok = !q->stopping && room && !has(q, key);
    if (ok)
        add(q, key, buf);
    else if (!room)
        atomic_fetch_add(&q->refused, 1);
    cw_mutex_unlock(&q->mutex);
    return ok;
}

int cw_fill_queue_pop(struct cw_fill_queue *q, int64_t deadline_ns, struct cw_fill_item *ret_item)
{
    int rc = 1;
    cw_mutex_lock(&q->mutex);
    while (q->n == 0 && !q->stopping && rc == 1) {
        if (deadline_ns == INT64_MAX)
            cw_cond_wait(&q->more, &q->mutex);
        else if (!cw_cond_wait_until(&q->more, &q->mutex, deadline_ns))
            rc = 0;
    }
    if (q->n > 0) {
        *ret_item = q->v[q->first];
        q->first = (q->first + 1) % q->cap;
        q->n--;
        q->bytes -= ret_item->buf->len;
        cw_cond_broadcast(&q->room);
        rc = 1;
    } else if (q->stopping) {
        rc = -1;
    }
    cw_mutex_unlock(&q->mutex);
    return rc;
}

void cw_fill_queue_done(struct cw_fill_queue *q, struct cw_fill_item *item)
{
    atomic_fetch_sub(&q->pending, item->buf->len);
    item->buf = cw_buf_unref(item->buf);
}

void cw_fill_queue_stop(struct cw_fill_queue *q)
{
    cw_mutex_lock(&q->mutex);
    q->stopping = true;
    cw_cond_broadcast(&q->more);
    cw_cond_broadcast(&q->room);
    cw_mutex_unlock(&q->mutex);
}

void cw_tier_counters_error(struct cw_tier_counters *tally, const char *text)
{
    cw_mutex_lock(&tally->mutex);
    snprintf(tally->trouble, sizeof(tally->trouble), "%s", text);
    cw_mutex_unlock(&tally->mutex);
}

void cw_tier_counters_read(struct cw_tier_counters *tally, struct cw_source_counts *ret)
{
    ret->there = true;
    ret->hits = atomic_load(&tally->hits);
    ret->hit_bytes = atomic_load(&tally->hit_bytes);
    ret->misses = atomic_load(&tally->misses);
    ret->filled_bytes = atomic_load(&tally->filled_bytes);
    ret->refused = atomic_load(&tally->refused);
    ret->damaged = atomic_load(&tally->damaged);
    cw_mutex_lock(&tally->mutex);
    snprintf(ret->trouble, sizeof(ret->trouble), "%s", tally->trouble);
    cw_mutex_unlock(&tally->mutex);
}

const char *cw_source_tier_name(enum cw_source_tier tier)
{
    static const char *const names[CW_SOURCE_TIERS_N] = {"memory", "dir", "store", "source"};
    return names[tier];
}
