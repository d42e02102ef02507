/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/model/operators.h"

#include <string.h>

#include "dispatcher/model/model.h"
#include "ops/foreign.h"
#include "wire/wire.h"

#define NAMED_MAX 4

void cw_operators_free(struct cw_operators *operators)
{
    cw_mem_free(operators->v);
    *operators = (struct cw_operators){0};
}

static void add(struct cw_operators *operators, const struct cw_foreign *foreign)
{
    operators->v = cw_mem_grow(operators->v, operators->n + 1, sizeof(*operators->v));
    operators->v[operators->n++] = foreign;
}

static int add_text(struct cw_operators *operators, const char *text,
                    enum cw_foreign_announced announced, struct cw_err *err)
{
    struct cw_value definition = {0};
    const struct cw_foreign *foreign = NULL;
    const struct cw_foreign_new how = {.definition = &definition, .announced = announced};
    int rc = cw_value_parse(text, strlen(text), "operator", &definition, err);
    if (rc == 0)
        rc = cw_foreign_add(&how, &foreign, err);
    if (rc == 0)
        add(operators, foreign);
    cw_value_fini(&definition);
    return rc;
}

void cw_worker_set_operators(struct cw_worker *worker, const Cachew__V1__WorkerHello *hello)
{
    /* one of a single job may be a tenant's, who must not say what others mean by a name */
    const enum cw_foreign_announced announced =
        hello->only_job[0] == '\0' ? CW_FOREIGN_ANNOUNCED : CW_FOREIGN_BY_JOB;
    size_t bytes = 0, left_out = 0;
    struct cw_err first = {0};
    cw_operators_free(&worker->operators);
    for (size_t i = 0; i < CW_MIN(hello->n_operators, (size_t)CW_FOREIGN_MAX); i++) {
        struct cw_err err = {0};
        bytes += strlen(hello->operators[i]);
        int rc = bytes > CW_FOREIGN_WORKER_MAX
                     ? cw_err_set(&err, CW_E_LIMIT, "it says more than %zu bytes of them",
                                  CW_FOREIGN_WORKER_MAX)
                     : add_text(&worker->operators, hello->operators[i], announced, &err);
        if (rc < 0 && left_out++ == 0)
            first = err;
    }
    if (left_out > 0)
        cw_log_warn(CW_LOG_MOD, "worker=%s %zu operators of its plugins are left out: %s",
                    hello->address, left_out, first.msg);
}

void cw_job_set_operators(struct cw_job *job, const Cachew__V1__Graph *completed)
{
    struct cw_graph *graph = NULL;
    cw_operators_free(&job->operators);
    if (!completed || cw_wire_graph_from(completed, &graph, NULL) != 0)
        return;
    for (size_t i = 0; i < graph->n; i++) {
        const struct cw_node *node = &graph->nodes[i];
        const struct cw_op *op =
            strchr(node->op, '.') ? cw_op_find_for(node->op, &node->options) : NULL;
        const struct cw_foreign *foreign = op ? cw_foreign_of_op(op) : NULL;
        if (!foreign)
            continue;
        add(&job->operators, foreign);
        /* After a restart clients may come back with this pipeline before a worker does. */
        const struct cw_foreign_new known = {.definition = &foreign->definition,
                                             .announced = CW_FOREIGN_BY_JOB};
        (void)cw_foreign_add(&known, &foreign, NULL);
    }
    cw_graph_unref(graph);
}

static const struct cw_foreign *named(const struct cw_worker *worker, const char *name)
{
    for (size_t i = 0; i < worker->operators.n; i++)
        if (strcmp(worker->operators.v[i]->op.name, name) == 0)
            return worker->operators.v[i];
    return NULL;
}

static bool has_same(const struct cw_worker *worker, const struct cw_foreign *needed,
                     struct cw_str *out)
{
    const struct cw_foreign *its = named(worker, needed->op.name);
    if (its && strcmp(its->hash, needed->hash) == 0)
        return true;
    if (out && its)
        cw_str_addf(out, "%s from %s (%.8s), but has it from %s (%.8s)", needed->op.name,
                    needed->library, needed->hash, its->library, its->hash);
    else if (out)
        cw_str_addf(out, "%s from %s (%.8s)", needed->op.name, needed->library, needed->hash);
    return false;
}

/* What the pipeline names, before it is known from which files these come. */
static bool has_names(const struct cw_worker *worker, const struct cw_job *job, struct cw_str *out)
{
    for (size_t i = 0; i < job->graph->n_nodes; i++) {
        const char *name = job->graph->nodes[i]->op;
        if (!strchr(name, '.') || named(worker, name))
            continue;
        if (out)
            cw_str_add(out, name);
        return false;
    }
    return true;
}

bool cw_lacking_add(struct cw_lacking *lacking, const struct cw_worker *worker)
{
    if (!worker->version || worker->version[0] == '\0' || lacking->n == CW_LACKING_MAX)
        return false;
    lacking->v[lacking->n++] = cw_mem_strdup(worker->version);
    return true;
}

void cw_lacking_fini(struct cw_lacking *lacking)
{
    while (lacking->n > 0)
        cw_mem_free(lacking->v[--lacking->n]);
}

static bool is_lacking(const struct cw_lacking *lacking, const struct cw_worker *worker)
{
    for (size_t i = 0; worker->version && i < lacking->n; i++)
        if (strcmp(lacking->v[i], worker->version) == 0)
            return true;
    return false;
}

bool cw_worker_has_operators(const struct cw_worker *worker, const struct cw_job *job,
                             struct cw_str *out)
{
    if (is_lacking(&job->lacking, worker)) {
        if (out)
            cw_str_addf(out, "what its version %s could not find", worker->version);
        return false;
    }
    if (!job->info)
        return has_names(worker, job, out);
    for (size_t i = 0; i < job->operators.n; i++)
        if (!has_same(worker, job->operators.v[i], out))
            return false;
    return true;
}

bool cw_operators_lacking(const struct cw_job *job, struct cw_str *out)
{
    size_t n = 0;
    for (const struct cw_worker *worker = job->d->workers; worker; worker = worker->next) {
        CW_STR_AUTO what = {0};
        if (!worker->said_hello || cw_worker_has_operators(worker, job, &what))
            continue;
        if (n++ < NAMED_MAX)
            cw_str_addf(out, "%sworker %s lacks %s", n > 1 ? "; " : "", worker->address,
                        cw_str_text(&what));
    }
    if (n > NAMED_MAX)
        cw_str_addf(out, "; and %zu more workers", n - NAMED_MAX);
    return n > 0;
}
