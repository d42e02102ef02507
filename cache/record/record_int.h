/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the record cache, one file each (docs/cache.md, "Inside a worker"):
 *
 *   record_cache.c      life and options of a cache
 *   dataset.c           the records of one key: life, the chunks that belong to it
 *   id_map.c            element id -> place of its record
 *   handle_table.c      refcounted handles of chunks and write buffers
 *   pin_set.c           what a thread keeps pinned
 *   get.c, put.c        the hot paths
 *   record_prefetch.c   prefetch requests of the owner
 *   cpu_prefetch.c      the same for the processor's caches
 *   chunk_open.c        opening chunks, reading their indices
 *   chunk_set.c         which chunks a dataset has
 *   intact.c            is a mapped file still whole
 *   frame_cache.c       frames in memory
 *   span.c              the last reference to some of them
 *   frame_fetch.c       reads of frames under way
 *   frame_lru.c         which frames stay in memory
 *   prefetch_queue.c    frames to be read, in the order of their gets
 *   memory_budget.c     the limit of memory: who gets it, who makes way
 *   segment_pool.c      idle segments of write buffers
 *   garbage.c           memory to be freed without locks
 *   buffer_pool.c       buffers of frames that are used again
 *   write_buffer.c      records that wait to be written
 *   flush.c             write buffers become chunks
 *   aligned_parts.c     what of a chunk is written without a copy
 *   requests.c          what threads ask of the cache's own threads
 *   maintenance.c       the thread that cleans up
 *   cache_ref.c         reference counts of the cache
 *   counters.c          counters of the hot paths
 *
 * Locks, in this order: cache->lock, node->lock, room.lock, chunk->lock. None is held while the
 * store works or the owner's event runs. */
#ifndef CW_CACHE_RECORD_INT_H
#define CW_CACHE_RECORD_INT_H

#include <stdatomic.h>
#include <string.h>
#include "base/map.h"
#include "base/mapped.h"
#include "base/mem.h"
#include "base/thread.h"
#include "cache/record/handle_table.h"
#include "cache/record/record_cache.h"
#include "format/chunk.h"
#include "format/record.h"

#define CW_CACHE_LOADERS 2
#define CW_CACHE_WRITERS 2

/* ---- id_map.c: id -> place, 0 = not known. Readers take no lock; writers hold node->lock ---- */
struct cw_id_table;
struct cw_id_map {
    _Atomic(struct cw_id_table *) pages; /* of neighbouring ids */
    _Atomic(struct cw_id_table *) far;   /* single ids that are mixed from several */
};
uint64_t cw_id_map_get(const struct cw_id_map *ids, uint64_t id);
bool cw_id_map_set(struct cw_id_map *ids, uint64_t id, uint64_t place); /* false: no memory */
void cw_id_map_fini(struct cw_id_map *ids);

/* A place: slot + 1 and the record's number in its chunk or block. */
#define CW_PLACE_RECORD_BITS 24
static inline uint64_t cw_place(uint32_t handle, uint32_t record)
{
    return ((uint64_t)handle + 1) << CW_PLACE_RECORD_BITS | record;
}
static inline uint32_t cw_place_handle(uint64_t place)
{
    return (uint32_t)(place >> CW_PLACE_RECORD_BITS) - 1;
}
static inline uint32_t cw_place_record(uint64_t place)
{
    return (uint32_t)place & ((1u << CW_PLACE_RECORD_BITS) - 1);
}

/* ---- chunks that are known ---- */
struct cw_bits {
    _Atomic uint64_t word;
};
enum cw_chunk_state {
    CW_CHUNK_QUEUED,
    CW_CHUNK_LOADING,
    CW_CHUNK_PARKED /* until the store is back */,
    CW_CHUNK_LOADED
};
struct cw_cache_chunk {
    struct cw_cache_dataset *dataset;
    char *name;
    enum cw_chunk_state state; /* node->lock */
    bool removed;              /* node->lock: while it was being loaded */
    bool shadowed;             /* node->lock: some of its ids are found in another chunk */
    bool installing;           /* node->lock: its ids are being entered */
    struct cw_cache_handle *handle;
    struct cw_store_file *file;
    const unsigned char *map;     /* NULL: the store does not map */
    const unsigned char *map_end; /* of map: where the last bytes of the footer are (intact.c) */
    struct cw_chunk_index *index;
    struct cw_bits *checked; /* a bit a frame of the mapping: got from there without more ado */
    struct cw_mutex lock;
    struct cw_cond arrived; /* lock */
    /* lock: frames as they are in the file; NULL: all are got from the mapping */
    struct cw_span **stored;
    struct cw_span **plain;         /* lock: frames unpacked; NULL when none is packed */
    struct cw_queued_frame *queued; /* room.lock: its frames in the line; NULL when stored is */
    atomic_uint queued_n;           /* wants in the line; changed under room.lock */
    atomic_uint failures;           /* reads that failed in a row */
    int end;                        /* the event that ends it, -1 none; cache->lock */
    char *why;
    struct cw_cache_chunk *next; /* to be loaded, or retired: cache->lock */
};
static inline bool cw_chunk_is_checked(const struct cw_cache_chunk *chunk, uint32_t frame)
{
    return atomic_load_explicit(&chunk->checked[frame / 64].word, memory_order_acquire) >>
               (frame % 64) &
           1;
}
/* intact.c. Whether the mapped file of a chunk whose record was just used is still whole: it was
 * neither cut short nor could some of it not be read. If not, it is retired, and what was made
 * from it is worth nothing. true of chunks that are not mapped. */
