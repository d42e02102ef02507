/* SPDX-License-Identifier: Apache-2.0 */
/* cachew-dispatcher: the program opens the state, serves, and ends on SIGTERM. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "auth/tls_files.h"
#include "base/args.h"
#include "base/files_limit.h"
#include "dispatcher/access/access.h"
#include "dispatcher/admin/admin.h"
#include "dispatcher/autocache/autocache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/kubernetes/kubernetes.h"
#include "dispatcher/optimize/job_optimizer.h"
#include "dispatcher/program.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/session/session.h"
#include "io/source_root.h"
#include "loop/parent.h"
#include "loop/offload.h"
#include "proto/descriptors.h"
#include "trace/trace.h"

#define STANDBY_MS 200

static void on_stopped(void *arg)
{
    struct cw_dispatcher *d = arg;
    d->server = NULL;
    cw_loop_stop(d->loop);
}

/* Workers and clients are sent nothing. They see their streams end, go on with what they have, and
 * look for the next dispatcher. */
static void stop(struct cw_dispatcher *d)
{
    d->stopping = true;
    cw_server_set_serving(d->server, false);
    cw_accounting_tick(d, cw_clock_ms());
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        cw_job_flush(job);
        cw_job_store_usage(job, cw_clock_ms(), true);
    }
    cw_iteration_commit_last(d);
    cw_log_info(CW_LOG_MOD, "stopping");
    cw_cache_service_stop(d);
    cw_cluster_stop(d);
    cw_server_stop(d->server, 0, on_stopped, d);
}

static void on_signal(void *arg, int signum)
{
    struct cw_dispatcher *d = arg;
    if (d->signals == 0 && !d->server && d->leader) {
        d->signals++;
        cw_lead_leave(d);
        return;
    }
    if (d->signals++ > 0 || (!d->server && !d->stopping))
        _exit(signum == SIGTERM || signum == SIGINT ? 0 : 1);
    if (!d->stopping) /* The process that started the dispatcher may have ended just before. */
        stop(d);
}

static void on_parent_gone(void *arg)
{
    struct cw_dispatcher *d = arg;
    if (!d->server && !d->stopping) /* Without a server the dispatcher is still a standby. */
        _exit(0);
    if (!d->stopping)
        stop(d);
}

struct standby {
    struct cw_dispatcher *d;
    struct cw_err *err;
    int rc;
};

static int try_state(struct cw_dispatcher *d, struct cw_err *err)
{
    return cw_state_open(d->options.state_dir, d->options.generation_above, &d->state, err);
}

static void on_standby(void *arg)
{
    struct standby *standby = arg;
    standby->rc = try_state(standby->d, standby->err);
    if (standby->rc != CW_E_AGAIN)
        cw_loop_stop(standby->d->loop);
}

/* A standby waits in the loop, so that it receives signals and notices the end of its parent. */
static int open_state(struct cw_dispatcher *d, struct cw_err *err)
{
    if (d->options.lease)
        return cw_lead_wait(d, err);
    struct standby standby = {.d = d, .err = err, .rc = try_state(d, err)};
    if (standby.rc != CW_E_AGAIN || !d->options.standby)
        return standby.rc;
    cw_log_info(CW_LOG_MOD, "standing by: another dispatcher has %s", d->options.state_dir);
    struct cw_timer *timer = cw_timer_new(d->loop, on_standby, &standby);
    cw_timer_start(timer, STANDBY_MS, STANDBY_MS);
    cw_loop_run(d->loop);
    cw_timer_free(timer);
    return standby.rc;
}

/* The call causes a loop iteration, at whose end the result of the transaction is collected. */
static void on_loop(void *arg)
{
    (void)arg;
}

static void on_written(void *loop)
{
    cw_loop_post(loop, on_loop, NULL);
}

/* Tokens were added or removed: peers whose token does not count any more must show another. */
static void on_tokens_changed(void *arg)
{
    cw_worker_sessions_check_tokens(arg);
    cw_client_sessions_check_tokens(arg);
}

