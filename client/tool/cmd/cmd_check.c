/* SPDX-License-Identifier: Apache-2.0 */
/* cachew check FILE: checks a pipeline as a dispatcher does when a job starts, without one, or by
 * asking one. */
#include <string.h>

#include "base/hostload.h"
#include "base/memlimit.h"
#include "cachew/cachew.h"
#include "client/model/trainer_spec.h"
#include "client/pipeline.h"
#include "client/tool/tool.h"
#include "client/tool/tool_graph.h"
#include "client/tool/view/check_labels.h"
#include "client/tool/view/check_notes.h"
#include "client/tool/view/check_ways.h"
#include "graph/complete.h"
#include "graph/item_size.h"
#include "ops/plugin.h"

static void add_json_note(void *arg, const char *node, const char *text)
{
    struct cw_str *out = arg;
    cw_str_add(out, out->s[out->len - 1] == '[' ? "{" : ",{");
    cw_member_text(out, "node", node);
    cw_member_text(out, "text", text);
    cw_str_add_char(out, '}');
}

static void print_note(void *arg, const char *node, const char *text)
{
    fprintf(stderr, "note: %s: node \"%s\": %s\n", (const char *)arg, node, text);
}

/* What a node gives; "?" if only files say it, and they are not here. */
static void add_spec(const struct cw_checked_node *node, struct cw_str *out)
{
    if (node->unknown)
        cw_str_add(out, "?");
    else
        cw_spec_print(&node->out, out);
}

static void print_json(const struct cw_checked *checked)
{
    struct cw_item_size item;
    char fingerprint[CW_HASH_TEXT_BYTES];
    CW_STR_AUTO out = {0};
    cw_hash_text(checked->fingerprint, fingerprint);
    cw_str_add_char(&out, '{');
    cw_member_text(&out, "name", checked->graph->name);
    cw_member_text(&out, "fingerprint", fingerprint);
    cw_str_add(&out, ",\"nodes\":[");
    for (size_t i = 0; i < checked->graph->n; i++) {
        const struct cw_node *node = &checked->graph->nodes[i];
        CW_STR_AUTO spec = {0};
        add_spec(&checked->nodes[i], &spec);
        cw_str_addf(&out, "%s{\"name\":\"%s\",\"op\":\"%s\",\"sparse\":%s,\"out\":", i ? "," : "",
                    node->name, node->op, checked->nodes[i].sparse ? "true" : "false");
        cw_str_add_json(&out, cw_str_text(&spec), spec.len);
        cw_str_add(&out, "}");
    }
    cw_str_add(&out, "]");
    if (cw_item_size(checked, &item))
        cw_str_addf(&out, ",\"item\":{\"elements\":%lld,\"bytes\":%lld}", (long long)item.elements,
                    (long long)item.bytes);
    cw_str_add(&out, ",\"ways\":[");
    tool_check_ways_json(checked, &out);
    cw_str_add(&out, "],\"labels\":[");
    tool_check_labels_json(checked, &out);
    cw_str_add(&out, "],\"notes\":[");
    tool_check_notes(checked, add_json_note, &out);
    cw_str_add(&out, "]}");
    puts(cw_str_text(&out));
}

static void print_text(const struct cw_checked *checked)
{
    static const char *const heads[] = {"NODE", "OPERATOR", "GIVES"};
    char fingerprint[CW_HASH_TEXT_BYTES];
    struct tool_table table;
    CW_STR_AUTO ways = {0};
    struct cw_item_size item;
    tool_table_init(&table, CW_ARRAY_LEN(heads), heads);
    for (size_t i = 0; i < checked->graph->n; i++) {
        CW_STR_AUTO spec = {0};
        add_spec(&checked->nodes[i], &spec);
        tool_table_add(&table, "%s", checked->graph->nodes[i].name);
        tool_table_add(&table, "%s", checked->graph->nodes[i].op);
        tool_table_add(&table, "%s%s", cw_str_text(&spec),
                       checked->nodes[i].sparse ? "  (count depends on data)" : "");
    }
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
    cw_hash_text(checked->fingerprint, fingerprint);
    tool_check_ways(checked, &ways);
    tool_check_labels(checked, &ways);
    printf("%s", cw_str_text(&ways));
    const bool is_inside = cw_item_size(checked, &item);
    CW_STR_AUTO size = {0};
    if (is_inside && item.bytes >= 0) {
        cw_str_add(&size, ", ");
        tool_print_bytes((double)item.bytes, &size);
    }
    if (is_inside)
        printf("an item holds %lld elements%s: operators inside it begin anew with each\n",
               (long long)item.elements, cw_str_text(&size));
    printf("ok, fingerprint %s\n", fingerprint);
}

