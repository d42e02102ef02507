/* SPDX-License-Identifier: Apache-2.0 */
/* loop/loop.h on fibres and virtual time: in place of src/loop/{loop,timer,watch}.c. The order of
 * an iteration is libuv's: timers that are due, then an iteration's end, then waiting, then what
 * came meanwhile, then an end again. */
#include "loop/loop.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sim.h"

#define LOOK_NS INT64_C(1000000) /* between looks at real descriptors, which only unit tests have */
#define LATE_NS 100000           /* how late a timer may be */

struct signal_watch {
    struct signal_watch *next;
    struct cw_loop *loop;
    cw_signal_fn *fn;
    void *arg;
    int signum;
    int pending;
};

struct cw_timer {
    struct cw_timer *prev, *next; /* of the loop */
    struct cw_loop *loop;
    cw_loop_fn *fn;
    void *arg;
    bool is_active;
    int64_t due_ms, repeat_ms;
    uint64_t
        number; /* of the start: those of one time run in the order in which they were started */
};

struct cw_poll {
    struct cw_poll *prev, *next;
    struct cw_loop *loop;
    int fd;
    cw_loop_fn *fn;
    void *arg;
    uint64_t seen; /* the round in which it was looked at */
};

struct cw_loop {
    struct cw_loop_node *first, *last; /* posted */
    struct cw_timer *timers;
    struct cw_poll *polls;
    struct signal_watch *signals;
    struct sim_fibre *fibre; /* that runs it */
    bool stopping, something_ran;
    cw_loop_fn *turn_end;
    void *turn_end_arg;
    uint64_t starts, rounds;
    int64_t gather_ns, gathered_ns; /* how long posted calls gather, and when they have */
};

/* A node that cw_loop_post made. */
struct own_node {
    struct cw_loop_node node;
    cw_loop_fn *fn;
    void *arg;
};

struct cw_loop *cw_loop_new(void)
{
    return CW_NEW(struct cw_loop);
}

static void wake(struct cw_loop *loop)
{
    if (loop->fibre)
        sim_wake(loop->fibre);
}

void cw_loop_post_node(struct cw_loop *loop, struct cw_loop_node *node)
{
    node->next = NULL;
    if (loop->last)
        loop->last->next = node;
    else
        loop->first = node;
    loop->last = node;
    wake(loop);
    if (loop->fibre != sim_fibre_self())
        sim_yield();
}

/* A fibre that posts goes on after the loop has run, so lending is no different. */
void cw_loop_lend(struct cw_loop *loop)
{
    (void)loop;
}

void cw_loop_run_node(struct cw_loop *loop, struct cw_loop_node *node)
{
    cw_loop_post_node(loop, node);
}

static void run_own_node(void *arg)
{
    struct own_node own = *(struct own_node *)arg;

    cw_mem_free(arg);
    own.fn(own.arg);
}

void cw_loop_post(struct cw_loop *loop, cw_loop_fn *fn, void *arg)
{
    struct own_node *own = CW_NEW(struct own_node);

    own->node.fn = run_own_node;
    own->node.arg = own;
    own->fn = fn;
    own->arg = arg;
    cw_loop_post_node(loop, &own->node);
}

void cw_loop_set_iteration_end(struct cw_loop *loop, cw_loop_fn *fn, void *arg)
{
    loop->turn_end = fn;
    loop->turn_end_arg = arg;
}

void cw_loop_stop(struct cw_loop *loop)
{
    loop->stopping = true;
    wake(loop);
}

void cw_loop_set_gather(struct cw_loop *loop, int64_t ms)
{
    loop->gather_ns = ms * 1000000;
}

static bool is_gathering(const struct cw_loop *loop)
{
    return loop->gather_ns > 0 && cw_clock_ns() < loop->gathered_ns;
}

/* What is there now: what these post comes in the next round. */
static bool run_posted(struct cw_loop *loop)
{
    struct cw_loop_node *node = loop->first;
    bool any = node != NULL;

    loop->first = loop->last = NULL;
    while (node) {
        struct cw_loop_node *next = node->next;
        loop->something_ran = true;
        node->fn(node->arg);
        node = next;
    }
    return any;
}

static void end_turn(struct cw_loop *loop)
{
    if (!loop->something_ran)
        return;
    loop->something_ran = false;
    if (loop->turn_end)
        loop->turn_end(loop->turn_end_arg);
}

/* The one that is due first; NULL when none is active. */
static struct cw_timer *first_timer(const struct cw_loop *loop)
{
    struct cw_timer *first = NULL;

    for (struct cw_timer *at = loop->timers; at; at = at->next)
        if (at->is_active && (!first || at->due_ms < first->due_ms ||
                              (at->due_ms == first->due_ms && at->number < first->number)))
            first = at;
    return first;
}

static void run_timers(struct cw_loop *loop)
{
    int64_t now_ms = cw_clock_ms();
    uint64_t last = loop->starts; /* those that are started now wait for the next round */

    for (;;) {
        struct cw_timer *timer = first_timer(loop);
        if (!timer || timer->due_ms > now_ms || timer->number > last)
            return;
        timer->is_active = false;
        if (timer->repeat_ms > 0)
            cw_timer_start(timer, timer->repeat_ms, timer->repeat_ms);
        loop->something_ran = true;
        timer->fn(timer->arg); /* may free the timer */
    }
}

static bool has_signal(const struct cw_loop *loop)
{
    const struct signal_watch *at = loop->signals;

    while (at && at->pending == 0)
        at = at->next;
    return at != NULL;
}

static void run_signals(struct cw_loop *loop)
{
    for (struct signal_watch *at = loop->signals; at; at = at->next) {
        for (; at->pending > 0; at->pending--) {
            loop->something_ran = true;
            at->fn(at->arg, at->signum);
        }
    }
}

