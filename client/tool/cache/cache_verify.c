/* SPDX-License-Identifier: Apache-2.0 */
/* cachew cache verify: reads every chunk of a store from end to end. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cache/record/chunk_verify.h"
#include "client/tool/tool.h"

struct verify {
    struct cw_store *store;
    const char *url, *prefix;
    bool json, remove, quiet;
    char **names;
    size_t names_n, names_cap;
    uint64_t bytes_all; /* The bytes of all chunks that the listing found. */
    uint64_t chunks, records, bytes, damaged, gone, removed, others;
    struct cw_str list; /* The list of damaged chunks, as JSON. */
    int64_t start_ns, line_ns;
};

static int on_file(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    struct verify *v = arg;
    size_t n = strlen(name);
    (void)mtime_ms;
    if (n < 6 || strcmp(name + n - 6, ".chunk") != 0) {
        v->others++;
        return 0;
    }
    CW_GROW(v->names, v->names_n, v->names_cap);
    v->names[v->names_n++] = cw_mem_strdup(name);
    v->bytes_all += bytes;
    return 0;
}

static void show_progress(struct verify *v, size_t i)
{
    int64_t now = cw_clock_ns();
    CW_STR_AUTO line = {0};
    if (v->json || v->quiet || !tool_line_wanted() || now - v->line_ns < 100 * 1000000)
        return;
    v->line_ns = now;
    cw_str_addf(&line, "%zu of %zu chunks, ", i, v->names_n);
    tool_print_bytes((double)v->bytes, &line);
    cw_str_add(&line, " of ");
    tool_print_bytes((double)v->bytes_all, &line);
    cw_str_addf(&line, ", %" PRIu64 " damaged, ", v->damaged);
    tool_print_bytes((double)v->bytes * 1e9 / (double)CW_MAX(now - v->start_ns, 1), &line);
    cw_str_add(&line, "/s");
    tool_line_show(cw_str_text(&line));
}

static int note_damaged(struct verify *v, const char *name, const struct cw_err *why,
                        struct cw_err *err)
{
    /* A chunk that cannot be read is worth as little as a damaged one. One that may not be read
     * (permissions) may be intact. */
    bool remove = v->remove && (why->code == CW_E_CORRUPT || why->code == CW_E_IO);
    int rc = remove ? cw_store_remove(v->store, name, err) : 0;
    cw_str_add(&v->list, v->damaged++ ? ",{\"name\":" : "{\"name\":");
    cw_str_add_json(&v->list, name, strlen(name));
    cw_str_add(&v->list, ",\"why\":");
    cw_str_add_json(&v->list, why->msg, strlen(why->msg));
    cw_str_addf(&v->list, ",\"removed\":%s}", remove && rc == 0 ? "true" : "false");
    v->removed += remove && rc == 0;
    tool_line_clear();
    if (!v->json)
        printf("%s %s\n", remove && rc == 0 ? "removed" : "damaged", why->msg);
    return rc;
}

/* Verifies one chunk. A store that does not answer ends the command. A chunk that was evicted
 * meanwhile is skipped. */
static int verify_one(struct verify *v, const char *name, struct cw_err *err)
{
    struct cw_chunk_index *index = NULL;
    struct cw_err why = {0};
    int rc = cw_chunk_verify(v->store, name, &index, &why);
    if (rc == CW_E_NOT_FOUND) {
        v->gone++;
        return 0;
    }
    if (rc == CW_E_UNAVAILABLE || rc == CW_E_TIMEOUT || rc == CW_E_NOMEM) {
        *err = why;
        return rc;
    }
    if (rc < 0)
        return note_damaged(v, name, &why, err);
    v->chunks++;
    v->records += index->records_n;
    v->bytes += index->bytes;
    cw_chunk_index_free(index);
    return 0;
}

