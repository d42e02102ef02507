/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a source: found by pattern or given by a manifest, with what identifies each
 * (data/identity.h), the number of records of each, and a bounded cache of open descriptors. After
 * cw_file_set_sum any thread may use the set. */
#ifndef CW_OPS_SOURCE_FILE_SET_H
#define CW_OPS_SOURCE_FILE_SET_H

#include "base/thread.h"
#include "conf/opt.h"
#include "data/element.h"
#include "format/source_file.h"
#include "ops/op.h"

struct cw_file {
    char *path;
    struct cw_file_stamp stamp;
    int64_t records; /* number of records, set by the operator or by the manifest */
    int64_t first;   /* position of its first record, set by cw_file_set_sum */
    int slot;        /* guarded by mutex: the slot of its open descriptor; -1: not open */
};
#define CW_FILE_SET_OPEN_MAX 64
struct cw_file_slot {
    struct cw_io_file io;
    size_t file;
    int users;
    uint64_t used_at;
};
struct cw_file_set {
    enum cw_identity identity;
    struct cw_file *v;
    size_t n;
    int64_t records;
    struct cw_mutex mutex; /* guards the slots */
    struct cw_file_slot slots[CW_FILE_SET_OPEN_MAX];
    size_t slots_n;
    uint64_t clock;
    const struct cw_stop *stop; /* from struct cw_op_open */
    bool has_files;             /* files of this host are among them */
    bool has_ahead;             /* objects are that can be read ahead (io/ahead.h) */
};

/* Adds what a pattern stands for: cw_io_glob, or another one like it (io/io.h). */
typedef int cw_file_glob_fn(const char *pattern, size_t entries_max, const struct cw_stop *stop,
                            struct cw_io_list *list, struct cw_err *err);
/* Makes the set from a manifest if there is one, otherwise by looking for files that match the
 * patterns. Finding no file is an error. If the identity needs the bytes of files, they are read
 * when files are found by patterns. */
int cw_file_set_new(const struct cw_str_list *patterns, cw_file_glob_fn *glob,
                    const struct cw_op_open *how, struct cw_file_set **ret_set, struct cw_err *err);
void cw_file_set_free(struct cw_file_set *set);
/* Finds the first file, in the set's order, of a source that is completed (`complete` in ops/op.h).
 * *ret_path is the caller's. */
int cw_file_first(const struct cw_str_list *patterns, const struct cw_op_open *how, char **ret_path,
                  struct cw_err *err);
/* Adds up the records of all files. */
int cw_file_set_sum(struct cw_file_set *set, struct cw_err *err);
/* Compares all files with their stamps, and reads the bytes that the identity needs;
 * cw_file_set_use does the same for one file. */
int cw_file_set_compare(struct cw_file_set *set, struct cw_err *err);
/* Makes the manifest {"files":[[path,size,mark,records],...],"identity":"sample"}. The mark is the
 * modification time in ns for the identity mtime, 0 for size, otherwise the checksum in hex. The
 * member "identity" is left out for mtime. */
void cw_file_set_manifest(const struct cw_file_set *set, struct cw_value *ret_value);
/* The same of n files from `first` on. */
void cw_file_set_manifest_of(const struct cw_file_set *set, size_t first, size_t n,
                             struct cw_value *ret_value);
/* Reads one row of the files of a manifest with that identity. *ret_path is borrowed; ret_records
 * may be NULL. */
int cw_file_row_read(const struct cw_value *row, enum cw_identity identity, const char **ret_path,
                     struct cw_file_stamp *ret_stamp, int64_t *ret_records, struct cw_err *err);
/* Reads the identity from the manifest of one source. */
int cw_file_manifest_identity(const struct cw_value *manifest, enum cw_identity *ret_identity,
                              struct cw_err *err);
/* Finds the file that has the record at position pos. */
size_t cw_file_set_locate(const struct cw_file_set *set, int64_t pos);
/* Finds the file and the number in it of the first of these positions. Returns how many of them, from the
 * first on, are records that follow each other in that file. n > 0. */
size_t cw_file_set_run(const struct cw_file_set *set, const int64_t *positions, size_t n,
                       size_t *ret_file, uint64_t *ret_record);
/* Appends the name of an element: "/data/a.tfrecord record 17". */
void cw_file_set_describe(const struct cw_file_set *set, int64_t pos, struct cw_str *out);

/* An open file in use. It must not be moved until it is given back, since `readable` points into
 * it. Reads go through the process's source cache, if it has one (format/source_file.h). */
struct cw_file_use {
    struct cw_readable readable;
    struct cw_source_file source;
    struct cw_io_file own; /* open for this use alone, if there is no slot */
    int slot;
};
/* Opens the file if it is not open, and then compares it with its stamp: OTHER_FILE if it is not
 * the same. */
int cw_file_set_use(struct cw_file_set *set, size_t file, struct cw_file_use *ret_use,
                    struct cw_err *err);
void cw_file_set_release(struct cw_file_set *set, struct cw_file_use *use);

/* The rows that the option tables of all sources of files have. */
#define CW_FILE_PATTERN_ROW(offset_)                                                               \
    {                                                                                              \
        .name = "pattern", .help = "path, URL or glob (** = any directories), or a list of them",  \
        .type = CW_OPT_STR_LIST, .offset = (offset_), .flags = CW_OPT_REQUIRED, .len_min = 1,      \
        .len_max = 1 << 20                                                                         \
    }
/* Of sources whose files say what the elements are. */
#define CW_FILE_SPEC_ROW(offset_)                                                                  \
    {                                                                                              \
        .name = "spec",                                                                            \
        .help =                                                                                    \
            "its fields, as \"image: u8[28,28]\" or \"ids: i64[?]\"; none = as the first file "    \
            "says",                                                                                \
        .type = CW_OPT_STR_LIST, .offset = (offset_), .len_min = 0, .len_max = CW_FIELDS_MAX       \
    }

/* ---- file_set_ahead.c ---- */

/* Notes of what kind a file of the set is. */
void cw_file_set_note_scheme(struct cw_file_set *set, const char *path);
/* Whether some of the files can be read ahead now (cw_ahead_is_for in io/ahead.h). */
bool cw_file_set_can_ahead(const struct cw_file_set *set);
/* Adds bytes of a file to those that are read ahead. */
void cw_file_set_ahead(const struct cw_file_set *set, size_t file, uint64_t offset, uint64_t n,
                       struct cw_ahead *ahead);

#endif
