/* SPDX-License-Identifier: Apache-2.0 */
/* Leases parts of indices to other workers, and makes parts for others. */
#include "worker/job/index_leases.h"

#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "format/source_file.h"
#include "io/source_root.h"
#include "ops/source/index_parts.h"
#include "plan/survey.h"
#include "rewrite/key.h"
#include "wire/wire.h"
#include "worker/job/loading.h"
#include "worker/message/to_dispatcher.h"

#define ASKS_MAX 1024 /* the dispatcher offers at most 64 workers for a job */

/* What this worker makes for another one. */
struct cw_windex_help {
    uint64_t number;
    char *op;
    struct cw_value options, files;
};

/* ---- of the worker that prepares ---- */

static struct cw_loading *preparation_of(const struct cw_worker_state *w, const char *job_id)
{
    struct cw_loading *const lists[] = {w->loader.running, w->loader.waiting};
    for (size_t i = 0; i < CW_ARRAY_LEN(lists); i++)
        for (struct cw_loading *o = lists[i]; o; o = o->next)
            if (o->parts && !o->unwanted && strcmp(o->job_id, job_id) == 0)
                return o;
    return NULL;
}

static void send_lease(const struct cw_loading *o, uint64_t number,
                       const struct cw_index_lease *lease)
{
    CW_STR_AUTO options = {0};
    cw_value_print(&lease->options, &options);
    struct cw_buf *files = cw_wire_manifest_pack(&lease->files);
    cw_report_index_lease(o->worker, o->job_id, number, lease->op, cw_str_text(&options), files);
    cw_buf_unref(files);
}

/* Gives parts to those who were offered, as long as there are parts. */
static void lease_parts(struct cw_loading *o)
{
    struct cw_index_lease lease;
    while (o->asks_n > 0 &&
           cw_index_parts_lease(o->parts, o->asks[o->asks_n - 1], o->others, &lease)) {
        send_lease(o, o->asks[--o->asks_n], &lease);
        cw_index_lease_fini(&lease);
        cw_fault_point("worker.index_leased");
    }
}

/* called on the loop thread */
static void on_parts(void *arg)
{
    struct cw_loading *o = arg;
    atomic_store(&o->parts_posted, false);
    if (!o->unwanted)
        lease_parts(o);
}

/* Called by the thread of the preparation. What it posts runs before on_opened frees the loading, since
 * that is posted by the same thread, later. */
static void on_ready(void *arg)
{
    struct cw_loading *o = arg;
    if (atomic_exchange(&o->parts_posted, true))
        return;
    o->parts_node = (struct cw_loop_node){.fn = on_parts, .arg = o};
    cw_loop_post_node(o->worker->loop, &o->parts_node);
}

void cw_index_leases_init(struct cw_loading *o)
{
    o->parts = cw_index_parts_new(on_ready, o);
}

static void help_free(struct cw_windex_help *help)
{
    if (!help)
        return;
    cw_mem_free(help->op);
    cw_value_fini(&help->options);
    cw_value_fini(&help->files);
    cw_mem_free(help);
}

void cw_index_leases_fini(struct cw_loading *o)
{
    cw_index_parts_free(o->parts);
    cw_mem_free(o->asks);
    help_free(o->help);
}

void cw_index_leases_asked(struct cw_worker_state *w, const Cachew__V1__IndexAsk *ask)
{
    struct cw_loading *o = preparation_of(w, ask->job_id);
    if (!o || o->asks_n >= ASKS_MAX)
        return;
    CW_GROW(o->asks, o->asks_n, o->asks_cap);
    o->asks[o->asks_n++] = ask->number;
    o->others = CW_MIN(ask->others, (uint32_t)ASKS_MAX);
    lease_parts(o);
}

void cw_index_leases_made(struct cw_worker_state *w, const Cachew__V1__IndexMade *made)
{
    struct cw_loading *o = preparation_of(w, made->job_id);
    struct cw_value files = {0};
    struct cw_err err = {0};
    if (!o)
        return;
    int rc = made->code;
    if (rc == 0)
        rc = cw_wire_manifest_unpack(made->files.data, made->files.len, CW_MANIFEST_MEMORY, &files,
                                     &err);
    else
        cw_log_debug("worker", "job=%s: parts of an index come back: %s", o->job_id, made->error);
    cw_index_parts_leased(o->parts, made->number, rc == 0 ? &files : NULL);
    cw_value_fini(&files);
    lease_parts(o);
}

