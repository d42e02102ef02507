/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of sources that read files: the set of files, and something that is loaded once
 * for each file when it is first needed (an index, or inflated bytes). Any thread may use a source
 * once it is made. */
#ifndef CW_OPS_SOURCE_FILE_SOURCE_H
#define CW_OPS_SOURCE_FILE_SOURCE_H

#include "ops/blocks.h"
#include "ops/op.h"
#include "ops/source/file_set.h"

/* An index of a file that is kept for later jobs (format/kept_index.h), and dropped when memory is short
 * and then loaded again. */
struct cw_file_index {
    const char *name; /* of what it is, and the version of its bytes: "tfrecord 1" */
    /* Appends what it depends on besides the file; NULL: nothing. */
    void (*key)(const void *state, struct cw_str *out);
    /* The same of file i; NULL: nothing. */
    int (*key_of)(const void *state, size_t i, struct cw_str *out, struct cw_err *err);
    int64_t (*records)(const void *loaded);
    size_t (*bytes)(const void *loaded); /* its memory; 0: it cannot be dropped; NULL: none can */
    /* The index as bytes, and from bytes; unpack fails with any code if they are none of file i. Both are
     * NULL with load_head. */
    void (*pack)(const void *loaded, struct cw_str *out);
    int (*unpack)(void *state, size_t i, const void *bytes, size_t n, void **ret_loaded,
                  struct cw_err *err);
    /* Instead of `load` of the kind, for what stands in few bytes of a file (its head, or foot): loads it
     * from these. What it reads is what is kept. */
    int (*load_head)(void *state, size_t i, const struct cw_readable *file, void **ret_loaded,
                     struct cw_err *err);
};

/* Adds where blocks of file i begin behind its first element, which has position `first`. loaded: what belongs to
 * the file, NULL if nothing is loaded. */
typedef void cw_file_blocks_fn(void *state, size_t i, const void *loaded, int64_t first,
                               struct cw_blocks *blocks);

/* The part that differs between sources. Their state is zeroed, and begins with a struct
 * cw_file_source. */
struct cw_file_source_kind {
    size_t state_bytes;
    /* Called before files are looked for, and when the source is freed. Both may be NULL. */
    void (*begin)(void *state, const struct cw_op_open *how);
    void (*end)(void *state);
    /* Sets files->v[i].records, or checks the number that the manifest has. NULL with `index`. */
    int (*prepare)(void *state, size_t i, const struct cw_op_open *how, struct cw_err *err);
    /* Loads what belongs to file i; `unload` frees it. Both are NULL if nothing is loaded. */
    int (*load)(void *state, size_t i, void **ret_loaded, struct cw_err *err);
    void (*unload)(void *loaded);
    const struct cw_file_index *index; /* what is loaded is an index; NULL: it is something else */
    /* The source only gives paths, and whoever reads a file compares it with its stamp. Otherwise,
     * if each byte counts (identity content), all files are compared when the source is opened,
     * since an item would have to wait for it later. */
    bool names_only;
    cw_file_glob_fn *glob;     /* finds its files; NULL: cw_io_glob */
    cw_file_blocks_fn *blocks; /* of elements that are read together; NULL: a file is one */
};

struct cw_loaded;
struct cw_file_source {
    struct cw_file_set *files;
    const struct cw_file_source_kind *kind;
    struct cw_loaded *loaded; /* NULL: nothing is loaded */
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
/* Returns what was loaded for file i. It stays until the source is freed, or, if its index has `bytes`,
 * until it is given back. One thread loads it while others wait; errors are not remembered. */
int cw_file_source_get(struct cw_file_source *source, size_t i, const void **ret_loaded,
                       struct cw_err *err);
void cw_file_source_put(struct cw_file_source *source, size_t i);
/* Reads what `read` needs of file i, the same bytes each time; from what is kept, if that was done before,
 * so the file is not even opened then. name: as that of an index. For heads that nothing is loaded for. */
int cw_file_source_head(struct cw_file_source *source, size_t i, const char *name,
                        int (*read)(void *arg, const struct cw_readable *file, struct cw_err *err),
                        void *arg, struct cw_err *err);
/* Checks that file i has as many records as when the job was prepared. what: "records", for the
 * message. */
int cw_file_source_compare(const struct cw_file_source *source, size_t i, uint64_t records,
                           const char *what, struct cw_err *err);

/* Functions for an operator's descriptor. */
/* Blocks are files, and in them what the kind's `blocks` says. */
int cw_file_source_blocks(const void *opts, void *state, struct cw_blocks *blocks,
                          struct cw_err *err);
int cw_file_source_count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                         int64_t *ret_n, struct cw_err *err);
void cw_file_source_manifest(const void *opts, void *state, struct cw_value *ret_value);
void cw_file_source_describe(const void *opts, void *state, int64_t pos, struct cw_str *out);
/* Of sources whose elements are files. */
bool cw_file_source_ahead(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead);
const char *cw_file_source_locate(const void *opts, void *state, int64_t pos, int64_t *ret_record);

#endif
