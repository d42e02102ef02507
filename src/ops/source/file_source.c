/* SPDX-License-Identifier: Apache-2.0 */
/* Loads something once for each file of a source, and has the common functions of such sources. */
#include "ops/source/file_source.h"

#include "base/mem.h"
#include "format/inflate.h"
#include "format/kept_index.h"
#include "format/read_ranges.h"
#include "ops/source/index_parts.h"
#include "ops/source/loaded.h"

/* A file that changed less than this time ago might change again without a new modification time, so
 * its index is not kept. */
#define SETTLE_MS 2000
/* The most bytes of an index that a byte of a file can need: lines of no bytes take 8 each, and so do 16
 * bytes that say where 8 of them were read. gzip makes 1,032 bytes of one at most. */
#define INDEX_OF_A_BYTE 32
#define INFLATED_MAX 1040

void cw_file_source_free(void *state)
{
    struct cw_file_source *s = state;
    if (!s)
        return;
    cw_loaded_free(s->loaded);
    if (s->kind->end)
        s->kind->end(s);
    cw_file_set_free(s->files);
    cw_mem_free(s);
}

/* ---- indices ---- */

/* Writes what names the index of a file: how it is made, and what tells this version of the file from
 * others. */
static int name_file(const struct cw_file_source *s, size_t i, const char *name, struct cw_str *out,
                     struct cw_err *err)
{
    const struct cw_file *file = &s->files->v[i];
    int64_t mark = file->stamp.mtime_ns;
    char sum[CW_HASH_TEXT_BYTES] = "-";
    int rc = 0;
    if (file->stamp.identity == CW_IDENTITY_SIZE) { /* the job does not care; an index does */
        struct cw_io_info info = {0};
        rc = cw_io_stat(file->path, s->files->stop, &info, err);
        mark = cw_io_mark(&info);
    }
    if (cw_identity_reads(file->stamp.identity))
        cw_hash_text(file->stamp.sum, sum);
    cw_str_addf(out, "%s\n%s\n%lld %lld %s\n", name, file->path, (long long)file->stamp.size,
                (long long)mark, sum);
    return rc;
}

static int key_of(const struct cw_file_source *s, size_t i, struct cw_str *out, struct cw_err *err)
{
    int rc = name_file(s, i, s->kind->index->name, out, err);
    if (s->kind->index->key)
        s->kind->index->key(s, out);
    if (rc == 0 && s->kind->index->key_of)
        rc = s->kind->index->key_of(s, i, out, err);
    return rc;
}

/* The most bytes that can have been kept of a file. */
static uint64_t kept_max(const struct cw_file_source *s, size_t i)
{
    const struct cw_file *file = &s->files->v[i];
    const uint64_t each = INDEX_OF_A_BYTE * (cw_inflate_is_name(file->path) ? INFLATED_MAX : 1);
    return CW_KEPT_INDEX_SMALL +
           each * CW_MIN((uint64_t)file->stamp.size, (uint64_t)CW_KEPT_INDEX_MAX);
}

/* Whether the file will not change any more without being another one by its key. */
static bool is_settled(const struct cw_file_source *s, size_t i)
{
    struct cw_file_use use;
    if (s->files->identity == CW_IDENTITY_CONTENT)
        return true;
    if (cw_file_set_use(s->files, i, &use, NULL) < 0)
        return false;
    bool settled = cw_source_is_settled(&use.source, SETTLE_MS);
    cw_file_set_release(s->files, &use);
    return settled;
}

static void keep(const struct cw_file_source *s, size_t i, const char *key, const void *loaded,
                 const struct cw_str *head)
{
    CW_STR_AUTO bytes = {0};
    if (!cw_index_keeper_is_set() || !is_settled(s, i))
        return;
    if (s->kind->index->pack)
        s->kind->index->pack(loaded, &bytes);
    const struct cw_str *what = s->kind->index->pack ? &bytes : head;
    cw_index_keeper_put(key, (uint64_t)s->kind->index->records(loaded), cw_str_text(what),
                        what->len);
}

/* Loads an index as it was kept. */
static int load_kept(struct cw_file_source *s, size_t i, const struct cw_kept_index *kept,
                     void **ret_loaded, struct cw_err *err)
{
    const struct cw_file_index *index = s->kind->index;
    const struct cw_file *file = &s->files->v[i];
    if (index->unpack)
        return index->unpack(s, i, kept->bytes, kept->n, ret_loaded, err);
    struct cw_read_ranges ranges = {.kept = kept->bytes, .kept_n = kept->n};
    struct cw_readable readable =
        cw_read_ranges_replay(&ranges, file->path, (uint64_t)file->stamp.size);
    return index->load_head(s, i, &readable, ret_loaded, err);
}