bool cw_intact_check(struct cw_cache_chunk *chunk);
/* sets why: what is the matter with its file. May take as long as its store does */
void cw_intact_explain(struct cw_cache_chunk *chunk);
static inline bool cw_chunk_is_intact(const struct cw_cache_chunk *chunk)
{
    uint64_t now, end;

    if (!chunk->map)
        return true;
    cw_mapped_fence();
    memcpy(&now, chunk->map_end, sizeof(now));
    memcpy(&end, CW_CHUNK_END, sizeof(end));
    return CW_LIKELY(now == end);
}
/* chunk_open.c */
struct cw_cache_chunk *cw_cache_chunk_new(struct cw_cache_dataset *dataset, const char *name);
void cw_cache_chunk_free(struct cw_cache_chunk *chunk); /* closes its file */
/* Frees the chunk of a handle without references, and recycles the handle. */
void cw_chunk_reclaim(struct cw_cache_handle *handle);
/* state LOADING; takes chunk */
void cw_chunk_open(struct cw_cache *cache, struct cw_cache_chunk *chunk);
void cw_chunk_open_parked(struct cw_cache *cache);
void cw_chunk_open_thread(void *arg);
void cw_chunk_enter_ids(struct cw_cache_chunk *chunk); /* its slot is held */

/* ---- prefetch_queue.c: frames of which gets will come, as they were told; room.lock ---- */
#define CW_PREFETCH_QUEUE_CAP 32768u
#define CW_PREFETCH_NEVER UINT64_MAX
struct cw_queued_frame {  /* of a frame */
    uint64_t first, last; /* first 0: it is not in the line */
};
struct cw_prefetch_entry {
    struct cw_cache_chunk *chunk; /* NULL: taken out */
    uint32_t frame;
    uint32_t n;     /* gets */
    uint64_t later; /* the turn at which the same frame is wanted again; 0: never */
    int64_t since_ns;
};
struct cw_prefetch_queue {
    struct cw_prefetch_entry *wants; /* a ring; NULL until something is told */
    uint64_t head, tail;
    atomic_size_t n; /* without those that were taken out */
};
/* false: it is full */
bool cw_prefetch_queue_push(struct cw_prefetch_queue *queue, struct cw_cache_chunk *chunk,
                            uint32_t frame, int64_t now_ns);
/* NULL: it is empty */
struct cw_prefetch_entry *cw_prefetch_queue_head(const struct cw_prefetch_queue *queue);
/* the frame's first: its gets; 0: there is none */
uint32_t cw_prefetch_queue_take(struct cw_prefetch_queue *queue, struct cw_cache_chunk *chunk,
                                uint32_t frame);
/* one of the first one's gets came before its turn */
void cw_prefetch_queue_skip(struct cw_prefetch_queue *queue, struct cw_cache_chunk *chunk,
                            uint32_t frame);
/* Frames from this one on that stand one behind another in the line as in the file, and may be
 * one read; chunk->lock. */
uint32_t cw_prefetch_queue_run(const struct cw_cache_chunk *chunk, uint32_t frame);
uint64_t cw_prefetch_queue_position(
    const struct cw_span *span); /* the first of its frames' turns, or NEVER */
void cw_prefetch_queue_drop(struct cw_prefetch_queue *queue,
                            struct cw_cache_chunk *chunk); /* its wants */
void cw_prefetch_queue_fini(struct cw_prefetch_queue *queue);