/* Pages by HTTP, which a standby with a lease has, too. */
static int open_pages(struct cw_dispatcher *d, struct cw_err *err)
{
    int rc = d->http ? 0 : cw_metrics_open(d, err);
    if (rc == 0 && d->http)
        cw_server_add_probe(d->server);
    return rc;
}

static int serve(struct cw_dispatcher *d, struct cw_err *err)
{
    const struct cw_method fleet = {"/cachew.v1.Fleet/Attach", NULL, cw_worker_session_open, d};
    const struct cw_method jobs = {"/cachew.v1.Jobs/Attach", NULL, cw_client_session_open, d};
    int rc = cw_access_open(d, on_tokens_changed, err);
    if (rc != 0)
        return rc;
    d->server = cw_server_new(d->rpc);
    cw_server_set_queue_max(d->server, CW_QUEUE_MAX);
    if (cw_access_is_on(d))
        cw_server_set_gate(d->server, cw_access_gate, d);
    cw_server_add(d->server, &fleet);
    cw_server_add(d->server, &jobs);
    cw_svc_admin_add(d);
    cw_svc_elements_add(d);
    cw_svc_explain_add(d);
    cw_svc_check_add(d);
    cw_svc_plan_add(d);
    cw_svc_decisions_add(d);
    cw_svc_cache_add(d);
    cw_svc_caches_add(d);
    cw_svc_tenants_add(d);
    cw_svc_metrics_add(d);
    cw_backup_add(d);
    cw_server_add_health(d->server);
    cw_server_add_reflection(d->server, cw_proto_descriptors, cw_proto_descriptors_n);
    rc = cw_server_listen(d->server, d->options.listen, d->address, sizeof(d->address), err);
    if (rc != 0)
        return rc;
    d->started_ms = cw_clock_ms();
    rc = cw_provision_open(d, err);
    if (rc != 0)
        return rc;
    cw_tenants_open(d);
    cw_cache_service_open(d);
    cw_autocache_open(d);
    rc = cw_restore_all(d, err);
    if (rc == 0)
        rc = cw_autocache_restore(d, err);
    if (rc == 0)
        rc = cw_job_optimizers_restore(d, err);
    if (rc != 0)
        return rc;
    cw_cache_service_start(d);
    cw_autocache_start(d);
    cw_loop_set_iteration_end(d->loop, cw_iteration_end, d);
    cw_state_on_written(d->state, on_written, d->loop);
    cw_tick_update(d);
    rc = open_pages(d, err);
    if (rc != 0)
        return rc;
    cw_lead_check(d);
    cw_server_start(d->server);
    cw_server_set_serving(d->server, true);
    cw_log_info(CW_LOG_MOD, "serving on %s, state in %s, generation %llu", d->address,
                d->options.state_dir, (unsigned long long)d->generation);
    const struct cw_trace_options trace = {d->options.trace_url, d->options.trace_every,
                                           "cachew-dispatcher", d->address};
    rc = cw_trace_start(d->loop, &trace, err);
    if (rc != 0)
        return rc;
    printf("ready %s\n", d->address);
    fflush(stdout);
    return 0;
}

static int start(struct cw_dispatcher *d, struct cw_err *err)
{
    int rc = cw_loop_on_signal(d->loop, SIGTERM, on_signal, d, err);
    if (rc == 0)
        rc = cw_loop_on_signal(d->loop, SIGINT, on_signal, d, err);
    if (rc == 0 && d->options.exit_with_stdin)
        rc = cw_parent_watch(d->loop, on_parent_gone, d, &d->parent_watch, err);
    if (rc == 0 && d->options.lease)
        rc = cw_metrics_open(d, err);
    if (rc == 0 && d->options.lease)
        rc = cw_lead_open(d, err);
    if (rc == 0)
        rc = open_state(d, err);
    if (rc != 0)
        return rc;
    d->generation = cw_state_generation(d->state);
    d->offload = cw_offload_queue_new(d->loop, "cachew-unpack");
    d->planner = cw_offload_queue_new(d->loop, "cachew-plan");
    d->rpc = cw_rpc_new(d->loop);
    cw_rpc_set_small(d->rpc);
    if (d->leader)
        cw_rpc_set_before_calls(d->rpc, cw_lead_check, d);
    if (cw_tls_options_are_set(&d->options.tls))
        rc = cw_rpc_set_tls(d->rpc, &d->options.tls, err);
    return rc == 0 ? serve(d, err) : rc;
}