static int verify_all(struct verify *v, struct cw_err *err)
{
    int rc = cw_store_open(v->url, &v->store, err);
    if (rc == 0)
        rc = cw_store_list(v->store, v->prefix, on_file, v, err);
    for (size_t i = 0; rc == 0 && i < v->names_n; i++) {
        if (tool_is_interrupted())
            return cw_err_set(err, CW_E_CANCELLED, "interrupted after %zu of %zu chunks", i,
                              v->names_n);
        show_progress(v, i);
        rc = verify_one(v, v->names[i], err);
    }
    return rc;
}

static void print_summary(const struct verify *v)
{
    CW_STR_AUTO out = {0};
    tool_line_clear();
    if (v->json) {
        cw_str_add(&out, "{\"store\":");
        cw_str_add_json(&out, v->url, strlen(v->url));
        cw_str_addf(&out,
                    ",\"chunks\":%" PRIu64 ",\"records\":%" PRIu64 ",\"bytes\":%" PRIu64
                    ",\"gone\":%" PRIu64 ",\"others\":%" PRIu64 ",\"removed\":%" PRIu64
                    ",\"damaged\":[%s]}",
                    v->chunks, v->records, v->bytes, v->gone, v->others, v->removed,
                    cw_str_text(&v->list));
        puts(cw_str_text(&out));
        return;
    }
    cw_str_addf(&out, "%" PRIu64 " chunks with ", v->chunks);
    tool_print_count((double)v->records, &out);
    cw_str_add(&out, " records, ");
    tool_print_bytes((double)v->bytes, &out);
    cw_str_addf(&out, ": good; %" PRIu64 " damaged", v->damaged);
    if (v->removed)
        cw_str_addf(&out, ", %" PRIu64 " of them removed", v->removed);
    if (v->others)
        cw_str_addf(&out, "; %" PRIu64 " other files", v->others);
    puts(cw_str_text(&out));
}

static void fini(struct verify *v)
{
    for (size_t i = 0; i < v->names_n; i++)
        cw_mem_free(v->names[i]);
    cw_mem_free(v->names);
    cw_str_fini(&v->list);
    cw_store_close(v->store);
}

int tool_cache_verify(int argc, char **argv)
{
    struct verify v = {.prefix = ""};
    const struct cw_arg rows[] = {
        {"remove-damaged", 0, CW_ARG_FLAG, &v.remove, NULL,
         "remove what is damaged or cannot be read: it is then computed again", 0, 0},
        TOOL_ROW_JSON(&v.json, "print one JSON object at the end, and nothing else"),
        TOOL_ROW_QUIET(&v.quiet, "no progress line"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew cache verify",
        .usage = "STORE [PREFIX] [options]",
        .about = "Reads and checks every chunk of a store, or those below PREFIX (TENANT, "
                 "TENANT/KEY). Names the damaged ones; fails if there are any.",
        .rows = rows,
        .tail = "examples:\n  cachew cache verify dir:/var/cache/cachew\n  cachew cache verify "
                "gluster://host/volume/cache default --remove-damaged\n",
    };
    const char *words[2];
    size_t n = 0;
    int code = 0;
    struct cw_err err = {0};
    if (!tool_parse(&spec, argc, argv, words, 2, &n, &code))
        return code;
    if (n < 1) {
        fprintf(stderr,
                "cachew cache verify: which store? usage: cachew cache verify STORE [PREFIX]\n");
        return TOOL_USAGE;
    }
    v.url = words[0];
    v.prefix = n > 1 ? words[1] : "";
    tool_catch_signals();
    v.start_ns = cw_clock_ns();
    int rc = verify_all(&v, &err);
    if (rc < 0)
        code = tool_fail_err(&err);
    else
        print_summary(&v);
    if (rc == 0)
        code = v.damaged > v.removed ? TOOL_FAILED : TOOL_OK;
    fini(&v);
    return tool_is_interrupted() ? TOOL_INTERRUPTED : code;
}
