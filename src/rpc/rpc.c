/* SPDX-License-Identifier: Apache-2.0 */
/* The environment: one completion queue and its pump thread. gRPC makes progress only while a
 * thread waits in grpc_completion_queue_next, so the pump does nothing but post the completed
 * operations to the loop. */
#include "rpc/rpc.h"

#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "rpc/relay.h"
#include "rpc/rpc_int.h"
#include "rpc/tls.h"
#include "rpc/tsan.h"

/* how long lingering streams may take, when the environment is freed, to send what is queued */
#define CLOSING_MS 1000

/* One line of the log tells of all handshakes of TLS that failed in this time. */
#define HANDSHAKE_LOG_MS 10000

static _Atomic bool serves_tls;

void cw_rpc_serves_tls(void)
{
    atomic_store(&serves_tls, true);
}

static void tell_handshake(const char *message)
{
    static _Atomic int64_t told_ms;
    int64_t now = cw_clock_ms(), before = atomic_load(&told_ms);
    const char *why = strrchr(message, ':'); /* "error:NUMBER:SSL routines::WHY" */
    if ((before != 0 && now - before < HANDSHAKE_LOG_MS) ||
        !atomic_compare_exchange_strong(&told_ms, &before, now))
        return;
    cw_log_warn(
        "rpc",
        "a TLS handshake failed: %s (\"certificate verify failed\": the peer's certificate is "
        "expired, or not signed by --tls-ca; \"wrong version number\": it speaks no TLS)",
        why ? why + 1 : message);
}

/* Messages that gRPC logs are also reported by the status of the call that they concern. They are
 * logged for debugging only. */
static void on_gpr_log(gpr_log_func_args *args)
{
    /* Nobody else says why a server has refused a peer. */
    if (atomic_load(&serves_tls) && strstr(args->message, "Handshake failed"))
        tell_handshake(args->message);
    else
        cw_log_debug("grpc", "%s", args->message);
}

static void pump(void *arg)
{
    struct cw_rpc *rpc = arg;
    for (;;) {
        grpc_event event =
            grpc_completion_queue_next(rpc->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        if (event.type == GRPC_QUEUE_SHUTDOWN)
            return;
        if (event.type != GRPC_OP_COMPLETE)
            continue;
        struct cw_rpc_op *op = event.tag;
        CW_TSAN_ACQUIRE(op);
        op->ok = event.success != 0;
        cw_loop_post_node(rpc->loop, &op->node);
    }
}

/* The process that first used gRPC. In a child that it forks gRPC cannot work, even if it was shut
 * down before the fork: its threads are gone, and locks that they held stay locked. */
static _Atomic pid_t begun_in;

static bool is_dead_here(void)
{
    pid_t self = getpid(), other = 0;
    return !atomic_compare_exchange_strong(&begun_in, &other, self) && other != self;
}

struct cw_rpc *cw_rpc_new(struct cw_loop *loop)
{
    struct cw_rpc *rpc = CW_NEW(struct cw_rpc);
    rpc->loop = loop;
    if (is_dead_here()) {
        cw_log_forked();
        rpc->relay = cw_relay_new(loop);
        return rpc;
    }
    gpr_set_log_function(on_gpr_log);
    grpc_init();
    rpc->queue = grpc_completion_queue_create_for_next(NULL);
    cw_thread_start(&rpc->pump, "rpc-pump", pump, rpc);
    return rpc;
}

void cw_rpc_set_small(struct cw_rpc *rpc)
{
    rpc->small = true;
}

void cw_rpc_set_received_max(struct cw_rpc *rpc, size_t bytes)
{
    rpc->received_max = bytes;
}

int cw_rpc_set_tls(struct cw_rpc *rpc, const struct cw_tls_options *options, struct cw_err *err)
{
    if (rpc->tls)
        return 0;
    rpc->tls = cw_tls_new(rpc->loop, options, &rpc->tls_bad);
    if (rpc->relay && rpc->tls)
        cw_relay_tls(rpc->relay, options);
    if (rpc->tls)
        return 0;
    if (err)
        *err = rpc->tls_bad;
    return rpc->tls_bad.code;
}

const struct cw_role_rules *cw_rpc_tls_rules(const struct cw_rpc *rpc)
{
    return rpc->tls ? &rpc->tls->rules : NULL;
}

/* Limits the time that lingering streams still get to this many ms from now. */
static void hurry_lingering(struct cw_rpc *rpc, int64_t ms)
{
    for (struct cw_rpc_linger *linger = rpc->lingering; linger; linger = linger->next)
        cw_timer_start(linger->timer, ms, 0);
}

void cw_rpc_free(struct cw_rpc *rpc)
{
    if (!rpc)
        return;
    CW_ASSERT(rpc->objects == 0);
    if (rpc->relay) {
        cw_relay_free(rpc->relay);
        cw_tls_free(rpc->tls);
        cw_mem_free(rpc);
        return;
    }
    hurry_lingering(rpc, CLOSING_MS);
    rpc->closing = true;
    while (rpc->live > 0)
        cw_loop_run(rpc->loop);
    grpc_completion_queue_shutdown(rpc->queue);
    cw_thread_join(&rpc->pump);
    grpc_completion_queue_destroy(rpc->queue);
    cw_tls_free(rpc->tls);
    cw_mem_free(rpc);
    grpc_shutdown();
}

static void on_op(void *arg)
{
    struct cw_rpc_op *op = arg;
    CW_ASSERT(op->magic == CW_RPC_OP_MAGIC);
    struct cw_rpc *rpc = op->rpc;
    rpc->live--;
    op->done(op, op->ok); /* it may free op, and start other operations */
    if (rpc->closing && rpc->live == 0)
        cw_loop_stop(rpc->loop);
}

void cw_rpc_set_before_calls(struct cw_rpc *rpc, cw_loop_fn *fn, void *arg)
{
    rpc->before_calls = fn;
    rpc->before_calls_arg = arg;
}

void cw_rpc_op_init(struct cw_rpc_op *op, struct cw_rpc *rpc,
                    void (*done)(struct cw_rpc_op *op, bool ok))
{
    *op = (struct cw_rpc_op){.magic = CW_RPC_OP_MAGIC, .rpc = rpc, .done = done};
    op->node = (struct cw_loop_node){.fn = on_op, .arg = op};
}

void cw_rpc_op_begin(struct cw_rpc_op *op)
{
    op->rpc->live++;
    CW_TSAN_RELEASE(op);
}

void cw_rpc_op_revert(struct cw_rpc_op *op)
{
    op->rpc->live--;
}

bool cw_rpc_op_start(struct cw_rpc_op *op, grpc_call *call, const grpc_op *ops, size_t n)
{
    if (op->rpc->before_calls)
        op->rpc->before_calls(op->rpc->before_calls_arg);
    cw_rpc_op_begin(op);
    grpc_call_error error = grpc_call_start_batch(call, ops, n, op, NULL);
    if (error == GRPC_CALL_OK)
        return true;
    cw_rpc_op_revert(op);
    cw_log_error("rpc", "a call was refused by gRPC: error=%d", (int)error);
    grpc_call_cancel(call, NULL);
    return false;
}
