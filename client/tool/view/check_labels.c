/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/view/check_labels.h"

#include "base/json_member.h"

enum { SHOWN = 20 }; /* names on a line */

struct labels {
    struct cw_str names;
    int64_t n;
    bool all, json;
};

static void add(void *arg, int64_t number, const char *name, size_t bytes)
{
    struct labels *l = arg;
    if (l->n++ >= SHOWN && !l->all)
        return;
    cw_str_add(&l->names, l->n > 1 ? (l->json ? "," : ", ") : "");
    if (l->json) {
        cw_str_add_json(&l->names, name, bytes);
        return;
    }
    cw_str_addf(&l->names, "%lld ", (long long)number);
    cw_str_add_bytes(&l->names, name, bytes);
}

/* Opens the source as a worker does, and asks it. */
static int ask(const struct cw_checked *checked, size_t i, struct labels *labels,
               struct cw_err *err)
{
    const struct cw_checked_node *node = &checked->nodes[i];
    struct cw_spec out = node->out;
    const struct cw_op_open how = {.out = &out, .identity = checked->graph->identity};
    void *state = NULL;
    int rc = node->op->open(node->opts, &how, &state, err);
    if (rc < 0)
        return rc;
    node->op->labels(node->opts, state, add, labels);
    node->op->close(state);
    return 0;
}

void tool_check_labels(const struct cw_checked *checked, struct cw_str *out)
{
    for (size_t i = 0; i < checked->graph->n; i++) {
        struct labels labels = {.all = false};
        struct cw_err err = {0};
        if (!checked->nodes[i].op->labels)
            continue;
        cw_str_addf(out, "\"%s\" numbers ", checked->graph->nodes[i].name);
        if (ask(checked, i, &labels, &err) < 0)
            cw_str_addf(out, "what it finds where the files are (%s)\n", err.msg);
        else
            cw_str_addf(out, "%lld names: %s%s\n", (long long)labels.n, cw_str_text(&labels.names),
                        labels.n > SHOWN ? ", ..." : "");
        cw_str_fini(&labels.names);
    }
}

void tool_check_labels_json(const struct cw_checked *checked, struct cw_str *out)
{
    bool any = false;
    for (size_t i = 0; i < checked->graph->n; i++) {
        struct labels labels = {.all = true, .json = true};
        if (checked->nodes[i].op->labels && ask(checked, i, &labels, NULL) == 0) {
            cw_str_add(out, any ? ",{" : "{");
            cw_member_text(out, "node", checked->graph->nodes[i].name);
            cw_str_addf(out, ",\"names\":[%s]}", cw_str_text(&labels.names));
            any = true;
        }
        cw_str_fini(&labels.names);
    }
}
