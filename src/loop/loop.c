/* SPDX-License-Identifier: Apache-2.0 */
/* The loop. No thread may post any more when it is freed. */
#include "loop/loop_int.h"

#include "base/mem.h"
#include "base/thread.h"

/* A node that cw_loop_post made. It is freed before fn is called, so that fn may end the process
 * without a leak. */
struct own_node {
    struct cw_loop_node node;
    cw_loop_fn *fn;
    void *arg;
};

static void check(int rc)
{
    /* libuv fails here only if there are no descriptors or no memory at the start */
    CW_ASSERT(rc == 0);
}

static void on_gather_node(void *arg)
{
    struct cw_loop *loop = arg;

    loop->gather_posted = false;
}

static void on_gathered(uv_timer_t *uv);

/* Takes what was posted. If there was anything, what comes now gathers. */
static void take_posted(struct cw_loop *loop)
{
    uint64_t before = loop->posted_n;

    (void)cw_loop_run_posted(loop);
    if (loop->gather_ms == 0 || loop->gather_posted || loop->posted_n == before)
        return;
    loop->gather_posted = true;
    (void)cw_loop_push(loop, &loop->gather_node);
    uv_update_time(&loop->uv);
    check(uv_timer_start(&loop->gather_timer->uv.timer, on_gathered, (uint64_t)loop->gather_ms, 0));
}

static void on_gathered(uv_timer_t *uv)
{
    struct cw_loop *loop = CW_CONTAINER_OF(uv, struct cw_handle, uv.timer)->loop;

    take_posted(loop);
}

void cw_loop_set_gather(struct cw_loop *loop, int64_t ms)
{
    loop->gather_ms = ms;
    if (ms == 0 || loop->gather_timer)
        return;
    loop->gather_timer = CW_NEW(struct cw_handle);
    loop->gather_timer->loop = loop;
    check(uv_timer_init(&loop->uv, &loop->gather_timer->uv.timer));
    loop->gather_node = (struct cw_loop_node){.fn = on_gather_node, .arg = loop};
}

static void on_wake(uv_async_t *wake)
{
    struct cw_loop *loop = CW_CONTAINER_OF(wake, struct cw_loop, wake);

    /* While calls gather, the timer takes them. */
    if (!loop->gather_posted || atomic_load(&loop->stopping))
        take_posted(loop);
    if (atomic_load(&loop->stopping))
        uv_stop(&loop->uv);
}

/* libuv runs timers before it blocks, and everything else after it: each of these two moments ends
 * an iteration. */
static void on_before_poll(uv_prepare_t *prepare)
{
    cw_loop_end_iteration(CW_CONTAINER_OF(prepare, struct cw_loop, before_poll));
}

static void on_after_poll(uv_check_t *after)
{
    cw_loop_end_iteration(CW_CONTAINER_OF(after, struct cw_loop, after_poll));
}

struct cw_loop *cw_loop_new(void)
{
    struct cw_loop *loop = CW_NEW(struct cw_loop);

    cw_mutex_init(&loop->turn);
    check(uv_loop_init(&loop->uv));
    check(uv_async_init(&loop->uv, &loop->wake, on_wake));
    check(uv_prepare_init(&loop->uv, &loop->before_poll));
    check(uv_prepare_start(&loop->before_poll, on_before_poll));
    check(uv_check_init(&loop->uv, &loop->after_poll));
    check(uv_check_start(&loop->after_poll, on_after_poll));
    return loop;
}

static void on_handle_closed(uv_handle_t *uv)
{
    cw_mem_free(CW_CONTAINER_OF(uv, struct cw_handle, uv.any));
}

void cw_handle_close(uv_handle_t *uv)
{
    if (!uv_is_closing(uv))
        uv_close(uv, on_handle_closed);
}

static void on_walk(uv_handle_t *uv, void *arg)
{
    bool is_own = uv->type == UV_ASYNC || uv->type == UV_PREPARE || uv->type == UV_CHECK;

    (void)arg;
    if (uv_is_closing(uv))
        return;
    uv_close(uv, is_own ? NULL : on_handle_closed);
}

void cw_loop_free(struct cw_loop *loop)
{
    if (!loop)
        return;
    while (cw_loop_run_posted(loop))
        ;
    cw_loop_end_iteration(loop);
    uv_walk(&loop->uv, on_walk, NULL);
    while (uv_run(&loop->uv, UV_RUN_DEFAULT) != 0)
        ;
    check(uv_loop_close(&loop->uv));
    cw_mutex_fini(&loop->turn);
    cw_mem_free(loop);
}

void cw_loop_run(struct cw_loop *loop)
{
    while (!atomic_load(&loop->stopping))
        if (loop->lent)
            cw_loop_run_lent(loop);
        else
            uv_run(&loop->uv, UV_RUN_DEFAULT);
    cw_loop_end_iteration(loop);
    atomic_store(&loop->stopping, false);
}

void cw_loop_stop(struct cw_loop *loop)
{
    atomic_store(&loop->stopping, true);
    uv_async_send(&loop->wake);
}

void cw_loop_post_node(struct cw_loop *loop, struct cw_loop_node *node)
{
    if (cw_loop_push(loop, node))
        uv_async_send(&loop->wake);
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
    loop->iteration_end = fn;
    loop->iteration_end_arg = arg;
}
