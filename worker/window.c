/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/window.h"

#include "base/mem.h"
#include "worker/worker_int.h"

/* Two items may have the same number; the second is then not shared. */
static uint64_t number_of(uint64_t epoch, uint64_t item)
{
    return cw_mix64(epoch + 1) + item;
}

static struct cw_window_item *find(const struct cw_function *function, uint64_t epoch, uint64_t item)
{
    return cw_map_get(&function->items, number_of(epoch, item));
}

static void forget(struct cw_window_item *it)
{
    (void)cw_map_remove(&it->function->items, number_of(it->epoch, it->item));
    cw_mem_free(it);
}

static void keep(struct cw_window *window, struct cw_window_item *it, struct cw_batch *batch)
{
    it->batch = cw_batch_ref(batch);
    it->older = window->newest;
    if (it->older)
        it->older->newer = it;
    else
        window->oldest = it;
    window->newest = it;
    window->bytes += it->bytes;
}

static void drop(struct cw_window *window, struct cw_window_item *it)
{
    if (it->older)
        it->older->newer = it->newer;
    else
        window->oldest = it->newer;
    if (it->newer)
        it->newer->older = it->older;
    else
        window->newest = it->older;
    window->bytes -= it->bytes;
    cw_batch_unref(it->batch);
    forget(it);
}

void cw_window_trim(struct cw_window *window, size_t bytes)
{
    while (window->oldest && window->bytes > bytes)
        drop(window, window->oldest);
}

struct cw_function *cw_window_join(struct cw_window *window, struct cw_hash key, struct cw_member *member)
{
    struct cw_function *function = window->functions;
    while (function && !cw_hash_eq(function->key, key))
        function = function->next;
    if (!function) {
        function = CW_NEW(struct cw_function);
        function->key = key;
        function->next = window->functions;
        window->functions = function;
    }
    function->refs++;
    function->members_n++;
    *member = (struct cw_member){.next = function->members};
    function->members = member;
    return function;
}

void cw_window_leave(struct cw_window *window, struct cw_function *function, struct cw_member *member)
{
    struct cw_member **at = &function->members;
    while (*at != member)
        at = &(*at)->next;
    *at = member->next;
    function->members_n--;
    for (struct cw_window_item *it = window->oldest, *next; function->members_n < 2 && it; it = next) {
        next = it->newer;
        if (it->function == function)
            drop(window, it);
    }
}

void cw_window_unref(struct cw_window *window, struct cw_function *function)
{
    if (!function || --function->refs > 0)
        return;
    CW_ASSERT(function->items.n == 0);
    struct cw_function **at = &window->functions;
    while (*at != function)
        at = &(*at)->next;
    *at = function->next;
    cw_map_fini(&function->items);
    cw_mem_free(function);
}

static void add_waiter(struct cw_window_item *it, struct cw_task *task)
{
    struct cw_task **at = &it->waiters;
    while (*at)
        at = &(*at)->wait_next;
    task->wait_next = NULL;
    *at = task;
}

static void note_begun(struct cw_member *member, const struct cw_task *task)
{
    if (member->began && !cw_outq_before(member->epoch, member->item, task->exec.epoch, task->exec.item))
        return;
    member->began = true;
    member->epoch = task->exec.epoch;
    member->item = task->exec.item;
}

enum cw_window_answer cw_window_ask(struct cw_window *window, struct cw_function *function, struct cw_member *member, struct cw_task *task)
{
    note_begun(member, task);
    if (function->members_n < 2)
        return CW_WINDOW_COMPUTE;
    struct cw_window_item *it = find(function, task->exec.epoch, task->exec.item);
    if (!it) {
        it = CW_NEW(struct cw_window_item);
        it->function = function;
        it->epoch = task->exec.epoch;
        it->item = task->exec.item;
        it->maker = task;
        it->given = 1;
        task->making = it;
        (void)cw_map_set(&function->items, number_of(it->epoch, it->item), it);
        return CW_WINDOW_COMPUTE;
    }
    if (it->epoch != task->exec.epoch || it->item != task->exec.item)
        return CW_WINDOW_COMPUTE;
    it->given++;
    if (it->maker) {
        add_waiter(it, task);
        return CW_WINDOW_WAIT;
    }
    task->batch = cw_batch_ref(it->batch);
    if (it->given >= function->members_n)
        drop(window, it);
    return CW_WINDOW_HAVE;
}

/* Some job has not come to it yet. One that began a later item has had it, here or elsewhere. */
static bool is_wanted(const struct cw_window_item *it)
{
    if (it->given >= it->function->members_n)
        return false;
    for (const struct cw_member *m = it->function->members; m; m = m->next)
        if (!m->began || cw_outq_before(m->epoch, m->item, it->epoch, it->item))
            return true;
    return false;
}

struct cw_task *cw_window_made(struct cw_window *window, struct cw_task *task)
{
    struct cw_window_item *it = task->making;
    if (!it)
        return NULL;
    struct cw_task *waiters = it->waiters;
    it->waiters = NULL;
    it->maker = NULL;
    task->making = NULL;
    it->bytes = sizeof(*it) + sizeof(*it->batch) + (task->batch && task->batch->buf ? task->batch->buf->len : 0);
    if (!task->batch || it->bytes > window->limit || !is_wanted(it)) {
        forget(it);
        return waiters;
    }
    keep(window, it, task->batch);
    cw_window_trim(window, window->limit);
    return waiters;
}
