/* SPDX-License-Identifier: Apache-2.0 */
/* The world: actors, their fibres, what happens when. One fibre runs at a time; the world chooses
 * among those that can, by its generator. Running takes some virtual time, drawn as well, so that a
 * loop that looks at the clock ends. */
#include "core.h"

#include <inttypes.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_NS 300    /* the least that a fibre runs */
#define STEP_MORE 2000 /* and up to so much more */
#define READ_CLOCK_NS 20
#define SIGNALS_N 32

struct death {
    struct death *next;
    sim_fn *fn;
    void *arg;
};

struct sim_actor {
    struct sim_actor *next; /* of the world, newest first */
    char *name, *host;
    uint64_t id;
    bool is_alive, is_stopped, leaves; /* leaves: ends as soon as the world runs */
    int status, leaves_with;
    bool by_exit; /* it returned from main */
    bool leaks_not;
    struct sim_mem *mem;
    struct sim_fibre *fibres;
    struct death *deaths;
    struct sim_event *first, *last; /* due, not run yet */
    struct sim_fibre *runs_events;  /* NULL: none was needed yet */
    bool events_idle;               /* that one waits for events */
    struct {
        sim_signal_fn *fn;
        void *arg;
    } signals[SIGNALS_N];
    int64_t held[SIM_HELD_N];
    sim_fn *main;
    void *arg;
};

struct item { /* before a piece of world memory */
    _Alignas(max_align_t) struct item *prev;
    struct item *next;
};

static struct world {
    bool is_open;
    uint64_t seed, state; /* of the generator */
    int64_t now;
    uint64_t seq, actors_n, fibres_n;
    struct sim_heap heap;
    struct sim_event *idle_events;
    struct sim_actor *actors;
    struct sim_actor *self; /* the world as an actor: has no memory of its own */
    struct sim_actor *running;
    struct sim_fibre *fibre; /* NULL: the world's loop */
    struct sim_fibre **ready;
    size_t ready_n, ready_cap;
    struct sim_stack main_stack;
    struct item items;
    void *slots[SIM_SLOTS_N];
    void (*on_step)(void *arg, const struct sim_actor *actor);
    void *on_step_arg;
} w;

/* ---- chance ---- */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t sim_random(void)
{
    w.state += 0x9e3779b97f4a7c15u;
    return mix(w.state);
}

uint64_t sim_below(uint64_t n)
{
    return sim_random() % n;
}

bool sim_one_in(uint64_t n)
{
    return n > 0 && sim_below(n) == 0;
}

int64_t sim_between(int64_t lo, int64_t hi)
{
    return hi <= lo ? lo : lo + (int64_t)sim_below((uint64_t)(hi - lo) + 1);
}

uint64_t sim_seed(void)
{
    return w.seed;
}

int64_t sim_now_ns(void)
{
    if (w.fibre)
        w.now += READ_CLOCK_NS;
    return w.now;
}

/* ---- memory of the world ---- */
static void *plain(size_t bytes)
{
    struct sim_mem *before = sim_mem_enter(NULL);
    void *p = calloc(1, bytes);

    sim_mem_enter(before);
    if (!p)
        abort();
    return p;
}

static void plain_free(void *p)
{
    free(p); /* knows by itself whose it is */
}

void *sim_world_alloc(size_t bytes)
{
    struct item *item = plain(sizeof(*item) + bytes);

    item->prev = &w.items;
    item->next = w.items.next;
    item->next->prev = item->prev->next = item;
    return item + 1;
}

void sim_world_free(void *p)
{
    if (!p)
        return;
    struct item *item = (struct item *)p - 1;
    item->prev->next = item->next;
    item->next->prev = item->prev;
    plain_free(item);
}

void **sim_slot(enum sim_slot slot)
{
    return &w.slots[slot];
}

/* ---- ready fibres ---- */
static void add_ready(struct sim_fibre *fibre)
{
    if (w.ready_n == w.ready_cap) {
        struct sim_mem *before = sim_mem_enter(NULL);
        w.ready_cap = w.ready_cap ? 2 * w.ready_cap : 64;
        w.ready = realloc(w.ready, w.ready_cap * sizeof(struct sim_fibre *));
        sim_mem_enter(before);
        if (!w.ready)
            abort();
    }
    fibre->state = SIM_FIBRE_READY;
    fibre->ready_at = w.ready_n;
    w.ready[w.ready_n++] = fibre;
}

