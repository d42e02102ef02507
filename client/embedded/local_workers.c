/* SPDX-License-Identifier: Apache-2.0 */
#include "client/embedded/local_workers.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/hostload.h"
#include "base/log.h"
#include "base/mem.h"
#include "loop/child.h"

#define TICK_MS 100
#define END_MS 15000    /* The time that a worker gets to write what waits for the store. */
#define LASTED_MS 10000 /* A process that ran for this long has not failed to start. */
#define FAILURES_MAX 5  /* After this many failed starts in a row no more are tried. */
#define AGAIN_MAX_MS 2000
#define BUDGET_LEAST (256ull << 20)

struct process {
    struct cw_child child;
    int64_t begun_ms;
};
struct cw_local_workers {
    struct cachew_client *client;
    struct cw_local_workers *next; /* The next one in the list client->ending. */
    struct cw_local_workers_conf conf;
    char *job_id;
    char *credential; /* "": none */
    char program[PATH_MAX];
    cw_local_workers_failed_fn *failed;
    void *arg;
    struct cw_timer *tick;
    struct process v[CW_LOCAL_WORKERS_MAX];
    size_t n;
    uint32_t wanted;
    unsigned failures;
    struct cw_backoff backoff;
    int64_t not_before_ms;
};

static void give_up(struct cw_local_workers *w, const struct cw_err *err)
{
    w->wanted = 0;
    w->conf.max = 0;
    w->failed(w->arg, err);
}

/* Returns the memory budget of each process in bytes: its part of what the job allows, or of a
 * quarter of the host's memory. */
static uint64_t budget(const struct cw_local_workers *w)
{
    if (w->conf.memory > 0)
        return w->conf.memory / CW_MAX(w->conf.max, 1u);
    return CW_MAX(cw_host_ram() / 4 / CW_MAX(w->conf.max, 1u), BUDGET_LEAST);
}

static int nice_level(const struct cw_local_workers *w)
{
    errno = 0;
    int own = getpriority(PRIO_PROCESS, 0);
    return CW_MIN((errno ? 0 : own) + w->conf.nice_level, 19);
}

/* Puts the trainer's own certificate behind the arguments: the worker shows it to the dispatcher, and to
 * consumers of the same tenant. */
static void add_tls(const struct cw_tls_options *tls, const char **argv)
{
    size_t n = 0;
    while (argv[n])
        n++;
    if (!cw_tls_options_are_set(tls))
        return;
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
    argv[n] = NULL;
}

static int start_one(struct cw_local_workers *w, struct cw_err *err)
{
    char numbers[4][32];
    const char *token = w->credential[0] ? w->credential : NULL;
    const char *level = getenv("CACHEW_LOG");
    snprintf(numbers[0], sizeof(numbers[0]), "%u", w->conf.threads);
    snprintf(numbers[1], sizeof(numbers[1]), "%d", nice_level(w));
    snprintf(numbers[2], sizeof(numbers[2]), "%.6f", w->conf.cpus);
    snprintf(numbers[3], sizeof(numbers[3]), "%llu", (unsigned long long)budget(w));
    const char *argv[32 + 2 * CW_ARRAY_LEN(w->client->tls.roles.v)] = {
        w->program, "--dispatcher", w->client->address, "--only-job", w->job_id, "--threads",
        numbers[0], "--nice", numbers[1], "--cpu-limit", numbers[2], "--budget", numbers[3],
        "--listen", w->conf.everywhere ? "0.0.0.0:0" : "127.0.0.1:0", "--log-level",
        level && *level ? level : "warn", "--exit-with-stdin",
        /* Without tokens everybody may do everything already. */
        token                ? "--token-file"
        : w->conf.everywhere ? "--insecure"
                             : NULL,
        token ? "-" : NULL, NULL};
    add_tls(&w->client->tls, argv);
    struct process *process = &w->v[w->n];
    *process = (struct process){.begun_ms = cw_clock_ms()};
    int rc = cw_child_start_told(&process->child, argv, token, err);
    if (rc != 0)
        return rc;
    w->n++;
    cw_log_debug("client", "job=%s local worker %d is begun", w->job_id, (int)process->child.pid);
    return 0;
}

/* A process has ended. One that was drained ends with success. After a failure the next start
 * waits for a backoff, and after several failures in a row none is tried any more. */
