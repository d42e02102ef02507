/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of sources that read files: the set of files, and something that is loaded once
 * for each file when it is first needed (an index, or inflated bytes). Any thread may use a source
 * once it is made. */
#ifndef CW_OPS_SOURCE_FILE_SOURCE_H
#define CW_OPS_SOURCE_FILE_SOURCE_H

#include "ops/op.h"
#include "ops/source/file_set.h"

/* The part that differs between sources. Their state is zeroed, and begins with a struct
 * cw_file_source. */
struct cw_file_source_kind {
    size_t state_bytes;
    /* Called before files are looked for, and when the source is freed. Both may be NULL. */
    void (*begin)(void *state, const struct cw_op_open *how);
    void (*end)(void *state);
    /* Sets files->v[i].records, or checks the number that the manifest has. */
    int (*prepare)(void *state, size_t i, const struct cw_op_open *how, struct cw_err *err);
    /* Loads what belongs to file i; `unload` frees it. Both are NULL if nothing is loaded. */
    int (*load)(void *state, size_t i, void **ret_loaded, struct cw_err *err);
    void (*unload)(void *loaded);
    /* The source only gives paths, and whoever reads a file compares it with its stamp. Otherwise,
     * if each byte counts (identity content), all files are compared when the source is opened,
     * since an item would have to wait for it later. */
    bool names_only;
};

struct cw_per_file;
struct cw_file_source {
    struct cw_file_set *files;
    const struct cw_file_source_kind *kind;
    struct cw_per_file *per_file; /* NULL: nothing is loaded */
};
/* Functions for an operator's open and close. */
int cw_file_source_new(const struct cw_file_source_kind *kind, const struct cw_str_list *patterns,
                       const struct cw_op_open *how, void **ret_state, struct cw_err *err);
/* The same for a state that the operator has made (zeroed memory of kind->state_bytes) and filled with
 * what it knows by its options. `begin` is not called. Takes the state. */
int cw_file_source_start(const struct cw_file_source_kind *kind, void *state,
                         const struct cw_str_list *patterns, const struct cw_op_open *how,
                         void **ret_state, struct cw_err *err);
void cw_file_source_free(void *state);
/* Returns what was loaded for file i; it stays until the source is freed. One thread loads it while
 * others wait; errors are not remembered. */
int cw_file_source_get(struct cw_file_source *source, size_t i, const void **ret_loaded,
                       struct cw_err *err);
/* Checks that file i has as many records as when the job was prepared. what: "records", for the
 * message. */
int cw_file_source_compare(const struct cw_file_source *source, size_t i, uint64_t records,
                           const char *what, struct cw_err *err);

/* Functions for an operator's descriptor. */
int cw_file_source_count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                         int64_t *ret_n, struct cw_err *err);
void cw_file_source_manifest(const void *opts, void *state, struct cw_value *ret_value);
void cw_file_source_describe(const void *opts, void *state, int64_t pos, struct cw_str *out);
const char *cw_file_source_locate(const void *opts, void *state, int64_t pos, int64_t *ret_record);

#endif