/* Loads an index from the file, and notes what is read of it if that is what is kept. */
static int load_file(struct cw_file_source *s, size_t i, struct cw_str *head, void **ret_loaded,
                     struct cw_err *err)
{
    const struct cw_file_index *index = s->kind->index;
    struct cw_file_use use;
    if (!index->load_head)
        return s->kind->load(s, i, ret_loaded, err);
    int rc = cw_file_set_use(s->files, i, &use, err);
    if (rc < 0)
        return rc;
    struct cw_read_ranges ranges = {.from = &use.readable};
    struct cw_readable readable = cw_read_ranges_record(&ranges);
    rc = index->load_head(s, i, &readable, ret_loaded, err);
    cw_file_set_release(s->files, &use);
    *head = ranges.noted;
    return rc;
}

static int load_index(void *arg, size_t i, void **ret_loaded, struct cw_err *err)
{
    struct cw_file_source *s = arg;
    struct cw_kept_index kept = {0};
    CW_STR_AUTO key = {0};
    CW_STR_AUTO head = {0};
    int rc = key_of(s, i, &key, err);
    if (rc < 0)
        return rc;
    if (cw_index_keeper_find(cw_str_text(&key), kept_max(s, i), &kept)) {
        rc = load_kept(s, i, &kept, ret_loaded, NULL);
        cw_kept_index_fini(&kept);
        if (rc == 0)
            return 0;
    }
    rc = load_file(s, i, &head, ret_loaded, err);
    if (rc == 0)
        keep(s, i, cw_str_text(&key), *ret_loaded, &head);
    return rc;
}

/* Finds out how many records a file has, if that is kept without loading its index. */
static int make_part(void *arg, size_t i, int64_t *ret_records, struct cw_err *err)
{
    struct cw_file_source *s = arg;
    struct cw_kept_index kept = {0};
    CW_STR_AUTO key = {0};
    const void *loaded = NULL;
    int rc = cw_index_keeper_is_set() ? key_of(s, i, &key, err) : 0;
    if (rc == 0 && key.len > 0 && cw_index_keeper_find(cw_str_text(&key), kept_max(s, i), &kept)) {
        *ret_records = (int64_t)kept.records;
        cw_kept_index_fini(&kept);
        return 0;
    }
    if (rc == 0)
        rc = cw_file_source_get(s, i, &loaded, err);
    if (rc < 0)
        return rc;
    *ret_records = s->kind->index->records(loaded);
    cw_file_source_put(s, i);
    return 0;
}

static int make_index(struct cw_file_source *s, const struct cw_op_open *how, struct cw_err *err)
{
    if (how->only_index)
        return cw_index_parts_make(NULL, s->files, how, make_part, s, err);
    return how->manifest ? 0
                         : cw_index_parts_make(how->index_parts, s->files, how, make_part, s, err);
}

static int prepare_all(struct cw_file_source *s, const struct cw_op_open *how, struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->files->n; i++) {
        rc = cw_stop_check_at(how->stop, s->files->v[i].path, err);
        if (rc == 0)
            rc = s->kind->prepare(s, i, how, err);
    }
    return rc;
}

/* ---- opening ---- */

int cw_file_source_new(const struct cw_file_source_kind *kind, const struct cw_str_list *patterns,
                       const struct cw_op_open *how, void **ret_state, struct cw_err *err)
{
    void *state = cw_mem_new(kind->state_bytes);
    if (kind->begin)
        kind->begin(state, how);
    return cw_file_source_start(kind, state, patterns, how, ret_state, err);
}

int cw_file_source_start(const struct cw_file_source_kind *kind, void *state,
                         const struct cw_str_list *patterns, const struct cw_op_open *how,
                         void **ret_state, struct cw_err *err)
{
    struct cw_file_source *s = state;
    s->kind = kind;
    int rc = cw_file_set_new(patterns, kind->glob ? kind->glob : cw_io_glob, how, &s->files, err);
    if (rc == 0 && how->manifest && how->identity == CW_IDENTITY_CONTENT && !kind->names_only &&
        !how->only_index)
        rc = cw_file_set_compare(s->files, err);
    if (rc == 0 && kind->unload)
        s->loaded =
            cw_loaded_new(s->files->n, kind->unload, kind->index ? kind->index->bytes : NULL);
    if (rc == 0)
        rc = kind->index ? make_index(s, how, err) : prepare_all(s, how, err);
    if (rc == 0)
        rc = cw_file_set_sum(s->files, err);
    if (rc < 0)
        cw_file_source_free(s);
    else
        *ret_state = s;
    return rc;
}

static int load_other(void *arg, size_t i, void **ret_loaded, struct cw_err *err)
{
    const struct cw_file_source *s = arg;
    return s->kind->load(arg, i, ret_loaded, err);
}

int cw_file_source_get(struct cw_file_source *s, size_t i, const void **ret_loaded,
                       struct cw_err *err)
{
    return cw_loaded_get(s->loaded, i, s->kind->index ? load_index : load_other, s, ret_loaded,
                         err);
}

