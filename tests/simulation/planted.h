/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes that are planted to see whether the simulation finds them: run --plant NAME. Product
 * code knows nothing of them. The linker leads its calls to planted_*.c (--wrap), or a file of the
 * product is compiled with one call made another (planted_*_variant.c); without a mistake both do
 * what the product does. */
#ifndef SIM_PLANTED_H
#define SIM_PLANTED_H

#include "sim.h"

enum sim_mistake {
    SIM_PLANTED_NONE,
    SIM_PLANTED_PROMISE, /* what is promised is told before it is stored */
    SIM_PLANTED_OUTPUT,  /* a worker loses an output */
    SIM_PLANTED_SYNC,    /* a disk says that it has written what it has not */
    SIM_PLANTED_GONE,    /* 1 of the model: what a lost worker held is not freed */
    SIM_PLANTED_BROKEN,  /* 2: a client does not report a broken link to a worker */
    SIM_PLANTED_WINDOW,  /* 3: the window is ignored */
    SIM_PLANTED_RETURN,  /* 4: a client that comes back does not say what it has */
    SIM_PLANTED_TWICE,   /* 5: duplicates are not dropped by number */
    SIM_PLANTED_AHEAD,   /* 6: a token is ahead of what was consumed */
    SIM_PLANTED_LEASED,  /* 7: a client that comes back does not free what is leased */
    SIM_PLANTED_BYE,     /* the Bye of a client that waits for a place takes it from who has it */
    SIM_PLANTED_DELETES, /* deletes of a transaction that failed are not done again */
    SIM_PLANTED_SPARSE,  /* a sparse batch that needs more items than the window waits for ever */
    SIM_PLANTED_ACK,     /* an acknowledgement is lost */
    SIM_PLANTED_LATE,    /* a token is one batch behind what was consumed */
    SIM_PLANTED_FENCE,   /* no generations, and a lock that who stands still loses */
    /* of a store, and of those who use it */
    SIM_PLANTED_UNSYNCED, /* a store says that a file is flushed, and has not flushed it */
    SIM_PLANTED_HALF,     /* a write that failed counts as done: half of a chunk is published */
    SIM_PLANTED_CHECKSUM, /* checksums of what is read from chunks are not looked at */
    SIM_PLANTED_KEY,      /* chunks of all nodes of all pipelines have one key */
    SIM_PLANTED_KEPT,     /* the file of a chunk that is evicted stays */
    SIM_PLANTED_TEMP,     /* what a dead writer has left stays */
    /* of named caches */
    SIM_PLANTED_STAYS,  /* a worker says that it has left a cache, and has its store on */
    SIM_PLANTED_UNTOLD, /* a worker that comes back is not told of caches that were detached */
    /* of jobs whose consumers or items go */
    SIM_PLANTED_LEFT,      /* items of a consumer that has left a shared job stay its own */
    SIM_PLANTED_UNCOUNTED, /* an item that is left out is not counted */
    SIM_PLANTED_UNREACHED, /* a worker that a client cannot reach is leased its items all the same */
    SIM_PLANTED_HEDGES,    /* nothing limits how many items are hedged */
    SIM_PLANTED_WAITS,     /* while one of several consumers is away, the others get nothing */
    SIM_PLANTED_BUDGET,    /* the memory of an output that was sent is not given back */
    SIM_PLANTED_ROOM,      /* a client grants credit whatever is left of its buffer */
    SIM_PLANTED_QUEUE,     /* a write that waits is not replaced by a later one of the same row */
    SIM_PLANTED_N
};
__attribute__((visibility("default"))) int sim_planted(void);
/* By its name, or its number; false: there is none such. */
bool sim_plant(const char *mistake);
/* "" for SIM_PLANTED_NONE. */
const char *sim_mistake_name(int mistake);

#endif