static void remove_ready(struct sim_fibre *fibre)
{
    struct sim_fibre *last = w.ready[--w.ready_n];

    w.ready[fibre->ready_at] = last;
    last->ready_at = fibre->ready_at;
}

/* Of those whose actor is not stopped, NULL if there is none. */
static struct sim_fibre *choose(void)
{
    if (w.ready_n == 0)
        return NULL;
    size_t from = (size_t)sim_below(w.ready_n);
    for (size_t i = 0; i < w.ready_n; i++) {
        struct sim_fibre *fibre = w.ready[(from + i) % w.ready_n];
        if (!fibre->actor->is_stopped)
            return fibre;
    }
    return NULL;
}

/* ---- fibres ---- */
/* To the world's loop. */
static void leave(bool ends)
{
    struct sim_fibre *fibre = w.fibre;

    w.fibre = NULL;
    sim_stack_switch(fibre->stack, &w.main_stack, ends);
}

static void entry(void)
{
    sim_stack_entered();
    struct sim_fibre *fibre = w.fibre;
    fibre->fn(fibre->arg);
    fibre->state = SIM_FIBRE_ENDED;
    leave(true);
    abort();
}

static struct sim_fibre *start_fibre(struct sim_actor *actor, const char *name, sim_fn *fn,
                                     void *arg)
{
    struct sim_mem *before = sim_mem_enter(NULL);
    struct sim_fibre *fibre = plain(sizeof(*fibre));

    fibre->actor = actor;
    fibre->stack = sim_stack_get(entry);
    sim_mem_enter(before);
    fibre->number = ++w.fibres_n;
    snprintf(fibre->name, sizeof(fibre->name), "%s", name);
    fibre->fn = fn;
    fibre->arg = arg;
    fibre->next = actor->fibres;
    actor->fibres = fibre;
    add_ready(fibre);
    return fibre;
}

static void free_fibre(struct sim_fibre *fibre)
{
    sim_stack_put(fibre->stack);
    plain_free(fibre);
}

static void drop_fibre(struct sim_fibre *fibre)
{
    struct sim_fibre **at = &fibre->actor->fibres;

    while (*at != fibre)
        at = &(*at)->next;
    *at = fibre->next;
    free_fibre(fibre);
}

static struct sim_actor *running_actor(void)
{
    return w.running ? w.running : w.self;
}

struct sim_fibre *sim_fibre_start(const char *name, sim_fn *fn, void *arg)
{
    return start_fibre(running_actor(), name, fn, arg);
}

struct sim_fibre *sim_fibre_self(void)
{
    return w.fibre;
}

/* ---- events ---- */
static struct sim_event *new_event(int64_t when_ns)
{
    struct sim_event *event = w.idle_events;

    if (event)
        w.idle_events = event->next;
    else
        event = plain(sizeof(*event));
    *event = (struct sim_event){.when_ns = when_ns, .seq = ++w.seq};
    return event;
}

static void idle_event(struct sim_event *event)
{
    event->next = w.idle_events;
    w.idle_events = event;
}

static void push(struct sim_event *event)
{
    struct sim_mem *before = sim_mem_enter(NULL);

    sim_heap_push(&w.heap, event);
    sim_mem_enter(before);
}

void sim_at(struct sim_actor *actor, int64_t when_ns, sim_fn *fn, void *arg)
{
    if (actor && !actor->is_alive)
        return;
    struct sim_event *event = new_event(when_ns > w.now ? when_ns : w.now);
    event->actor = actor ? actor : w.self;
    event->fn = fn;
    event->arg = arg;
    push(event);
}

static void run_events(void *arg)
{
    struct sim_actor *actor = arg;

    for (;;) {
        struct sim_event *event = actor->first;
        if (!event) {
            actor->events_idle = true;
            sim_block(SIM_NEVER);
            actor->events_idle = false;
            continue;
        }
        actor->first = event->next;
        if (!actor->first)
            actor->last = NULL;
        sim_fn *fn = event->fn;
        void *fn_arg = event->arg;
        idle_event(event);
        fn(fn_arg);
    }
}

