/* SPDX-License-Identifier: Apache-2.0 */
/* The record cache of a process that computes: records of nodes are read from chunks in a store,
 * and written to new chunks in the background.
 *
 *   exec threads   get a record if it is cached, and put what they computed; a get waits for the
 *                  store at most its timeout, a put never waits
 *   store threads  read ahead and write chunks
 *   the owner      (worker/cache/worker_cache.c) tells the cache which chunks exist, and receives
 *                  an event for each chunk that was written
 *
 * No failure of a store makes a get or a put fail: what cannot be read is computed, and what cannot
 * be written is lost and counted. One memory limit holds for all records that wait to be written
 * and all frames that were read. */
#ifndef CW_CACHE_RECORD_RECORD_CACHE_H
#define CW_CACHE_RECORD_RECORD_CACHE_H

#include "base/arena.h"
#include "cache/record/chunk_verify.h"
#include "cache/store/store.h"
#include "data/element.h"

struct cw_cache;
struct cw_cache_dataset; /* the records of one node of a pipeline; refcounted */

enum cw_cache_event_kind {
    CW_CACHE_WRITTEN, /* a chunk was written to the store */
    /* Records were lost. `why` says whether memory or the store was full, or the store
     * unavailable. */
    CW_CACHE_LOST,
    CW_CACHE_DAMAGED,           /* a chunk failed its checks and is not used any more */
    CW_CACHE_GONE,              /* a chunk was removed from the store, by eviction or by hand */
    CW_CACHE_STORE_UNAVAILABLE, /* the store does not answer */
    CW_CACHE_STORE_AVAILABLE    /* the store answers again */
};
struct cw_cache_event {
    enum cw_cache_event_kind kind;
    const struct cw_cache_dataset *dataset; /* NULL for events of the store */
    const char *name; /* for WRITTEN, DAMAGED and GONE: the chunk's name with the tenant's folder */
    /* for WRITTEN: records and bytes of the chunk; for LOST: the number of records */
    uint64_t records, bytes;
    /* For WRITTEN: the time that computing its records took, as cw_cache_put was told. */
    uint64_t cost_ns;
    const char *why; /* the reason; NULL for WRITTEN and STORE_AVAILABLE */
};
/* Called on a thread of the cache. It must not wait, and must not call the cache. */
typedef void cw_cache_event_fn(void *arg, const struct cw_cache_event *event);

struct cw_cache_options {
    /* Bytes for records that wait to be written and for frames in memory; 0 means 256 MiB. */
    size_t memory;
    size_t chunk_bytes; /* bytes of a chunk, at most a quarter of `memory`; 0 means 64 MiB */
    int level;          /* level of compression (format/chunk.h) */
    cw_cache_event_fn *event;
    void *event_arg;
};
/* Makes a cache. Takes the store, which is closed with the cache. */
struct cw_cache *cw_cache_new(struct cw_store *store,
                              const struct cw_cache_options *options) CW_MUST_CHECK;
/* Writes the records that wait, for at most wait_ms; the others are lost. No get or put may be
 * under way. Datasets may outlive the cache; gets find nothing in them then. Accepts NULL. */
void cw_cache_free(struct cw_cache *cache, int64_t wait_ms);
/* The same; another thread may shorten *wait_ms meanwhile, counted from the call. */
void cw_cache_free_within(struct cw_cache *cache, const _Atomic int64_t *wait_ms);
struct cw_store *cw_cache_store(struct cw_cache *cache);

/* Returns a reference to the dataset of a tenant and key, which is made if there is none. tenant ""
 * means "default". */
struct cw_cache_dataset *cw_cache_dataset(struct cw_cache *cache, const char *tenant,
                                          struct cw_hash key, const struct cw_spec *spec);
struct cw_cache_dataset *cw_cache_dataset_ref(struct cw_cache_dataset *dataset);
/* Gives up a reference. Returns NULL; accepts NULL. */
struct cw_cache_dataset *cw_cache_dataset_unref(struct cw_cache_dataset *dataset);
struct cw_hash cw_cache_dataset_key(const struct cw_cache_dataset *dataset);
const char *cw_cache_dataset_tenant(const struct cw_cache_dataset *dataset);
/* Adds chunks of the dataset that exist in the store (names with the tenant's folder). Loaders read
 * their indices; from then on gets find their records. Names that are known already are skipped. */
void cw_cache_dataset_add(struct cw_cache_dataset *dataset, const char *const *names, size_t n);
/* Removes chunks that were deleted from the store, or will be. */
void cw_cache_dataset_remove(struct cw_cache_dataset *dataset, const char *const *names, size_t n);
/* Whether all chunks that were added are open or were given up. */
bool cw_cache_dataset_is_loaded(const struct cw_cache_dataset *dataset);
/* Has the waiting records written, however few there are; of all datasets if dataset is NULL. Does
 * not wait. */