static void print_answer(const char *dispatcher, const struct cachew_pipeline *pipeline,
                         const struct cachew_spec *batches, bool json)
{
    CW_STR_AUTO spec = {0};
    CW_STR_AUTO out = {0};
    cw_spec_print(&batches->of, &spec);
    if (batches->of.n == 0)
        cw_str_add(&spec, json ? "?"
                               : "? (only files say it, and a dispatcher opens none: check without "
                                 "--dispatcher)");
    if (!json) {
        printf("its batches: %s\nok, says the dispatcher at %s\n", cw_str_text(&spec), dispatcher);
        return;
    }
    cw_str_add_char(&out, '{');
    cw_member_text(&out, "name", cw_pipeline_graph(pipeline)->name);
    cw_member_text(&out, "dispatcher", dispatcher);
    cw_member_text(&out, "batches", cw_str_text(&spec));
    cw_str_add_char(&out, '}');
    puts(cw_str_text(&out));
}

/* Asks a dispatcher, which may know other operators and see other files than this host. */
static int ask(const char *dispatcher, const char *file, bool json)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_connect_options options = CACHEW_CONNECT_OPTIONS_INIT;
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_client *client = NULL;
    struct cachew_spec *batches = NULL;
    tool_connect_options(&options);
    options.cancel = tool_cancel();
    tool_catch_signals();
    int rc = cachew_pipeline_load(file, &pipeline, &error);
    if (rc == 0)
        rc = cachew_connect(dispatcher, &options, &client, &error);
    if (rc == 0)
        rc = cachew_pipeline_check(client, pipeline, &batches, &error);
    if (rc == 0)
        print_answer(dispatcher, pipeline, batches, json);
    cachew_spec_free(batches);
    cachew_disconnect(client);
    cachew_pipeline_release(pipeline);
    return rc == 0 ? TOOL_OK : tool_fail_cachew(&error);
}

/* Checks what can be checked without the files that say what their elements are, if they cannot be
 * looked into here. */
static int check_graph(struct cw_graph *graph, const char *file, struct cw_checked **ret_checked,
                       struct cw_err *err)
{
    struct cw_err without = {0};
    int rc = tool_graph_check(graph, NULL, ret_checked, err);
    if (rc >= 0 || cw_graph_incomplete(graph) == SIZE_MAX ||
        (rc != CW_E_NOT_FOUND && rc != CW_E_DENIED && rc != CW_E_IO))
        return rc;
    rc = cw_graph_check_without_data(graph, ret_checked, &without);
    if (rc < 0)
        *err = without;
    else
        fprintf(
            stderr,
            "note: %s: %s: what comes from there (?) is checked where the files are, when a job "
            "is prepared\n",
            file, err->msg);
    return rc;
}

/* budget: of the workers; 0: what one here would have. */
static int check_here(const char *file, uint64_t budget, bool json)
{
    struct cw_err err = {0};
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    if (cw_graph_load(file, &graph, &err) < 0)
        return tool_fail_err(&err);
    int rc = check_graph(graph, file, &checked, &err);
    cw_graph_unref(graph);
    if (rc == 0)
        rc = cw_item_check(checked, budget > 0 ? budget : cw_memlimit_lower(cw_host_budget(1)),
                           &err);
    if (rc < 0) {
        cw_checked_unref(checked);
        cw_err_wrap(&err, "%s", file);
        return tool_fail_err(&err);
    }
    if (json)
        print_json(checked);
    else
        print_text(checked);
    if (!json)
        tool_check_notes(checked, print_note, (void *)(uintptr_t)file);
    cw_checked_unref(checked);
    return TOOL_OK;
}

int tool_cmd_check(int argc, char **argv)
{
    const char *dispatcher = NULL;
    uint64_t budget = 0;
    bool json = false;
    struct cw_err err = {0};
    const struct cw_arg rows[] = {
        {"budget", 0, CW_ARG_BYTES, &budget, "BYTES",
         "what workers have (cachew-worker --budget); default: what one here would have", 0, 0},
        TOOL_ROW_PLUGIN("load operators of one's own, to check here; may stand several times"),
        {"dispatcher", 'd', CW_ARG_STR, &dispatcher, "ADDRESS",
         "ask this one (HOST:PORT, unix:/path, or local:) instead of checking here", 0, 0},
        TOOL_ROW_TOKEN_FILE,
        TOOL_ROW_JSON(&json, "print one JSON object"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew check",
        .usage = "FILE.json [options]",
        .about = "Checks a pipeline file: its form, operators, options, shapes and dtypes. Only "
                 "sources whose files say what their elements are look into the first one, and "
                 "image_folder looks for all, to list its classes; "
                 "whether others exist shows when it runs. What is likely to go "
                 "wrong nevertheless is noted on stderr. FILE.json may be - for stdin. With "
                 "--dispatcher the dispatcher is asked, which may know other operators.",
        .rows = rows,
    };
    const char *files[1];
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "which file?", files, 1, &code))
        return code;
    if (strcmp(files[0], "-") == 0)
        files[0] = "/dev/stdin";
    if (dispatcher && tool_plugins.n > 0)
        return tool_fail("--plugin is for checking here: a dispatcher knows what its workers have");
    if (dispatcher)
        return ask(dispatcher, files[0], json);
    if (cw_plugin_load_all(tool_plugins.v, tool_plugins.n, &err) < 0)
        return tool_fail_err(&err);
    return check_here(files[0], budget, json);
}