static void queue_event(struct sim_event *event)
{
    struct sim_actor *actor = event->actor;

    if (!actor->is_alive) {
        idle_event(event);
        return;
    }
    event->next = NULL;
    if (actor->last)
        actor->last->next = event;
    else
        actor->first = event;
    actor->last = event;
    if (!actor->runs_events)
        actor->runs_events = start_fibre(actor, "events", run_events, actor);
    else if (actor->events_idle)
        sim_wake(actor->runs_events);
}

/* Fibres are freed while waits of theirs are in the heap: sim_actor and its list tell. */
static bool has_fibre(const struct sim_actor *actor, const struct sim_fibre *fibre, uint64_t wait)
{
    const struct sim_fibre *at = actor->fibres;

    while (at && at != fibre)
        at = at->next;
    return at && at->wait == wait && at->state == SIM_FIBRE_BLOCKED;
}

static void take_due(void)
{
    while (w.heap.n > 0 && w.heap.at[0]->when_ns <= w.now) {
        struct sim_event *event = sim_heap_pop(&w.heap);
        if (!event->fibre) {
            queue_event(event);
            continue;
        }
        if (event->actor->is_alive && has_fibre(event->actor, event->fibre, event->fibre_wait))
            add_ready(event->fibre);
        idle_event(event);
    }
}

/* ---- waits ---- */
bool sim_block(int64_t until_ns)
{
    struct sim_fibre *fibre = w.fibre;

    if (!fibre)
        sim_fail("the world's loop cannot wait");
    if (fibre->woken) {
        fibre->woken = false;
        return true;
    }
    fibre->state = SIM_FIBRE_BLOCKED;
    fibre->wait = ++w.seq; /* never one of a fibre before it at this address */
    if (until_ns != SIM_NEVER) {
        struct sim_event *event = new_event(until_ns > w.now ? until_ns : w.now);
        event->actor = fibre->actor;
        event->fibre = fibre;
        event->fibre_wait = fibre->wait;
        push(event);
    }
    leave(false);
    bool woken = fibre->woken;
    fibre->woken = false;
    return woken;
}

void sim_wake(struct sim_fibre *fibre)
{
    fibre->woken = true;
    if (fibre->state == SIM_FIBRE_BLOCKED)
        add_ready(fibre);
}

void sim_yield(void)
{
    if (!w.fibre || w.ready_n == 0 || !sim_one_in(8))
        return;
    add_ready(w.fibre);
    leave(false);
}

void sim_sleep_ns(int64_t ns)
{
    int64_t until = w.now + (ns > 0 ? ns : 0);

    if (!w.fibre)
        return;
    bool before = w.fibre->woken;
    w.fibre->woken = false;
    while (w.now < until)
        before |= sim_block(until);
    w.fibre->woken = before;
}

/* ---- actors ---- */
static char *copy_text(const char *text)
{
    size_t n = strlen(text) + 1;

    return memcpy(sim_world_alloc(n), text, n);
}

static struct sim_actor *new_actor(const char *host, const char *name)
{
    struct sim_actor *actor = sim_world_alloc(sizeof(*actor));

    actor->name = copy_text(name);
    actor->host = copy_text(host);
    actor->is_alive = true;
    return actor;
}

static void run_main(void *arg)
{
    struct sim_actor *actor = arg;

    actor->main(actor->arg);
    actor->by_exit = true;
    sim_exit(0);
}

struct sim_actor *sim_spawn(const char *host, const char *name, sim_fn *main, void *arg)
{
    struct sim_actor *actor = new_actor(host, name);

    actor->id = ++w.actors_n;
    actor->mem = sim_mem_open();
    actor->main = main;
    actor->arg = arg;
    actor->next = w.actors;
    w.actors = actor;
    start_fibre(actor, "main", run_main, actor);
    sim_log("starts %s on %s", name, host);
    return actor;
}

struct sim_actor *sim_self(void)
{
    return w.running;
}

const char *sim_host(const struct sim_actor *actor)
{
    return actor->host;
}

const char *sim_name(const struct sim_actor *actor)
{
    return actor->name;
}

uint64_t sim_actor_id(const struct sim_actor *actor)
{
    return actor ? actor->id : 0;
}

bool sim_is_alive(const struct sim_actor *actor)
{
    return actor->is_alive;
}

bool sim_is_stopped(const struct sim_actor *actor)
{
    return actor->is_stopped;
}