/* ---- frames in memory: spans of frames that stand one behind another, on shelves (frame_lru.c).
 * One that is read since it was told is AHEAD until
 * all have it who were to come ---- */
#define CW_SPAN_FRAMES 64u
#define CW_SPAN_BYTES ((size_t)1 << 20)
enum cw_span_state { CW_SPAN_COMING, CW_SPAN_READY, CW_SPAN_FAILED };
enum cw_frame_list {
    CW_FRAMES_UNLISTED,
    CW_FRAMES_PREFETCHED,
    CW_FRAMES_RECENT,
    CW_FRAMES_KEPT,
    CW_FRAMES_SPENT,
    CW_FRAME_LISTS
};
struct cw_span {
    atomic_int refs; /* one is the chunk's table */
    struct cw_cache_chunk *chunk;
    uint32_t first, n;
    bool is_plain;
    enum cw_span_state state;   /* chunk->lock */
    _Atomic uint64_t checked;   /* a bit a frame */
    atomic_uint wanted;         /* gets whose turn it is, and that have not come yet */
    unsigned char *data;        /* NULL when its read failed */
    size_t cap;                 /* of data */
    enum cw_frame_list list_no; /* room.lock, as the rest */
    int64_t since_ns;           /* AHEAD: when it was read, or wanted anew */
    struct cw_span *prev, *next;
};
/* frame_cache.c. The plain bytes of a frame that is not simply mapped; NULL: not to be had now, or
 * damaged. */
const unsigned char *cw_frame_cache_get(struct cw_cache_chunk *chunk, uint32_t frame,
                                        struct cw_cache_pins *pins, int64_t *wait_ns);
bool cw_frame_cache_has(struct cw_cache_chunk *chunk, uint32_t frame);
/* of a mapped chunk: in the page cache */
bool cw_frame_cache_is_resident(const struct cw_cache_chunk *chunk, uint32_t frame);
void cw_frame_cache_drop_all(struct cw_cache_chunk *chunk); /* nobody holds any */
/* span.c. No lock may be held. */
void cw_span_unref(struct cw_span *span);

/* frame_fetch.c. A get of each of these frames (they ascend, and may be there several times) will
 * come; the chunk's slot is held. They are put in line. */
void cw_frame_fetch_enqueue(struct cw_cache_chunk *chunk, const uint32_t *frames, size_t n);
/* a ref; its read is under way or done */
struct cw_span *cw_frame_fetch_now(struct cw_cache_chunk *chunk, uint32_t frame);
/* begins reads that wait, as far as they may */
void cw_frame_fetch_pump(struct cw_cache *cache);

/* ---- memory_budget.c: memory ---- */
struct cw_segment { /* of a block */
    struct cw_segment *next;
    size_t bytes, used; /* of data */
    /* offset of the first record: as far into a page as in the file (aligned_parts.c) */
    size_t begin;
    unsigned char *data;
};
#define CW_BUFFER_CLASSES 49u
struct cw_pooled_buffer { /* a buffer of a span that nobody uses; lies in it */
    struct cw_pooled_buffer *next;
};
struct cw_span_list { /* oldest first */
    struct cw_span *head, *tail;
    size_t bytes;
};
struct cw_memory_budget {
    struct cw_mutex lock;
    size_t limit, writing, frames, idle;
    struct cw_segment *pool;                            /* idle ones */
    struct cw_pooled_buffer *pooled[CW_BUFFER_CLASSES]; /* idle ones */
    unsigned quiet; /* ticks since something was written or read */
    bool busy;      /* in this one */
    struct cw_span_list lists[CW_FRAME_LISTS];
    unsigned dropped; /* spans ever: which end is next */
    struct cw_prefetch_queue queue;
    size_t reading; /* reads under way */
    bool pumping, pump_again;
};
struct cw_garbage { /* what is to be freed without the lock */
    struct cw_span *spans;
    struct cw_segment *segments;
    struct cw_pooled_buffer *pooled;
};
static inline bool cw_memory_budget_is_over(const struct cw_memory_budget *budget, size_t bytes)
{
    size_t used = budget->writing + budget->frames + budget->idle;

    return used > budget->limit || bytes > budget->limit - used;
}
/* Bytes for write buffers, besides segments; false: memory is full. */
bool cw_memory_budget_reserve(struct cw_cache *cache, size_t bytes);
void cw_memory_budget_release(struct cw_cache *cache, size_t bytes);
/* NULL: memory is full */
struct cw_segment *cw_memory_budget_take_segment(struct cw_cache *cache, size_t at_least);
void cw_memory_budget_give_segments(struct cw_cache *cache, struct cw_segment *first);
/* For segments which a write that was given up still reads: they do not count any more. The I/O
 * thread frees them (cw_segments_free) when the write returns. */
