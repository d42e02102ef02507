/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fake_cache.h"

#include "base/mem.h"
#include "base/thread.h"
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BROKEN ((uintptr_t)1) /* in the low bit of a hold's ref */

struct record {
    struct record *next;
    uint64_t id;
    bool left_out, forgotten; /* forgotten ones may still be held */
    bool touched, breaks;
    struct cw_view *fields; /* they point into map */
    size_t n;
    void *map;
    size_t bytes;
};
struct cw_cache_dataset {
    struct cw_mutex mutex;
    struct cw_spec spec;
    struct record *first; /* all but spec: mutex */
    struct fake_counts counts;
    int refs;
};

struct cw_cache_dataset *fake_cache_new(const struct cw_spec *spec)
{
    struct cw_cache_dataset *node = CW_NEW(struct cw_cache_dataset);
    cw_mutex_init(&node->mutex);
    node->spec = cw_spec_copy(spec);
    return node;
}

void fake_cache_free(struct cw_cache_dataset *node)
{
    CW_ASSERT((node->counts.held) == 0);
    CW_ASSERT((node->refs) == 0);
    while (node->first) {
        struct record *next = node->first->next;
        if (node->first->map)
            munmap(node->first->map, node->first->bytes);
        cw_mem_free(node->first->fields);
        cw_mem_free(node->first);
        node->first = next;
    }
    cw_spec_fini(&node->spec);
    cw_mutex_fini(&node->mutex);
    cw_mem_free(node);
}

struct fake_counts fake_cache_counts(struct cw_cache_dataset *node)
{
    cw_mutex_lock(&node->mutex);
    struct fake_counts counts = node->counts;
    counts.records = 0;
    for (const struct record *record = node->first; record; record = record->next)
        counts.records += !record->forgotten;
    cw_mutex_unlock(&node->mutex);
    return counts;
}

void fake_cache_forget(struct cw_cache_dataset *node, uint64_t lo, uint64_t hi)
{
    cw_mutex_lock(&node->mutex);
    for (struct record *record = node->first; record; record = record->next)
        if (record->id >= lo && record->id < hi)
            record->forgotten = true;
    cw_mutex_unlock(&node->mutex);
}

void fake_cache_break(struct cw_cache_dataset *node, uint64_t lo, uint64_t hi)
{
    cw_mutex_lock(&node->mutex);
    for (struct record *record = node->first; record; record = record->next)
        if (record->id >= lo && record->id < hi)
            record->breaks = true;
    cw_mutex_unlock(&node->mutex);
}

/* Lock held. */
static struct record *find(struct cw_cache_dataset *node, uint64_t id)
{
    for (struct record *record = node->first; record; record = record->next)
        if (record->id == id && !record->forgotten)
            return record;
    return NULL;
}

/* Whose hold it is must be told on release: the ref is the node. */
void cw_cache_unpin(struct cw_cache_pins *hold)
{
    for (; hold->n; hold->n--) {
        struct cw_cache_dataset *node =
            (struct cw_cache_dataset *)((uintptr_t)hold->refs[hold->n - 1] & ~BROKEN);
        cw_mutex_lock(&node->mutex);
        node->counts.held--;
        cw_mutex_unlock(&node->mutex);
    }
}

/* It keeps nothing from element to element. */
void cw_cache_unpin_element(struct cw_cache_pins *pins)
{
    cw_cache_unpin(pins);
}

bool cw_cache_is_intact(const struct cw_cache_pins *hold)
{
    bool intact = true;
    for (size_t i = 0; i < hold->n; i++)
        intact = intact && !((uintptr_t)hold->refs[i] & BROKEN);
    return intact;
}

/* Lock held. Its bytes are zeros from now on, and it is not found again. */
static void break_record(struct record *record)
{
    CW_ASSERT(mprotect(record->map, record->bytes, PROT_READ | PROT_WRITE) == 0);
    memset(record->map, 0, record->bytes);
    CW_ASSERT(mprotect(record->map, record->bytes, PROT_READ) == 0);
    record->forgotten = true;
}

uint64_t cw_cache_thread_wait_ns(void)
{
    return 0;
}

/* Its records are got one by one. */
size_t cw_cache_get_rows(struct cw_cache_dataset *node, const int64_t *ids, size_t n,
                         struct cw_cache_pins *hold, const struct cw_cache_rows *rows)
{
    (void)node;
    (void)ids;
    (void)n;
    (void)hold;
    (void)rows;
    return 0;
}

