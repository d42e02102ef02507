/* SPDX-License-Identifier: Apache-2.0 */
/* Finds items that several jobs of one function want, and keeps their batches for a while. */
#include "worker/model/batch_dedup.h"

#include "base/mem.h"
#include "worker/model/state.h"

/* Returns a hash of epoch and item. If two items have the same hash, the second is not shared. */
static uint64_t number_of(uint64_t epoch, uint64_t item)
{
    return cw_mix64(epoch + 1) + item;
}

static struct cw_dedup_item *find(const struct cw_dedup_function *function, uint64_t epoch,
                                  uint64_t item)
{
    return cw_map_get(&function->items, number_of(epoch, item));
}

static void forget(struct cw_dedup_item *it)
{
    (void)cw_map_remove(&it->function->items, number_of(it->epoch, it->item));
    cw_mem_free(it);
}

static void keep(struct cw_dedup *items, struct cw_dedup_item *it, struct cw_batch *batch)
{
    it->batch = cw_batch_ref(batch);
    it->older = items->newest;
    if (it->older)
        it->older->newer = it;
    else
        items->oldest = it;
    items->newest = it;
    items->bytes += it->bytes;
}

static void drop(struct cw_dedup *items, struct cw_dedup_item *it)
{
    if (it->older)
        it->older->newer = it->newer;
    else
        items->oldest = it->newer;
    if (it->newer)
        it->newer->older = it->older;
    else
        items->newest = it->older;
    items->bytes -= it->bytes;
    cw_batch_unref(it->batch);
    forget(it);
}

void cw_dedup_trim(struct cw_dedup *items, size_t bytes)
{
    while (items->oldest && items->bytes > bytes)
        drop(items, items->oldest);
}

struct cw_dedup_function *cw_dedup_join(struct cw_dedup *items, struct cw_hash key,
                                        struct cw_dedup_member *member)
{
    struct cw_dedup_function *function = items->functions;
    while (function && !cw_hash_eq(function->key, key))
        function = function->next;
    if (!function) {
        function = CW_NEW(struct cw_dedup_function);
        function->key = key;
        function->next = items->functions;
        items->functions = function;
    }
    function->refs++;
    function->members_n++;
    *member = (struct cw_dedup_member){.next = function->members};
    function->members = member;
    return function;
}

void cw_dedup_leave(struct cw_dedup *items, struct cw_dedup_function *function,
                    struct cw_dedup_member *member)
{
    struct cw_dedup_member **at = &function->members;
    while (*at != member)
        at = &(*at)->next;
    *at = member->next;
    function->members_n--;
    for (struct cw_dedup_item *it = items->oldest, *next; function->members_n < 2 && it;
         it = next) {
        next = it->newer;
        if (it->function == function)
            drop(items, it);
    }
}

void cw_dedup_unref(struct cw_dedup *items, struct cw_dedup_function *function)
{
    if (!function || --function->refs > 0)
        return;
    CW_ASSERT(function->items.n == 0);
    struct cw_dedup_function **at = &items->functions;
    while (*at != function)
        at = &(*at)->next;
    *at = function->next;
    cw_map_fini(&function->items);
    cw_mem_free(function);
}

static void add_waiter(struct cw_dedup_item *it, struct cw_wtask *task)
{
    struct cw_wtask **at = &it->waiters;
    while (*at)
        at = &(*at)->wait_next;
    task->wait_next = NULL;
    *at = task;
}

static void note_begun(struct cw_dedup_member *member, const struct cw_wtask *task)
{
    if (member->began &&
        !cw_item_before(member->epoch, member->item, task->exec.epoch, task->exec.item))
        return;
    member->began = true;
    member->epoch = task->exec.epoch;
    member->item = task->exec.item;
}

enum cw_dedup_answer cw_dedup_ask(struct cw_dedup *items, struct cw_dedup_function *function,
                                  struct cw_dedup_member *member, struct cw_wtask *task)
{
    note_begun(member, task);
    if (function->members_n < 2)
        return CW_DEDUP_COMPUTE;
    struct cw_dedup_item *it = find(function, task->exec.epoch, task->exec.item);
    if (!it) {
        it = CW_NEW(struct cw_dedup_item);
        it->function = function;
        it->epoch = task->exec.epoch;
        it->item = task->exec.item;
        it->maker = task;
        it->given = 1;
        task->making = it;
        (void)cw_map_set(&function->items, number_of(it->epoch, it->item), it);
        return CW_DEDUP_COMPUTE;
    }
    if (it->epoch != task->exec.epoch || it->item != task->exec.item)
        return CW_DEDUP_COMPUTE;
    it->given++;
    if (it->maker) {
        add_waiter(it, task);
        return CW_DEDUP_WAIT;
    }
    task->batch = cw_batch_ref(it->batch);
    if (it->given >= function->members_n)
        drop(items, it);
    return CW_DEDUP_KEPT;
}

bool cw_dedup_is_awaited(const struct cw_wtask *task)
{
    for (const struct cw_wtask *t = task->making ? task->making->waiters : NULL; t;
         t = t->wait_next)
        if (!t->revoked)
            return true;
    return false;
}

/* Whether some job may still ask for the item. A job that has begun a later item has got this one
 * before, here or from another worker. */
static bool is_wanted(const struct cw_dedup_item *it)
{
    if (it->given >= it->function->members_n)
        return false;
    for (const struct cw_dedup_member *m = it->function->members; m; m = m->next)
        if (!m->began || cw_item_before(m->epoch, m->item, it->epoch, it->item))
            return true;
    return false;
}

struct cw_wtask *cw_dedup_made(struct cw_dedup *items, struct cw_wtask *task)
{
    struct cw_dedup_item *it = task->making;
    if (!it)
        return NULL;
    struct cw_wtask *waiters = it->waiters;
    it->waiters = NULL;
    it->maker = NULL;
    task->making = NULL;
    it->bytes = cw_mem_cost(sizeof(*it)) + (task->batch ? cw_batch_held(task->batch) : 0);
    if (!task->batch || it->bytes > items->limit || !is_wanted(it)) {
        forget(it);
        return waiters;
    }
    keep(items, it, task->batch);
    cw_dedup_trim(items, items->limit);
    return waiters;
}