size_t sim_fibres_of(const struct sim_actor *actor)
{
    size_t n = 0;

    for (const struct sim_fibre *fibre = actor->fibres; fibre; fibre = fibre->next)
        n += fibre->state != SIM_FIBRE_ENDED;
    return n;
}

void sim_forbid_leaks(struct sim_actor *actor)
{
    actor->leaks_not = true;
}

int sim_status(const struct sim_actor *actor)
{
    return actor->status;
}

void sim_on_death(struct sim_actor *actor, sim_fn *fn, void *arg)
{
    struct death *death = sim_world_alloc(sizeof(*death));

    death->fn = fn;
    death->arg = arg;
    death->next = actor->deaths;
    actor->deaths = death;
}

static void drop_fibres(struct sim_actor *actor)
{
    while (actor->fibres) {
        struct sim_fibre *fibre = actor->fibres;
        actor->fibres = fibre->next;
        if (fibre->state == SIM_FIBRE_READY)
            remove_ready(fibre);
        free_fibre(fibre);
    }
    while (actor->first) {
        struct sim_event *event = actor->first;
        actor->first = event->next;
        idle_event(event);
    }
    actor->last = NULL;
    actor->runs_events = NULL;
}

/* In world context, on a stack that is none of the actor's. */
static void bury(struct sim_actor *actor, int status)
{
    size_t blocks, bytes;
    struct sim_mem *before = sim_mem_enter(NULL);
    struct sim_actor *was_running = w.running;

    w.running = NULL;
    actor->is_alive = false;
    actor->status = status;
    drop_fibres(actor);
    while (actor->deaths) {
        struct death *death = actor->deaths;
        actor->deaths = death->next;
        death->fn(death->arg);
        sim_world_free(death);
    }
    sim_mem_close(actor->mem, &blocks, &bytes);
    actor->mem = NULL;
    if (actor->by_exit && actor->leaks_not && blocks > 0)
        sim_fail("%s returned, with %zu blocks left", actor->name, blocks);
    if (actor->by_exit)
        sim_log("%s returned, with %zu blocks left", actor->name, blocks);
    else if (status >= 0)
        sim_log("%s left with status %d", actor->name, status);
    else
        sim_log("%s is killed", actor->name);
    w.running = was_running;
    sim_mem_enter(before);
}

/* The running actor's: the world's loop does it. */
static void end_self(int status)
{
    struct sim_actor *actor = w.running;

    actor->leaves = true;
    actor->leaves_with = status;
    w.fibre->state = SIM_FIBRE_ENDED; /* not in the ready list; bury frees it */
    leave(true);
    abort();
}

void sim_kill(struct sim_actor *actor)
{
    if (!actor->is_alive)
        return;
    if (actor == w.running)
        end_self(-1);
    bury(actor, -1);
}

void sim_exit(int status)
{
    if (!w.running)
        sim_fail("the world cannot leave");
    end_self(status);
}

void sim_stop(struct sim_actor *actor)
{
    if (!actor->is_alive || actor->is_stopped)
        return;
    actor->is_stopped = true;
    sim_log("%s is stopped", actor->name);
    if (actor == w.running) {
        add_ready(w.fibre);
        leave(false);
    }
}

void sim_cont(struct sim_actor *actor)
{
    if (!actor->is_alive || !actor->is_stopped)
        return;
    actor->is_stopped = false;
    sim_log("%s goes on", actor->name);
}

void sim_on_signal(int signum, sim_signal_fn *fn, void *arg)
{
    struct sim_actor *actor = running_actor();

    if (signum <= 0 || signum >= SIGNALS_N)
        return;
    actor->signals[signum].fn = fn;
    actor->signals[signum].arg = arg;
}

struct signal_event {
    struct sim_actor *actor;
    int signum;
};

static void on_signal(void *arg)
{
    struct signal_event event = *(struct signal_event *)arg;

    sim_world_free(arg);
    if (event.actor->signals[event.signum].fn)
        event.actor->signals[event.signum].fn(event.actor->signals[event.signum].arg, event.signum);
    else if (event.signum == SIGTERM || event.signum == SIGINT)
        sim_kill(event.actor);
}

void sim_signal(struct sim_actor *actor, int signum)
{
    if ((actor && !actor->is_alive) || signum <= 0 || signum >= SIGNALS_N)
        return;
    struct signal_event *event = sim_world_alloc(sizeof(*event));
    event->actor = actor ? actor : w.self;
    event->signum = signum;
    sim_log("signal %d for %s", signum, event->actor->name);
    sim_at(actor, w.now, on_signal, event);
}

