/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a storage backend: plain functions that may block (docs/adding-a-store.md).
 * Around them, and alike for all backends, store.c and its neighbours add timeouts, concurrent
 * reads, throttling, the breaker and counters. A backend is one file backend_NAME.c with a
 * descriptor cw_backend_NAME, and one line in backend_list.h. */
#ifndef CW_CACHE_STORE_BACKEND_H
#define CW_CACHE_STORE_BACKEND_H

#include "cache/store/store.h"

#define CW_STORE_PIECE ((size_t)1 << 20) /* bytes that are read or written at once */
#define CW_STORE_KEYS_MAX 8

/* a parsed URL: "scheme:address?key=value&..." */
struct cw_store_url {
    char text[CW_STORE_URL_MAX];
    char address[CW_STORE_URL_MAX]; /* the text between the scheme's ':' and '?' */
    const struct cw_backend *ops;
    int64_t timeout_ns, latency_ns;
    uint64_t read_rate, write_rate; /* bytes/s; 0: no throttle */
    bool has_timeout;               /* timeout_ns comes from the URL, and is not the default */
    bool verifies_always;
    char keys[CW_STORE_KEYS_MAX][16]; /* parameters that only this backend knows */
    char values[CW_STORE_KEYS_MAX][64];
    size_t keys_n;
};
/* Parses the URL of a store. Error messages say what is wrong and what would be right. backends
 * ends with NULL. */
int cw_store_url_parse(const struct cw_backend *const *backends, const char *text,
                       struct cw_store_url *ret_url, struct cw_err *err);
/* Returns the value of one of the backend's own parameters, or NULL if the URL does not have it. */
const char *cw_store_url_get(const struct cw_store_url *url, const char *key);

/* A backend. Its functions may be called on several threads at once, and may block as long as they
 * like (if `waits` is set). Functions of a file receive what open or create returned. Names were
 * checked before. Error codes: CW_E_UNAVAILABLE if the storage cannot be reached, CW_E_LIMIT if it
 * is full, NOT_FOUND, DENIED and IO as usual. Messages name the file or the store. Functions and
 * fields marked (opt) may be NULL. */
struct cw_backend {
    const char *scheme;      /* "dir" for cw_backend_dir */
    const char *form;        /* "dir:/path", for messages */
    const char *const *keys; /* names of its own parameters; ends with NULL (opt) */
    bool waits;         /* its functions may block: they run on I/O threads; false for memory */
    unsigned writes;    /* pieces of one file that are written at the same time, 1 to 8 */
    size_t write_bytes; /* the most bytes of such a piece, whole pages; 0 means CW_STORE_PIECE */
    int64_t timeout_ms; /* the default timeout */
    /* Checks the address and the own parameters without opening anything. */
    int (*check)(const struct cw_store_url *url, struct cw_err *err);
    /* Makes the backend's state (`self`). It opens nothing either, and cannot fail. */
    void *(*init)(const struct cw_store_url *url);
    void (*fini)(void *self);
    /* Connects, or makes the directory. It is called again to see whether a store that was
     * unavailable answers, and opens it anew if it must. */
    int (*try)(void *self, struct cw_err *err);

    /* Creates a file that nobody sees before commit; directories are made as needed. Pieces are
     * written at several offsets at once, and together cover the file when sync is called. Each
     * begins at a page both in memory and in the file, and has at most write_bytes. commit or
     * abandon ends the file; so does a commit that fails. */
    int (*create)(void *self, const char *name, void **ret_out, struct cw_err *err);
    int (*write)(void *out, uint64_t offset, const void *p, size_t n, struct cw_err *err);
    /* Returns 0 when all bytes are on stable storage (opt). It is not called for a file that may be lost
     * by a crash of the machine; then commit need not bring its name there either. */
    int (*sync)(void *out, struct cw_err *err);
    int (*commit)(void *out, struct cw_err *err);
    void (*abandon)(void *out);

    /* Removes a file; NOT_FOUND is not an error. */
    int (*remove)(void *self, const char *name, struct cw_err *err);
    int (*stat)(void *self, const char *name, uint64_t *ret_bytes, struct cw_err *err);
    /* unwritten: nobody writes any more, so temporary files are removed however new they are. */
    int (*list)(void *self, const char *prefix, bool unwritten, cw_store_list_fn *fn, void *arg,
                struct cw_err *err);
    /* Says how many bytes the storage has, and how many are free (opt). */
    int (*space)(void *self, uint64_t *ret_total, uint64_t *ret_free, struct cw_err *err);

    int (*open)(void *self, const char *name, void **ret_file, uint64_t *ret_bytes,
                struct cw_err *err);
    /* Reads all n bytes; CORRUPT if the file is shorter. */
    int (*read)(void *file, uint64_t offset, void *dst, size_t n, struct cw_err *err);
    const void *(*map)(void *file); /* Returns the file mapped into memory, or NULL (opt). */
    /* Whether a part of the map could not be read, so that it is zeros now (opt). */
    bool (*is_broken)(void *file, uint64_t *ret_offset);
    /* read_past reads like read, but past the kernel's page cache if possible. dst is as far into a
     * page as offset, and read_past may fill the whole pages around it. It is used for files that
     * are mapped; may_read_past says whether it makes sense (opt). */
    bool (*may_read_past)(void *file);
    int (*read_past)(void *file, uint64_t offset, void *dst, size_t n, struct cw_err *err);
    void (*close)(void *file);
};

/* ---- backends.c ---- */

extern const struct cw_backend *const cw_backends[]; /* all backends; ends with NULL */

/* ---- file_name.c ---- */

int cw_store_check_name(const char *name, struct cw_err *err);

/* For backends that consist of directories: */

/* Makes the name of a temporary file, ".tmp-RANDOM". No valid name begins with '.', so a listing
 * never shows it. */
#define CW_STORE_TEMP_BYTES 32
void cw_store_temp_name(char ret_name[CW_STORE_TEMP_BYTES]);
/* Whether `part`, the last part of a name, is that of a temporary file whose writer left it behind:
 * an hour ago, or at any time if nobody writes into the store any more. */
bool cw_store_is_old_temp(const char *part, int64_t mtime_ms, bool unwritten);

#endif
