/* SPDX-License-Identifier: Apache-2.0 */
/* cachew index build|ls|rm: indices of source files that are kept in a store. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cache/index/index_home.h"
#include "client/tool/data_graph.h"
#include "client/tool/open_plan.h"
#include "client/tool/tool.h"
#include "format/kept_index.h"
#include "io/match.h"
#include "ops/source/index_parts.h"

/* The URL of a store; a path is a directory, such as that of a source cache. The caller frees it. */
static char *url_of(const char *store)
{
    if (cw_store_has_scheme(store))
        return cw_mem_strdup(store);
    cw_autofree char *real = realpath(store, NULL), *absolute = tool_absolute_pattern(store);
    return cw_mem_printf("dir:%s", real ? real : absolute);
}

/* ---- build ---- */

/* Whether a row of a manifest is of a file here that had changed just before, so that its index is not
 * kept (ops/source/file_source.c). */
static bool is_fresh(const struct cw_value *row, int64_t begun_ms)
{
    return row->n > 2 && row->items[0].type == CW_VALUE_STR && row->items[0].s[0] == '/' &&
           row->items[2].type == CW_VALUE_I64 && begun_ms - row->items[2].i / 1000000 < 2000;
}

static void print_built(const struct cw_plan *plan, const struct tool_opened *opened,
                        int64_t begun_ms, bool json)
{
    const struct cw_plan_info *info = cw_plan_info(plan);
    struct cw_value manifest = {0};
    uint64_t files = 0, fresh = 0;
    cw_plan_manifest(plan, &manifest);
    for (size_t i = 0; i < manifest.n; i++) {
        const struct cw_value *list = cw_value_get(&manifest.items[i], "files");
        files += list ? list->n : 0;
        for (size_t k = 0; list && k < list->n; k++)
            fresh += is_fresh(&list->items[k], begun_ms);
    }
    cw_value_fini(&manifest);
    if (json)
        printf("{\"files\":%" PRIu64 ",\"elements\":%lld,\"seconds\":%.3f}\n", files,
               (long long)info->elements, opened->seconds);
    else
        printf("%" PRIu64 " files, %.3f s\n", files, opened->seconds);
    if (fresh > 0)
        fprintf(stderr,
                "note: %" PRIu64 " of the files changed less than 2 s before, so their indices may "
                "not be kept: build them once more\n",
                fresh);
}

static int build(const char *what, const char *store, bool json, struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    struct cw_store *opened_store = NULL;
    struct tool_opened opened;
    struct cw_plan *plan = NULL;
    const int64_t begun_ms = cw_clock_wall_ms();
    cw_autofree char *url = url_of(store);
    int rc = cw_store_open(url, &opened_store, err); /* whether it can be used */
    cw_store_close(opened_store);
    if (rc == 0)
        rc = tool_data_graph(what, &graph, err);
    if (rc < 0)
        return rc;
    cw_index_home_start();
    cw_index_home_set_store(0, url);
    rc = tool_open_plan(graph, &opened, &plan, err);
    cw_graph_unref(graph);
    if (rc == 0)
        print_built(plan, &opened, begun_ms, json);
    cw_plan_unref(plan);
    cw_index_home_stop();
    return rc;
}

static int run_build(int argc, char **argv)
{
    uint64_t requests = 16;
    bool json = false;
    const struct cw_arg rows[] = {
        {"requests", 0, CW_ARG_U64, &requests, "N", "files at a time (default 16)", 1,
         CW_INDEX_AT_ONCE_MAX},
        TOOL_ROW_JSON(&json, "print one JSON object at the end"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew index build",
        .usage = "FILE.json|PATTERN STORE [options]",
        .about = "Makes the indices of a pipeline's source files here, and keeps them in the store "
                 "of a cache, or in the directory of a source cache. Jobs whose "
                 "workers use it then begin without reading the files. Indices that are there are "
                 "left as they are.",
        .rows = rows,
        .tail = "examples:\n  cachew index build '/data/*.tfrecord' dir:/mnt/cache\n",
    };
    const char *words[2];
    struct cw_err err = {0};
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "of what, and into which store?", words, 2, &code))
        return code;
    tool_catch_signals();
    cw_index_parts_set_at_once((unsigned)requests);
    if (build(words[0], words[1], json, &err) < 0)
        return tool_is_interrupted() ? TOOL_INTERRUPTED : tool_fail_err(&err);
    return tool_flush_output();
}

/* ---- what ls and rm go over ---- */

struct rows {
    struct cw_store *store;
    const char *pattern; /* of paths of files; NULL: all */
    bool json, remove;
    struct tool_table table;
    uint64_t n, bytes, records;
    struct cw_err *err;
};

