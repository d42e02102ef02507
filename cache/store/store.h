/* SPDX-License-Identifier: Apache-2.0 */
/* A store: a place where the cache keeps files. A file is written as a whole and atomically, and
 * read in ranges (docs/adding-a-store.md). Each kind of storage is one backend file, and one line
 * in backend_list.h.
 *
 *   dir:/path                                     any mounted file system: fsync, rename, mapped
 *                                         reads
 *   gluster://host[:port][,host2...]/volume/path  GlusterFS through libgfapi
 *   mem:NAME                                      memory of this process (tests); equal names
 *                                         share it
 *
 * Parameters may follow the address, ?key=value&...: timeout is the longest time of one step (5s
 * for gluster, otherwise 30s); read_rate and write_rate (bytes/s) and latency (per operation)
 * throttle the store, for experiments; verify is first or always; and each backend has some of its
 * own (docs/cache.md).
 *
 * Names of files are relative paths of [A-Za-z0-9._-] and '/', at most CW_STORE_NAME_MAX bytes, of
 * which no part begins with '.'. Directories are made when they are needed and are not listed. Any
 * thread may call these functions. A step is a call, or a piece of 1 MiB that is read or written. A
 * call that makes no progress for the timeout fails with CW_E_TIMEOUT; if the storage cannot be
 * reached, it fails with CW_E_UNAVAILABLE. After either of these the store is unavailable:
 * operations fail at once with UNAVAILABLE. Meanwhile the store itself tries now and then (after
 * 0.5 s, doubling to 10 s) whether the storage answers again; no caller waits for that. */
#ifndef CW_CACHE_STORE_STORE_H
#define CW_CACHE_STORE_STORE_H

#include <stdbool.h>
#include <sys/uio.h>
#include "base/err.h"

#define CW_STORE_NAME_MAX 240
#define CW_STORE_URL_MAX 1024

struct cw_buf;
struct cw_store;
struct cw_store_file; /* one file, open for reading */

/* cw_store_open opens the store and tries it (it makes the directory, or connects). Errors name the
 * URL and say what to do. cw_store_url_check only checks the URL and opens nothing, for the
 * dispatcher's command line. */
int cw_store_url_check(const char *url, struct cw_err *err);
/* Whether one of the stores is the other one, or lies in it. URLs are compared as texts, without their
 * parameters. */
bool cw_store_urls_overlap(const char *a, const char *b);
/* Returns whether the text begins with the scheme of a store, such as "dir:". Whether the rest is
 * right is not checked. */
bool cw_store_has_scheme(const char *text);
int cw_store_open(const char *url, struct cw_store **ret_store, struct cw_err *err);
/* Opens a store that may not be reachable now. Returns at once; the first operation opens the
 * store. If that fails, the store is unavailable, and is opened as soon as it answers. Fails only
 * for a wrong URL. */
int cw_store_open_lazily(const char *url, struct cw_store **ret_store, struct cw_err *err);
/* Ends all calls and reads that are under way in the store with CW_E_CANCELLED, and those that begin
 * from now on, for a thread that wants to close the store while others may be waiting for it.
 * Closing it then waits a second at most for a storage that does not answer. */
void cw_store_interrupt(struct cw_store *store);
/* Closes the store. All files must be closed before. Accepts NULL. */
void cw_store_close(struct cw_store *store);
const char *cw_store_url(const struct cw_store *store);
/* Returns the timeout in the URL; 0: the URL has none. */
int64_t cw_store_timeout_ms(const struct cw_store *store);
/* Whether bytes of a mapped file must be compared with their checksum at each use (?verify=always),
 * or only at the first one. */
bool cw_store_verifies_always(const struct cw_store *store);
/* Whether the store is unavailable. *ret_why receives the error that made it so; it may be NULL. */
bool cw_store_is_unavailable(const struct cw_store *store, struct cw_err *ret_why);

/* Writes a whole file: under a temporary name, in pieces of 1 MiB; it is synced, the result is
 * checked, and the file is renamed. After an error (LIMIT: the disk or quota is full) nothing is
 * left under `name`, except that after a TIMEOUT the whole file may still appear. An existing file
 * is replaced. */
int cw_store_put(struct cw_store *store, const char *name, const struct iovec *parts,
                 size_t parts_n, struct cw_err *err);
/* Writes a whole file that is not synced: a crash of the machine may leave it empty, cut or gone (never a
 * crash of this process). For small files that their reader checks and can make anew. */
