/* SPDX-License-Identifier: Apache-2.0 */
/* Option --lease: the dispatcher stands by until it holds a Lease of Kubernetes, takes over the state
 * into a generation of its own (state/generation_folders.h), and ends as soon as it holds the Lease no longer
 * or somebody has made a higher generation. Whoever wakes up late, after a pause of any length, ends
 * before a byte of an answer is sent. */
#include <unistd.h>
#include "dispatcher/program.h"
#include "dispatcher/state/state.h"
#include "kube/leader.h"
#include "loop/offload.h"

/* The end of a dispatcher that others have replaced. Nothing is written or sent any more. */
static void end(const char *why)
{
    cw_log_error(CW_LOG_MOD, "this dispatcher does not lead any more, and ends: %s", why);
    _exit(CW_LEADER_LOST);
}

void cw_lead_check(void *dispatcher)
{
    const struct cw_dispatcher *d = dispatcher;
    if (!d->leader)
        return;
    if (cw_state_is_over(d->state))
        end("another dispatcher has taken over, and made a higher generation of the state");
    if (!cw_leader_holds(d->leader))
        end("its lease has expired by its own clock");
}

static void on_taken(void *arg)
{
    struct cw_dispatcher *d = arg;
    cw_loop_stop(d->loop);
}

static void on_lost(void *arg, const struct cw_err *why)
{
    (void)arg;
    end(why->msg);
}

static int open_kube(struct cw_dispatcher *d, struct cw_err *err)
{
    const struct cw_kube_options options = {.program = "dispatcher"};
    struct cw_kube_config config = {0};
    int rc = cw_kube_config_find(d->options.kubeconfig, &config, err);
    if (rc == 0)
        rc = cw_kube_new(d->loop, &config, &options, &d->kube, err);
    cw_kube_config_fini(&config);
    return rc == 0 ? 0 : cw_err_wrap(err, "--lease");
}

int cw_lead_open(struct cw_dispatcher *d, struct cw_err *err)
{
    const struct cw_leader_options options = {
        .lease = d->options.lease,
        .duration_ms = d->options.lease_duration_ms,
        .renew_ms = d->options.lease_renew_ms,
        .give_up_ms = d->options.lease_give_up_ms,
        .taken = on_taken,
        .lost = on_lost,
        .arg = d,
    };
    int rc = open_kube(d, err);
    return rc == 0 ? cw_leader_new(d->kube, &options, &d->leader, err) : rc;
}

struct takeover {
    struct cw_dispatcher *d;
    struct cw_offload work;
    struct cw_err err;
    int rc;
};

/* On a thread, since the Lease is renewed meanwhile. */
static void take_over(void *arg)
{
    struct takeover *takeover = arg;
    struct cw_dispatcher *d = takeover->d;
    takeover->rc = cw_state_open_generation(d->options.state_dir, d->options.generation_above,
                                            &d->state, &takeover->err);
}

static void on_taken_over(void *arg)
{
    const struct takeover *takeover = arg;
    cw_loop_stop(takeover->d->loop);
}

int cw_lead_wait(struct cw_dispatcher *d, struct cw_err *err)
{
    struct takeover takeover = {.d = d};
    cw_loop_run(d->loop);
    takeover.work = (struct cw_offload){.run = take_over, .done = on_taken_over, .arg = &takeover};
    struct cw_offload_queue *queue = cw_offload_queue_new(d->loop, "cachew-takeover");
    cw_offload_add(queue, &takeover.work);
    do {
        cw_loop_run(d->loop);
    } while (d->stopping); /* It is about to end: cw_lead_leave. */
    cw_offload_queue_free(queue);
    cw_lead_check(d);
    *err = takeover.err;
    return takeover.rc;
}

static void on_left(void *arg)
{
    (void)arg;
    _exit(0);
}

void cw_lead_leave(struct cw_dispatcher *d)
{
    d->stopping = true;
    cw_leader_release(d->leader, on_left, d);
}

static void on_released(void *arg)
{
    struct cw_dispatcher *d = arg;
    cw_loop_stop(d->loop);
}

void cw_lead_close(struct cw_dispatcher *d)
{
    if (!d->leader)
        return;
    cw_rpc_set_before_calls(d->rpc, NULL, NULL); /* There is nobody left to answer. */
    cw_leader_release(d->leader, on_released, d);
    cw_loop_run(d->loop);
    cw_leader_free(cw_steal(&d->leader));
    cw_kube_free(cw_steal(&d->kube));
}