static void finish(struct cw_dispatcher *d)
{
    d->exited = true;
    cw_trace_stop();
    cw_metrics_close(d);
    cw_backup_close(d);
    cw_loop_set_iteration_end(d->loop, NULL, NULL);
    cw_state_on_written(d->state, NULL, NULL);
    cw_client_sessions_close(d);
    cw_worker_sessions_close(d);
    cw_offload_queue_free(cw_steal(&d->offload));
    cw_offload_queue_free(cw_steal(&d->planner));
    while (d->jobs)
        cw_job_free(d->jobs);
    cw_provision_close(d);
    cw_cache_service_close(d);
    cw_autocache_close(d);
    cw_job_optimizers_close(d);
    cw_timer_free(d->tick);
    cw_timer_free(d->retry);
    cw_parent_unwatch(d->parent_watch);
    cw_state_close(d->state);
    cw_map_fini(&d->expected_workers);
    cw_strmap_fini(&d->jobs_by_id);
    cw_strmap_fini(&d->removed_ids);
    cw_tenants_close(d);
    cw_access_close(d);
}

/* The dispatcher itself opens no data; the workers that it starts do. */
static int check_source_roots(const struct cw_options *o, struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < o->source_roots.n && rc == 0; i++)
        rc = cw_source_root_add(o->source_roots.v[i], err);
    return rc;
}

/* Says early what is wrong with the certificate: a standby may wait for long. Workers that the dispatcher
 * starts show the same one. */
static int check_tls(const struct cw_options *o, struct cw_err *err)
{
    struct cw_tls_files files;
    struct cw_role_rules rules = {0};
    struct cw_peer_roles own;
    if (!cw_tls_options_are_set(&o->tls))
        return 0;
    int rc = cw_tls_files_read(&o->tls, &files, err);
    if (rc != 0)
        return rc;
    cw_tls_options_rules(&o->tls, &rules);
    cw_roles_of(&rules, (const char *const *)files.names, files.names_n, &own);
    cw_role_rules_fini(&rules);
    cw_tls_files_fini(&files);
    if (own.has[CW_ROLE_WORKER] || !cw_str_eq(o->provisioner->name, "process"))
        return 0;
    return cw_err_set(err, CW_E_INVALID,
                      "--provisioner process: the workers that it starts show the certificate of "
                      "--tls-cert %s as well, and the name %s is missing in it",
                      o->tls.cert, cw_role_example(CW_ROLE_WORKER));
}

int main(int argc, char **argv)
{
    static struct cw_dispatcher d;
    struct cw_err err = {0};
    int rc = cw_options_parse(argc, argv, &d.options, &err);
    if (rc == CW_ARGS_DONE)
        return 0;
    if (rc < 0) {
        fprintf(stderr, "cachew-dispatcher: %s\n", err.msg);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    cw_files_limit_raise();
    rc = check_source_roots(&d.options, &err);
    if (rc == 0)
        rc = check_tls(&d.options, &err);
    if (rc < 0) {
        fprintf(stderr, "cachew-dispatcher: %s\n", err.msg);
        return 2;
    }
    d.loop = cw_loop_new();
    rc = start(&d, &err);
    if (rc != 0) {
        fprintf(stderr, "cachew-dispatcher: %s\n", err.msg);
        return 1;
    }
    cw_loop_run(d.loop);
    finish(&d);
    cw_lead_close(&d);
    cw_rpc_free(d.rpc);
    cw_loop_free(d.loop);
    cw_cache_service_free(&d);
    return 0;
}
