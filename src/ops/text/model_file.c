/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/model_file.h"

#include <string.h>

#include "base/mem.h"
#include "format/read_at.h"

void cw_model_files_fini(struct cw_model_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        cw_mem_free(files->files[i].path);
    files->n = 0;
}

static int read_all(const struct cw_readable *file, char **ret_bytes, struct cw_err *err)
{
    if (file->size > CW_MODEL_FILE_MAX)
        return cw_err_set(err, CW_E_LIMIT, "%s: has %llu bytes, more than %lld", file->name,
                          (unsigned long long)file->size, (long long)CW_MODEL_FILE_MAX);
    cw_autofree char *data = cw_mem_try((size_t)file->size + 1);
    if (!data)
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory for its %llu bytes", file->name,
                          (unsigned long long)file->size);
    int rc = cw_readable_get(file, 0, data, (size_t)file->size, err);
    if (rc < 0)
        return rc;
    data[file->size] = '\0';
    *ret_bytes = cw_steal(&data);
    return 0;
}

/* Compares the file with its row of the manifest. */
static int compare(const struct cw_model_file *file, size_t i, const struct cw_value *manifest,
                   struct cw_err *err)
{
    char sum[CW_HASH_TEXT_BYTES];
    const struct cw_value *rows =
        manifest && manifest->type == CW_VALUE_OBJECT ? cw_value_get(manifest, "files") : NULL;
    if (!manifest)
        return 0;
    if (!rows || rows->type != CW_VALUE_LIST || i >= rows->n ||
        rows->items[i].type != CW_VALUE_LIST || rows->items[i].n != 3 ||
        rows->items[i].items[2].type != CW_VALUE_STR)
        return cw_err_set(err, CW_E_INVALID, "the manifest says nothing of %s", file->path);
    cw_hash_text(file->sum, sum);
    if (strcmp(sum, rows->items[i].items[2].s) != 0)
        return cw_err_set(err, CW_E_OTHER_FILE,
                          "%s: is not the file that the job was prepared with: its content differs",
                          file->path);
    return 0;
}

int cw_model_file_read(struct cw_model_files *files, const char *path, const struct cw_op_open *how,
                       char **ret_bytes, size_t *ret_n, struct cw_err *err)
{
    struct cw_readable readable;
    struct cw_io_file opened;
    cw_autofree char *data = NULL;
    int rc = cw_readable_open(path, &opened, &readable, err);
    if (rc < 0)
        return rc;
    readable.stop = how->stop;
    const size_t n = (size_t)readable.size;
    rc = read_all(&readable, &data, err);
    cw_io_close(&opened);
    if (rc < 0)
        return rc;
    CW_ASSERT(files->n < CW_MODEL_FILES_MAX);
    struct cw_model_file *file = &files->files[files->n];
    *file = (struct cw_model_file){cw_mem_strdup(path), (int64_t)n, cw_hash_bytes(data, n)};
    rc = compare(file, files->n++, how->manifest, err);
    if (rc < 0)
        return rc;
    *ret_bytes = cw_steal(&data);
    *ret_n = n;
    return 0;
}

void cw_model_files_manifest(const struct cw_model_files *files, struct cw_value *ret_value)
{
    char sum[CW_HASH_TEXT_BYTES];
    cw_value_set_object(ret_value);
    struct cw_value *rows = cw_value_set_list(cw_value_member(ret_value, "files"), files->n);
    for (size_t i = 0; i < files->n; i++) {
        struct cw_value *row = cw_value_set_list(&rows[i], 3);
        cw_hash_text(files->files[i].sum, sum);
        cw_value_set_str(&row[0], files->files[i].path);
        cw_value_set_i64(&row[1], files->files[i].bytes);
        cw_value_set_str(&row[2], sum);
    }
}
