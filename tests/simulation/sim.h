/* SPDX-License-Identifier: Apache-2.0 */
/* Deterministic simulation: processes ("actors") and their threads ("fibres") in one thread of one
 * process, on virtual time. One seed decides everything that is not decided by the code.
 *
 * The program of an actor is a shared object, of which every actor has a copy of its own: so static
 * variables of such code are the actor's own and begin anew with every actor. What actors share (a
 * network, a disk) is kept in world memory, found by sim_slot(). Copies stay loaded until the
 * process ends, so pointers to functions and constants of a copy stay valid when its actor is dead.
 *
 * Code runs in one of two contexts: an actor's (sim_self() is that actor, and what is allocated is
 * its memory, dropped at its death), or the world's (sim_self() is NULL). Every function here may
 * be called in both, but where something else is said. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default) /* actors' programs find these in the executable */
#endif

struct sim_actor;
typedef void sim_fn(void *arg);
#define SIM_NEVER INT64_MAX

/* ---- time, chance ---- */
int64_t sim_now_ns(void);       /* virtual monotonic time; moves only while the world runs */
uint64_t sim_random(void);      /* of the seed */
uint64_t sim_below(uint64_t n); /* [0, n); n > 0 */
bool sim_one_in(uint64_t n);    /* true once in n times; never for n = 0 */
int64_t sim_between(int64_t lo, int64_t hi); /* [lo, hi] */

/* ---- actors ---- */
/* main runs in the new actor's first fibre; the actor ends when it returns. arg is not copied.
 * Names are for people; an actor that takes the place of a dead one is another actor. */
struct sim_actor *sim_spawn(const char *host, const char *name, sim_fn *main, void *arg);
struct sim_actor *sim_self(void); /* NULL in world code */
const char *sim_host(const struct sim_actor *actor);
const char *sim_name(const struct sim_actor *actor);
/* Never used again. Structs of dead actors stay until the world ends, so a pointer to one may be
 * asked. 0 for NULL. */
uint64_t sim_actor_id(const struct sim_actor *actor);
bool sim_is_alive(const struct sim_actor *actor);
bool sim_is_stopped(const struct sim_actor *actor);
/* Fails when it returns from main and leaves memory. */
void sim_forbid_leaks(struct sim_actor *actor);
int sim_status(const struct sim_actor *actor); /* of a dead one: its exit status; -1 if killed */
/* SIGKILL, SIGSTOP, SIGCONT. A kill of the running actor does not return. All of them are nothing
 * for a dead one. */
void sim_kill(struct sim_actor *actor);
void sim_stop(struct sim_actor *actor);
void sim_cont(struct sim_actor *actor);
void sim_exit(int status); /* _exit of the running actor; does not return */
/* Runs fn(arg) in world context when the actor dies in any way, after its last fibre has run and
 * before its memory is gone. Last registered first. */
void sim_on_death(struct sim_actor *actor, sim_fn *fn, void *arg);
/* A signal for the actor, handled by the function registered by sim_on_signal in the actor; killed
 * if it has none for SIGTERM or SIGINT. */
void sim_signal(struct sim_actor *actor, int signum);
typedef void sim_signal_fn(void *arg, int signum);
void sim_on_signal(int signum, sim_signal_fn *fn, void *arg); /* fn NULL: no longer */

/* ---- events ---- */
/* Runs fn(arg) at that time (or now, if it has passed) in the actor's context, or in the world's
 * for NULL. Events of one actor run one after the other in the order of (time, call of sim_at).
 * Dropped when the actor dies; kept back while it is stopped. fn may block. */
void sim_at(struct sim_actor *actor, int64_t when_ns, sim_fn *fn, void *arg);

/* ---- fibres ---- */
struct sim_fibre;
/* A thread of the running actor (or of the world). */
struct sim_fibre *sim_fibre_start(const char *name, sim_fn *fn, void *arg);
struct sim_fibre *sim_fibre_self(void);
/* Waits until sim_wake or that time: true if it was woken. A wake that came before is not lost. */
bool sim_block(int64_t until_ns);
/* Those of the actor that have not ended. */
size_t sim_fibres_of(const struct sim_actor *actor);
void sim_wake(struct sim_fibre *fibre); /* one that has not ended */
void sim_yield(void);                   /* lets others run, if the seed wants it so */
void sim_sleep_ns(int64_t ns);          /* a blocking call of the actor takes so long */

/* ---- memory, state of the world, log ---- */
void *sim_world_alloc(size_t bytes); /* zeroed; outlives actors; freed at the world's end */
void sim_world_free(void *p);        /* accepts NULL */
/* Where a shared part of the world keeps its state, NULL in a new world. */
enum sim_slot { SIM_SLOT_NET, SIM_SLOT_DISK, SIM_SLOT_STORE, SIM_SLOT_TEST, SIM_SLOTS_N };
void **sim_slot(enum sim_slot slot);
/* One line of the event log, with the time and the actor before it. Same seed, same bytes: so no
 * addresses. Nothing is formatted when nobody reads the log. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void sim_log(const char *fmt, ...);
bool sim_log_is_on(void);
/* Prints the message, the seed and the end of the log, and ends the process. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2), noreturn))
#endif
void sim_fail(const char *fmt, ...);

/* ---- fault points and rare points of the product (points.c) ---- */
bool sim_points_are_on(void);
void sim_point_pass(const char *name);
bool sim_point_ask(const char *name);

/* ---- what counts as a kill ---- */
/* Actors say how much they hold of what a kill would lose, by kind; a kill counts if any is not
 * 0. */
enum sim_held {
    SIM_HELD_LEASE,
    SIM_HELD_OUTPUT,
    SIM_HELD_TRANSACTION,
    SIM_HELD_MESSAGE,
    SIM_HELD_CHUNK,
    SIM_HELD_N
};
void sim_held_add(struct sim_actor *actor, enum sim_held what, int64_t n); /* n may be < 0 */
int64_t sim_held(const struct sim_actor *actor, enum sim_held what);

/* ---- worlds: for the executable ---- */
struct sim_config {
    uint64_t seed;
    const char *log_path; /* NULL = only the last lines, in memory */
};
void sim_world_begin(const struct sim_config *config);
enum sim_end { SIM_END_DONE, SIM_END_DEADLINE, SIM_END_IDLE };
/* Runs actors and events until done(arg) is true (asked between steps), that time, or until nothing
 * can happen any more. done may be NULL. */
enum sim_end sim_world_run(bool (*done)(void *arg), void *arg, int64_t deadline_ns);
void sim_world_end(void); /* kills who is left */
/* fn(arg, actor) is called after each step of the world, which is one of that actor (NULL: of the
 * world, or of one that has ended by it), in the world's context. It cannot block, and may kill. */
void sim_on_step(void (*fn)(void *arg, const struct sim_actor *actor), void *arg);
uint64_t sim_seed(void);
/* From now on the seed chooses among the points that are passed; death(arg), which may be NULL, is
 * called in the context of an actor that is to die where it is. */
void sim_points_on(void (*death)(void *arg), void *arg);
void sim_points_off(void);
void sim_points_print(void); /* how often each was passed and taken, in all worlds */

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
