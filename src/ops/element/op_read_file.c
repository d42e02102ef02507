/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `read_file`: replaces a path by the bytes of that file. */
#include "format/source_file.h"
#include "ops/op_util.h"
#include "ops/source_stamp.h"

#include <string.h>

static bool accepts(const struct cw_field *field)
{
    return field->dtype == CW_DTYPE_STR;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    (void)opts;
    if (in->dtype != CW_DTYPE_STR)
        return cw_err_set(err, CW_E_INVALID, "field \"%s\" is a %s; a path (str) is needed",
                          in->name, cw_dtype_name(in->dtype));
    *ret_field = *in;
    return 0;
}

static int path_text(const struct cw_op_ctx *ctx, const struct cw_view *in, char **ret_path,
                     struct cw_err *err)
{
    char *path = cw_op_scratch(ctx, in->bytes + 1, err);
    if (!path)
        return CW_E_NOMEM;
    if (in->bytes > 0)
        memcpy(path, in->data, in->bytes);
    path[in->bytes] = '\0';
    if (in->bytes == 0 || memchr(path, 0, in->bytes))
        return cw_err_set(err, CW_E_INVALID, "%s",
                          in->bytes ? "path with a zero byte in it" : "empty path");
    *ret_path = path;
    return 0;
}

/* Opens a file. Without a stamp any file at that path is right. If files are identified by content,
 * the comparison follows when the bytes were read, since they are read anyway. */
static int open_file(const char *path, const struct cw_file_stamp *stamp,
                     struct cw_io_file *ret_file, struct cw_err *err)
{
    struct cw_file_stamp size = {.identity = CW_IDENTITY_SIZE};
    if (stamp && stamp->identity != CW_IDENTITY_CONTENT)
        return cw_source_stamp_open(stamp, path, NULL, ret_file, err);
    size.size = stamp ? stamp->size : 0;
    return stamp ? cw_source_stamp_open(&size, path, NULL, ret_file, err)
                 : cw_io_open(path, NULL, ret_file, err);
}

static int read_all(const struct cw_source_file *file, const struct cw_view *out, bool cached,
                    struct cw_err *err)
{
    int rc = cached ? cw_source_read(file, 0, out->data, out->bytes, err)
                    : cw_io_read(file->io, 0, out->data, out->bytes, NULL, err);
    if (rc == CW_E_CORRUPT)
        return cw_err_set(err, CW_E_STATE, "%s: changed while it is read: it became shorter",
                          file->path);
    return rc < 0 ? cw_err_wrap(err, "%s", file->path) : 0;
}

/* Reads a file that is identified by its content. Cached blocks are found by size and time; if they
 * do not have the right checksum, the file itself may still have it, and is read. */
static int read_content(const struct cw_source_file *file, const struct cw_file_stamp *stamp,
                        const struct cw_view *out, struct cw_err *err)
{
    int rc = 0;
    for (int cached = cw_source_is_cached(); cached >= 0; cached--) {
        rc = read_all(file, out, cached, err);
        if (rc == 0)
            rc = cw_source_stamp_compare_bytes(stamp, file->path, &file->io->info, out->data,
                                               out->bytes, err);
        if (rc != CW_E_OTHER_FILE)
            break;
    }
    return rc;
}

static int read_open(const struct cw_op_ctx *ctx, const struct cw_io_file *io, const char *path,
                     const struct cw_file_stamp *stamp, struct cw_view *out, struct cw_err *err)
{
    out->stamp = NULL;
    out->bytes = (size_t)io->info.size;
    int rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return cw_err_wrap(err, "%s", path);
    const struct cw_source_file file = {
        path, {.size = io->info.size, .mtime_ns = cw_io_mark(&io->info)}, io, NULL};
    return stamp && stamp->identity == CW_IDENTITY_CONTENT ? read_content(&file, stamp, out, err)
                                                           : read_all(&file, out, true, err);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    char *path = NULL;
    (void)opts;
    (void)state;
    (void)scratch;
    int rc = path_text(ctx, in, &path, err);
    if (rc < 0)
        return rc;
    struct cw_io_file io;
    rc = open_file(path, in->stamp, &io, err);
    if (rc < 0)
        return rc;
    rc = read_open(ctx, &io, path, in->stamp, out, err);
    cw_io_close(&io);
    return rc;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)opts;
    (void)in;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
    ret_facts->refuses = true;
    ret_facts->names_field = fields_n == 1; /* out_name */
}

const struct cw_op cw_op_read_file = {
    .name = "read_file",
    .version = 1,
    .summary = "the bytes of the files that paths name",
    .doc = "Replaces a path by what is in the file. A single field is renamed to \"bytes\". Works "
           "on all str fields\n"
           "unless `fields` says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_GROW | CW_OP_FIELDWISE | CW_OP_READS,
    .inputs_min = 1,
    .inputs_max = 1,
    .accepts = accepts,
    .infer_field = infer_field,
    .out_name = "bytes",
    .apply_field = apply_field,
    .facts = facts,
};
