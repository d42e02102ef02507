/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/open_plan.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "client/tool/tool.h"
#include "exec/op_probe.h"
#include "graph/complete.h"
#include "ops/source/index_parts.h"
#include "rewrite/key.h"

#define SHOW_NS ((int64_t)200 * 1000000)

struct opening {
    struct cw_graph *graph;
    struct cw_stop *stop;
    struct cw_index_parts *parts;
    struct cw_plan *plan;
    struct cw_err err;
    int rc;
    _Atomic bool is_done;
};

static int open_plan(struct opening *o)
{
    struct cw_graph *completed = NULL, *probed = NULL;
    struct cw_checked *checked = NULL;
    int rc = cw_graph_complete(o->graph, NULL, o->stop, &completed, &o->err);
    if (rc == 0)
        rc = cw_exec_probe(completed, 0, o->stop, &probed, &o->err);
    if (rc == 0)
        rc = cw_graph_check(probed, &checked, &o->err);
    if (rc == 0) {
        cw_key_set(checked);
        rc = cw_plan_prepare(checked, 0, o->parts, false, o->stop, &o->plan, &o->err);
    }
    cw_checked_unref(checked);
    cw_graph_unref(probed);
    cw_graph_unref(completed);
    return rc;
}

static void run(void *arg)
{
    struct opening *o = arg;
    o->rc = open_plan(o);
    atomic_store(&o->is_done, true);
}

/* "index: 312 of 1000 files, 0:12 left"; "survey: 312 of 1000 parts, 0:12 left" */
static void show(const struct opening *o, int64_t began_ns)
{
    size_t made = 0, n = 0;
    const char *what;
    CW_STR_AUTO text = {0};
    cw_index_parts_progress(o->parts, &made, &n, &what);
    if (n == 0)
        return;
    cw_str_addf(&text, "%s: %zu of %zu %s", strcmp(what, "files") == 0 ? "index" : "survey", made,
                n, what);
    if (made > 0) {
        cw_str_add(&text, ", ");
        tool_print_time(tool_seconds_since(began_ns) * (double)(n - made) / (double)made, &text);
        cw_str_add(&text, " left");
    }
    tool_line_show(cw_str_text(&text));
}

static void watch(struct opening *o, int64_t began_ns)
{
    const bool shows = tool_line_wanted();
    int64_t shown_ns = cw_clock_ns();
    while (!atomic_load(&o->is_done)) {
        cw_clock_sleep_ns(1000000);
        if (tool_is_interrupted())
            cw_stop_set(o->stop);
        if (shows && cw_clock_ns() - shown_ns > SHOW_NS) {
            shown_ns = cw_clock_ns();
            show(o, began_ns);
        }
    }
    if (shows)
        tool_line_clear();
}

int tool_open_plan(struct cw_graph *graph, struct tool_opened *ret_opened,
                   struct cw_plan **ret_plan, struct cw_err *err)
{
    const int64_t began_ns = cw_clock_ns();
    struct cw_thread thread;
    struct opening o = {
        .graph = graph, .stop = cw_stop_new(), .parts = cw_index_parts_new(NULL, NULL)};
    cw_thread_start(&thread, "cachew-open", run, &o);
    watch(&o, began_ns);
    cw_thread_join(&thread);
    if (ret_opened)
        ret_opened->seconds = tool_seconds_since(began_ns);
    cw_index_parts_free(o.parts);
    cw_stop_unref(o.stop);
    if (o.rc < 0) {
        *err = o.err;
        return o.rc;
    }
    *ret_plan = o.plan;
    return 0;
}