static bool is_readable(const struct cw_poll *poll_handle)
{
    struct pollfd fd = {.fd = poll_handle->fd, .events = POLLIN};

    return poll(&fd, 1, 0) > 0;
}

static struct cw_poll *readable(struct cw_loop *loop)
{
    for (struct cw_poll *at = loop->polls; at; at = at->next)
        if (at->seen != loop->rounds && is_readable(at))
            return at;
    return NULL;
}

static bool run_polls(struct cw_loop *loop)
{
    struct cw_poll *at;
    bool any = false;

    loop->rounds++;
    while ((at = readable(loop))) {
        at->seen = loop->rounds;
        loop->something_ran = any = true;
        at->fn(at->arg); /* may free it, and others */
    }
    return any;
}

static void wait(struct cw_loop *loop)
{
    const struct cw_timer *timer = first_timer(loop);
    int64_t until_ns = SIM_NEVER;

    if (timer)
        until_ns = timer->due_ms * 1000000 + sim_between(0, LATE_NS);
    if (loop->polls)
        until_ns = CW_MIN(until_ns, cw_clock_ns() + LOOK_NS);
    if (loop->first && is_gathering(loop))
        until_ns = CW_MIN(until_ns, loop->gathered_ns);
    if ((!loop->first || is_gathering(loop)) && !loop->stopping && !has_signal(loop))
        sim_block(until_ns);
}

void cw_loop_run(struct cw_loop *loop)
{
    loop->fibre = sim_fibre_self();
    while (!loop->stopping) {
        run_timers(loop);
        end_turn(loop);
        wait(loop);
        if (!is_gathering(loop) && run_posted(loop))
            loop->gathered_ns = cw_clock_ns() + loop->gather_ns;
        run_signals(loop);
        run_polls(loop);
        end_turn(loop);
    }
    end_turn(loop);
    loop->stopping = false;
    loop->fibre = NULL;
}

void cw_loop_free(struct cw_loop *loop)
{
    if (!loop)
        return;
    while (run_posted(loop))
        ;
    end_turn(loop);
    while (loop->timers)
        cw_timer_free(loop->timers);
    while (loop->polls)
        cw_poll_free(loop->polls);
    while (loop->signals) {
        struct signal_watch *watch = loop->signals;
        loop->signals = watch->next;
        sim_on_signal(watch->signum, NULL, NULL);
        cw_mem_free(watch);
    }
    cw_mem_free(loop);
}

/* ---- timers ---- */
struct cw_timer *cw_timer_new(struct cw_loop *loop, cw_loop_fn *fn, void *arg)
{
    struct cw_timer *timer = CW_NEW(struct cw_timer);

    timer->loop = loop;
    timer->fn = fn;
    timer->arg = arg;
    timer->next = loop->timers;
    if (timer->next)
        timer->next->prev = timer;
    loop->timers = timer;
    return timer;
}

void cw_timer_start(struct cw_timer *timer, int64_t delay_ms, int64_t repeat_ms)
{
    timer->due_ms = cw_clock_ms() + CW_MAX(delay_ms, 0);
    timer->repeat_ms = CW_MAX(repeat_ms, 0);
    timer->number = ++timer->loop->starts;
    timer->is_active = true;
    wake(timer->loop); /* it may be started on another fibre before the loop runs */
}

void cw_timer_stop(struct cw_timer *timer)
{
    timer->is_active = false;
}

bool cw_timer_is_active(const struct cw_timer *timer)
{
    return timer->is_active;
}

void cw_timer_free(struct cw_timer *timer)
{
    if (!timer)
        return;
    if (timer->prev)
        timer->prev->next = timer->next;
    else
        timer->loop->timers = timer->next;
    if (timer->next)
        timer->next->prev = timer->prev;
    cw_mem_free(timer);
}

/* ---- signals ---- */
static void on_signal(void *arg, int signum)
{
    struct signal_watch *watch = arg;

    (void)signum;
    watch->pending++;
    wake(watch->loop);
}

int cw_loop_on_signal(struct cw_loop *loop, int signum, cw_signal_fn *fn, void *arg,
                      struct cw_err *err)
{
    if (signum <= 0 || signum == SIGKILL || signum == SIGSTOP)
        return cw_err_set(err, CW_E_INVALID, "cannot watch signal %d", signum);
    struct signal_watch *watch = CW_NEW(struct signal_watch);
    watch->loop = loop;
    watch->fn = fn;
    watch->arg = arg;
    watch->signum = signum;
    watch->next = loop->signals;
    loop->signals = watch;
    sim_on_signal(signum, on_signal, watch);
    return CW_OK;
}

/* ---- descriptors ---- */
struct cw_poll *cw_poll_new(struct cw_loop *loop, int fd, cw_loop_fn *fn, void *arg,
                            struct cw_err *err)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        cw_err_set(err, CW_E_INVALID, "cannot watch descriptor %d", fd);
        return NULL;
    }
    struct cw_poll *handle = CW_NEW(struct cw_poll);
    handle->loop = loop;
    handle->fd = fd;
    handle->fn = fn;
    handle->arg = arg;
    handle->seen = loop->rounds;
    handle->next = loop->polls;
    if (handle->next)
        handle->next->prev = handle;
    loop->polls = handle;
    return handle;
}

void cw_poll_free(struct cw_poll *handle)
{
    if (!handle)
        return;
    if (handle->prev)
        handle->prev->next = handle->next;
    else
        handle->loop->polls = handle->next;
    if (handle->next)
        handle->next->prev = handle->prev;
    cw_mem_free(handle);
}