void cw_memory_budget_abandon_segments(struct cw_cache *cache, const struct cw_segment *first);
void cw_memory_budget_trim(struct cw_cache *cache); /* each tick of the maintenance thread */
void cw_memory_budget_fini(struct cw_memory_budget *budget);

/* segment_pool.c; the budget's lock */
struct cw_segment *cw_segment_pool_pop(struct cw_memory_budget *budget); /* NULL: it is empty */
void cw_segment_pool_push(struct cw_memory_budget *budget, struct cw_segment *segment);
bool cw_segment_pool_drop(struct cw_memory_budget *budget, struct cw_garbage *garbage);
void cw_segments_free(struct cw_segment *first); /* no lock */
/* garbage.c; no lock */
void cw_garbage_free(struct cw_garbage *garbage);

/* buffer_pool.c: buffers of spans. Memory that is new costs more than reading into it, so it is
 * used again. */
size_t cw_buffer_pool_cap(size_t bytes); /* what a buffer for so much has */
/* room.lock. Room for a buffer, counted in frames. *ret_data is one that was there, or NULL: to
 * be allocated. false: no room (never if `now`). *cap may grow. */
bool cw_buffer_pool_take(struct cw_memory_budget *budget, size_t *cap, bool now,
                         unsigned char **ret_data, struct cw_garbage *garbage);
unsigned char *cw_buffer_pool_alloc(size_t cap); /* NULL: no memory */
/* room.lock. It does not count as frames any more. */
void cw_buffer_pool_give(struct cw_memory_budget *budget, unsigned char *data, size_t cap,
                         struct cw_garbage *garbage);
/* room.lock: the largest one; false: there is none */
bool cw_buffer_pool_drop(struct cw_memory_budget *budget, struct cw_garbage *garbage);

/* frame_lru.c; room.lock, but for `used` */
/* from where it is */
void cw_frame_lru_put(struct cw_memory_budget *budget, struct cw_span *span,
                      enum cw_frame_list list_no);
struct cw_span *
cw_frame_lru_evict_spent(struct cw_memory_budget *budget); /* one that nobody will need */
/* out of its chunk's table, nobody's now; NULL: there is none */
struct cw_span *cw_frame_lru_evict(struct cw_memory_budget *budget, bool all);
/* those that were wanted, and nobody came */
void cw_frame_lru_expire(struct cw_memory_budget *budget);
/* A get has come for the frame. Takes the lock. true: reads that wait for memory may begin now
 * (cw_frame_fetch_pump). */
bool cw_frame_lru_used(struct cw_span *span, uint32_t frame);

/* ---- write_buffer.c: records that wait to be written ---- */
#define CW_WRITE_BUFFER_RECORDS_MAX (1u << 20)
#define CW_WRITE_BUFFER_PAGE 4096u
struct cw_buffered_record {
    uint64_t id;
    const unsigned char *data;
    /* of the bytes, if cw_write_buffer_sums: taken while they are in the processor's cache */
    uint64_t sum;
    uint32_t bytes; /* CW_CHUNK_LEFT_OUT */
    atomic_bool ready;
};
struct cw_write_buffer {
    struct cw_cache_dataset *dataset;
    struct cw_cache_handle *handle;
    atomic_int pending; /* threads that still encode, and one while it is open */
    struct cw_segment *segments;
    /* of the segments: the block's ref, and those of writes; NULL until it is written */
    struct cw_buf *pins;
    /* where the next large record will stand in the file, if all are large and none is dropped */
    uint64_t file_at;
    _Atomic(struct cw_buffered_record *) pages[CW_WRITE_BUFFER_RECORDS_MAX / CW_WRITE_BUFFER_PAGE];
    uint32_t n;        /* node->lock while open */
    size_t bytes;      /* of records; the same */
    size_t page_bytes; /* taken from the room for pages */
    atomic_llong cost_ns;
    int64_t first_ns, retry_ns; /* when the first record came; not before */
    uint32_t tries, full_tries;
    struct cw_write_buffer *next; /* cache->lock: waits for a writer */
};
/* node->lock. NULL: memory is full. */
struct cw_buffered_record *cw_write_buffer_reserve(struct cw_write_buffer *buffer, uint64_t id,
                                                   uint32_t bytes, size_t align,
                                                   unsigned char **ret_data, uint32_t *ret_no);
