/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the arrays of an .npz file. */
#include "format/npz.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* So many bytes of a member nearly always have all of its header. */
enum { HEAD_BYTES = 1024 };

/* Keeps the members that are arrays. */
static void keep_arrays(struct cw_zip *zip)
{
    size_t n = 0;
    for (size_t i = 0; i < zip->n; i++) {
        char *name = zip->v[i].name;
        const size_t name_n = strlen(name);
        if (name_n > 4 && strcmp(name + name_n - 4, ".npy") == 0) {
            name[name_n - 4] = '\0';
            zip->v[n++] = zip->v[i];
        } else {
            cw_mem_free(name);
        }
    }
    zip->n = n;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_names(const struct cw_readable *file, const struct cw_zip *zip, struct cw_err *err)
{
    cw_autofree const char **names = CW_NEW_ARRAY(const char *, zip->n + 1);
    for (size_t i = 0; i < zip->n; i++)
        names[i] = zip->v[i].name;
    qsort(names, zip->n, sizeof(*names), compare);
    for (size_t i = 1; i < zip->n; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return cw_err_set(err, CW_E_CORRUPT, "%s: two of its arrays have the name %s",
                              file->name, names[i]);
    return 0;
}

int cw_npz_read(const struct cw_readable *file, struct cw_npz *ret_npz, struct cw_err *err)
{
    struct cw_npz npz = {0};
    int rc = cw_zip_read(file, &npz.zip, err);
    if (rc < 0)
        return rc;
    keep_arrays(&npz.zip);
    rc = npz.zip.n > 0
             ? check_names(file, &npz.zip, err)
             : cw_err_set(err, CW_E_INVALID, "%s: it has no arrays, which are members named *.npy",
                          file->name);
    if (rc < 0)
        cw_npz_fini(&npz);
    else
        *ret_npz = npz;
    return rc;
}

void cw_npz_fini(struct cw_npz *npz)
{
    cw_zip_fini(&npz->zip);
}

/* Reads the member's first bytes: all of the header. */
static int read_header(const struct cw_readable *file, const struct cw_zip_member *member,
                       uint64_t begin, const char *where, struct cw_npy_header *ret_header,
                       struct cw_err *err)
{
    size_t n = (size_t)CW_MIN((uint64_t)HEAD_BYTES, member->bytes), bytes = 0;
    cw_autofree uint8_t *head = cw_mem_new(CW_NPY_HEADER_BYTES_MAX + CW_NPY_MAGIC_BYTES);
    int rc = cw_zip_get(file, member, begin, head, n, err);
    if (rc == 0)
        rc = cw_npy_header_bytes(head, n, where, &bytes, err);
    if (rc == 0 && bytes > n && bytes <= member->bytes) {
        n = bytes;
        rc = cw_zip_get(file, member, begin, head, n, err);
    }
    return rc < 0 ? rc : cw_npy_parse(head, n, where, ret_header, err);
}

int cw_npz_array(const struct cw_readable *file, const struct cw_npz *npz, size_t i,
                 struct cw_npz_array *ret_array, struct cw_err *err)
{
    const struct cw_zip_member *member = &npz->zip.v[i];
    cw_autofree char *where = cw_mem_printf("%s: array %s", file->name, member->name);
    struct cw_npz_array array = {.member = *member};
    int rc = cw_zip_locate(file, &npz->zip, member, &array.begin, err);
    if (rc == 0)
        rc = read_header(file, member, array.begin, where, &array.header, err);
    if (rc < 0)
        return rc;
    const uint64_t bytes = array.header.header_bytes + array.header.data_bytes;
    if (bytes != member->bytes)
        return cw_err_set(err, CW_E_CORRUPT, "%s: it needs %llu bytes, its member has %llu", where,
                          (unsigned long long)bytes, (unsigned long long)member->bytes);
    if (array.header.rank == 0)
        return cw_err_set(err, CW_E_INVALID, "%s: it is one value, and has no rows", where);
    array.member.name = NULL;
    *ret_array = array;
    return 0;
}

bool cw_npz_is_plain(const struct cw_npz_array *array)
{
    return array->member.method == CW_ZIP_STORED &&
           !(array->header.fortran && array->header.rank > 1);
}

int cw_npz_get(const struct cw_readable *file, const struct cw_npz_array *array, const char *name,
               void *dst, struct cw_err *err)
{
    struct cw_zip_member member = array->member;
    cw_autofree char *own = cw_mem_strdup(name);
    member.name = own;
    return cw_zip_get(file, &member, array->begin, dst, (size_t)member.bytes, err);
}
