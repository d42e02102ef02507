/* SPDX-License-Identifier: Apache-2.0 */
/* Policies that decide how many workers a job should have, and where: autoscale policies decide the
 * number of workers, autoplace policies also how many of them run beside the trainer. They are
 * pure, like all policies (policy.h): the caller measures windows, calls decide after each, keeps
 * the state, and carries the target out.
 *
 * A window is one stretch of a job's time in which its workers did not change, and which is not
 * disturbed by a change of workers or the start of an epoch. It is one struct, so that its parts
 * always belong together. */
#ifndef CW_POLICIES_SCALE_H
#define CW_POLICIES_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/err.h"
#include "base/str.h"
#include "base/thread_use.h"
#include "policies/policy_decision.h"

#define CW_SCALE_HISTORY 20

struct cw_scale_window {
    double at_s;       /* end of the window, on the caller's clock */
    double seconds;    /* length of the window */
    double batches;    /* number of batches that the trainer consumed in it */
    double wait_share; /* part of its time that the trainer waited for a batch, 0 to 1 */
    double queue;      /* mean number of batches that were ready for the trainer */
    /* The trainer's own time between two batches, without waiting (median); 0: unknown. */
    double step_s;
    /* Batches per second that one worker of this job computes at full speed; 0: unknown. */
    double rate;
    double cpu;           /* part of the workers' CPU that was used, 0 to 1 */
    double remote, local; /* workers that served during the whole window */
    /* What the threads of the workers did: shares of their time, which add up to 1; all 0: unknown.
     * So it says which limit there is before another number of workers is tried. */
    struct cw_thread_use threads;
};
/* Options; 0 means the default, which the comment gives in brackets. */
struct cw_scale_options {
    double min_workers, max_workers; /* (1; no limit) */
    double max_local;                /* (10) */
    double max_stall;                /* part of its time that the trainer may wait (0.05) */
    /* Per hour; the policy auto counts costs only if both are known. */
    double client_price, worker_price;
    /* The constants below are those of the published policies. */
    /* cachew: the least gain that lets it grow (0.07), and the loss that is accepted when shrinking
     * (0.03). pecan: up (0.03). */
    double up, down;
    double stable_windows; /* cachew: number of windows between two checks (20) */
    /* cachew: growth of the queue or the batch time that ends stability (1.5) */
    double queue_growth, time_growth;
    double outlier;    /* windows with a larger change are ignored (cachew: 1.2, pecan: 1.3) */
    double error_bar;  /* pecan: a window that is slower by so much ends the local phase (0.10) */
    double cpu_target; /* hpa: the target for the used part of the CPU (0.8) */
    double settle_s;   /* hpa: for shrinking, the highest wish of this many seconds counts (300) */
    /* cachew: it cannot settle at one worker, and an empty queue keeps it from rescaling */
    bool published_quirks;
};
struct cw_scale_available {
    double remote; /* workers that the job has or could have */
    double local;  /* 0: the trainer's host allows none */
    /* How many of the remote ones it gets, if it gets fewer than it wants because other jobs have
     * the rest; 0: as many as it wants. */
    double granted;
};
/* What was measured with one number of workers: means of its windows, without odd ones. */
struct cw_scale_level {
    double workers, local; /* remote and local ones */
    double windows;
    double given;  /* batches per second that the trainer got */
    double demand; /* batches per second that the trainer would take; 0: unknown */
    double wait;   /* part of its time that the trainer waited */
    double rate;   /* rate of one worker, as workers report it; 0: unknown */
    double free;   /* part of that time that its threads did not wait for anything; 0: unknown */
    /* Of the time that they computed or waited, but not for the trainer, the part that they
     * computed; 0: unknown. */
    double yield;
    double used;   /* part of all their time that they computed; 0: unknown */
    double held;   /* part of their time that they waited, but not for the trainer */
    double before; /* 1: measured before the workers, or what limits them, changed */
    /* 1: no batch came while a window was measured, and the one that was waited for counts as half:
     * what the workers give is that, or less. */
    double at_most;
    /* By which part local workers made the trainer's step longer, which `demand` does not count,
     * and the variance of that, in units of the noise of one window. */
    double slower, slower_variance;
};
#define CW_SCALE_LEVELS 8
enum cw_scale_phase {
    CW_SCALE_BEGIN,
    CW_SCALE_REMOTE_UP,
    CW_SCALE_LOCAL_UP,
    CW_SCALE_REMOTE_DOWN,
    CW_SCALE_STABLE
};

