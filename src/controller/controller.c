/* SPDX-License-Identifier: Apache-2.0 */
/* Begins, ends, and turns. */
#include "controller/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "controller/fluid.h"
#include "controller/job_specs.h"
#include "controller/kueue.h"
#include "controller/prefetch.h"
#include "controller/reconcile.h"
#include "controller/watches.h"
#include "kube/kube_config.h"

#define TICK_MS 1000

/* ---- turns ---- */

static bool may_act(const struct cw_controller *c)
{
    return c->is_fresh && !c->stopping && (!c->lease || cw_kube_lease_holds(c->lease));
}

/* Looks at what is due. An item may not go while this walks, so none is removed in here. */
static void on_run(void *arg)
{
    struct cw_controller *c = arg;
    const char *key;
    void *value;
    for (size_t i = 0; may_act(c) && cw_strmap_next(&c->items, &i, &key, &value);) {
        struct cw_item *item = value;
        if (!item->due)
            continue;
        item->due = false;
        cw_reconcile(item);
    }
    if (may_act(c) && !c->options.release_all)
        cw_job_specs_make(c);
    if (may_act(c))
        cw_kueue_turn(c);
}

static void on_tick(void *arg)
{
    struct cw_controller *c = arg;
    int64_t now_ms = cw_clock_wall_ms();
    const char *key;
    void *value;
    for (size_t i = 0; cw_strmap_next(&c->items, &i, &key, &value);) {
        struct cw_item *item = value;
        if (item->again_ms > 0 && item->again_ms <= now_ms)
            cw_item_touch(item);
    }
    cw_prefetch_tick(c);
    cw_kueue_tick(c);
    if (c->options.release_all && may_act(c) && c->items.n == 0)
        c->on_emptied(c->arg);
}

static void on_described(void *arg)
{
    cw_items_touch_all(arg);
}

/* ---- the lease ---- */

static void on_taken(void *arg)
{
    struct cw_controller *c = arg;
    cw_log_info(CW_CONTROLLER, "this controller leads");
    c->leads = true;
    cw_items_touch_all(c);
    if (!c->stood_by)
        return; /* Nobody has led since the lists were begun. */
    /* A watch that has gone silent may have missed what the last leader did, above all that an object
     * is gone: its cache would be made once more, and nobody would delete it. */
    cw_watches_relist(c);
    if (c->kueue)
        cw_kueue_relist(c->kueue);
}

static void on_lost(void *arg, const struct cw_err *why)
{
    struct cw_controller *c = arg;
    c->leads = false;
    c->stopping = true;
    c->on_lost(c->arg, why);
}

static void on_held(void *arg, const char *holder)
{
    struct cw_controller *c = arg;
    c->stood_by = true;
    cw_log_info(CW_CONTROLLER, "standing by: %s leads", holder[0] != '\0' ? holder : "nobody");
}

static void on_lease_failed(void *arg, const struct cw_err *err)
{
    (void)arg;
    cw_log_warn(CW_CONTROLLER, "the lease: %s", err->msg);
}

/* Who this process is: its pod, or its host, and a number that no other process has. */
static char *identity(void)
{
    char host[256] = "";
    const char *pod = getenv("CACHEW_POD_NAME");
    (void)gethostname(host, sizeof(host) - 1);
    return cw_mem_printf("%s_%016llx", pod && *pod ? pod : host,
                         (unsigned long long)cw_rng_process_id());
}

static int begin_lease(struct cw_controller *c, const char *self, struct cw_err *err)
{
    const char *lease = c->options.lease;
    if (!lease || !*lease) {
        c->leads = true;
        return 0;
    }
    const char *slash = strchr(lease, '/');
    cw_autofree char *name_space = slash ? cw_mem_strndup(lease, (size_t)(slash - lease)) : NULL;
    const struct cw_kube_lease_options options = {
        .name_space = name_space, .name = slash ? slash + 1 : lease, .identity = self};
    const struct cw_kube_lease_events events = {on_taken, on_lost, on_held, on_lease_failed, c};
    int rc = cw_kube_lease_new(c->kube, &options, &events, &c->lease, err);
    return rc == 0 ? 0 : cw_err_wrap(err, "--lease");
}

/* ---- the API server ---- */

static void on_warned(void *arg, const char *text)
{
    (void)arg;
    cw_log_warn(CW_CONTROLLER, "the API server warns: %s", text);
}