void cw_file_source_put(struct cw_file_source *s, size_t i)
{
    cw_loaded_put(s->loaded, i);
}

/* ---- blocks ---- */

static int add_file(struct cw_file_source *s, size_t i, struct cw_blocks *blocks,
                    struct cw_err *err)
{
    const struct cw_file *file = &s->files->v[i];
    const void *loaded = NULL;
    cw_blocks_add(blocks, file->first);
    if (!s->kind->blocks)
        return 0;
    int rc = s->loaded ? cw_file_source_get(s, i, &loaded, err) : 0;
    if (rc < 0)
        return rc;
    s->kind->blocks(s, i, loaded, file->first, blocks);
    if (s->loaded)
        cw_file_source_put(s, i);
    return 0;
}

int cw_file_source_blocks(const void *opts, void *state, struct cw_blocks *blocks,
                          struct cw_err *err)
{
    struct cw_file_source *s = state;
    int rc = 0;
    (void)opts;
    for (size_t i = 0; i < s->files->n && rc == 0; i++)
        if (s->files->v[i].records > 0)
            rc = add_file(s, i, blocks, err);
    return rc;
}

/* Reads a head from the file, and keeps what is read. */
static int read_head(struct cw_file_source *s, size_t i, const char *key,
                     int (*read)(void *arg, const struct cw_readable *file, struct cw_err *err),
                     void *arg, struct cw_err *err)
{
    struct cw_file_use use;
    int rc = cw_file_set_use(s->files, i, &use, err);
    if (rc < 0)
        return rc;
    struct cw_read_ranges ranges = {.from = &use.readable};
    struct cw_readable readable = cw_read_ranges_record(&ranges);
    rc = read(arg, &readable, err);
    cw_file_set_release(s->files, &use);
    if (rc == 0 && cw_index_keeper_is_set() && is_settled(s, i))
        cw_index_keeper_put(key, 0, cw_str_text(&ranges.noted), ranges.noted.len);
    cw_str_fini(&ranges.noted);
    return rc;
}

int cw_file_source_head(struct cw_file_source *s, size_t i, const char *name,
                        int (*read)(void *arg, const struct cw_readable *file, struct cw_err *err),
                        void *arg, struct cw_err *err)
{
    const struct cw_file *file = &s->files->v[i];
    struct cw_kept_index kept = {0};
    CW_STR_AUTO key = {0};
    int rc = name_file(s, i, name, &key, err);
    if (rc == 0 && cw_index_keeper_find(cw_str_text(&key), kept_max(s, i), &kept)) {
        struct cw_read_ranges ranges = {.kept = kept.bytes, .kept_n = kept.n};
        struct cw_readable readable =
            cw_read_ranges_replay(&ranges, file->path, (uint64_t)file->stamp.size);
        rc = read(arg, &readable, NULL);
        cw_kept_index_fini(&kept);
        if (rc == 0)
            return 0;
    }
    return read_head(s, i, cw_str_text(&key), read, arg, err);
}

int cw_file_source_compare(const struct cw_file_source *s, size_t i, uint64_t records,
                           const char *what, struct cw_err *err)
{
    const struct cw_file *file = &s->files->v[i];
    if ((int64_t)records == file->records)
        return 0;
    return cw_err_set(err, CW_E_OTHER_FILE,
                      "%s: not the file that the job was prepared with: it had %lld %s then, here "
                      "and now it has %llu",
                      file->path, (long long)file->records, what, (unsigned long long)records);
}

int cw_file_source_count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                         int64_t *ret_n, struct cw_err *err)
{
    const struct cw_file_source *s = state;
    (void)opts;
    (void)in_n;
    (void)inputs_n;
    (void)err;
    *ret_n = s->files->records;
    return 0;
}

void cw_file_source_manifest(const void *opts, void *state, struct cw_value *ret_value)
{
    const struct cw_file_source *s = state;
    (void)opts;
    cw_file_set_manifest(s->files, ret_value);
}

void cw_file_source_describe(const void *opts, void *state, int64_t pos, struct cw_str *out)
{
    const struct cw_file_source *s = state;
    (void)opts;
    cw_file_set_describe(s->files, pos, out);
}

const char *cw_file_source_locate(const void *opts, void *state, int64_t pos, int64_t *ret_record)
{
    const struct cw_file_source *s = state;
    const struct cw_file *file = &s->files->v[cw_file_set_locate(s->files, pos)];
    (void)opts;
    *ret_record = pos - file->first;
    return file->path;
}

bool cw_file_source_ahead(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead)
{
    const struct cw_file_source *s = state;
    (void)opts;
    if (ahead)
        cw_file_set_ahead(s->files, (size_t)pos, 0, UINT64_MAX, ahead);
    return cw_file_set_can_ahead(s->files);
}
