/* SPDX-License-Identifier: Apache-2.0 */
/* Where chunks are kept: whole files under names, put atomically, read in ranges
 * (docs/adding-a-store.md). One file a store, one line in backend_list.h.
 *
 *   dir:/path                                     any mounted file system: fsync, rename, mapped
 *                                         reads
 *   gluster://host[:port][,host2...]/volume/path  GlusterFS through libgfapi
 *   mem:NAME                                      memory of this process (tests); equal names
 *                                         share it
 *
 * After the address may stand ?key=value&...: timeout (longest time of one step; 5s for gluster,
 * else 30s); read_rate, write_rate (bytes/s) and latency (per operation) throttle it, for
 * experiments; verify (first, always); and the store's own (docs/cache.md).
 *
 * Names are relative paths of [A-Za-z0-9._-] and '/', at most CW_STORE_NAME_MAX bytes, no part
 * begins with '.'; directories are made when needed and are not seen. Any thread. A step is a
 * call, or a piece of 1 MiB of what is read or written: a call that takes longer without getting
 * on is CW_E_TIMEOUT. An unreachable store is CW_E_UNAVAILABLE. After either the store is
 * "away": operations fail at once with UNAVAILABLE, while the store itself tries now and then
 * (after 0.5 s, doubling to 10 s) whether it is back: nobody waits for that. */
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

/* Opens and tries the store (makes the directory, connects). Errors name the URL and say what to
 * do. `url` is checked by cw_store_url_check without opening anything: for the dispatcher's
 * command line. */
int cw_store_url_check(const char *url, struct cw_err *err);
int cw_store_open(const char *url, struct cw_store **ret_store, struct cw_err *err);
/* The same for a store that may not be reachable now: returns at once, the first operation opens
 * it. If that fails it is away, and opened as soon as it can be. Fails only for a wrong URL. */
int cw_store_open_lazily(const char *url, struct cw_store **ret_store, struct cw_err *err);
void cw_store_close(struct cw_store *store); /* files must be closed; accepts NULL */
const char *cw_store_url(const struct cw_store *store);
int64_t cw_store_timeout_ms(const struct cw_store *store); /* as its URL says; 0: it does not */
/* Whether bytes are to be compared with their checksum each time they are taken from a map
 * (?verify=always), or the first time only. */
bool cw_store_verifies_always(const struct cw_store *store);
bool cw_store_is_away(const struct cw_store *store, struct cw_err *ret_why /* may be NULL */);

/* Puts a whole file: written under a temporary name in pieces of 1 MiB, synced with the result
 * checked, renamed. On an error (LIMIT: the disk or quota is full) nothing is left under `name`,
 * except that after a TIMEOUT the whole file may still appear. An existing file is replaced. */
int cw_store_put(struct cw_store *store, const char *name, const struct iovec *parts,
                 size_t parts_n, struct cw_err *err);
/* The same without a copy of those parts that are held and begin at a page (4096 bytes) in
 * memory and in the file, as far as whole pages go. `hold` keeps the memory of the parts with
 * is_held: a write that hangs, and is given up, has a ref until it ends. */
struct cw_store_held {
    struct cw_buf *hold;
    const bool *is_held; /* of each part */
};
int cw_store_put_held(struct cw_store *store, const char *name, const struct iovec *parts,
                      size_t parts_n, const struct cw_store_held *held, struct cw_err *err);
/* one that is not there is no error */
int cw_store_remove(struct cw_store *store, const char *name, struct cw_err *err);
int cw_store_stat(struct cw_store *store, const char *name, uint64_t *ret_bytes,
                  struct cw_err *err);
/* Every file below `prefix` ("" = all), in any order; temporary ones are left out, and removed
 * when they are old (1 h). fn != 0 ends it and is returned. bytes is what the file takes. */
typedef int cw_store_list_fn(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms);
int cw_store_list(struct cw_store *store, const char *prefix, cw_store_list_fn *fn, void *arg,
                  struct cw_err *err);
/* UNSUPPORTED when the store does not know. */
int cw_store_space(struct cw_store *store, uint64_t *ret_total, uint64_t *ret_free,
                   struct cw_err *err);

/* Reading. A file that is removed while it is open can be read on, or fails: both must be
 * expected. */
int cw_store_file_open(struct cw_store *store, const char *name, struct cw_store_file **ret_file,
                       uint64_t *ret_bytes, struct cw_err *err);
void cw_store_file_close(struct cw_store_file *file); /* no read may be under way; accepts NULL */
/* All of it in memory, mapped, until close; NULL when the store cannot do that. (A file is never
 * changed once it is there.) */
const void *cw_store_file_map(struct cw_store_file *file);
/* Whether some of the mapped file could not be read when it was touched, at *ret_offset: all of
 * the map is zeros since then. */
bool cw_store_file_is_broken(struct cw_store_file *file, uint64_t *ret_offset);
/* Whether bytes of a mapped file can be read past the kernel's page cache (`past`): without a
 * fault a page, and without pushing out others. */
bool cw_store_file_may_read_past(struct cw_store_file *file);
/* Exactly n bytes, or an error (CORRUPT: the file is shorter). */
int cw_store_file_read(struct cw_store_file *file, uint64_t offset, void *dst, size_t n,
                       struct cw_err *err);
/* The same without waiting, several at once: done is called exactly once, on a thread of the
 * store (or from within start), and must not wait. The struct is the caller's and must stay
 * until then. With `left`, bytes are read straight into dst, without a copy: a thread that is
 * stuck in a read may write there even after done said TIMEOUT. left is called once, after done,
 * when nobody touches dst any more; struct and dst must stay until then. */
struct cw_store_read {
    struct cw_store_file *file;
    uint64_t offset;
    void *dst;
    size_t n;
    void (*done)(struct cw_store_read *read, int rc);
    void (*left)(struct cw_store_read *read); /* or NULL */
    bool past;                                /* the kernel's page cache, if the file may */
    struct cw_err err;
    void *arg;
};
void cw_store_file_read_start(struct cw_store_read *read);

/* What was measured so far. Any thread. */
struct cw_store_rates {
    /* ns: time in which at least one was under way, throttled or not */
    uint64_t reads, read_bytes, read_ns;
    uint64_t writes, write_bytes, write_ns; /* a put is one */
    uint64_t errors;
};
void cw_store_rates(const struct cw_store *store, struct cw_store_rates *ret_rates);

#endif