struct cw_write_buffer *cw_write_buffer_new(struct cw_cache_dataset *dataset); /* node->lock */
void cw_write_buffer_free(struct cw_write_buffer *buffer);
void cw_write_buffer_flush(struct cw_cache_dataset *dataset);
/* NULL: there is none */
struct cw_buffered_record *cw_write_buffer_at(const struct cw_write_buffer *buffer, uint32_t no);
/* one that is there */
static inline struct cw_buffered_record *
cw_write_buffer_record(const struct cw_write_buffer *buffer, uint32_t no)
{
    return &atomic_load_explicit(&buffer->pages[no / CW_WRITE_BUFFER_PAGE],
                                 memory_order_acquire)[no % CW_WRITE_BUFFER_PAGE];
}
/* node->lock: the open block, closed; NULL: there is none */
struct cw_write_buffer *cw_write_buffer_seal(struct cw_cache_dataset *dataset);
/* one of pending; the last one queues it */
void cw_write_buffer_done(struct cw_write_buffer *buffer);
/* its ids are not found here any more; drops it */
void cw_write_buffer_retire(struct cw_write_buffer *buffer);

/* the writer's thread; not a ref of the caller's */
struct cw_buf *cw_write_buffer_keep_segments(struct cw_write_buffer *buffer);

/* aligned_parts.c. The parts of a chunk (n of them, in place; returns how many are left): those
 * that stand one behind another in the block's segments become one, which begins at a page in
 * memory and in the file. is_held: of each that is left, whether it is in a segment. */
size_t cw_aligned_parts(const struct cw_write_buffer *buffer, struct iovec *parts, bool *is_held,
                        size_t n);

/* ---- flush.c ---- */
void cw_flush_thread(void *arg);
void cw_flush_discard_all(struct cw_cache *cache, const char *why);

/* ---- requests.c: appends to lists that the cache's threads work off; takes cache->lock ---- */

/* The chunk is not to be used any more. end: the event that says so to the owner, or -1. why NULL:
 * the maintenance thread finds it out (cw_intact_explain). */
void cw_request_retire(struct cw_cache_chunk *chunk, int end, const char *why);
/* A chunk's handle without references is to be reclaimed on the maintenance thread, since closing
 * its file may take long. false: that thread has ended. */
bool cw_request_reclaim(struct cw_cache *cache, struct cw_cache_handle *handle);
void cw_request_open(struct cw_cache *cache, struct cw_cache_chunk *chunk);
void cw_request_flush(struct cw_cache *cache, struct cw_write_buffer *buffer);
/* What an operation of the store returned: is the store away, or back? */
void cw_request_note_result(struct cw_cache *cache, int rc, const struct cw_err *err);
/* Counts records that were lost; the maintenance thread reports them. Takes node->lock. */
void cw_request_report_lost(struct cw_cache_dataset *dataset, uint64_t records, const char *why);
/* Calls the owner's event function, on this thread. */
void cw_cache_emit(struct cw_cache *cache, const struct cw_cache_event *event);

/* ---- maintenance.c ---- */
void cw_maintenance_thread(void *arg);

/* ---- counters.c: in shards. Each of the first threads has one of its own and needs no locked
 * instructions; the others share the last ---- */
#define CW_COUNTER_SHARDS 64u
struct cw_counter_shard {
    _Alignas(64) atomic_ullong hits, misses, hit_bytes, get_ns, wait_ns, put;
};
unsigned cw_counter_shard_no(void);
static inline void cw_counter_add(atomic_ullong *count, uint64_t n, unsigned shard)
{
    if (CW_LIKELY(shard < CW_COUNTER_SHARDS - 1))
        atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + n,
                              memory_order_relaxed);
    else
        atomic_fetch_add_explicit(count, n, memory_order_relaxed);
}