static void on_answered(void *arg, enum cw_kube_verb verb, int http)
{
    struct cw_controller *c = arg;
    c->requests[verb][CW_MIN(http / 100, 5)]++;
}

static void on_events_failed(void *arg, const struct cw_err *err)
{
    (void)arg;
    cw_log_warn(CW_CONTROLLER, "an Event could not be written: %s", err->msg);
}

static int begin_kube(struct cw_controller *c, const struct cw_kube_config *config,
                      struct cw_err *err)
{
    const struct cw_kube_options options = {
        .program = CW_CONTROLLER, .warned = on_warned, .answered = on_answered, .arg = c};
    return cw_kube_new(c->loop, config, &options, &c->kube, err);
}

static void begin_link(struct cw_controller *c)
{
    const struct cw_link_options options = {
        .address = c->options.dispatcher,
        .token_file = c->options.token_file,
        .tls = cw_tls_options_are_set(&c->options.tls) ? &c->options.tls : NULL,
        .period_ms = c->options.period_ms,
        .away_ms = c->options.away_ms,
        .described = on_described,
        .arg = c};
    c->link = cw_link_new(c->loop, &options);
}

/* ---- beginning and end ---- */

static void on_plugin_loaded(void *arg)
{
    cw_items_touch_all(arg);
}

static struct cw_controller *new_controller(struct cw_loop *loop,
                                            const struct cw_controller_options *options,
                                            const struct cw_controller_events *events)
{
    struct cw_controller *c = CW_NEW(struct cw_controller);
    c->loop = loop;
    c->options = *options;
    c->on_listed = events->listed;
    c->on_lost = events->lost;
    c->on_emptied = events->emptied;
    c->arg = events->arg;
    c->engines = (struct cw_engine_settings){.root = options->localfs_root,
                                             .allowed = c->options.allow_stores.v,
                                             .allowed_n = options->allow_stores.n};
    c->run = cw_timer_new(loop, on_run, c);
    c->tick = cw_timer_new(loop, on_tick, c);
    c->runs = cw_engine_runs_new(loop);
    if (options->plugin_dir)
        c->engines.plugins = cw_plugins_new(loop, options->plugin_dir, on_plugin_loaded, c);
    return c;
}

int cw_controller_new(struct cw_loop *loop, const struct cw_controller_options *options,
                      const struct cw_controller_events *events, struct cw_controller **ret,
                      struct cw_err *err)
{
    struct cw_kube_config config = {0};
    int rc = cw_kube_config_find(options->kubeconfig, &config, err);
    if (rc != 0)
        return rc;
    struct cw_controller *c = new_controller(loop, options, events);
    cw_autofree char *self = identity();
    rc = begin_kube(c, &config, err);
    c->server = cw_mem_strdup(config.server);
    cw_kube_config_fini(&config);
    if (rc == 0)
        rc = begin_lease(c, self, err);
    if (rc != 0) {
        (void)cw_controller_free(c);
        return rc;
    }
    c->events = cw_kube_events_new(c->kube, self, on_events_failed, c);
    begin_link(c);
    cw_watches_start(c);
    if (options->kueue)
        cw_kueue_start(c);
    cw_timer_start(c->tick, TICK_MS, TICK_MS);
    *ret = c;
    return 0;
}

void cw_controller_stop(struct cw_controller *c, cw_loop_fn *done, void *arg)
{
    c->stopping = true;
    if (c->lease)
        cw_kube_lease_release(c->lease, done, arg);
    else
        cw_loop_post(c->loop, done, arg);
}

bool cw_controller_free(struct cw_controller *c)
{
    if (!c)
        return true;
    if (cw_engine_runs_n(c->runs) > 0 || !cw_plugins_free(c->engines.plugins))
        return false;
    (void)cw_engine_runs_free(c->runs);
    cw_prefetch_stop_all(c);
    cw_job_specs_free(c);
    cw_fluid_stop(c);
    cw_kueue_stop(c);
    cw_watches_stop(c);
    cw_link_free(c->link);
    cw_kube_events_free(c->events);
    cw_kube_lease_free(c->lease);
    cw_kube_free(c->kube);
    cw_timer_free(c->run);
    cw_timer_free(c->tick);
    cw_items_free(c);
    cw_mem_free(c->server);
    cw_mem_free(c);
    return true;
}

const char *cw_controller_server(const struct cw_controller *c)
{
    return c->server;
}