int cw_store_put_unsynced(struct cw_store *store, const char *name, const struct iovec *parts,
                          size_t parts_n, struct cw_err *err);
/* Writes a whole file without copying those parts that have is_held set, as far as they consist of
 * whole pages (4096 bytes) and begin at a page both in memory and in the file. `hold` keeps the
 * memory of these parts: a write that hangs and was given up keeps a reference until it ends. */
struct cw_store_held {
    struct cw_buf *hold;
    const bool *is_held; /* one for each part */
};
int cw_store_put_held(struct cw_store *store, const char *name, const struct iovec *parts,
                      size_t parts_n, const struct cw_store_held *held, struct cw_err *err);
/* Removes a file. It is not an error if the file does not exist. */
int cw_store_remove(struct cw_store *store, const char *name, struct cw_err *err);
int cw_store_stat(struct cw_store *store, const char *name, uint64_t *ret_bytes,
                  struct cw_err *err);
/* Lists every file below `prefix` ("": all), in any order. Temporary files are not listed, and are
 * removed when they are an hour old. fn is called on the caller's thread while the listing goes on.
 * A value other than 0 that fn returns ends the listing and is returned. bytes is the size of the
 * file. */
typedef int cw_store_list_fn(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms);
int cw_store_list(struct cw_store *store, const char *prefix, cw_store_list_fn *fn, void *arg,
                  struct cw_err *err);
/* The same for all files of a store into which nobody writes any more: temporary files are removed
 * however new they are. */
int cw_store_list_unwritten(struct cw_store *store, cw_store_list_fn *fn, void *arg,
                            struct cw_err *err);
/* Says how many bytes the storage has, and how many are free. UNSUPPORTED if the backend cannot
 * tell. */
int cw_store_space(struct cw_store *store, uint64_t *ret_total, uint64_t *ret_free,
                   struct cw_err *err);

/* Opens a file for reading. If the file is removed while it is open, reads may succeed or fail. */
int cw_store_file_open(struct cw_store *store, const char *name, struct cw_store_file **ret_file,
                       uint64_t *ret_bytes, struct cw_err *err);
/* Closes a file; no read may be under way. Accepts NULL. */
void cw_store_file_close(struct cw_store_file *file);
/* Returns the whole file mapped into memory until it is closed, or NULL if the backend cannot map.
 * (A file never changes once it exists.) */
const void *cw_store_file_map(struct cw_store_file *file);
/* Whether some of the mapped file could not be read when it was touched. *ret_offset receives the
 * place. All of the map has been zeros since then. */
bool cw_store_file_is_broken(struct cw_store_file *file, uint64_t *ret_offset);
/* Whether bytes of a mapped file can be read past the kernel's page cache (`past`), that is,
 * without a page fault for each page and without evicting others. */
bool cw_store_file_may_read_past(struct cw_store_file *file);
/* Reads exactly n bytes, or fails (CORRUPT: the file is shorter). */
int cw_store_file_read(struct cw_store_file *file, uint64_t offset, void *dst, size_t n,
                       struct cw_err *err);
/* A read that does not block its caller; several may be under way at once. done is called exactly
 * once, on a thread of the store (or from within start), and must not block. The struct belongs to
 * the caller and must stay until then. If `left` is set, bytes are read straight into dst, without
 * a copy; then a thread that is stuck in the read may write to dst even after done reported
 * TIMEOUT. left is called once, after done, when no thread can touch dst any more; the struct and
 * dst must stay until then. */
struct cw_store_read {
    struct cw_store_file *file;
    uint64_t offset;
    void *dst;
    size_t n;
    void (*done)(struct cw_store_read *read, int rc);
    void (*left)(struct cw_store_read *read); /* may be NULL */
    bool past; /* read past the kernel's page cache, if cw_store_file_may_read_past allows it */
    struct cw_err err;
    void *arg;
};
void cw_store_file_read_start(struct cw_store_read *read);

/* What was measured of the store so far. Any thread may ask. */
struct cw_store_rates {
    /* *_ns: time in which at least one was under way, including the time of the throttle */
    uint64_t reads, read_bytes, read_ns;
    uint64_t writes, write_bytes, write_ns; /* a put counts as one */
    uint64_t errors;
};
void cw_store_rates(const struct cw_store *store, struct cw_store_rates *ret_rates);

#endif
