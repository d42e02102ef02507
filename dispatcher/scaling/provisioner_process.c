/* SPDX-License-Identifier: Apache-2.0 */
/* `--provisioner process`: the dispatcher starts workers as processes of its own host. Their
 * standard input is a pipe that it holds, so they end with it, however it dies. What they had
 * computed is computed again by the workers that its successor starts. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostload.h"
#include "dispatcher/access/access.h"
#include "dispatcher/model/model.h"
#include "loop/child.h"

#define CHILDREN_MAX 1024
#define START_LIMIT_MS 30000 /* A process that has not attached after this time is ended. */
#define BACKOFF_MIN_MS 500
#define BACKOFF_MAX_MS 30000
#define STOP_MS 2000

struct process {
    struct cw_child child;
    int64_t begun_ms;
    bool attached;
};
struct processes {
    struct cw_dispatcher *d;
    char program[PATH_MAX];
    struct process v[CHILDREN_MAX];
    size_t n;
    /* After a process that ended at once, none is started for this time. */
    int64_t not_before_ms, backoff_ms;
};

static int process_open(struct cw_dispatcher *d, void **ret_state, struct cw_err *err)
{
    struct processes *p = CW_NEW(struct processes);
    p->d = d;
    int rc = cw_child_find("cachew-worker", p->program, sizeof(p->program), err);
    if (rc < 0)
        cw_mem_free(p);
    else
        *ret_state = p;
    return rc;
}

static void process_close(void *state)
{
    struct processes *p = state;
    if (!p)
        return;
    for (size_t i = 0; i < p->n; i++)
        cw_child_kill(&p->v[i].child, SIGTERM);
    for (size_t i = 0; i < p->n; i++)
        (void)cw_child_stop(&p->v[i].child, STOP_MS);
    cw_mem_free(p);
}

/* The dispatcher's certificate names a worker, too (main.c looks). */
static size_t add_tls(const struct cw_tls_options *tls, const char **argv, size_t n)
{
    argv[n++] = "--tls-cert";
    argv[n++] = tls->cert;
    argv[n++] = "--tls-key";
    argv[n++] = tls->key;
    argv[n++] = "--tls-ca";
    argv[n++] = tls->ca;
    for (size_t i = 0; i < tls->roles.n; i++) {
        argv[n++] = "--tls-role";
        argv[n++] = tls->roles.v[i];
    }
    return n;
}

/* Starts one worker. It is told how much memory it may use, since it does not know of the other
 * workers of the host. The user's arguments come later and so take precedence. */
static bool start_one(struct processes *p)
{
    const struct cw_options *o = &p->d->options;
    const char *argv[24 + 2 * CW_ARRAY_LEN(o->tls.roles.v) + 2 * CW_ARRAY_LEN(o->source_roots.v) +
                     CW_ARRAY_LEN(o->worker_args.v)];
    char budget[32];
    size_t n = 0;
    snprintf(budget, sizeof(budget), "%llu", (unsigned long long)cw_host_budget(o->max_workers));
    argv[n++] = p->program;
    argv[n++] = "--dispatcher";
    argv[n++] = p->d->address;
    argv[n++] = "--exit-with-stdin";
    const char *token = cw_access_own_workers_token(p->d);
    if (token) {
        argv[n++] = "--token-file";
        argv[n++] = "-";
    }
    if (cw_tls_options_are_set(&o->tls))
        n = add_tls(&o->tls, argv, n);
    if (!getenv("CACHEW_WORKER_BUDGET")) {
        argv[n++] = "--budget";
        argv[n++] = budget;
    }
    for (size_t i = 0; i < o->source_roots.n; i++) {
        argv[n++] = "--source-root";
        argv[n++] = o->source_roots.v[i];
    }
    for (size_t i = 0; i < o->worker_args.n; i++)
        argv[n++] = o->worker_args.v[i];
    argv[n] = NULL;
    struct process *process = &p->v[p->n];
    struct cw_err err = {0};
    *process = (struct process){.begun_ms = cw_clock_ms()};
    if (cw_child_start_told(&process->child, argv, token, &err) != 0) {
        cw_log_error(CW_LOG_MOD, "cannot start a worker: %s", err.msg);
        return false;
    }
    p->n++;
    cw_log_info(CW_LOG_MOD, "worker process %d is started", (int)process->child.pid);
    return true;
}

static void wait_longer(struct processes *p)
{
    p->backoff_ms = CW_MIN(CW_MAX(2 * p->backoff_ms, BACKOFF_MIN_MS), BACKOFF_MAX_MS);
    p->not_before_ms = cw_clock_ms() + p->backoff_ms;
}

static size_t process_start(void *state, size_t n)
{
    struct processes *p = state;
    size_t started = 0;
    if (cw_clock_ms() < p->not_before_ms)
        return 0;
    while (started < n && p->n < CHILDREN_MAX) {
        if (!start_one(p)) {
            wait_longer(p);
            break;
        }
        started++;
    }
    return started;
}

static size_t process_starting(void *state)
{
    const struct processes *p = state;
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        n += !p->v[i].attached;
    return n;
}

static struct process *find(struct processes *p, const struct cw_worker *worker)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].child.pid == (pid_t)worker->pid)
            return &p->v[i];
    return NULL;
}

static bool process_owns(void *state, const struct cw_worker *worker)
{
    return find(state, worker) != NULL;
}

static void process_attached(void *state, struct cw_worker *worker)
{
    struct processes *p = state;
    struct process *process = find(p, worker);
    if (process) {
        process->attached = true;
        p->backoff_ms = 0;
    }
}

static void process_tick(void *state, int64_t now)
{
    struct processes *p = state;
    for (size_t i = 0; i < p->n;) {
        struct process *process = &p->v[i];
        if (!process->attached && now - process->begun_ms > START_LIMIT_MS)
            cw_child_kill(&process->child, SIGKILL);
        if (cw_child_is_alive(&process->child)) {
            i++;
            continue;
        }
        if (!process->attached) {
            cw_log_error(
                CW_LOG_MOD,
                "a worker process ended before it attached (status 0x%x): its messages say why",
                (unsigned)process->child.status);
            wait_longer(p);
        }
        (void)cw_child_stop(&process->child, 0);
        *process = p->v[--p->n];
    }
}

const struct cw_provisioner cw_provision_process = {.name = "process",
                                                    .summary =
                                                        "worker processes on the dispatcher's host",
                                                    .open = process_open,
                                                    .close = process_close,
                                                    .start = process_start,
                                                    .starting = process_starting,
                                                    .owns = process_owns,
                                                    .tick = process_tick,
                                                    .attached = process_attached};
