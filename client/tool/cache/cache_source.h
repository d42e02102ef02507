/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of source files, loaded or looked up by the workers. `cachew cache warm` and `cachew cache
 * status` share this. */
#ifndef CW_CLIENT_TOOL_CACHE_CACHE_SOURCE_H
#define CW_CLIENT_TOOL_CACHE_CACHE_SOURCE_H

#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"
#include "data/identity.h"

/* Patterns from the command line and from the sources of pipeline files. */
struct tool_sources {
    char **v;
    size_t n, cap;
    enum cw_identity identity; /* The identity of source files by which blocks are found. */
};
void tool_sources_fini(struct tool_sources *sources);

/* The arguments that both commands take: [SOURCE...], --pipeline, --dispatcher. */
struct tool_source_args {
    const char *dispatcher, *cache;
    struct cw_arg_list pipelines;
};
#define TOOL_ROW_PIPELINE(target)                                                                  \
    {                                                                                              \
        "pipeline", 'p', CW_ARG_LIST, (target), "FILE",                                            \
            "a pipeline: the files that its sources read; may stand several times", 0, 0           \
    }
/* args is the target of the table's rows. If it returns true, the caller frees *ret_sources. Errors
 * are printed. */
bool tool_source_parse(const struct cw_args_spec *spec, int argc, char **argv,
                       const struct tool_source_args *args, struct tool_sources *ret_sources,
                       int *ret_exit);

struct tool_source_sum {
    uint64_t blocks, bytes;
    uint64_t files; /* not those that are empty; 0: the workers are too old to say it */
    /* The bytes that are in the tier that counts, and in each tier. */
    uint64_t cached, memory, dir, store;
    uint64_t read; /* The bytes that were read from the files in order to load them. */
};
/* Is called for each report of a worker. A result other than 0 ends the run. */
typedef int tool_source_report_fn(void *arg, const struct tool_source_sum *sum);
struct tool_source_run {
    const char *dispatcher, *cache;
    const struct tool_sources *sources;
    unsigned counts; /* The tier whose bytes are counted, as a bit of format/source_file.h. */
    bool load;
    tool_source_report_fn *on_report; /* The function that gets each report; it may be NULL. */
    void *report_arg;
};
/* Returns TOOL_OK, or the exit code of the program. Errors are printed. */
int tool_source_run(const struct tool_source_run *run, struct tool_source_sum *ret_sum);

/* One tier of the source caches of all workers together. */
struct tool_source_tier {
    uint64_t bytes, capacity, pending;
    size_t workers; /* The number of workers that have the tier. */
};
enum { TOOL_TIERS = 4 };
struct tool_source_fleet {
    uint64_t cache_id;
    struct tool_source_tier tiers[TOOL_TIERS]; /* The tiers memory, dir, store and source. */
    /* The number of all workers, with or without a source cache. */
    size_t workers;
    size_t hosts; /* The number of hosts whose workers have a directory. */
    Cachew__V1__ListWorkersReply *reply;
};
/* cache_id: the cache whose store is the tier `store`. */
int tool_source_fleet(const char *dispatcher, uint64_t cache_id,
                      struct tool_source_fleet *ret_fleet, struct cw_err *err);
/* Finds the cache of this name ("": the default one): its id, and the bytes of its store that may hold
 * blocks. A dispatcher without a cache, or an older one, has a default one with the id 0. */
int tool_source_cache(const char *dispatcher, const char *cache, uint64_t *ret_id,
                      uint64_t *ret_quota, struct cw_err *err);
void tool_source_fleet_fini(struct tool_source_fleet *fleet);
/* Returns the tier that decides whether a block counts as cached: the store, or else the directory,
 * or else memory. 0: no worker has a source cache. */
unsigned tool_source_counts(const struct tool_source_fleet *fleet);
const char *tool_source_counts_name(unsigned tier);
double tool_source_percent(uint64_t part, uint64_t whole);

#endif
