/* SPDX-License-Identifier: Apache-2.0 */
/* Where the bytes of sources come from: files of this host, and objects of servers. A URL's scheme
 * (src/io/scheme_list.h) says which of the two tables of functions is used: all that read sources go
 * through this header and know no scheme. A path without a scheme is a file. What may be read says
 * io/source_root.h.
 *
 * Files are always there. Schemes of servers are there in programs that link them and call
 * cw_io_remote_start (io/remote/remote.h): the worker and the tool. All functions may be called by
 * any thread; they return when the work is done. */
#ifndef CW_IO_IO_H
#define CW_IO_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/stop.h"

#define CW_IO_VERSION_BYTES 160

/* What is known of a file without reading it: how long it is, and which version of it this is. */
struct cw_io_info {
    int64_t size;
    int64_t mtime_ns; /* modification time of a file; 0 for objects, which have a version */
    int64_t ctime_ns; /* of a file: when anything of it changed last */
    bool is_object;   /* an object of a server, not a file */
    /* Text that another version of the object does not have: its ETag, its generation, or the time
     * of change that the server tells. "": the server tells nothing. */
    char version[CW_IO_VERSION_BYTES];
    /* Differs between all files and versions, to remember under it what was found out. */
    struct cw_hash state;
};

/* What stands for the version of a file or object in stamps (data/identity.h): its mtime, or a number
 * made of its version. */
int64_t cw_io_mark(const struct cw_io_info *info);

struct cw_io_scheme;
/* An open file or object. It may be moved while nobody reads it. */
struct cw_io_file {
    const struct cw_io_scheme *scheme;
    struct cw_io_info info; /* as it was when it was opened */
    int fd;                 /* of a file */
    void *object;           /* of the scheme */
};

/* What a pattern matches: names, with what the list told of each. */
struct cw_io_found {
    char *url;
    int64_t size; /* -1: the list does not tell, and there is no mark */
    int64_t mark;
};
struct cw_io_list {
    struct cw_io_found *v;
    size_t n, cap;
};

/* Finds out what there is. NOT_FOUND, DENIED and others name the URL, here and below. */
int cw_io_stat(const char *url, const struct cw_stop *stop /* may be NULL */,
               struct cw_io_info *ret_info, struct cw_err *err);
/* Opens for reading. UNSUPPORTED: this program does not have the scheme. The URL is copied. */
int cw_io_open(const char *url, const struct cw_stop *stop, struct cw_io_file *ret_file,
               struct cw_err *err);
void cw_io_close(struct cw_io_file *file);
/* Reads exactly n bytes at offset, of the version that was opened. CORRUPT: the file ends before;
 * OTHER_FILE: the object has become another one. Several threads may read one file. */
int cw_io_read(const struct cw_io_file *file, uint64_t offset, void *dst, size_t n,
               const struct cw_stop *stop, struct cw_err *err);
/* Whether the open file is still as it was when it was opened. Of an object that always holds: its
 * bytes come with their version. */
bool cw_io_is_unchanged(const struct cw_io_file *file);
/* Reads exactly n bytes of a descriptor. */
int cw_io_read_fd(int fd, uint64_t offset, void *dst, size_t n, struct cw_err *err);

/* Adds what matches a pattern; several patterns may be added to one list. Of files, io/glob.h says
 * what matches and what entries_max is; objects are matched alike, where a server can list them. */
int cw_io_glob(const char *pattern, size_t entries_max, const struct cw_stop *stop,
               struct cw_io_list *list, struct cw_err *err);
/* The same, but a name without wildcards may be that of a folder, which stands for all files below it, as may
 * each text that braces stand for. What is there under a name with braces is that alone. */
int cw_io_glob_tree(const char *pattern, size_t entries_max, const struct cw_stop *stop,
                    struct cw_io_list *list, struct cw_err *err);
/* Adds one. Takes url. */
void cw_io_list_add(struct cw_io_list *list, char *url, int64_t size, int64_t mark);
/* Sorts by name, bytewise, and removes duplicates. */
void cw_io_list_sort(struct cw_io_list *list);
void cw_io_list_fini(struct cw_io_list *list);

/* A range that a scheme reads without a thread that waits (io/ahead.h). */
struct cw_io_fetch {
    /* ---- set by the caller, who keeps it where it is until `done` ---- */
    uint64_t offset;
    size_t n;
    char *dst;
    void (*done)(
        struct cw_io_fetch *fetch); /* by any thread, but not before `fetch` has returned */
    /* ---- results ---- */
    bool is_there; /* all n bytes came; else the reader will find out why not */
    struct cw_io_info info;
    void *request; /* of the scheme */
};

/* ---- reads that somebody waits for ---- */

/* From now on the calling thread computes elements: it should wait for no server and no disk. */
void cw_io_thread_computes(void);
/* Is called by a scheme that makes a thread wait for a server or a disk. */
void cw_io_waits(void);
/* How often that happened to the calling thread; and to all threads that compute. */
uint64_t cw_io_thread_waited(void);
uint64_t cw_io_waited(void);

/* The functions of a scheme, as above; the URL has the scheme. */
struct cw_io_scheme {
    const char *name;
    int (*stat)(const char *url, const struct cw_stop *stop, struct cw_io_info *ret_info,
                struct cw_err *err);
    int (*open)(const char *url, const struct cw_stop *stop, struct cw_io_file *file,
                struct cw_err *err);
    void (*close)(struct cw_io_file *file);
    int (*read)(const struct cw_io_file *file, uint64_t offset, void *dst, size_t n,
                const struct cw_stop *stop, struct cw_err *err);
    bool (*is_unchanged)(const struct cw_io_file *file);
    int (*glob)(const char *pattern, size_t entries_max, const struct cw_stop *stop,
                struct cw_io_list *list, struct cw_err *err);
    /* Both optional: begins to read a range of whatever version there is; and ends it soon, with what
     * there is by then. `cancel` is called before `done` is, if at all. They do not wait. */
    void (*fetch)(const char *url, struct cw_io_fetch *fetch);
    void (*cancel)(struct cw_io_fetch *fetch);
};
/* Returns the scheme of a URL that may be read; NULL: it may not, or this program does not have it. */
const struct cw_io_scheme *cw_io_scheme_of(const char *url);
extern const struct cw_io_scheme cw_io_scheme_file;
/* Says what there is besides files: an array that ends with NULL, or NULL. Not while anything is
 * read. */
void cw_io_set_schemes(const struct cw_io_scheme *const *schemes);

#endif