/* What a policy remembers between decisions. It is zeroed for a new job; for one that continues
 * after a restart the target is set. It contains no pointers, so it can be stored. */
struct cw_scale_state {
    enum cw_scale_phase phase;
    double remote, local;                             /* the present target; 0, 0: none yet */
    struct cw_scale_window history[CW_SCALE_HISTORY]; /* oldest first */
    size_t history_n;
    struct cw_scale_window converged; /* auto: its windows together, each as of one second */
    double calm;                      /* number of windows since the state has been stable */
    /* pecan: number of workers when the phase began. auto: number of retries. */
    double phase_count;
    /* autoscale auto: what was measured with each number of workers so far, the latest last */
    struct cw_scale_level levels[CW_SCALE_LEVELS];
    size_t levels_n;
    double moves, age; /* changes of the target, and windows, since something was new */
    double demand;     /* batches per second that the trainer consumes without waiting */
    /* autoscale auto: the number of workers before a trial of a few more; 0: there is none.
     * autoplace auto: 1 if the trainer's step has changed, so that it must be seen alone. */
    double doubt;
    double here; /* autoplace auto: 1 if the job could have no remote workers */
};

/* A window with new numbers of workers says enough, although it has few batches, when there would be
 * this many times as many by now with the numbers before; what is still waited for counts as half a
 * batch. So a trial of workers that give next to nothing takes no longer than it must. */
#define CW_SCALE_STARVED 5
#define CW_SCALE_WAITED_FOR 0.5
/* Returns the batches per second of the last window with other numbers of workers than these, while
 * the policy tries numbers; 0: it has settled, or there is none. */
double cw_scale_given_before(const struct cw_scale_state *state, double remote, double local);

struct cw_scale_policy {
    const char *name, *summary;
    bool places; /* it also decides about local workers */
    /* It needs no measurements: it may be asked at once, with a zeroed window. */
    bool at_once;
    /* Makes a decision. argument: the part of the option behind ':' ("fixed:4"), or NULL. */
    int (*decide)(const struct cw_scale_window *window, const struct cw_scale_available *available,
                  const struct cw_scale_options *options, const char *argument,
                  struct cw_scale_state *state, struct cw_policy_decision *ret_decision,
                  struct cw_err *err);
};
/* All that a policy gets as input. It can be printed as JSON and read again; it is stored with
 * decisions, so that they can be made again. Numbers that are zero are left out. */
struct cw_scale_inputs {
    struct cw_scale_window window;
    struct cw_scale_available available;
    struct cw_scale_options options;
    struct cw_scale_state state; /* the state before the decision */
};
void cw_scale_window_print(const struct cw_scale_window *window, struct cw_str *out);
void cw_scale_inputs_print(const struct cw_scale_inputs *inputs, struct cw_str *out);
int cw_scale_inputs_parse(const char *text, size_t n, struct cw_scale_inputs *ret_inputs,
                          struct cw_err *err);

/* Finds "auto", "cachew", "hpa" or "fixed:N". The message of INVALID names the policies that
 * exist. */
int cw_autoscale_find(const char *option, const struct cw_scale_policy **ret_policy,
                      const char **ret_argument, struct cw_err *err);
/* Finds "auto", "fixed:R,L", "pecan" or "off". */
int cw_autoplace_find(const char *option, const struct cw_scale_policy **ret_policy,
                      const char **ret_argument, struct cw_err *err);

#endif
