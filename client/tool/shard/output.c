/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/shard/output.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/mem.h"
#include "base/str.h"
#include "conf/value.h"

#define STATE_MAX ((size_t)64 << 10)

/* ---- the argument OUT ---- */

/* Makes the directory and its parents. */
static int make_dirs(char *path, struct cw_err *err)
{
    for (char *p = path + 1;; p++) {
        char was = *p;
        if (was != '/' && was != '\0')
            continue;
        *p = '\0';
        int rc = mkdir(path, 0777);
        int why = errno;
        if (rc < 0 && why != EEXIST)
            return cw_err_errno(err, why, "%s", path);
        *p = was;
        if (was == '\0')
            return 0;
    }
}

static int open_dir(struct tool_output *output, const char *path, struct cw_err *err)
{
    cw_autofree char *dir = cw_mem_strdup(*path ? path : ".");
    int rc = make_dirs(dir, err);
    char *real = rc == 0 ? realpath(dir, NULL) : NULL;
    if (rc == 0 && !real)
        rc = cw_err_errno(err, errno, "%s", dir);
    if (rc < 0)
        return rc;
    cw_autofree char *url = cw_mem_printf("dir:%s", real);
    output->dir = real;
    return cw_store_open(url, &output->store, err);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), end_n = strlen(end);
    return n > end_n && strcmp(s + n - end_n, end) == 0;
}

/* Whether a name says that a file of a format is expected which nobody writes here. */
static bool is_other_file(const char *name)
{
    static const char *const ends[] = {
        ".arrow", ".csv", ".feather", ".gz",        ".h5",  ".hdf5", ".json", ".jsonl",
        ".npy",   ".npz", ".parquet", ".tfrecords", ".tsv", ".txt",  ".zip",  ".zst"};
    for (size_t i = 0; i < CW_ARRAY_LEN(ends); i++)
        if (ends_with(name, ends[i]))
            return true;
    return false;
}

/* Opens an output with one file per shard: NAME of "/where/NAME.tar". */
static int open_named(struct tool_output *output, const char *out, struct cw_err *err)
{
    const char *slash = strrchr(out, '/'), *name = slash ? slash + 1 : out;
    size_t n = strlen(name) - strlen(output->format->ext) - 1;
    if (n == 0 || n >= sizeof(output->base) || name[0] == '.' ||
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
            strlen(name))
        return cw_err_set(err, CW_E_INVALID,
                          "%s: the name must have only letters, digits and ._-, at most %zu", out,
                          sizeof(output->base) - 1);
    memcpy(output->base, name, n);
    output->base[n] = '\0';
    cw_autofree char *dir =
        slash ? cw_mem_strndup(out, slash == out ? 1 : (size_t)(slash - out)) : cw_mem_strdup(".");
    return open_dir(output, dir, err);
}

int tool_output_open(struct tool_output *output, const char *out, struct cw_err *err)
{
    const char *where = cw_str_starts(out, "chunks:") ? out + strlen("chunks:") : out;
    *output = (struct tool_output){.format = &tool_shard_chunks, .base = "part"};
    if (where == out && ends_with(out, ".tfrecord"))
        output->format = &tool_shard_tfrecord;
    else if (where == out && ends_with(out, ".tar"))
        output->format = &tool_shard_tar;
    if (output->format != &tool_shard_chunks)
        return open_named(output, out, err);
    if (cw_store_has_scheme(where))
        return cw_store_open(where, &output->store, err);
    if (where == out && is_other_file(out))
        return cw_err_set(
            err, CW_E_UNSUPPORTED,
            "%s: files of this kind are not written; what is: NAME.tfrecord, NAME.tar, "
            "and chunks in a directory (chunks:DIR)",
            out);
    return open_dir(output, where, err);
}

void tool_output_close(struct tool_output *output)
{
    cw_store_close(output->store);
    output->store = NULL;
    cw_mem_free(output->dir);
    output->dir = NULL;
}

/* ---- files ---- */

static char *shard_name(const struct tool_output *output, uint64_t shard)
{
    return cw_mem_printf("%s-%05" PRIu64 ".%s", output->base, shard, output->format->ext);
}

static char *state_name(const struct tool_output *output)
{
    return cw_mem_printf("%s.%s.materialize", output->base, output->format->ext);
}

static bool is_shard(const struct tool_output *output, const char *name)
{
    size_t base_n = strlen(output->base);
    if (strncmp(name, output->base, base_n) != 0 || name[base_n] != '-')
        return false;
    size_t digits = strspn(name + base_n + 1, "0123456789");
    const char *ext = name + base_n + 1 + digits;
    return digits >= 5 && ext[0] == '.' && strcmp(ext + 1, output->format->ext) == 0;
}

struct listing {
    const struct tool_output *output;
    char **names;
    size_t n, cap;
};
static int on_file(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    struct listing *l = arg;
    (void)bytes;
    (void)mtime_ms;
    if (is_shard(l->output, name)) {
        CW_GROW(l->names, l->n, l->cap);
        l->names[l->n++] = cw_mem_strdup(name);
    }
    return 0;
}

/* The list of a store contains all directories below. A directory of the user may have many, so it
 * is listed here. */
