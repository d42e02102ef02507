/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong in a world, and when. faults.c chooses faults by a generator of its own, and
 * harm.c does them; both run between the steps of the world. So a list of faults can be repeated,
 * or a part of it, in a world that is else the same. */
#ifndef SIM_FAULTS_H
#define SIM_FAULTS_H

#include "cluster.h"

#define SIM_FAULTS_MAX 8192 /* in one world */

enum sim_fault_kind {
    SIM_FAULT_KILL,  /* of a process */
    SIM_FAULT_CRASH, /* and of its host: what was not synced is lost, and no connection is closed; it
                        is up again before its processes are */
    SIM_FAULT_POWER,  /* and the host answers nothing until they are back */
    SIM_FAULT_JOB,    /* of all trainers of a job, which go back to one step */
    SIM_FAULT_RESIZE, /* and, if that can be, go on with another number of consumers (`other`) */
    SIM_FAULT_DRAIN,  /* SIGTERM */
    SIM_FAULT_STOP,
    SIM_FAULT_PART,
    SIM_FAULT_DELAY,
    SIM_FAULT_CUT,
    SIM_FAULT_CUT_ALL, /* all connections of one process at once */
    SIM_FAULT_CUT_ANY,
    /* store_faults.c: those of the store first, as in enum sim_trouble */
    SIM_FAULT_STORE_AWAY,
    SIM_FAULT_STORE_HANGS,
    SIM_FAULT_STORE_SLOW,
    SIM_FAULT_STORE_FULL,
    SIM_FAULT_STORE_READS,
    SIM_FAULT_STORE_DAMAGE,
    SIM_FAULT_STORE_LOSES,
    SIM_FAULT_EVICT, /* a command */
    SIM_FAULT_SCAN,  /* a command */
    SIM_FAULT_DISK_FULL,
    SIM_FAULTS_N
};
struct sim_fault {
    int64_t at_ns;
    enum sim_fault_kind kind;
    int seat, other;  /* numbers of seats; other: whom it does not reach, or which file */
    int64_t pause_ns; /* until it is over */
    int64_t extra_ns; /* of a delay */
    bool is_left_out;
};
/* The faults of one world, in order. */
struct sim_schedule {
    bool is_replayed; /* else it is written */
    size_t n;
    struct sim_fault at[SIM_FAULTS_MAX];
};

/* What has been done. */
struct sim_faults {
    uint64_t n[SIM_FAULTS_N];
    uint64_t kills[SIM_KINDS_N], counted[SIM_KINDS_N], kills_that_count;
    uint64_t together; /* faults within TOGETHER_NS of the one before */
    uint64_t resized;  /* jobs that went on with another number of consumers */
    uint64_t held[SIM_KINDS_N][SIM_HELD_N];
};

/* Begins to harm the cluster, until that time; then all is whole again. schedule: NULL, or where
 * the faults are written or read. */
void sim_faults_begin(struct sim_cluster *cluster, struct sim_faults *faults,
                      struct sim_schedule *schedule, int64_t until_ns);
/* Now, if that is earlier. */
void sim_faults_end(struct sim_cluster *cluster);
const char *sim_fault_name(enum sim_fault_kind kind);

/* ---- harm.c ---- */
/* A new actor, if it is to live and does not. */
void sim_seat_restart(struct sim_cluster *cluster, struct sim_seat *seat);
/* How much the seat's actor, which is alive, holds of it. */
int64_t sim_seat_holds(const struct sim_seat *seat, enum sim_held what);
/* Does it now, if it can be done to who is there. False: nothing was done. */
bool sim_fault_do(struct sim_cluster *cluster, const struct sim_fault *fault,
                  struct sim_faults *faults);
/* Nothing is wrong any more, and all that is to live lives. */
void sim_make_whole(struct sim_cluster *cluster);

#endif
