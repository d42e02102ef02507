/* SPDX-License-Identifier: Apache-2.0 */
/* The best plan for a chain of operators: their order, what is cached, and how many workers, found
 * together (docs/optimizing.md). What an operator costs depends only on the set of those before it, so
 * one pass over the sets that are closed downwards gives the cheapest ways to each of them, one from
 * the end the cheapest ways onwards; each set behind which a cache may stand is then priced with every
 * number of workers. Where there are too many sets, those that promise most are looked at
 * (optimize_beam.h). Pure functions. */
#ifndef CW_POLICIES_OPTIMIZE_H
#define CW_POLICIES_OPTIMIZE_H

#include <stdbool.h>
#include "base/err.h"
#include "policies/cost_line.h"

#define CW_OPTIMIZE_NODES_MAX 62
#define CW_OPTIMIZE_FIELDS_MAX 16
#define CW_OPTIMIZE_SETS_MAX (((size_t)1 << 20) + 1)
#define CW_OPTIMIZE_PROMISING_SETS ((size_t)1 << 15) /* are looked at where there are more */
#define CW_OPTIMIZE_NO_CACHE SIZE_MAX
#define CW_OPTIMIZE_CACHED_MAX 16
#define CW_OPTIMIZE_BRANCHES_MAX 16
/* In place of a place, the first of those of a cache within what the first node stands for: that of branches[0]. */
#define CW_OPTIMIZE_INSIDE ((size_t)CW_OPTIMIZE_NODES_MAX + 2)
/* Elements with more bytes are not worked on many at once (exec/row_block.h). */
#define CW_OPTIMIZE_ROW_BYTES_MAX 2048

/* An operator. An element costs a thread ns + ns_byte * b of its time, and cpu_ns + cpu_ns_byte * b of
 * the processor's, where b are the bytes of the fields that the operator reads. */
struct cw_optimize_node {
    const char *name;
    double ns, ns_byte, cpu_ns, cpu_ns_byte;
    uint32_t reads;                       /* fields, as bits */
    double ratio[CW_OPTIMIZE_FIELDS_MAX]; /* bytes of each field behind it over those before it */
    uint32_t adds;    /* fields that there are only behind it; their ratio here is not used */
    double keep;      /* the share of elements that passes, 0 to 1 */
    uint64_t behind;  /* bit i: it stays behind the node at place i of the written order */
    bool uncacheable; /* no cache may stand behind it, nor anywhere further on */
    /* It makes the part of an image that one of the operators `crops` (places, as bits; 0: of none) needs. If a
     * cache stands before all of them it makes the whole: at these costs, with so many times the bytes of these
     * fields. */
    uint64_t crops;
    struct cw_optimize_whole {
        double ns, ns_byte, cpu_ns, cpu_ns_byte, grows;
    } whole;
    uint32_t whole_fields;
    /* Operators (places, as bits) that are not called if they stand directly before it, since it gives the same
     * without them, of what comes to them. Its own place: it has no effect, and is never called. */
    uint64_t folds;
    /* It may work on many elements at once, and does so if only such ones stand between it and the batch (or the end,
     * where nothing makes batches), and no cache: at these costs of an element. */
    bool by_batch;
    struct cw_optimize_batch {
        bool is_known; /* else it costs what it costs for one */
        double ns, ns_byte, cpu_ns, cpu_ns_byte;
    } batch;
    bool is_batch; /* it makes batches of elements */
};
/* Filters that were shown elements that others leave out: what passes several of them is known for each set. */
struct cw_optimize_filters {
    size_t n;
    uint8_t place[CW_FILTERS_MAX];
    /* By the filters of a set, as bits of their numbers here: the share of the elements that pass all of them. */
    double share[CW_FILTER_SETS];
};
struct cw_optimize_store { /* of a cache; times are those of a thread */
    double read_ns, read_byte_ns, write_ns, write_byte_ns;
    double read_bytes_s, write_bytes_s; /* of all workers together; 0: no limit */
    double free_bytes;                  /* < 0: no limit */
};
/* What is in the cache already: of the elements behind these nodes, this part, 0 to 1. */
struct cw_optimize_cached {
    uint64_t set; /* places of the written order, as bits */
    double share;
};
/* A node of those that the first node of the chain stands for (in a branch of a zip), behind which a cache may stand.
 * What the first node costs has in it what it takes to make an element there. */
