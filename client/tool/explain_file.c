/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/explain_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "rewrite/relaxed.h"

bool tool_explain_is_file(const char *what)
{
    struct stat st;

    return stat(what, &st) == 0 && S_ISREG(st.st_mode) && access(what, R_OK) == 0;
}

const struct cw_node *tool_explained_node(const struct tool_explained *e, size_t place)
{
    return &e->planned.graph->nodes[e->planned.map.nodes[place]];
}

/* ---- in words ---- */

static const char *name_of(const struct tool_explained *e, size_t place)
{
    return tool_explained_node(e, place)->name;
}

void tool_what_if_text(const struct tool_explained *e, const struct cw_what_if *it,
                       struct cw_str *out)
{
    switch (it->kind) {
    case CW_WHAT_IF_WORKER_MORE:
        cw_str_add(out, "a worker more");
        break;
    case CW_WHAT_IF_WORKER_LESS:
        cw_str_add(out, "a worker less");
        break;
    case CW_WHAT_IF_CACHE:
        cw_str_add(out, "10 GB of cache more");
        break;
    case CW_WHAT_IF_TRAINER:
        cw_str_add(out, "a trainer twice as fast");
        break;
    case CW_WHAT_IF_HALF:
        cw_str_addf(out, "%s at half its cost", name_of(e, it->op));
        break;
    case CW_WHAT_IF_RELAXED:
        cw_str_add(out, "the relaxed order");
        break;
    case CW_WHAT_IF_CUT:
        cw_str_addf(out, "what follows %s beside the trainer", name_of(e, it->op));
        break;
    }
}

/* ---- */

static void find_what_if(struct tool_explained *e)
{
    struct tool_planned *p = &e->planned;
    struct cw_optimize_problem *relaxed = NULL;

    if (!e->relaxed) {
        relaxed = CW_NEW(struct cw_optimize_problem);
        *relaxed = p->problem;
        cw_problem_relax(&p->chain, relaxed);
    }
    e->what_if_n = cw_optimize_what_if(&p->problem, relaxed, &p->found.plan, e->what_if);
    cw_mem_free(relaxed);
}

static void find_all(struct tool_explained *e)
{
    const struct tool_planned *p = &e->planned;
    const struct cw_optimize_plan *plan = &p->found.plan;

    cw_optimize_rows(&p->problem, plan, e->rows);
    cw_optimize_epoch(&p->problem, plan, &e->epoch);
    if (!p->has_costs)
        return;
    find_what_if(e);
}

int tool_explained_load(const char *path, const char *profile_path,
                        const struct tool_plan_options *options, struct tool_explained *e,
                        struct cw_err *err)
{
    int rc = tool_planned_load(path, profile_path, options, &e->planned, err);

    if (rc < 0)
        return rc;
    e->relaxed = options->relaxed;
    tool_planned_search(options, &e->planned);
    find_all(e);
    return 0;
}

void tool_explained_fini(struct tool_explained *e)
{
    tool_planned_fini(&e->planned);
}
