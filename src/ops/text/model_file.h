/* SPDX-License-Identifier: Apache-2.0 */
/* Files that an operator's options name: vocabularies, merges, models, tables. They are read once,
 * where a plan is opened, like files of sources (io/source_root.h), and are identified by their
 * content: the worker that prepares a job writes their checksums into the manifest, and all others
 * refuse a file that is not the same. */
#ifndef CW_OPS_TEXT_MODEL_FILE_H
#define CW_OPS_TEXT_MODEL_FILE_H

#include "base/hash.h"
#include "conf/value.h"
#include "ops/op.h"

#define CW_MODEL_FILE_MAX ((int64_t)4 << 30)
#define CW_MODEL_FILES_MAX 4

struct cw_model_files {
    size_t n;
    struct cw_model_file {
        char *path;
        int64_t bytes;
        struct cw_hash sum;
    } files[CW_MODEL_FILES_MAX];
};

void cw_model_files_fini(struct cw_model_files *files);
/* Reads a whole file, which the caller frees with cw_mem_free; a NUL stands behind its bytes. It
 * becomes the next of `files`, and is compared with the manifest of `how` if there is one. Errors
 * name the path. */
int cw_model_file_read(struct cw_model_files *files, const char *path, const struct cw_op_open *how,
                       char **ret_bytes, size_t *ret_n, struct cw_err *err);
/* Writes a manifest: {"files": [[path, bytes, checksum], ...]}. */
void cw_model_files_manifest(const struct cw_model_files *files, struct cw_value *ret_value);

#endif