struct cw_optimize_branch {
    const char *name;
    double ns, cpu_ns;             /* to make an element there */
    double whole_ns, whole_cpu_ns; /* the same where it is cached: images are made whole then */
    double bytes;                  /* of one that is cached */
    double share;                  /* of the elements, in the cache already */
};
struct cw_optimize_problem {
    struct cw_optimize_node nodes[CW_OPTIMIZE_NODES_MAX]; /* in the written order */
    size_t n;
    struct cw_optimize_filters filters;
    size_t fields_n;
    /* Of an element of the source, by field; of a field that an operator adds: behind that one. */
    double bytes[CW_OPTIMIZE_FIELDS_MAX];
    uint64_t cache_needs;           /* nodes before which no cache may stand */
    double elements;                /* of an epoch of the source */
    double epochs;                  /* at least 1 */
    double threads;                 /* of a worker, at least 1 */
    double cores;                   /* of a worker; 0: as many as its threads can use */
    unsigned remote_max, local_max; /* workers that may be used; at least one in all */
    bool has_store;
    struct cw_optimize_store store;
    struct cw_optimize_cached cached[CW_OPTIMIZE_CACHED_MAX];
    size_t cached_n;
    struct cw_optimize_branch branches[CW_OPTIMIZE_BRANCHES_MAX];
    size_t branches_n;
    double source_bytes, source_bytes_s; /* read of an element; rate of the source, 0: no limit */
    double network_bytes_s;              /* from remote workers; 0: no limit */
    double trainer_ns;                   /* the trainer's own time for an epoch */
    double other_ns;                     /* what an epoch takes besides */
    double element_ns; /* what an element of the source takes threads besides its operators */
    double worker_price, trainer_price; /* an hour, in one currency */
    double store_price;                 /* of a GB (10^9 bytes) in the cache, an hour */
    bool least_money; /* the least money is looked for first, then the least time */
    /* Operators are called one by one for each element: none makes a part of an image, or does the work of another
     * one. */
    bool apart;
    /* Of plans that are alike in time, money and workers, the one with the least work of threads is
     * better: what it saves is free for others. */
    bool least_work;
};

/* What decides how long an epoch takes. */
enum cw_optimize_bound {
    CW_BOUND_THREADS,
    CW_BOUND_CPU,
    CW_BOUND_SOURCE,
    CW_BOUND_STORE,
    CW_BOUND_NETWORK,
    CW_BOUND_TRAINER
};
#define CW_BOUNDS_N (CW_BOUND_TRAINER + 1)
struct cw_optimize_plan {
    size_t order[CW_OPTIMIZE_NODES_MAX]; /* places of the written order */
    /* A place of `order`, CW_OPTIMIZE_INSIDE + k for a cache at branches[k], or CW_OPTIMIZE_NO_CACHE. */
    size_t cache_after;
    unsigned remote, local;
    size_t moved;                        /* operators that do not stand where they were written */
    double thread_ns, cpu_ns;            /* of an element of the source, computed whole */
    double work_ns;                      /* of threads, for an element of the source, all epochs */
    double first_ns, epoch_ns, total_ns; /* the first epoch, the later ones, and all */
    double money;
    enum cw_optimize_bound bound; /* of the later epochs */
    size_t states;                /* sets that were looked at */
    size_t priced;                /* plans whose times were worked out, in the search */
    bool is_best;                 /* no plan is better; false: there was too much to look at */
    double gap;                   /* a better plan takes at most this part less time, 0 to 1 */
};

/* Returns the node of the problem behind which the plan has a cache, by name (which the problem owns); NULL: none. */
const char *cw_optimize_cached_name(const struct cw_optimize_problem *problem,
                                    const struct cw_optimize_plan *plan);
/* Prices a plan whose order, cache and workers are set. */
void cw_optimize_price(const struct cw_optimize_problem *problem, struct cw_optimize_plan *plan);
/* Whether the operator at place i of a plan's order need not be called (folds). */
bool cw_optimize_is_folded(const struct cw_optimize_problem *problem,
                           const struct cw_optimize_plan *plan, size_t i);
/* Finds the best plan: the least time of all epochs; among plans within 1 % of it the least money, then
 * the fewest workers, then the fewest operators moved. With least_money time and money change places. */
void cw_optimize(const struct cw_optimize_problem *problem, struct cw_optimize_plan *ret_plan);
/* The same, looking at so many sets at most, and if there are more, at about so many of those that promise most. */
void cw_optimize_within(const struct cw_optimize_problem *problem, size_t at_most,
                        size_t most_promising, struct cw_optimize_plan *ret_plan);

#endif