/* Takes line `line` of a key; the caller frees it. */
static char *line_of(const struct cw_index_row *row, unsigned line)
{
    const char *p = row->key, *end = row->key ? row->key + row->key_n : NULL;
    for (; p && line > 0; line--) {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    const char *stop = p ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return p ? cw_mem_strndup(p, (size_t)((stop ? stop : end) - p)) : cw_mem_strdup("");
}

static void print_row(struct rows *r, const struct cw_index_row *row, const char *op,
                      const char *path)
{
    CW_STR_AUTO out = {0};
    if (r->json) {
        cw_str_add_char(&out, '{');
        cw_member_text(&out, "name", row->name);
        cw_member_text(&out, "index", op);
        cw_member_text(&out, "file", path);
        cw_member_number(&out, "records", row->records);
        cw_member_number(&out, "bytes", row->bytes);
        cw_str_addf(&out, ",\"damaged\":%s}", row->is_damaged ? "true" : "false");
        puts(cw_str_text(&out));
        return;
    }
    tool_print_bytes((double)row->bytes, &out);
    tool_table_add(&r->table, "%s", row->is_damaged ? "damaged" : op);
    tool_table_add(&r->table, "%" PRIu64, row->records);
    tool_table_add(&r->table, "%s", cw_str_text(&out));
    tool_table_add(&r->table, "%s", row->is_damaged ? row->name : path);
}

static int on_row(void *arg, const struct cw_index_row *row)
{
    struct rows *r = arg;
    cw_autofree char *op = line_of(row, 0), *path = line_of(row, 1);
    if (tool_is_interrupted())
        return CW_E_CANCELLED;
    if (r->pattern && !row->is_damaged && !cw_match_name(r->pattern, path))
        return 0;
    r->n++;
    r->bytes += row->bytes;
    r->records += row->records;
    if (r->remove)
        return cw_store_remove(r->store, row->name, r->err);
    print_row(r, row, op, path);
    return 0;
}

/* A store in a directory that is not there: opening it would make the directory. */
static bool is_missing(const char *url)
{
    static const char scheme[] = "dir:";
    const size_t n = sizeof(scheme) - 1;
    if (strncmp(url, scheme, n) != 0)
        return false;
    cw_autofree char *path = cw_mem_strndup(url + n, strcspn(url + n, "?"));
    return access(path, F_OK) != 0;
}

static int go_over(struct rows *r, const char *store, struct cw_err *err)
{
    cw_autofree char *url = url_of(store);
    r->err = err;
    if (is_missing(url))
        return cw_err_set(err, CW_E_NOT_FOUND, "there is no store \"%s\"", store);
    int rc = cw_store_open(url, &r->store, err);
    if (rc == 0)
        rc = cw_index_list(r->store, on_row, r, err);
    cw_store_close(r->store);
    return rc;
}

/* ---- ls ---- */

static int run_ls(int argc, char **argv)
{
    static const char *const heads[] = {"INDEX", "RECORDS", "BYTES", "FILE"};
    struct rows r = {.json = false};
    const struct cw_arg rows[] = {
        TOOL_ROW_JSON(&r.json, "print one JSON object a line"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew index ls",
        .usage = "STORE [options]",
        .about = "Lists the indices of source files in the store of a cache, or in a directory.",
        .rows = rows,
    };
    const char *words[1];
    struct cw_err err = {0};
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "of which store?", words, 1, &code))
        return code;
    tool_catch_signals();
    tool_table_init(&r.table, CW_ARRAY_LEN(heads), heads);
    int rc = go_over(&r, words[0], &err);
    if (rc == 0 && !r.json)
        tool_table_print(&r.table, stdout);
    tool_table_fini(&r.table);
    return rc < 0 ? tool_is_interrupted() ? TOOL_INTERRUPTED : tool_fail_err(&err)
                  : tool_flush_output();
}

/* ---- rm ---- */

static int run_rm(int argc, char **argv)
{
    struct rows r = {.remove = true};
    const struct cw_arg rows[] = {
        TOOL_ROW_JSON(&r.json, "print one JSON object at the end"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew index rm",
        .usage = "STORE PATTERN [options]",
        .about = "Removes the indices of the source files that match, and those that are damaged. "
                 "Jobs that need one make it anew.",
        .rows = rows,
        .tail = "examples:\n  cachew index rm dir:/mnt/cache '/data/**'\n",
    };
    const char *words[2];
    struct cw_err err = {0};
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "from which store, and of which files?", words, 2,
                          &code))
        return code;
    tool_catch_signals();
    cw_autofree char *pattern = tool_absolute_pattern(words[1]);
    r.pattern = pattern;
    if (go_over(&r, words[0], &err) < 0)
        return tool_is_interrupted() ? TOOL_INTERRUPTED : tool_fail_err(&err);
    printf(r.json ? "{\"removed\":%" PRIu64 "}\n" : "%" PRIu64 " removed\n", r.n);
    return tool_flush_output();
}

int tool_cmd_index(int argc, char **argv)
{
    static const struct tool_command list[] = {
        {"build", "make the indices of source files before a job needs them", run_build},
        {"ls", "list the indices of a store", run_ls},
        {"rm", "remove indices from a store", run_rm},
    };
    static const struct tool_commands commands = {.program = "cachew index",
                                                  .about =
                                                      "What is known of where records begin in "
                                                      "source files, and kept for later jobs.",
                                                  .tail = "",
                                                  .v = list,
                                                  .n = CW_ARRAY_LEN(list)};
    return tool_dispatch(&commands, argc, argv);
}
