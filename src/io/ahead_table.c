/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ranges, by the URL of their file and by where they begin; the queue of those whose
 * request has not begun; and the requests. */
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "io/ahead_int.h"
#include "io/source_root.h"

/* Ranges that are at most so far apart are read by one request, of at most so many bytes: a round trip
 * takes longer than a gap. */
#define GAP_MAX ((uint64_t)64 << 10)
#define JOIN_MAX ((uint64_t)1 << 20)
#define LOOK_BACK 8 /* ranges that begin before a byte, of which one may reach to it */
#define STOP_LOOK_NS INT64_C(20000000)

struct cw_ahead_file {
    char *url;
    uint64_t key;
    struct cw_ahead_range **v; /* sorted by offset */
    size_t n, cap;
};

static struct {
    struct cw_mutex mutex; /* guards all of it */
    struct cw_map files;   /* by a hash of the URL */
    struct cw_ahead_range *first, *last;
    size_t limit;
    struct cw_ahead_counts counts;
} table = {.mutex = CW_MUTEX_INIT, .limit = CW_AHEAD_REQUESTS};

void cw_ahead_lock(void)
{
    cw_mutex_lock(&table.mutex);
}

void cw_ahead_unlock(void)
{
    cw_mutex_unlock(&table.mutex);
}

void cw_ahead_limit_to(size_t requests)
{
    table.limit = requests;
}

size_t cw_ahead_limit_is(void)
{
    return table.limit;
}

struct cw_ahead_counts *cw_ahead_counters(void)
{
    return &table.counts;
}

/* ---- files ---- */

static uint64_t key_of(const char *url)
{
    return cw_hash_u64(url, strlen(url));
}

/* Of two URLs with one hash only the first is found. */
static struct cw_ahead_file *file_of(const char *url)
{
    struct cw_ahead_file *file = cw_map_get(&table.files, key_of(url));
    return file && strcmp(file->url, url) == 0 ? file : NULL;
}

static struct cw_ahead_file *file_new(const char *url)
{
    struct cw_ahead_file *file = CW_NEW(struct cw_ahead_file);
    file->url = cw_mem_strdup(url);
    file->key = key_of(url);
    if (!cw_map_get(&table.files, file->key))
        cw_map_set(&table.files, file->key, file);
    return file;
}

