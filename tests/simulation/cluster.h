/* SPDX-License-Identifier: Apache-2.0 */
/* A service and its trainers as actors, and what each of them must see. */
#ifndef SIM_CLUSTER_H
#define SIM_CLUSTER_H

#include "admin.h"
#include "program.h"
#include "trainer.h"

#define SIM_DISPATCHERS_MAX 2
#define SIM_WORKERS_MAX 5
#define SIM_TRAINERS_MAX 9
#define SIM_SEATS_MAX (SIM_DISPATCHERS_MAX + SIM_WORKERS_MAX + SIM_TRAINERS_MAX)
#define SIM_DISPATCHER_HOST "dispatcher" /* of all dispatchers */
#define SIM_DISPATCHER_ADDRESS SIM_DISPATCHER_HOST ":7070"
#define SIM_S INT64_C(1000000000)
#define SIM_MS INT64_C(1000000)

enum sim_kind { SIM_DISPATCHER, SIM_WORKER, SIM_TRAINER, SIM_KINDS_N };
#define SIM_CONTROLLER SIM_KINDS_N /* a program without a seat (controlled.c) */

/* A place for an actor: when that dies another takes its place. */
struct sim_seat {
    struct sim_actor *actor; /* NULL: none yet */
    enum sim_kind kind;
    int number, incarnation;
    char address[64];    /* where a worker listens */
    bool wanted;         /* is to be alive */
    bool is_safe;        /* nobody kills or stops it */
    bool is_leaving;     /* the actor was told to end */
    bool (*leads)(void); /* a dispatcher's sim_dispatcher_leads, in worlds with a lease */
    void (*ask)(uint64_t *ret_leased, uint64_t *ret_outputs); /* a worker's sim_worker_held */
    struct sim_trainer *trainer;
    int64_t waits_ns; /* progress.c: since when it waits for what it can take; 0: it does not */
};

struct sim_cluster {
    struct sim_seat seats[SIM_SEATS_MAX];
    size_t seats_n;
    bool has_store;          /* of the cache below, or of named ones (named.h) */
    const char *cache_store; /* NULL = none; the rest are options of the dispatcher about it */
    const char *autocache, *evict;
    uint64_t cache_quota; /* 0 = none */
    unsigned chunk_bytes;
    struct sim_trainer *former; /* whom others have followed */
    int commands;               /* so far */
    uint64_t cache_hits;        /* as it was last told */
    bool is_calm;     /* nothing fails: a dispatcher knows without a listing what is in the store */
    bool disk_fills;  /* the dispatcher's disk may be full for a while */
    bool is_open;     /* the dispatcher has no tokens: everybody may do everything */
    bool is_quiet;    /* only workers are harmed: who has a place keeps it */
    int64_t whole_ns; /* since when nothing fails; SIM_NEVER: something may */
    int64_t looked_ns, waited_ns; /* progress.c: when it looked; the longest that anybody waited */
    size_t connections;           /* to the dispatcher, of others than those with a seat */
    char apart[2][32]; /* hosts of a trainer and a worker that never meet; "": there are none */
};

void sim_programs_open(const char *directory);
struct sim_seat *sim_cluster_add(struct sim_cluster *cluster, enum sim_kind kind, int number);
/* An actor with such a program, which has no seat; its name is the host's. */
struct sim_actor *sim_cluster_spawn(enum sim_kind program, const char *entry, const char *host,
                                    void *arg);
/* Whether the workers of this world have a small budget. */
bool sim_is_short_of_memory(void);
struct sim_args *sim_worker_args(const struct sim_cluster *cluster, const char *dispatcher,
                                 const char *listen);
/* Parts the two hosts of cluster->apart. */
void sim_cluster_part(const struct sim_cluster *cluster);
/* Starts a new actor in the seat. */
void sim_seat_start(struct sim_cluster *cluster, struct sim_seat *seat);
/* An actor for one command; world memory. bytes: of SIM_COMMAND_EVICT. */
struct sim_admin *sim_admin_start(struct sim_cluster *cluster, enum sim_command command,
                                  uint64_t bytes);
/* The same in two steps, between which the caller says more. */
struct sim_admin *sim_admin_new(enum sim_command command);
void sim_admin_run(struct sim_cluster *cluster, struct sim_admin *admin);
bool sim_seat_is_alive(const struct sim_seat *seat);
/* A trainer's seat: whether it has got all that it is to get. */
bool sim_seat_is_done(const struct sim_seat *seat);
/* All trainers are done, and have ended; or one has failed. */
bool sim_cluster_is_done(const struct sim_cluster *cluster);

/* ---- jobs.c ---- */
/* What one job is; trainers of one job differ in their consumer only. */
struct sim_job {
    const char *label, *pipeline;
    bool is_sparse, is_cached;
    uint64_t seed, epochs, window; /* window: 0 = the dispatcher's choice */
    bool unordered, at_most_once;
    bool is_counted;     /* shared, at most once: nobody that counts is harmed */
    int mode, consumers; /* cachew_consumer_mode */
    char name[64];
    const char *cache; /* a named one; NULL = it names none */
};
/* One drawn by the world's seed. `number` is the job's in this world. */
struct sim_job sim_job_draw(int number);
struct sim_trainer *sim_job_trainer(const struct sim_job *job, int consumer);

/* ---- reference.c ---- */
/* What one consumer gets of the job, ordered, when nothing fails: computed once. Runs a world, so
 * there must be none. */
const struct sim_list *sim_reference(const struct sim_job *job);

struct sim_verdict {
    uint64_t lost, repeated, wrong, batches, epochs, leaves;
    uint64_t sparse_epochs, reconnects; /* reconnects: to a dispatcher, of the last processes */
    uint64_t left_out, left_out_sparse, left_out_shared; /* elements, at most once */
};
/* Compares what the job's trainers were given with the reference; adds to verdict. */
void sim_judge(const struct sim_job *job, struct sim_trainer *const *trainers, size_t n,
               struct sim_verdict *verdict);
/* The same for one whom others have followed (elastic.c). */
void sim_judge_former(const struct sim_job *job, const struct sim_trainer *t,
                      struct sim_verdict *verdict);

/* ---- elastic.c ---- */
/* Of a job whose trainers are dead and stand at one step: it goes on with so many consumers, from
 * the token of one of them, under another name. False: not this job. */
bool sim_job_resize(struct sim_cluster *cluster, int job, int consumers);

#endif
