/* SPDX-License-Identifier: Apache-2.0 */
/* cachew cache fetch: copies chunks of a store to a directory, where the operator `chunks` reads
 * them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "cache/record/chunk_verify.h"
#include "client/tool/tool.h"

struct fetch {
    struct cw_store *from, *to;
    bool json;
    char **names;
    size_t names_n, names_cap;
    uint64_t chunks, bytes, there; /* there: chunks that an earlier run has copied */
};

static int on_file(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    struct fetch *f = arg;
    size_t n = strlen(name);
    (void)bytes, (void)mtime_ms;
    if (n < 6 || strcmp(name + n - 6, ".chunk") != 0)
        return 0;
    CW_GROW(f->names, f->names_n, f->names_cap);
    f->names[f->names_n++] = cw_mem_strdup(name);
    return 0;
}

/* Reads a whole file, into memory that the caller frees. */
static int read_whole(struct cw_store *store, const char *name, void **ret_data, size_t *ret_n,
                      struct cw_err *err)
{
    struct cw_store_file *file = NULL;
    uint64_t bytes = 0;
    int rc = cw_store_file_open(store, name, &file, &bytes, err);
    void *data = rc == 0 ? cw_mem_try((size_t)bytes + 1) : NULL;
    if (rc == 0 && !data)
        rc = cw_err_set(err, CW_E_NOMEM, "no memory for %s, which has %" PRIu64 " bytes", name,
                        bytes);
    if (rc == 0)
        rc = cw_store_file_read(file, 0, data, (size_t)bytes, err);
    cw_store_file_close(file);
    if (rc < 0) {
        cw_mem_free(data);
        return rc;
    }
    *ret_data = data;
    *ret_n = (size_t)bytes;
    return 0;
}

/* Copies one chunk, unless a good copy is there. A copy that is damaged is removed. */
static int fetch_one(struct fetch *f, const char *name, struct cw_err *err)
{
    cw_autofree void *data = NULL;
    size_t n = 0;
    if (cw_chunk_verify(f->to, name, NULL, NULL) == 0) {
        f->there++;
        return 0;
    }
    int rc = read_whole(f->from, name, &data, &n, err);
    const struct iovec part = {.iov_base = data, .iov_len = n};
    if (rc == 0)
        rc = cw_store_put(f->to, name, &part, 1, err);
    if (rc < 0)
        return rc;
    rc = cw_chunk_verify(f->to, name, NULL, err);
    if (rc < 0) {
        (void)!cw_store_remove(f->to, name, NULL);
        return rc;
    }
    f->chunks++;
    f->bytes += n;
    return 0;
}

static int open_dir(const char *dir, struct cw_store **ret_store, struct cw_err *err)
{
    cw_autofree char *real = realpath(dir, NULL);
    if (!real && mkdir(dir, 0777) == 0)
        real = realpath(dir, NULL);
    if (!real)
        return cw_err_set(err, CW_E_NOT_FOUND, "%s: there is no such directory", dir);
    cw_autofree char *url = cw_mem_printf("dir:%s", real);
    return cw_store_open(url, ret_store, err);
}

static int fetch_all(struct fetch *f, const char *url, const char *dir, struct cw_err *err)
{
    int rc = cw_store_open(url, &f->from, err);
    if (rc == 0)
        rc = open_dir(dir, &f->to, err);
    if (rc == 0)
        rc = cw_store_list(f->from, "", on_file, f, err);
    if (rc == 0 && f->names_n == 0)
        rc = cw_err_set(err, CW_E_NOT_FOUND, "%s: there is no chunk", url);
    for (size_t i = 0; rc == 0 && i < f->names_n; i++) {
        if (tool_is_interrupted())
            return cw_err_set(err, CW_E_CANCELLED,
                              "interrupted after %zu of %zu chunks: run the "
                              "same command again to go on",
                              i, f->names_n);
        rc = fetch_one(f, f->names[i], err);
    }
    return rc;
}

static void print_summary(const struct fetch *f)
{
    CW_STR_AUTO out = {0};
    if (f->json) {
        printf("{\"chunks\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"there\":%" PRIu64 "}\n", f->chunks,
               f->bytes, f->there);
        return;
    }
    tool_print_bytes((double)f->bytes, &out);
    printf("%" PRIu64 " chunks copied, %s; %" PRIu64 " were there\n", f->chunks, cw_str_text(&out),
           f->there);
}

static void fini(struct fetch *f)
{
    for (size_t i = 0; i < f->names_n; i++)
        cw_mem_free(f->names[i]);
    cw_mem_free(f->names);
    cw_store_close(f->from);
    cw_store_close(f->to);
}

int tool_cache_fetch(int argc, char **argv)
{
    struct fetch f = {0};
    const struct cw_arg rows[] = {
        TOOL_ROW_JSON(&f.json, "print one JSON object at the end, and nothing else"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew cache fetch",
        .usage = "STORE DIR [options]",
        .about = "Copies the chunks of a store to a directory, where the operator chunks reads "
                 "them, and checks each copy. What was copied before and is good is left as it is.",
        .rows = rows,
        .tail = "examples:\n  cachew cache fetch gluster://host/volume/photos /data/photos\n",
    };
    const char *words[2];
    int code = 0;
    struct cw_err err = {0};
    if (!tool_parse_words(&spec, argc, argv, "which store, and where to?", words, 2, &code))
        return code;
    tool_catch_signals();
    int rc = fetch_all(&f, words[0], words[1], &err);
    if (rc == 0)
        print_summary(&f);
    else
        code = tool_fail_err(&err);
    fini(&f);
    return tool_is_interrupted() ? TOOL_INTERRUPTED : code;
}