/* Returns the number of ranges that begin at `offset` or before. */
static size_t begun_by(const struct cw_ahead_file *file, uint64_t offset)
{
    size_t lo = 0, hi = file->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (file->v[mid]->offset <= offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void file_add(struct cw_ahead_file *file, struct cw_ahead_range *range)
{
    size_t at = begun_by(file, range->offset);
    CW_GROW(file->v, file->n, file->cap);
    memmove(&file->v[at + 1], &file->v[at], (file->n++ - at) * sizeof(file->v[0]));
    file->v[at] = range;
    range->file = file;
}

/* Nobody finds the range any more. */
static void file_remove(struct cw_ahead_range *range)
{
    struct cw_ahead_file *file = range->file;
    size_t at = file ? begun_by(file, range->offset) : 0;
    if (!file)
        return;
    while (file->v[at - 1] != range)
        at--;
    memmove(&file->v[at - 1], &file->v[at], (file->n-- - at) * sizeof(file->v[0]));
    range->file = NULL;
    if (file->n > 0)
        return;
    if (cw_map_get(&table.files, file->key) == file)
        cw_map_remove(&table.files, file->key);
    cw_mem_free(file->v);
    cw_mem_free(file->url);
    cw_mem_free(file);
}

/* ---- the queue ---- */

static void enqueue(struct cw_ahead_range *range)
{
    range->prev = table.last;
    *(table.last ? &table.last->next : &table.first) = range;
    table.last = range;
    table.counts.waiting++;
}

static void dequeue(struct cw_ahead_range *range)
{
    *(range->prev ? &range->prev->next : &table.first) = range->next;
    *(range->next ? &range->next->prev : &table.last) = range->prev;
    range->prev = range->next = NULL;
    table.counts.waiting--;
}

/* ---- the life of a range ---- */

static void range_free(struct cw_ahead_range *range)
{
    file_remove(range);
    table.counts.ranges--;
    table.counts.bytes -= range->n;
    if (range->has_cond)
        cw_cond_fini(&range->cond);
    cw_mem_free(range->lists);
    cw_mem_free(range->bytes);
    cw_mem_free(range);
}

static void end(struct cw_ahead_range *range, bool is_there)
{
    range->state = is_there ? CW_AHEAD_THERE : CW_AHEAD_FAILED;
    if (!is_there)
        file_remove(range);
    for (size_t i = 0; i < range->lists_n; i++)
        range->ended(range->lists[i]);
    range->lists_n = 0;
    if (range->has_cond)
        cw_cond_broadcast(&range->cond);
}

static struct cw_ahead_range *range_of(struct cw_io_fetch *fetch)
{
    return (struct cw_ahead_range *)(void *)((char *)fetch -
                                             offsetof(struct cw_ahead_range, fetch));
}

static void on_fetched(struct cw_io_fetch *fetch)
{
    struct cw_ahead_range *range = range_of(fetch);
    cw_ahead_lock();
    table.counts.under_way--;
    if (range->users == 0)
        range_free(range);
    else
        end(range, fetch->is_there);
    cw_ahead_pump();
    cw_ahead_unlock();
}

static void begin(struct cw_ahead_range *range)
{
    range->bytes = cw_mem_try(range->n);
    if (!range->bytes) {
        end(range, false);
        return;
    }
    range->state = CW_AHEAD_UNDER_WAY;
    range->fetch = (struct cw_io_fetch){
        .offset = range->offset, .n = range->n, .dst = range->bytes, .done = on_fetched};
    table.counts.under_way++;
    table.counts.requests++;
    table.counts.requested_bytes += range->n;
    uint32_t of_thread = cw_source_root_reads_as();
    cw_source_root_read_as(range->reader);
    range->scheme->fetch(range->file->url, &range->fetch);
    cw_source_root_read_as(of_thread);
}

void cw_ahead_pump(void)
{
    while (table.first && table.counts.under_way < table.limit) {
        struct cw_ahead_range *range = table.first;
        dequeue(range);
        begin(range);
    }
}

void cw_ahead_range_leave(struct cw_ahead_range *range)
{
    if (--range->users > 0)
        return;
    if (range->state == CW_AHEAD_UNDER_WAY) {
        file_remove(range);
        range->scheme->cancel(&range->fetch);
        return;
    }
    if (range->state == CW_AHEAD_WAITING)
        dequeue(range);
    range_free(range);
}

void cw_ahead_range_give_up(struct cw_ahead_range *range)
{
    dequeue(range);
    end(range, false);
}

void cw_ahead_range_wait(struct cw_ahead_range *range, const struct cw_stop *stop)
{
    if (!range->has_cond)
        cw_cond_init(&range->cond);
    range->has_cond = true;
    while (range->state == CW_AHEAD_UNDER_WAY && !cw_stop_is_set(stop))
        (void)cw_cond_wait_until(&range->cond, &table.mutex, cw_clock_ns() + STOP_LOOK_NS);
}

/* ---- finding ranges ---- */

/* Whether a range has all of these bytes, and was asked for by a reader with the same rights. */
static bool has(const struct cw_ahead_range *range, uint64_t offset, uint64_t n)
{
    return range->reader == cw_source_root_reads_as() && offset >= range->offset &&
           offset - range->offset < range->n && n <= range->n - (offset - range->offset);
}

/* Finds a range that has all of these bytes. */
static struct cw_ahead_range *find(const struct cw_ahead_file *file, uint64_t offset, uint64_t n)
{
    size_t at = file ? begun_by(file, offset) : 0;
    for (size_t back = 0; back < LOOK_BACK && at > 0; back++, at--)
        if (has(file->v[at - 1], offset, n))
            return file->v[at - 1];
    return NULL;
}

struct cw_ahead_range *cw_ahead_range_at(const char *url, uint64_t offset)
{
    return find(file_of(url), offset, 1);
}

struct cw_ahead_range *cw_ahead_range_any(const char *url)
{
    struct cw_ahead_file *file = file_of(url);
    struct cw_ahead_range *any = NULL;
    for (size_t i = 0; file && i < file->n; i++)
        if (file->v[i]->reader == cw_source_root_reads_as()) {
            if (file->v[i]->state == CW_AHEAD_THERE)
                return file->v[i];
            if (!any)
                any = file->v[i];
        }
    return any;
}

/* Lets the range before these bytes reach to their end, if its request has not begun. */
static struct cw_ahead_range *extend(const struct cw_ahead_file *file, uint64_t offset, size_t n)
{
    size_t at = file ? begun_by(file, offset) : 0;
    struct cw_ahead_range *range = at > 0 ? file->v[at - 1] : NULL;
    if (!range || range->reader != cw_source_root_reads_as() || range->state != CW_AHEAD_WAITING ||
        offset > range->offset + range->n + GAP_MAX || offset + n - range->offset > JOIN_MAX)
        return NULL;
    size_t longer = (size_t)(offset + n - range->offset);
    table.counts.bytes += longer - range->n;
    range->n = longer;
    return range;
}

struct cw_ahead_range *cw_ahead_range_get(const struct cw_io_scheme *scheme, const char *url,
                                          uint64_t offset, size_t n)
{
    struct cw_ahead_file *file = file_of(url);
    struct cw_ahead_range *range = find(file, offset, n);
    if (!range)
        range = extend(file, offset, n);
    if (!range) {
        range = CW_NEW(struct cw_ahead_range);
        range->scheme = scheme;
        range->reader = cw_source_root_reads_as();
        range->offset = offset;
        range->n = n;
        file_add(file ? file : file_new(url), range);
        table.counts.ranges++;
        table.counts.bytes += n;
        enqueue(range);
    }
    range->users++;
    return range;
}