/* ---- nodes and the cache ---- */
struct cw_cache_dataset {
    uint32_t magic;
    atomic_int refs; /* users, blocks that wait; the last one goes under cache->lock */
    /* handles in use, and one for all users together: the memory is freed with the last */
    atomic_int memory_refs;
    struct cw_cache *cache;
    char tenant[CW_CHUNK_TENANT_BYTES];
    struct cw_hash key;
    struct cw_spec spec;
    struct cw_record_shape shape; /* of its records */
    uint64_t frames_at;           /* where the first frame of its chunks begins */
    struct cw_id_map ids;
    struct cw_mutex lock;
    struct cw_strmap names;         /* lock: name -> chunk */
    struct cw_write_buffer *open;   /* lock */
    struct cw_handle_table handles; /* of chunks and write buffers; lock */
    atomic_size_t pending;          /* chunks to be loaded */
    atomic_bool wants_prefetch; /* one was loaded that does not map, or whose records are large */
    struct cw_counter_shard shards[CW_COUNTER_SHARDS];
    atomic_ullong lost, written, written_bytes, chunks_written, damaged;
    atomic_ullong records, chunks; /* changed under lock */
    /* of the next chunks, which are not worth packing: the last that was tried was not */
    atomic_uint plain_n;
    uint64_t lost_unreported;      /* lock */
    char lost_why[256];            /* lock */
    int64_t lost_reported_ns;      /* the keeper's */
    struct cw_cache_dataset *next; /* cache->lock */
};
struct cw_cache {
    uint32_t magic;
    atomic_int refs;       /* the owner, nodes */
    atomic_int store_refs; /* the owner, open files */
    atomic_bool closed;
    struct cw_store *store;
    size_t chunk_bytes, segment_bytes;
    int level;
    /* Called with the last reference to a dataset: it gives up all chunks of it. */
    void (*drop_chunks)(struct cw_cache_dataset *dataset);
    cw_cache_event_fn *event;
    void *event_arg;
    struct cw_memory_budget budget;
    struct cw_mutex lock;
    struct cw_cond load_wake, write_wake, maintenance_wake, idle;
    struct cw_cache_dataset *datasets;
    struct cw_cache_chunk *load_first, **load_end;
    struct cw_write_buffer *write_first;
    size_t writing; /* blocks that a writer has in hand */
    struct cw_cache_chunk *retired;
    struct cw_cache_handle *dead;
    bool stop, stop_maintenance, maintenance_ended;
    bool has_requests; /* for the keeper */
    atomic_bool away;  /* changed under lock */
    bool away_reported;
    char away_why[256];
    int64_t timeout_ms;   /* of the store */
    bool verifies_always; /* mapped bytes: each time they are got, not the first time only */
    int64_t full_until_ns;
    atomic_size_t parked;    /* chunks */
    atomic_bool pressed;     /* memory is full and nothing is being written */
    atomic_size_t unwritten; /* with records, not done yet */
    size_t reads;            /* in flight; lock */
    struct cw_thread maintenance, loaders[CW_CACHE_LOADERS], writers[CW_CACHE_WRITERS];
};
/* A record that will be a frame of its own, hardly ever packed. */
static inline bool cw_write_buffer_sums(const struct cw_cache *cache,
                                        const struct cw_buffered_record *record)
{
    return cache->level <= 0 && record->bytes >= CW_CHUNK_FRAME_BYTES &&
           record->bytes != CW_CHUNK_LEFT_OUT;
}
/* cache_ref.c */
void cw_cache_unref(struct cw_cache *cache);
void cw_cache_store_unref(struct cw_cache *cache);
/* A handle for one of the dataset's chunks or write buffers (cw_cache_handle_new); it keeps the
 * memory of the dataset until it is recycled. dataset->lock. */
struct cw_cache_handle *cw_dataset_handle_new(struct cw_cache_dataset *dataset,
                                              struct cw_cache_chunk *chunk,
                                              struct cw_write_buffer *buffer,
                                              void (*reclaim)(struct cw_cache_handle *handle));
/* Takes dataset->lock; may free the dataset. */
void cw_dataset_handle_recycle(struct cw_cache_dataset *dataset, struct cw_cache_handle *handle);
static inline struct cw_cache_handle *cw_dataset_handle(const struct cw_cache_dataset *dataset,
                                                        uint64_t place)
{
    return cw_cache_handle_at(&dataset->handles, cw_place_handle(place));
}
void cw_chunk_set_drop_all(struct cw_cache_dataset *dataset); /* all of them, without a word */
/* Refs of all nodes; the caller unrefs each and frees the array. */
struct cw_cache_dataset **cw_dataset_all(struct cw_cache *cache, size_t *ret_n);
/* Sets an id's place and keeps the count of records. node->lock. */
bool cw_dataset_set_place(struct cw_cache_dataset *dataset, uint64_t id, uint64_t place);

/* ---- pin_set.c ---- */
bool cw_pin_handle(struct cw_cache_pins *pins, struct cw_cache_handle *handle); /* false: gone */
void cw_pin_span(struct cw_cache_pins *pins, struct cw_span *span);             /* takes the ref */

#endif
