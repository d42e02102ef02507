/* SPDX-License-Identifier: Apache-2.0 */
/* A file of a few blocks, a directory and a store for source caches. */
#ifndef CW_TESTS_UNIT_CACHE_SOURCE_WORLD_H
#define CW_TESTS_UNIT_CACHE_SOURCE_WORLD_H

#include "cache/source/block_cache.h"
#include "support/cm.h"

#define BLOCK CW_SOURCE_BLOCK_BYTES
#define BYTES (5 * BLOCK + 12345)
#define BLOCKS 6

struct world {
    char root[64], path[96], dir[96], store[128];
    char *bytes; /* of the file */
    struct cw_io_file io;
    struct cw_source_file file;
};

/* For cmocka: before and after each test. */
int source_begin(void **state);
int source_end(void **state);

/* Another file in its place: its bytes and time depend on seed. It is to be opened anew. */
void write_source(struct world *w, uint64_t seed, int64_t age_s);
void open_source(struct world *w);

struct cw_source_cache *new_cache(const struct cw_source_cache_options *o);
struct cw_source_counts counts_of(struct cw_source_cache *c, enum cw_source_tier tier);
uint64_t origin_reads(struct cw_source_cache *c);
void wait_written(struct cw_source_cache *c);
/* What is read must be as the file is. */
void read_range(struct world *w, struct cw_source_cache *c, uint64_t offset, size_t n);
void read_all(struct world *w, struct cw_source_cache *c);
unsigned tiers_of(struct world *w, struct cw_source_cache *c, uint64_t block, bool load);
/* Until every block is known to be there: another's packs are found by listing. */
void wait_found(struct world *w, struct cw_source_cache *c, unsigned tier);

/* ---- files under a directory ---- */

typedef void file_fn(void *arg, const char *path, uint64_t bytes);
void each_file(const char *root, file_fn *fn, void *arg);
uint64_t bytes_under(const char *root);
/* arg: where a bit is flipped, as a share of the file (double); below 0 = near its end. */
void source_flip(void *arg, const char *path, uint64_t bytes);
void source_cut(void *arg, const char *path, uint64_t bytes); /* in half */

#endif