static int list_shards(struct listing *l, struct cw_err *err)
{
    const struct tool_output *output = l->output;
    if (!output->dir)
        return cw_store_list(output->store, "", on_file, l, err);
    DIR *dir = opendir(output->dir);
    if (!dir)
        return cw_err_errno(err, errno, "%s", output->dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        on_file(l, entry->d_name, 0, 0);
    closedir(dir);
    return 0;
}

static void listing_fini(struct listing *l)
{
    for (size_t i = 0; i < l->n; i++)
        cw_mem_free(l->names[i]);
    cw_mem_free(l->names);
}

int tool_output_put(struct tool_output *output, uint64_t shard, const struct iovec *parts,
                    size_t parts_n, struct cw_err *err)
{
    cw_autofree char *name = shard_name(output, shard);
    cw_fault_point("materialize.shard");
    int rc = cw_store_put(output->store, name, parts, parts_n, err);
    cw_fault_point("materialize.state");
    return rc;
}

int tool_output_clear(struct tool_output *output, struct cw_err *err)
{
    struct listing l = {.output = output};
    cw_autofree char *state = state_name(output);
    int rc = list_shards(&l, err);
    for (size_t i = 0; i < l.n && rc == 0; i++)
        rc = cw_store_remove(output->store, l.names[i], err);
    if (rc == 0)
        /* The state is removed last, so that after an interrupted clear there is still one. */
        rc = cw_store_remove(output->store, state, err);
    listing_fini(&l);
    return rc;
}

/* ---- the state ---- */

int tool_output_save(struct tool_output *output, const struct tool_output_state *state,
                     struct cw_err *err)
{
    cw_autofree char *name = state_name(output);
    char id[CW_HASH_TEXT_BYTES];
    CW_STR_AUTO text = {0};
    cw_hash_text(state->id, id);
    cw_str_addf(&text,
                "{\"version\": 1, \"id\": \"%s\", \"shards\": %" PRIu64 ", \"elements\": %" PRIu64
                ", \"bytes\": %" PRIu64 ", \"done\": %s, \"token\": \"",
                id, state->shards, state->elements, state->bytes, state->done ? "true" : "false");
    for (size_t i = 0; i < state->token_n; i++)
        cw_str_addf(&text, "%02x", state->token[i]);
    cw_str_add(&text, "\"}\n");
    const struct iovec part = {text.s, text.len};
    return cw_store_put(output->store, name, &part, 1, err);
}

static bool get_number(const struct cw_value *value, const char *key, uint64_t *ret)
{
    const struct cw_value *v = cw_value_get(value, key);
    if (!v || v->type != CW_VALUE_I64 || v->i < 0)
        return false;
    *ret = (uint64_t)v->i;
    return true;
}

static bool get_token(const struct cw_value *value, struct tool_output_state *state)
{
    const struct cw_value *v = cw_value_get(value, "token");
    size_t n = v && v->type == CW_VALUE_STR ? strlen(v->s) : 1;
    if (n % 2 || n / 2 > sizeof(state->token) || strspn(v->s, "0123456789abcdef") != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        int digit = v->s[i] <= '9' ? v->s[i] - '0' : v->s[i] - 'a' + 10;
        state->token[i / 2] = (unsigned char)(i % 2 ? state->token[i / 2] | digit : digit << 4);
    }
    state->token_n = n / 2;
    return true;
}

static int parse_state(const char *text, size_t n, const char *name,
                       struct tool_output_state *state, struct cw_err *err)
{
    struct cw_value value = {0};
    uint64_t version = 0;
    int rc = cw_value_parse(text, n, name, &value, err);
    if (rc < 0)
        return rc;
    const struct cw_value *id = cw_value_get(&value, "id"), *done = cw_value_get(&value, "done");
    bool good = get_number(&value, "version", &version) && version == 1 && id &&
                id->type == CW_VALUE_STR && cw_hash_parse(id->s, &state->id) && done &&
                done->type == CW_VALUE_BOOL && get_number(&value, "shards", &state->shards) &&
                get_number(&value, "elements", &state->elements) &&
                get_number(&value, "bytes", &state->bytes) && get_token(&value, state);
    state->done = good && done->b;
    cw_value_fini(&value);
    return good ? 0
                : cw_err_set(err, CW_E_CORRUPT, "%s: is not the state of a run of this version",
                             name);
}

static int read_state(struct tool_output *output, const char *name, struct tool_output_state *state,
                      struct cw_err *err)
{
    struct cw_store_file *file = NULL;
    uint64_t n = 0;
    int rc = cw_store_file_open(output->store, name, &file, &n, err);
    if (rc < 0)
        return rc;
    cw_autofree char *text = n <= STATE_MAX ? cw_mem_new((size_t)n + 1) : NULL;
    rc = text ? cw_store_file_read(file, 0, text, (size_t)n, err)
              : cw_err_set(err, CW_E_CORRUPT, "%s: too long", name);
    cw_store_file_close(file);
    return rc < 0 ? rc : parse_state(text, (size_t)n, name, state, err);
}

int tool_output_load(struct tool_output *output, struct tool_output_state *ret_state,
                     struct cw_err *err)
{
    struct listing l = {.output = output};
    cw_autofree char *name = state_name(output);
    *ret_state = (struct tool_output_state){0};
    int rc = read_state(output, name, ret_state, err);
    if (rc != CW_E_NOT_FOUND)
        return rc;
    rc = list_shards(&l, err);
    if (rc == 0 && l.n > 0)
        rc = cw_err_set(err, CW_E_EXISTS,
                        "%s is there already (and %zu more): give --force to write it anew",
                        l.names[0], l.n - 1);
    listing_fini(&l);
    return rc;
}