void sim_held_add(struct sim_actor *actor, enum sim_held what, int64_t n)
{
    if (actor)
        actor->held[what] += n;
}

int64_t sim_held(const struct sim_actor *actor, enum sim_held what)
{
    return actor->held[what];
}

/* ---- the world ---- */
static void run_fibre(struct sim_fibre *fibre)
{
    struct sim_actor *actor = fibre->actor;
    bool is_world = actor == w.self;

    remove_ready(fibre);
    w.now += STEP_NS + (int64_t)sim_below(STEP_MORE);
    w.fibre = fibre;
    w.running = is_world ? NULL : actor;
    struct sim_mem *before = sim_mem_enter(is_world ? NULL : actor->mem);
    sim_stack_switch(&w.main_stack, fibre->stack, false);
    sim_mem_enter(before);
    w.fibre = NULL;
    w.running = NULL;
    if (actor->leaves)
        bury(actor, actor->leaves_with);
    else if (fibre->state == SIM_FIBRE_ENDED)
        drop_fibre(fibre);
    if (w.on_step)
        w.on_step(w.on_step_arg, !is_world && actor->is_alive ? actor : NULL);
}

void sim_on_step(void (*fn)(void *arg, const struct sim_actor *actor), void *arg)
{
    w.on_step = fn;
    w.on_step_arg = arg;
}

enum sim_end sim_world_run(bool (*done)(void *arg), void *arg, int64_t deadline_ns)
{
    if (w.fibre)
        sim_fail("a fibre cannot run the world");
    for (;;) {
        if (done && done(arg))
            return SIM_END_DONE;
        if (w.now >= deadline_ns)
            return SIM_END_DEADLINE;
        take_due();
        struct sim_fibre *fibre = choose();
        if (fibre) {
            run_fibre(fibre);
            continue;
        }
        if (w.heap.n == 0)
            return SIM_END_IDLE;
        if (w.heap.at[0]->when_ns > deadline_ns) {
            w.now = deadline_ns;
            return SIM_END_DEADLINE;
        }
        if (w.heap.at[0]->when_ns > w.now)
            w.now = w.heap.at[0]->when_ns;
    }
}

void sim_world_begin(const struct sim_config *config)
{
    if (w.is_open)
        sim_fail("there is a world already");
    w = (struct world){.is_open = true, .seed = config->seed, .state = mix(config->seed)};
    w.items.prev = w.items.next = &w.items;
    sim_stack_init_main(&w.main_stack);
    w.now = 1000000000; /* 0 means "never" in some places */
    sim_log_open(config->log_path);
    w.self = new_actor("world", "world");
    sim_log("seed %" PRIu64, w.seed);
}

void sim_world_end(void)
{
    for (struct sim_actor *actor = w.actors; actor; actor = actor->next)
        if (actor->is_alive)
            bury(actor, -1);
    drop_fibres(w.self);
    sim_log("the end");
    sim_log_close();
    for (struct sim_event *event; (event = sim_heap_pop(&w.heap));)
        idle_event(event);
    sim_heap_fini(&w.heap);
    while (w.idle_events) {
        struct sim_event *event = w.idle_events;
        w.idle_events = event->next;
        plain_free(event);
    }
    while (w.items.next != &w.items)
        sim_world_free(w.items.next + 1);
    free(w.ready);
    w = (struct world){.is_open = false};
}

static void list_fibres(const struct sim_actor *actor)
{
    static const char *const states[] = {"ready", "waits", "ended"};

    for (const struct sim_fibre *fibre = actor->fibres; fibre; fibre = fibre->next)
        fprintf(stderr, "  %s/%s: %s\n", actor->name, fibre->name, states[fibre->state]);
}

void sim_fail(const char *fmt, ...)
{
    char text[1024];
    va_list args;

    sim_mem_enter(NULL);
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    sim_log("FAILED: %s", text);
    sim_log_dump();
    for (const struct sim_actor *actor = w.actors; actor; actor = actor->next)
        if (actor->is_alive)
            list_fibres(actor);
    fprintf(stderr, "simulation: seed %" PRIu64 ": %s\n", w.seed, text);
    fflush(NULL);
    _Exit(1);
}