void cw_index_leases_detached(struct cw_worker_state *w)
{
    struct cw_loading *const lists[] = {w->loader.running, w->loader.waiting};
    for (size_t i = 0; i < CW_ARRAY_LEN(lists); i++)
        for (struct cw_loading *o = lists[i]; o; o = o->next)
            if (o->parts) {
                o->asks_n = 0;
                cw_index_parts_lost(o->parts);
            }
}

static long long number_of(const struct cw_value *survey, const char *key)
{
    const struct cw_value *value = cw_value_get(survey, key);
    return value && value->type == CW_VALUE_I64 ? (long long)value->i : 0;
}

void cw_index_tell_surveys(const char *job_id, const struct cw_value *manifest)
{
    for (size_t i = 0; i < manifest->n; i++) {
        const struct cw_value *survey = manifest->items[i].type == CW_VALUE_OBJECT
                                            ? cw_value_get(&manifest->items[i], "survey")
                                            : NULL;
        if (!survey || survey->type != CW_VALUE_OBJECT)
            continue;
        char parts[48] = "";
        if (cw_value_get(survey, "parts"))
            snprintf(parts, sizeof(parts), " in %lld parts", number_of(survey, "parts"));
        cw_log_info("worker", "job=%s survey of node \"%s\": %lld elements, %lld kept%s, %lld bad",
                    job_id, manifest->keys[i], number_of(survey, "elements"),
                    number_of(survey, "kept"), parts, number_of(survey, "bad"));
    }
}

/* ---- of a worker that helps ---- */

static int read_lease(const Cachew__V1__IndexLease *lease, struct cw_windex_help *help,
                      struct cw_err *err)
{
    help->number = lease->number;
    help->op = cw_mem_strdup(lease->op);
    int rc = cw_value_parse(lease->options, strlen(lease->options), "options", &help->options, err);
    if (rc == 0)
        rc = cw_wire_manifest_unpack(lease->files.data, lease->files.len, CW_MANIFEST_MEMORY,
                                     &help->files, err);
    if (rc == 0 && help->files.type != CW_VALUE_OBJECT)
        rc = cw_err_set(err, CW_E_INVALID, "the files of a lease are no manifest");
    return rc;
}

void cw_index_leases_given(struct cw_worker_state *w, const Cachew__V1__IndexLease *lease,
                           uint64_t source_store)
{
    struct cw_err err = {0};
    struct cw_windex_help *help = CW_NEW(struct cw_windex_help);
    int rc = w->drain.active ? cw_err_set(&err, CW_E_UNAVAILABLE, "this worker leaves")
                             : read_lease(lease, help, &err);
    if (rc < 0) {
        cw_report_index_made(w, lease->job_id, lease->number, NULL, &err);
        help_free(help);
        return;
    }
    struct cw_loading *o = CW_NEW(struct cw_loading);
    o->job_id = cw_mem_strdup(lease->job_id);
    o->help = help;
    o->source_store = source_store;
    o->reader = cw_source_root_reader(lease->tenant);
    cw_fault_point("worker.index_given");
    w->loader.begin(w, o);
}

static int help_survey(struct cw_loading *o)
{
    struct cw_windex_help *help = o->help;
    const struct cw_value *text =
        help->options.type == CW_VALUE_OBJECT ? cw_value_get(&help->options, "graph") : NULL;
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    if (!text || text->type != CW_VALUE_STR)
        return cw_err_set(&o->error, CW_E_INVALID, "a lease of a survey has no pipeline");
    int rc = cw_graph_parse(text->s, strlen(text->s), "lease", &graph, &o->error);
    if (rc == 0)
        rc = cw_graph_check(graph, &checked, &o->error);
    if (rc == 0) {
        cw_key_set(checked);
        rc = cw_survey_help(checked, &help->options, &help->files, o->stop, &o->error);
    }
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return rc;
}

int cw_index_help_run(struct cw_loading *o)
{
    if (strcmp(o->help->op, CW_SURVEY_OP) == 0)
        return help_survey(o);
    return cw_index_parts_help(cw_op_find(o->help->op), &o->help->options, &o->help->files, o->stop,
                               &o->error);
}

void cw_index_help_tell(struct cw_loading *o)
{
    const bool failed = o->error.code != 0;
    struct cw_buf *files = failed ? NULL : cw_wire_manifest_pack(&o->help->files);
    cw_fault_point("worker.index_made");
    cw_report_index_made(o->worker, o->job_id, o->help->number, files, &o->error);
    cw_buf_unref(files);
}
