/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the simulation's core: worlds, actors, fibres. */
#ifndef SIM_CORE_H
#define SIM_CORE_H

#include "sim.h"

#define SIM_STACK_BYTES ((size_t)1 << 20)

/* ---- stack.c: stacks and switching ---- */
struct sim_stack {
    struct sim_stack *next; /* idle ones */
    char *base;             /* the guard page is below */
    size_t bytes;
    void *sp;         /* where the context is saved while it does not run */
    void *fake_stack; /* of the address sanitizer */
};
struct sim_stack *sim_stack_get(void (*entry)(void)); /* ready to be switched to */
void sim_stack_put(struct sim_stack *stack);
/* Saves the running context in `from` and goes on in `to`. ends: `from` will not run again. */
void sim_stack_switch(struct sim_stack *from, struct sim_stack *to, bool ends);
void sim_stack_init_main(struct sim_stack *stack);
/* First thing that a new stack's entry calls. */
void sim_stack_entered(void);

/* ---- heap.c: events by time ---- */
struct sim_event {
    int64_t when_ns;
    uint64_t seq;
    /* either an actor's event, or the end of a fibre's wait */
    struct sim_actor *actor;
    sim_fn *fn;
    void *arg;
    struct sim_fibre *fibre;
    uint64_t fibre_wait;    /* which wait of it */
    struct sim_event *next; /* in an actor's queue; idle ones */
};
struct sim_heap {
    struct sim_event **at;
    size_t n, cap;
};
void sim_heap_push(struct sim_heap *heap, struct sim_event *event);
struct sim_event *sim_heap_pop(struct sim_heap *heap); /* NULL when it is empty */
void sim_heap_fini(struct sim_heap *heap);

/* ---- mem.c: whose memory it is ---- */
struct sim_mem; /* all that one actor has */
struct sim_mem *sim_mem_open(void);
/* What is allocated from now on belongs to it; NULL: to nobody. Returns the one before. */
struct sim_mem *sim_mem_enter(struct sim_mem *mem);
/* Frees all that is left, and says how much that was. */
void sim_mem_close(struct sim_mem *mem, size_t *ret_blocks, size_t *ret_bytes);

/* ---- log.c ---- */
void sim_log_open(const char *path);
void sim_log_close(void);
void sim_log_dump(void); /* the last lines, to standard error */

/* ---- core.c ---- */
enum sim_fibre_state { SIM_FIBRE_READY, SIM_FIBRE_BLOCKED, SIM_FIBRE_ENDED };
struct sim_fibre {
    struct sim_actor *actor;
    struct sim_fibre *next; /* of the actor */
    struct sim_stack *stack;
    enum sim_fibre_state state;
    bool woken;
    uint64_t wait; /* counts waits */
    char name[16];
    sim_fn *fn;
    void *arg;
    size_t ready_at; /* its place among the ready ones */
    uint64_t number; /* of the world */
};

#endif