void cw_cache_flush(struct cw_cache *cache, struct cw_cache_dataset *dataset);

/* ---- exec threads ---- */

/* The pins of a thread: they keep the memory of records valid after a get. Each thread has one set,
 * zeroed at first, and releases it when it is done with the elements. */
#define CW_CACHE_PINS 32
struct cw_cache_pins {
    void *refs[CW_CACHE_PINS];
    size_t n;
    bool is_kept; /* the only pin is of an earlier element (cw_cache_unpin_element) */
};
void cw_cache_unpin(struct cw_cache_pins *pins);
/* The thread is done with an element, and goes on with another one, which often is in the same chunk:
 * a single chunk stays pinned until the next get from elsewhere, or until cw_cache_unpin. A pin that
 * is taken and given up with each record costs as much as the copy of a small one. */
void cw_cache_unpin_element(struct cw_cache_pins *pins);
/* Whether the pinned records stayed what they were. A mapped file may have been cut short, or its
 * disk may have failed, which leaves zeros where records were. A caller must ask this before it
 * uses or keeps a result made from the records, and before it believes an error that they caused.
 * If it returns false, the caller computes again; the chunk is retired, so that its records are
 * misses from now on. */
bool cw_cache_is_intact(const struct cw_cache_pins *pins);
enum cw_cache_found { CW_CACHE_MISS = 0, CW_CACHE_HIT = 1, CW_CACHE_LEFT_OUT = 2 };
/* Gets the record of an element. The fields are views of the chunk: read-only, valid until the pins
 * are released, and to be trusted only if cw_cache_is_intact says so. Waits for a read under way,
 * at most the store's timeout. Sets fields and n of the element, but not id and rep. */
enum cw_cache_found cw_cache_get(struct cw_cache_dataset *dataset, uint64_t id,
                                 struct cw_cache_pins *pins, struct cw_element *element);
/* Where the rows of a batch are: field f of row i at to[f] + i * bytes[f]. */
struct cw_cache_rows {
    size_t n; /* fields */
    uint8_t *to[CW_FIELDS_MAX];
    size_t bytes[CW_FIELDS_MAX];
};
/* Copies records of these ids into rows 0, 1, ...; counts them as hits and returns how many they are.
 * It ends before the first that it does not copy: one that is not in a chunk or not of these sizes,
 * or too many chunks are pinned. Pins are kept as after cw_cache_unpin_element. Small records cost
 * half as much in this way as with cw_cache_get. */
size_t cw_cache_get_rows(struct cw_cache_dataset *dataset, const int64_t *ids, size_t n,
                         struct cw_cache_pins *pins, const struct cw_cache_rows *rows);
/* Returns for how many ns the calling thread has waited for the store in cw_cache_get so far. */
uint64_t cw_cache_thread_wait_ns(void);
/* Whether a record of this id is known to exist (it may still turn out to be damaged). Never
 * waits. */
bool cw_cache_has(struct cw_cache_dataset *dataset, uint64_t id);
/* Announces that gets of these ids will come: their frames are read ahead in this order. */
void cw_cache_prefetch(struct cw_cache_dataset *dataset, const uint64_t *ids, size_t n);
/* Whether announcing gets is worth its cost. For small records in mapped chunks it is not, because
 * the kernel reads neighbouring records with them. */
bool cw_cache_wants_prefetch(const struct cw_cache_dataset *dataset);
/* Brings the memory that the next gets of this thread look at first into the processor's caches,
 * for all these ids together. It acts on small records in mapped chunks only. At most so many ids
 * may be given at a time. */
#define CW_CACHE_CPU_PREFETCH 32
void cw_cache_cpu_prefetch(struct cw_cache_dataset *dataset, const uint64_t *ids, size_t n);
/* Copies the record, to be written later. element NULL: a filter left the element out. cost_ns: the
 * time that computing it took; 0: unknown. Never waits. */
void cw_cache_put(struct cw_cache_dataset *dataset, uint64_t id, const struct cw_element *element,
                  int64_t cost_ns);

/* ---- counters ---- */
struct cw_cache_counts { /* counters of a dataset, since it was made */
    uint64_t hits, misses, hit_bytes;
    uint64_t put, lost, written; /* numbers of records */
    uint64_t written_bytes, chunks_written;
    uint64_t records; /* number of records that exist now */
    uint64_t chunks, damaged;
    uint64_t get_ns;  /* time spent in cw_cache_get by hits, estimated from samples */
    uint64_t wait_ns; /* the part of get_ns spent waiting for the store */
};
void cw_cache_counts(const struct cw_cache_dataset *dataset, struct cw_cache_counts *ret_counts);
size_t cw_cache_memory_used(const struct cw_cache *cache);
/* Whether any record waits to be written or is being written. */
bool cw_cache_is_writing(const struct cw_cache *cache);

#endif
