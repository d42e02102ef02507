/* SPDX-License-Identifier: Apache-2.0 */
/* How many workers a job should have, and where: autoscale policies decide the number of
 * workers, autoplace policies also how many of them run beside the trainer. Pure, like all
 * policies (policy.h): the caller measures windows, calls decide after each, keeps the state,
 * and carries the target out.
 *
 * A window is one stretch of a job's time in which its workers did not change and which is free
 * of what a change or an epoch's start leaves behind; one record, so that its parts always
 * belong together. */
#ifndef CW_POLICIES_SCALE_H
#define CW_POLICIES_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/err.h"
#include "base/str.h"

#define CW_SCALE_HISTORY 20

struct cw_scale_window {
    double at_s;       /* end of the window, on the caller's clock */
    double seconds;    /* length of the window */
    double batches;    /* number of batches that the trainer consumed in it */
    double wait_share; /* share of its time that the trainer waited for a batch, 0 to 1 */
    double queue;      /* mean number of batches that were ready for the trainer */
    /* the trainer's own time between two batches without waiting, median; 0 = unknown */
    double step_s;
    /* batches per second that one worker of this job computes at full speed; 0 = unknown */
    double rate;
    double cpu;           /* share of the workers' CPU that was used, 0 to 1 */
    double remote, local; /* workers that served during the whole window */
};
/* 0 means the default, which the comment names. */
struct cw_scale_options {
    double min_workers, max_workers; /* 1; no limit */
    double max_local;                /* 10 */
    double max_stall;                /* share of its time that the trainer may wait (0.05) */
    /* per hour; unless both are known, auto does not count cost */
    double client_price, worker_price;
    /* published constants */
    /* cachew: least gain to grow (0.07), loss accepted when shrinking (0.03). pecan: up 0.03 */
    double up, down;
    double stable_windows;            /* cachew: between checks (20) */
    double queue_growth, time_growth; /* cachew: that end stability (1.5) */
    double outlier;    /* windows with a larger change are ignored: cachew 1.2, pecan 1.3 */
    double error_bar;  /* pecan: slower by so much ends the local phase (0.10) */
    double cpu_target; /* hpa (0.8) */
    double settle_s;   /* hpa: the highest wish of so long counts when shrinking (300) */
    /* cachew: may settle at one worker; an empty queue does not block rescaling */
    bool fixed_quirks;
};
struct cw_scale_available {
    double remote; /* workers that the job has or could have */
    double local;  /* 0: the trainer's host allows none */
    /* of the remote ones, when it gets fewer than it wants because others have the rest; 0: as
     * many as it wants */
    double granted;
};
enum cw_scale_phase {
    CW_SCALE_BEGIN,
    CW_SCALE_REMOTE_UP,
    CW_SCALE_LOCAL_UP,
    CW_SCALE_REMOTE_DOWN,
    CW_SCALE_STABLE
};

/* What a policy remembers between decisions. Zeroed for a new job; for one that goes on after a
 * restart the target is set. Plain:
 * it can be stored. */
struct cw_scale_state {
    enum cw_scale_phase phase;
    double remote, local;                             /* the present target; 0, 0 = none yet */
    struct cw_scale_window history[CW_SCALE_HISTORY]; /* oldest first */
    size_t history_n;
    struct cw_scale_window converged;
    double calm; /* number of windows since the state is stable */
    /* pecan: workers when the phase began. auto: number of retries */
    double phase_count;
    /* auto */
    double demand;            /* batches per second that the trainer consumes without waiting */
    double floor;             /* this many workers were too few for the demand */
    double worker_rate, loss; /* rate of one worker alone; share lost with each further worker */
    /* placement: 1 = there are no remote workers to be had, and remote stands for local */
    double here;
    /* windows in a row that speak against the target; -1: one that says it is not enough,
     * against what is known */
    double doubt;
    /* autoplace auto */
    double needed;      /* number of workers that should suffice */
    double enough;      /* remote workers that sufficed with phase_count local ones; -1: unknown */
    double local_floor; /* this many local workers slowed the trainer down */
    double patience;    /* trials in a row, while stable, that changed nothing */
    struct cw_scale_window rest; /* medians while stable; 0 seconds: none yet */
};
struct cw_scale_decision {
    double remote, local; /* how many workers the job should have */
    bool changed;         /* the target differs from the one before */
    bool settled;         /* the policy has nothing to try for now */
    struct cw_str reason; /* one sentence; empty while nothing is decided */
};
void cw_scale_decision_fini(struct cw_scale_decision *decision);

struct cw_scale_policy {
    const char *name, *summary;
    bool places; /* it also decides about local workers */
    /* it needs no measurements: it may be asked at once, with a zeroed window */
    bool at_once;
    /* argument: the part of the option behind ':' ("fixed:4"), or NULL. */
    int (*decide)(const struct cw_scale_window *window, const struct cw_scale_available *available,
                  const struct cw_scale_options *options, const char *argument,
                  struct cw_scale_state *state, struct cw_scale_decision *ret_decision,
                  struct cw_err *err);
};
/* All that a policy is shown, as JSON and back: what is stored with decisions, and can be asked
 * again. Numbers that are zero are left out. */
struct cw_scale_inputs {
    struct cw_scale_window window;
    struct cw_scale_available available;
    struct cw_scale_options options;
    struct cw_scale_state state; /* before the decision */
};
void cw_scale_window_print(const struct cw_scale_window *window, struct cw_str *out);
void cw_scale_inputs_print(const struct cw_scale_inputs *inputs, struct cw_str *out);
int cw_scale_inputs_parse(const char *text, size_t n, struct cw_scale_inputs *ret_inputs,
                          struct cw_err *err);

/* "auto", "cachew", "hpa", "fixed:N". INVALID names those that there are. */
int cw_autoscale_find(const char *option, const struct cw_scale_policy **ret_policy,
                      const char **ret_argument, struct cw_err *err);
/* "auto", "fixed:R,L", "pecan", "off". */
int cw_autoplace_find(const char *option, const struct cw_scale_policy **ret_policy,
                      const char **ret_argument, struct cw_err *err);

#endif
