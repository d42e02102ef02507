/* SPDX-License-Identifier: Apache-2.0 */
/* For bench_cached.c: plain loops over the records of chunk files, as somebody would write them
 * who needs nothing but the bytes. */
#ifndef CW_TESTS_BARE_CACHED_H
#define CW_TESTS_BARE_CACHED_H

#include "cache/record/record_cache.h"

#define BARE_DEPTH 8                 /* reads in flight, as many as a store has threads */
#define BARE_BLOCK ((size_t)1 << 20) /* what neighbours are read in */

enum bare_kind { BARE_MAP, BARE_READ, BARE_GLUSTER };

struct bare_record {
    uint32_t chunk;
    uint64_t offset;
    uint64_t frame, frame_bytes; /* where its frame is in the file */
};
struct bare {
    enum bare_kind kind;
    const char *url; /* of the store whose files these are */
    char *const *names;
    size_t names_n, record_bytes, records_n;
    struct bare_record *records; /* by id */
    /* ids; NULL: the files from begin to end in blocks, or record after record when they are
     * mapped */
    const uint64_t *order;
    /* The sum of each frame is computed before its records are brought: what whoever verifies as
     * much as the cache does at first reads must pay. Of mapped files in order. */
    bool with_sums;
    unsigned char *ring;
    size_t ring_bytes;
    void *const *opened;
    uint64_t *bytes; /* of the files */
};

/* Reads the indices through `store`. */
void bare_open(struct bare *bare, struct cw_store *store);
void bare_close(struct bare *bare);
/* Seconds it takes to bring all records into the ring; files are opened and mapped before. */
double bare_run(const struct bare *bare);
void bare_die(const char *what, const struct cw_err *err);

#endif