static void note_end(struct cw_local_workers *w, const struct process *process)
{
    int status = process->child.status;
    struct cw_err err = {0};
    if (w->wanted == 0)
        return;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        w->failures = 0;
        return;
    }
    if (cw_clock_ms() - process->begun_ms > LASTED_MS) {
        w->failures = 0;
        cw_backoff_reset(&w->backoff);
    }
    w->not_before_ms = cw_clock_ms() + cw_backoff_next_ms(&w->backoff);
    if (++w->failures < FAILURES_MAX)
        return;
    cw_err_set(&err, CW_E_UNAVAILABLE,
               "local workers end as soon as they are begun (%s %d): their messages on standard "
               "error say why",
               WIFSIGNALED(status) ? "signal" : "status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    give_up(w, &err);
}

static void reap(struct cw_local_workers *w)
{
    for (size_t i = 0; i < w->n;) {
        if (cw_child_is_alive(&w->v[i].child)) {
            i++;
            continue;
        }
        struct process process = w->v[i];
        /* The process has ended; this call closes its pipes. */
        (void)cw_child_stop(&process.child, 0);
        w->v[i] = w->v[--w->n];
        note_end(w, &process);
    }
}

static void on_tick(void *arg)
{
    struct cw_local_workers *w = arg;
    struct cw_err err = {0};
    reap(w);
    while (w->n < w->wanted && cw_clock_ms() >= w->not_before_ms) {
        if (start_one(w, &err) == 0)
            continue;
        cw_err_wrap(&err, "local workers");
        give_up(w, &err);
    }
}

uint32_t cw_local_workers_wanted(const struct cw_local_workers *w)
{
    return w->wanted;
}

static void free_all(struct cw_local_workers *w)
{
    cw_timer_free(w->tick);
    cw_mem_free(w->job_id);
    cw_mem_free(w->credential);
    cw_mem_free(w);
}

/* Frees the local workers of closed jobs whose processes have all ended. */
static void free_ended(struct cachew_client *client)
{
    for (struct cw_local_workers **at = &client->ending; *at;) {
        struct cw_local_workers *w = *at;
        reap(w);
        if (w->n > 0) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        free_all(w);
    }
}

struct cw_local_workers *cw_local_workers_new(struct cachew_client *client, const char *job_id,
                                              const struct cw_local_workers_conf *conf,
                                              cw_local_workers_failed_fn *failed, void *arg)
{
    struct cw_local_workers *w = CW_NEW(struct cw_local_workers);
    free_ended(client);
    w->client = client;
    w->job_id = cw_mem_strdup(job_id);
    w->conf = *conf;
    w->conf.max = CW_MIN(conf->max, (uint32_t)CW_LOCAL_WORKERS_MAX);
    w->failed = failed;
    w->arg = arg;
    cw_backoff_init(&w->backoff, AGAIN_MAX_MS);
    w->tick = cw_timer_new(client->loop, on_tick, w);
    cw_timer_start(w->tick, TICK_MS, TICK_MS);
    return w;
}

void cw_local_workers_set(struct cw_local_workers *w, uint32_t n, const char *credential)
{
    struct cw_err err = {0};
    cw_mem_free(w->credential);
    w->credential = cw_mem_strdup(credential);
    w->wanted = CW_MIN(n, w->conf.max);
    if (w->wanted > 0 && w->program[0] == 0 &&
        cw_child_find("cachew-worker", w->program, sizeof(w->program), &err) != 0) {
        cw_err_wrap(&err, "local workers");
        give_up(w, &err);
    }
    on_tick(w);
}

void cw_local_workers_end(struct cw_local_workers *w)
{
    if (!w)
        return;
    w->wanted = 0;
    cw_timer_free(cw_steal(&w->tick));
    for (size_t i = 0; i < w->n; i++)
        cw_child_close_stdin(&w->v[i].child);
    w->next = w->client->ending;
    w->client->ending = w;
    free_ended(w->client);
}

void cw_local_workers_finish(struct cachew_client *client)
{
    int64_t deadline_ms = cw_clock_ms() + END_MS;
    while (client->ending) {
        struct cw_local_workers *w = client->ending;
        client->ending = w->next;
        for (size_t i = 0; i < w->n; i++)
            (void)cw_child_stop(&w->v[i].child, CW_MAX(deadline_ms - cw_clock_ms(), (int64_t)0));
        free_all(w);
    }
}