enum cw_cache_found cw_cache_get(struct cw_cache_dataset *node, uint64_t id,
                                 struct cw_cache_pins *hold, struct cw_element *element)
{
    enum cw_cache_found found = CW_CACHE_MISS;
    CW_ASSERT(hold->n < CW_CACHE_PINS);
    cw_mutex_lock(&node->mutex);
    node->counts.gets++;
    struct record *record = find(node, id);
    if (record && record->left_out) {
        found = CW_CACHE_LEFT_OUT;
        node->counts.left_out++;
    } else if (record) {
        found = CW_CACHE_HIT;
        node->counts.hits++;
        node->counts.touched += record->touched;
        record->touched = false;
        node->counts.held++;
        node->counts.held_most = CW_MAX(node->counts.held_most, node->counts.held);
        hold->refs[hold->n++] = (void *)((uintptr_t)node | (record->breaks ? BROKEN : 0));
        if (record->breaks)
            break_record(record);
        element->n = record->n;
        memcpy(element->fields, record->fields, record->n * sizeof(element->fields[0]));
    }
    cw_mutex_unlock(&node->mutex);
    return found;
}

bool cw_cache_has(struct cw_cache_dataset *node, uint64_t id)
{
    cw_mutex_lock(&node->mutex);
    bool has = find(node, id) != NULL;
    cw_mutex_unlock(&node->mutex);
    return has;
}

void cw_cache_prefetch(struct cw_cache_dataset *node, const uint64_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        CW_ASSERT(cw_cache_has(node, ids[i]));
    cw_mutex_lock(&node->mutex);
    node->counts.prefetched += n;
    cw_mutex_unlock(&node->mutex);
}

void cw_cache_cpu_prefetch(struct cw_cache_dataset *node, const uint64_t *ids, size_t n)
{
    cw_mutex_lock(&node->mutex);
    for (size_t i = 0; i < CW_MIN(n, (size_t)CW_CACHE_CPU_PREFETCH); i++) {
        struct record *record = find(node, ids[i]);
        if (record)
            record->touched = true;
    }
    cw_mutex_unlock(&node->mutex);
}

static bool may_be_kept(const struct cw_cache_dataset *node, const struct cw_element *element)
{
    if (element->n != node->spec.n)
        return false;
    for (size_t k = 0; k < element->n; k++)
        if (element->fields[k].full_h || element->fields[k].stamp ||
            element->fields[k].dtype != node->spec.fields[k].dtype)
            return false;
    return true;
}

static void copy(struct record *record, const struct cw_element *element)
{
    size_t at = 0, page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t k = 0; k < element->n; k++)
        record->bytes += CW_ALIGN_UP(element->fields[k].bytes, (size_t)64);
    record->bytes = CW_ALIGN_UP(record->bytes + 1, page);
    record->map =
        mmap(NULL, record->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CW_ASSERT(record->map != MAP_FAILED);
    record->n = element->n;
    record->fields = CW_NEW_ARRAY(struct cw_view, element->n + 1);
    for (size_t k = 0; k < element->n; k++) {
        struct cw_view *view = &record->fields[k];
        *view = element->fields[k];
        view->data = (uint8_t *)record->map + at;
        if (view->bytes)
            memcpy(view->data, element->fields[k].data, view->bytes);
        at += CW_ALIGN_UP(view->bytes, (size_t)64);
    }
    CW_ASSERT((mprotect(record->map, record->bytes, PROT_READ)) == 0);
}

static bool is_equal(const struct record *record, const struct cw_element *element)
{
    if (record->left_out || !element)
        return record->left_out && !element;
    for (size_t k = 0; k < element->n; k++) {
        const struct cw_view *a = &record->fields[k], *b = &element->fields[k];
        if (a->bytes != b->bytes || a->rank != b->rank ||
            (a->bytes && memcmp(a->data, b->data, a->bytes) != 0))
            return false;
    }
    return true;
}

void cw_cache_put(struct cw_cache_dataset *node, uint64_t id, const struct cw_element *element,
                  int64_t cost_ns)
{
    CW_ASSERT(cost_ns > 0);
    cw_mutex_lock(&node->mutex);
    const struct record *old = find(node, id);
    node->counts.puts++;
    node->counts.puts_left_out += !element;
    if (element && !may_be_kept(node, element)) {
        node->counts.puts_bad++;
    } else if (old) {
        node->counts.puts_again++;
        CW_ASSERT(is_equal(old, element)); /* put again, with other bytes */
    } else {
        struct record *record = CW_NEW(struct record);
        record->id = id;
        record->left_out = !element;
        if (element)
            copy(record, element);
        record->next = node->first;
        node->first = record;
    }
    cw_mutex_unlock(&node->mutex);
}

struct cw_cache_dataset *cw_cache_dataset_ref(struct cw_cache_dataset *node)
{
    cw_mutex_lock(&node->mutex);
    node->refs++;
    cw_mutex_unlock(&node->mutex);
    return node;
}

struct cw_cache_dataset *cw_cache_dataset_unref(struct cw_cache_dataset *node)
{
    if (!node)
        return NULL;
    cw_mutex_lock(&node->mutex);
    node->refs--;
    cw_mutex_unlock(&node->mutex);
    return NULL;
}
