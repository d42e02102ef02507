/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of a process that computes: records of nodes read from chunks, and written behind.
 *
 *   exec threads   get a record or nothing, put what they computed; neither waits for the store
 *                  longer than it must
 *   store threads  read ahead, write chunks
 *   the owner      (worker/cache/worker_cache.c) says which chunks exist, and is told of those
 *                  that were written
 *
 * It is a cache: nothing that happens to a store makes a get or put fail. What cannot be read is
 * computed, what cannot be written is lost and counted. Memory: one limit for everything that
 * waits to be written or was read ahead. */
#ifndef CW_CACHE_RECORD_RECORD_CACHE_H
#define CW_CACHE_RECORD_RECORD_CACHE_H

#include "base/arena.h"
#include "cache/record/chunk_verify.h"
#include "cache/store/store.h"
#include "data/element.h"

struct cw_cache;
struct cw_cache_dataset; /* the records of one node of a pipeline; refcounted */

enum cw_cache_event_kind {
    CW_CACHE_WRITTEN, /* a chunk is in the store */
    /* records were lost: `why` says that memory or the store was full, or the store away */
    CW_CACHE_LOST,
    CW_CACHE_DAMAGED, /* a chunk failed its checks and is not used any more */
    CW_CACHE_GONE,    /* a chunk was removed from the store: evicted, or by hand */
    CW_CACHE_AWAY,    /* the store does not answer */
    CW_CACHE_BACK     /* the store answers again */
};
struct cw_cache_event {
    enum cw_cache_event_kind kind;
    const struct cw_cache_dataset *dataset; /* NULL: AWAY, BACK */
    const char *name;                       /* WRITTEN, DAMAGED, GONE: the chunk's, with tenant */
    uint64_t records, bytes;                /* WRITTEN: of the chunk; LOST: records */
    /* WRITTEN: what computing its records took on their threads, as cw_cache_put was told */
    uint64_t cost_ns;
    const char *why; /* of the other kinds; NULL for WRITTEN and BACK */
};
/* On a store thread; must not wait, and must not call the cache. */
typedef void cw_cache_event_fn(void *arg, const struct cw_cache_event *event);

struct cw_cache_options {
    /* bytes for records that wait to be written and frames in memory; 0: 256 MiB */
    size_t memory;
    size_t chunk_bytes; /* size of a chunk; 0: 64 MiB. At most a quarter of memory */
    int level;          /* of compression (format/chunk.h) */
    cw_cache_event_fn *event;
    void *event_arg;
};
/* Takes the store (closed with the cache). */
struct cw_cache *cw_cache_new(struct cw_store *store,
                              const struct cw_cache_options *options) CW_MUST_CHECK;
/* Records that wait are written first, for at most wait_ms; the others are lost. No get or put may
 * be under way. Datasets may outlive the cache; gets find nothing in them then. Accepts NULL. */
void cw_cache_free(struct cw_cache *cache, int64_t wait_ms);
struct cw_store *cw_cache_store(struct cw_cache *cache);

/* The dataset of a tenant and key, made if there is none. tenant "" is "default". The caller gets a
 * reference. */
struct cw_cache_dataset *cw_cache_dataset(struct cw_cache *cache, const char *tenant,
                                          struct cw_hash key, const struct cw_spec *spec);
struct cw_cache_dataset *cw_cache_dataset_ref(struct cw_cache_dataset *dataset);
struct cw_cache_dataset *cw_cache_dataset_unref(struct cw_cache_dataset *dataset); /* NULL */
struct cw_hash cw_cache_dataset_key(const struct cw_cache_dataset *dataset);
const char *cw_cache_dataset_tenant(const struct cw_cache_dataset *dataset);
/* Chunks of the dataset that exist in the store (names with tenant). Loaders read their indices;
 * then their records are found. Names that are known are skipped. */
void cw_cache_dataset_add(struct cw_cache_dataset *dataset, const char *const *names, size_t n);
/* Chunks that were removed from the store, or will be. */
void cw_cache_dataset_remove(struct cw_cache_dataset *dataset, const char *const *names, size_t n);
/* Whether all chunks that were added are open or given up. */
bool cw_cache_dataset_is_loaded(const struct cw_cache_dataset *dataset);
/* Has the records that wait written, however few; of all datasets when NULL. Does not wait. */
void cw_cache_flush(struct cw_cache *cache, struct cw_cache_dataset *dataset);

/* ---- exec threads ---- */

/* Pins: what keeps the memory of records valid after a get. Zeroed at first, one for each thread;
 * unpinned when the elements are done. */
#define CW_CACHE_PINS 32
struct cw_cache_pins {
    void *refs[CW_CACHE_PINS];
    size_t n;
};
void cw_cache_unpin(struct cw_cache_pins *pins);
/* To be asked before what was made from records in the hold is believed, kept or handed on, and
 * before an error that they led to is: whether they stayed what they were. A mapped file may
 * have been cut short meanwhile, or its disk may have failed, which leaves zeros where records
 * were. false: make it again; the chunk is retired, so that its records are misses from now on. */
bool cw_cache_is_intact(const struct cw_cache_pins *pins);
enum cw_cache_found { CW_CACHE_MISS = 0, CW_CACHE_HIT = 1, CW_CACHE_LEFT_OUT = 2 };
/* The record of an element: fields are views of the chunk (read-only, valid until release, to be
 * believed if cw_cache_is_intact says so). Waits for a read under way, at most the store's
 * timeout. Sets fields and n, not id and rep. */
enum cw_cache_found cw_cache_get(struct cw_cache_dataset *dataset, uint64_t id,
                                 struct cw_cache_pins *pins, struct cw_element *element);
/* Whether the record is known to exist (it may still turn out to be damaged). Never waits. */
bool cw_cache_has(struct cw_cache_dataset *dataset, uint64_t id);
/* Announces gets of these ids: their frames are read ahead, in this order. */
void cw_cache_prefetch(struct cw_cache_dataset *dataset, const uint64_t *ids, size_t n);
/* Whether that is worth telling it of each record: of small ones in mapped chunks it is not, the
 * kernel reads their neighbours with them. */
bool cw_cache_wants_prefetch(const struct cw_cache_dataset *dataset);
/* The next gets of this thread will be of these: brings what they look at first into the
 * processor's caches, all together. For small records in mapped chunks; of others nothing. At
 * most so many at a time. */
#define CW_CACHE_CPU_PREFETCH 32
void cw_cache_cpu_prefetch(struct cw_cache_dataset *dataset, const uint64_t *ids, size_t n);
/* Copies the record, to be written later. element NULL: a filter left it out. cost_ns: what
 * computing it took; 0: unknown. Never waits. */
void cw_cache_put(struct cw_cache_dataset *dataset, uint64_t id, const struct cw_element *element,
                  int64_t cost_ns);

/* ---- counters ---- */
struct cw_cache_counts { /* of a dataset, since it was made */
    uint64_t hits, misses, hit_bytes;
    uint64_t put, lost, written; /* records */
    uint64_t written_bytes, chunks_written;
    uint64_t records; /* that exist now */
    uint64_t chunks, damaged;
    uint64_t get_ns;  /* time spent in cw_cache_get by hits, sampled */
    uint64_t wait_ns; /* of get_ns, waiting for the store */
};
void cw_cache_counts(const struct cw_cache_dataset *dataset, struct cw_cache_counts *ret_counts);
size_t cw_cache_memory_used(const struct cw_cache *cache);
/* Whether anything waits to be written or is being written. */
bool cw_cache_is_writing(const struct cw_cache *cache);

#endif
