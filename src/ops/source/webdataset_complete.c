/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the options `columns` and `types` of the source `webdataset` from the first members of a file. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/npy.h"
#include "ops/op_util.h"
#include "ops/source/inflated.h"
#include "ops/source/webdataset_columns.h"

/* So many members are looked at; an extension that comes later must be asked for by name. */
#define LOOK_MEMBERS 1000

/* An extension, in lower case, and for arrays what they are: dims that differ are not known. */
struct found {
    char *ext;
    bool is_array;
    struct cw_field type;
};
struct look {
    const struct cw_readable *file;
    struct found *v;
    size_t n, cap;
};

static void look_fini(struct look *look)
{
    for (size_t i = 0; i < look->n; i++)
        cw_mem_free(look->v[i].ext);
    cw_mem_free(look->v);
}

static struct found *find(struct look *look, const char *ext)
{
    for (size_t i = 0; i < look->n; i++)
        if (strcmp(look->v[i].ext, ext) == 0)
            return &look->v[i];
    return NULL;
}

static int read_array_head(const struct look *look, const struct cw_tar_member *member,
                           struct cw_npy_header *ret_header, struct cw_err *err)
{
    size_t n = (size_t)CW_MIN(member->bytes, (uint64_t)CW_NPY_HEADER_BYTES_MAX);
    cw_autofree uint8_t *head = cw_mem_new(CW_MAX(n, 1));
    int rc = cw_readable_get(look->file, member->data, head, n, err);
    return rc < 0 ? rc : cw_npy_parse(head, n, look->file->name, ret_header, err);
}

/* Several arrays of one extension have one dtype and rank, and dims that may differ. */
static int merge_array(const struct look *look, struct found *found, bool first,
                       const struct cw_tar_member *member, struct cw_err *err)
{
    struct cw_npy_header h;
    int rc = read_array_head(look, member, &h, err);
    if (rc < 0)
        return rc;
    if (h.rank > CW_RANK_MAX)
        return cw_err_set(err, CW_E_UNSUPPORTED, "%s: %.*s: an array of rank %d", look->file->name,
                          (int)member->name_n, member->name, h.rank);
    if (first) {
        found->type.dtype = h.dtype;
        found->type.rank = h.rank;
        memcpy(found->type.dims, h.dims, sizeof(found->type.dims));
    }
    if (h.dtype != found->type.dtype || h.rank != found->type.rank)
        return cw_err_set(err, CW_E_INVALID,
                          "%s: %.*s: an array of another dtype or rank than those before it: give "
                          "columns and types",
                          look->file->name, (int)member->name_n, member->name);
    for (int i = 0; i < h.rank; i++)
        if (h.dims[i] != found->type.dims[i])
            found->type.dims[i] = -1;
    return 0;
}

static int add_member(struct look *look, const struct cw_tar_member *member, struct cw_err *err)
{
    size_t key_n;
    if (!cw_wds_split(member->name, member->name_n, &key_n))
        return 0;
    cw_autofree char *ext = cw_mem_strndup(member->name + key_n + 1, member->name_n - key_n - 1);
    for (char *c = ext; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    struct found *found = find(look, ext);
    bool first = !found;
    if (first && look->n == CW_FIELDS_MAX)
        return cw_err_set(err, CW_E_LIMIT, "%s: samples have more than %d members: give columns",
                          look->file->name, CW_FIELDS_MAX);
    if (first) {
        CW_GROW(look->v, look->n, look->cap);
        found = &look->v[look->n++];
        *found = (struct found){.is_array = cw_wds_kind_of(ext, strlen(ext)) == CW_WDS_NPY};
        found->ext = cw_steal(&ext);
    }
    return found->is_array ? merge_array(look, found, first, member, err) : 0;
}

static int look_at_members(struct look *look, struct cw_err *err)
{
    struct cw_tar *tar = cw_tar_new(look->file, 0);
    struct cw_tar_member member;
    int rc = 1;
    for (size_t i = 0; rc == 1 && i < LOOK_MEMBERS; i++) {
        rc = cw_tar_next(tar, &member, err);
        int added = rc == 1 ? add_member(look, &member, err) : 0;
        rc = added < 0 ? added : rc;
    }
    cw_tar_free(tar);
    if (rc >= 0 && look->n == 0)
        rc =
            cw_err_set(err, CW_E_INVALID, "%s: no member is named KEY.EXTENSION", look->file->name);
    return rc < 0 ? rc : 0;
}

/* ---- options ---- */

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct found *)a)->ext, ((const struct found *)b)->ext);
}

static void write_options(struct look *look, struct cw_value *said)
{
    struct cw_value *types = cw_value_member(said, "types");
    if (types->type != CW_VALUE_OBJECT)
        cw_value_set_object(types);
    qsort(look->v, look->n, sizeof(look->v[0]), compare);
    for (size_t i = 0; i < look->n; i++) {
        CW_STR_AUTO text = {0};
        if (!look->v[i].is_array || cw_value_get(types, look->v[i].ext))
            continue;
        cw_op_type_text(&look->v[i].type, &text);
        cw_value_set_str(cw_value_member(types, look->v[i].ext), cw_str_text(&text));
    }
    struct cw_value *columns = cw_value_set_list(cw_value_member(said, "columns"), look->n);
    for (size_t i = 0; i < look->n; i++)
        cw_value_set_str(&columns[i], look->v[i].ext);
}

static int complete(const struct cw_readable *file, struct cw_value *said, struct cw_err *err)
{
    struct look look = {.file = file};
    int rc = look_at_members(&look, err);
    if (rc == 0)
        write_options(&look, said);
    look_fini(&look);
    return rc;
}

int cw_wds_complete(const char *path, int64_t inflated_max, int64_t inflate_every,
                    struct cw_value *said, struct cw_err *err)
{
    struct cw_access_points *points = NULL;
    struct cw_readable file;
    struct cw_io_file opened;
    int rc = cw_readable_open(path, &opened, &file, err);
    if (rc < 0)
        return rc;
    struct cw_inflated *inflated = cw_inflated_new(inflated_max, inflate_every);
    rc = cw_inflated_scan(inflated, 0, &file, NULL, &points, err);
    if (rc == 0) {
        struct cw_inflated_view view = {inflated, 0, points, &file, NULL};
        const struct cw_readable plain = cw_inflated_readable(&view);
        rc = complete(&plain, said, err);
    }
    cw_access_points_free(points);
    cw_inflated_free(inflated);
    cw_io_close(&opened);
    return rc;
}

uint64_t cw_wds_count_samples(const char *p, size_t n, uint64_t *ret_bytes)
{
    const struct cw_readable_bytes bytes = {p, n};
    const struct cw_readable file = cw_readable_mem("", &bytes);
    struct cw_tar *tar = cw_tar_new(&file, 0);
    struct cw_tar_member member;
    CW_STR_AUTO last = {0};
    uint64_t samples = 0;
    *ret_bytes = 0;
    while (cw_tar_next(tar, &member, NULL) == 1) {
        size_t key_n = 0;
        if (!cw_wds_split(member.name, member.name_n, &key_n))
            continue;
        samples += key_n != last.len || memcmp(last.s, member.name, key_n) != 0;
        last.len = 0;
        cw_str_add_bytes(&last, member.name, key_n);
        *ret_bytes = member.data + member.bytes;
    }
    cw_tar_free(tar);
    return samples;
}
