/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/source/webdataset_source.h"

#include <string.h>

#include "base/mem.h"
#include "ops/source/line_blocks.h"
#include "ops/source/whole_file.h"

static void free_file(void *loaded)
{
    struct cw_wds_file *file = loaded;
    cw_wds_index_fini(&file->index);
    cw_access_points_free(file->points);
    cw_mem_free(file);
}

static int scan_file(struct cw_wds_source *s, size_t i, struct cw_wds_file *file,
                     struct cw_err *err)
{
    struct cw_file_use use;
    int rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc < 0)
        return rc;
    rc = cw_inflated_scan(s->inflated, i, &use.readable, NULL, &file->points, err);
    struct cw_inflated_view view = {s->inflated, i, file->points, &use.readable, &use.source};
    const struct cw_readable plain = cw_inflated_readable(&view);
    if (rc == 0)
        rc = cw_wds_scan(&plain, &s->want, &file->index, err);
    cw_file_set_release(s->source.files, &use);
    return rc;
}

/* The file is not opened for an index that is there. */
static int unpack_file(const struct cw_wds_source *s, size_t i, const uint8_t *kept, size_t kept_n,
                       struct cw_wds_file *file)
{
    const struct cw_file *from = &s->source.files->v[i];
    const uint64_t size = (uint64_t)from->stamp.size;
    int rc = cw_inflated_unpack(s->inflated, from->path, size, &kept, &kept_n, &file->points);
    return rc < 0 ? rc
                  : cw_wds_index_unpack(kept, kept_n, file->points ? file->points->size : size,
                                        &s->want, &file->index);
}

/* With `kept` the index is there already, in these bytes. */
static int load_from(struct cw_wds_source *s, size_t i, const void *kept, size_t kept_n,
                     void **ret_loaded, struct cw_err *err)
{
    struct cw_wds_file *file = CW_NEW(struct cw_wds_file);
    int rc = kept ? unpack_file(s, i, kept, kept_n, file) : scan_file(s, i, file, err);
    if (rc < 0)
        free_file(file);
    else
        *ret_loaded = file;
    return rc;
}

static int scan(void *state, size_t i, void **ret_loaded, struct cw_err *err)
{
    return load_from(state, i, NULL, 0, ret_loaded, err);
}

static int unpack(void *state, size_t i, const void *bytes, size_t n, void **ret_loaded,
                  struct cw_err *err)
{
    return load_from(state, i, bytes, n, ret_loaded, err);
}

static void pack(const void *loaded, struct cw_str *out)
{
    const struct cw_wds_file *file = loaded;
    cw_inflated_pack(file->points, out);
    cw_wds_index_pack(&file->index, out);
}

static int64_t records(const void *loaded)
{
    return (int64_t)((const struct cw_wds_file *)loaded)->index.n;
}

static size_t bytes_of(const void *loaded)
{
    const struct cw_wds_file *file = loaded;
    const size_t points = file->points ? cw_access_points_bytes(file->points) : 0;
    return sizeof(*file) + cw_wds_index_bytes(&file->index) + points;
}

static int key_of(const void *state, size_t i, struct cw_str *out, struct cw_err *err)
{
    const struct cw_wds_source *s = state;
    (void)err;
    cw_inflated_key(s->inflated, s->source.files->v[i].path, out);
    return 0;
}

/* Which extensions become which fields, and what is left out. */
static void key(const void *state, struct cw_str *out)
{
    const struct cw_wds_source *s = state;
    for (size_t i = 0; i < s->columns.n; i++)
        cw_str_addf(out, "%s\n", s->columns.v[i].exts);
    cw_str_addf(out, "key %d skip %d\n", s->want.key_field, s->want.skip_incomplete);
}

static void end(void *state)
{
    struct cw_wds_source *s = state;
    cw_inflated_free(s->inflated);
    cw_wds_columns_fini(&s->columns);
}

static void add_blocks(void *state, size_t i, const void *loaded, int64_t first,
                       struct cw_blocks *blocks)
{
    const struct cw_wds_source *s = state;
    const struct cw_wds_file *file = loaded;
    (void)i;
    cw_sample_blocks(&file->index, file->points, s->want.fields_n, first, blocks);
}

static const struct cw_file_index index_kind = {.name = "webdataset 1",
                                                .key = key,
                                                .key_of = key_of,
                                                .records = records,
                                                .bytes = bytes_of,
                                                .pack = pack,
                                                .unpack = unpack};
const struct cw_file_source_kind cw_wds_source_kind = {.state_bytes = sizeof(struct cw_wds_source),
                                                       .end = end,
                                                       .load = scan,
                                                       .unload = free_file,
                                                       .index = &index_kind,
                                                       .blocks = add_blocks};

/* ---- files without samples ---- */

/* Appends the extensions of the first sample of a tar file, whose key becomes *ret_key; nothing if it has none. */
static int first_sample(const struct cw_readable *file, struct cw_str *ret_key,
                        struct cw_str *extensions, struct cw_err *err)
{
    struct cw_tar *tar = cw_tar_new(file, 0);
    struct cw_tar_member member;
    int rc;
    while ((rc = cw_tar_next(tar, &member, err)) > 0) {
        size_t n;
        if (!cw_wds_split(member.name, member.name_n, &n))
            continue;
        if (extensions->len == 0)
            cw_str_add_bytes(ret_key, member.name, n);
        else if (n != ret_key->len || memcmp(ret_key->s, member.name, n) != 0)
            break;
        cw_str_addf(extensions, "%s%.*s", extensions->len ? ", " : "", (int)(member.name_n - n - 1),
                    member.name + n + 1);
    }
    cw_tar_free(tar);
    return rc < 0 ? rc : 0;
}

static int look_into(struct cw_wds_source *s, size_t i, struct cw_str *key,
                     struct cw_str *extensions, struct cw_err *err)
{
    struct cw_file_use use;
    const void *loaded = NULL;
    int rc = cw_file_source_get(&s->source, i, &loaded, err);
    if (rc < 0)
        return rc;
    rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc == 0) {
        const struct cw_wds_file *file = loaded;
        struct cw_inflated_view view = {s->inflated, i, file->points, &use.readable, &use.source};
        const struct cw_readable plain = cw_inflated_readable(&view);
        rc = first_sample(&plain, key, extensions, err);
        cw_file_set_release(s->source.files, &use);
    }
    cw_file_source_put(&s->source, i);
    return rc;
}

int cw_wds_source_check(struct cw_wds_source *s, struct cw_err *err)
{
    const struct cw_file_set *files = s->source.files;
    CW_STR_AUTO wanted = {0};
    CW_STR_AUTO extensions = {0};
    CW_STR_AUTO key = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && files->records == 0 && extensions.len == 0 && i < files->n; i++) {
        rc = look_into(s, i, &key, &extensions, err);
        if (rc < 0 || extensions.len == 0)
            continue;
        for (size_t c = 0; c < s->columns.n; c++)
            cw_str_addf(&wanted, "%s%s", c ? ", " : "", s->columns.v[c].exts);
        return cw_err_set(
            err, CW_E_INVALID, "no sample has %s (%s): the first one, %s in %s, has %s",
            s->want.skip_incomplete ? "all of the columns" : "any of the columns",
            cw_str_text(&wanted), cw_str_text(&key), files->v[i].path, cw_str_text(&extensions));
    }
    return rc;
}
