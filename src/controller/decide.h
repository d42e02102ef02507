/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be done about a CacheBackend, and what its status is to say: a pure function of what is
 * seen. It may be asked at any moment, and after any failure, and gives the same answer for the same
 * sight; nothing in it remembers. */
#ifndef CW_CONTROLLER_DECIDE_H
#define CW_CONTROLLER_DECIDE_H

#include "controller/cachebackend.h"
#include "controller/engine.h"
#include "controller/facts.h"
#include "controller/fluid_facts.h"

enum cw_todo {
    CW_DO_ADD_FINALIZER = 1u << 0,
    CW_DO_PREPARE = 1u << 1, /* the engine */
    CW_DO_ATTACH = 1u << 2,  /* to the dispatcher, or change its options there */
    CW_DO_WRITE_MAP = 1u << 3,
    CW_DO_RELEASE_JOB = 1u << 4,
    CW_DO_PREFETCH = 1u << 5,
    CW_DO_CLOSE = 1u << 6,  /* ask the dispatcher to close it if nobody has used it; then delete */
    CW_DO_DELETE = 1u << 7, /* the CacheBackend, which has no cache to close */
    CW_DO_OWNS = 1u << 8,   /* ask the engine whether what lies there is its own */
    CW_DO_DETACH = 1u << 9, /* and delete the files, or with detach_keeps leave them */
    CW_DO_ERASE = 1u << 10,
    CW_DO_DELETE_MAP = 1u << 11,
    CW_DO_DROP_FINALIZER = 1u << 12,
    CW_DO_MAKE_CLAIM = 1u << 13, /* and its volume */
    CW_DO_DELETE_CLAIM = 1u << 14,
    CW_DO_WRITE_DATASET = 1u << 18, /* make it, or change its spec; as the others of Fluid */
    CW_DO_WRITE_RUNTIME = 1u << 19,
    CW_DO_DELETE_DATASET = 1u << 20,
    CW_DO_DELETE_RUNTIME = 1u << 21
};
#define CW_DO_FLUID                                                                                \
    (CW_DO_WRITE_DATASET | CW_DO_WRITE_RUNTIME | CW_DO_DELETE_DATASET | CW_DO_DELETE_RUNTIME)

/* What the ConfigMap of the CacheBackend's name is. */
enum cw_map_state {
    CW_MAP_NONE,
    CW_MAP_RIGHT,
    CW_MAP_WRONG /* ours, with other data */,
    CW_MAP_TAKEN
};

/* What the PersistentVolumeClaim of the CacheBackend's name is. */
enum cw_claim_state {
    CW_CLAIM_UNSUPPORTED, /* this controller makes none */
    CW_CLAIM_NONE,
    CW_CLAIM_PENDING,
    CW_CLAIM_BOUND,
    CW_CLAIM_LOST, /* its volume has gone */
    CW_CLAIM_TAKEN
};

#define CW_POD_USERS_MAX 100 /* of whom the names are looked at */
struct cw_sight {
    int64_t now_ms; /* wall time */
    const struct cw_cachebackend *b;
    const struct cachew_engine *engine; /* NULL: there is none of that name; engine_why says so */
    const char *engine_why;             /* "": it is not known yet */
    int place; /* a verdict: READY or REFUSED; place_answer says where, or why not */
    const struct cachew_engine_answer *place_answer;
    struct cw_step prepare, owns, erase, attach, detach;
    /* Whether the dispatcher has answered a while ago or less; if not, why. */
    bool dispatcher_known, dispatcher_away;
    bool
        attach_unsure; /* an attachment was asked for, and the dispatcher has not told since what it has */
    const char *dispatcher_why;
    const struct cw_cache_facts *cache;   /* this one's, where it lies; NULL: none */
    const struct cw_cache_facts *another; /* of the same name, and not this one's; NULL: none */
    enum cw_map_state map;
    enum cw_claim_state claim;
    const struct cw_fluid_sight *fluid; /* NULL: the engine is another one */
    const char *const *pods; /* that have the claim, with mountPath: the first ones by name */
    size_t pods_n;           /* all of them */
    const struct cw_job_facts *job; /* of jobRef; NULL: it is not seen */
    struct cw_step prefetch;
    int64_t prefetch_percent; /* cached so far; -1: not known */
    const char *warming;      /* what prefetch warms or has warmed (to_warm); NULL or "": nothing */
};

struct cw_condition {
    const char *type;
    enum { CW_FALSE, CW_TRUE, CW_UNKNOWN } status;
    char reason[64], message[600];
    bool counts; /* the message tells how far it is: it is a figure, not a state */
};
#define CW_CONDITIONS_MAX 6
struct cw_decision {
    unsigned todo; /* enum cw_todo */
    bool detach_keeps;
    bool forced; /* the finalizer goes although bytes may stay */
    int64_t
        again_ms; /* wall time at which it is to be asked again even if nothing changed; 0: never */
    const char *word; /* status.cacheStatus; "": the status stays as it is */
    struct cw_condition conditions[CW_CONDITIONS_MAX];
    size_t conditions_n;
    const char *message;      /* of status: the first thing that is not as it should be; borrowed */
    const char *released_job; /* uid; NULL: none. Borrowed */
    bool job_is_user;
    int64_t last_used_ms, expire_ms; /* 0: none */
};
void cw_decide(const struct cw_sight *sight, struct cw_decision *ret_plan);
/* Whether all that is to be warmed now was warmed, by this controller or one before it. */
bool cw_sight_is_warm(const struct cw_sight *sight);

#endif
