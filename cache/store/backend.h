/* SPDX-License-Identifier: Apache-2.0 */
/* What a store is to store.c: plain functions that wait (docs/adding-a-store.md). Timeouts,
 * reads in flight in numbers, throttling, the breaker and counting are done around them, for
 * every store alike: a store is one file backend_NAME.c with a descriptor cw_backend_NAME, and one
 * line in backend_list.h. */
#ifndef CW_CACHE_STORE_BACKEND_H
#define CW_CACHE_STORE_BACKEND_H

#include "cache/store/store.h"

#define CW_STORE_PIECE ((size_t)1 << 20) /* of what is read and written at once */
#define CW_STORE_KEYS_MAX 8

/* "scheme:address?key=value&..." */
struct cw_store_url {
    char text[CW_STORE_URL_MAX];
    char address[CW_STORE_URL_MAX]; /* between the scheme's ':' and '?' */
    const struct cw_backend *ops;
    int64_t timeout_ns, latency_ns;
    uint64_t read_rate, write_rate; /* bytes/s, 0 = as fast as it goes */
    bool has_timeout;               /* timeout_ns is what the URL says, not the default */
    bool verifies_always;
    char keys[CW_STORE_KEYS_MAX][16]; /* the store's own */
    char values[CW_STORE_KEYS_MAX][64];
    size_t keys_n;
};
/* Errors name what is wrong and what would be right. backends: NULL-terminated. */
int cw_store_url_parse(const struct cw_backend *const *backends, const char *text,
                       struct cw_store_url *ret_url, struct cw_err *err);
/* of the store's own; NULL = not given */
const char *cw_store_url_get(const struct cw_store_url *url, const char *key);

/* Functions may be called on several threads at once, and may take as long as they like (waits).
 * Those of a file are given what open or create returned. Names were checked. A store that
 * cannot be reached is CW_E_UNAVAILABLE, a full one CW_E_LIMIT; NOT_FOUND, DENIED and IO as they
 * are. Messages name the file or the store. Functions marked (opt) may be NULL. */
struct cw_backend {
    const char *scheme;      /* "dir": of cw_backend_dir */
    const char *form;        /* "dir:/path", for messages */
    const char *const *keys; /* its own parameters, NULL-terminated (opt) */
    bool waits;              /* calls may take long: they run on I/O threads. false: memory */
    unsigned writes;         /* pieces of one file that are written at once, 1 to 8 */
    size_t write_bytes;      /* of a piece at most, whole pages; 0 = CW_STORE_PIECE */
    int64_t timeout_ms;      /* the default */
    /* address and own parameters; opens nothing */
    int (*check)(const struct cw_store_url *url, struct cw_err *err);
    /* a state; opens nothing either, cannot fail */
    void *(*init)(const struct cw_store_url *url);
    void (*fini)(void *self);
    /* Connects, makes the directory. Called again to see whether a store that was away is back:
     * opens anew if it must. */
    int (*try)(void *self, struct cw_err *err);

    /* A new file, which nobody sees before commit. Directories are made. commit and abandon end
     * it (also when commit fails). Pieces come at several offsets at once and cover the file
     * when sync is called. They begin at a page, in memory and in the file, and have at most
     * write_bytes. */
    int (*create)(void *self, const char *name, void **ret_out, struct cw_err *err);
    int (*write)(void *out, uint64_t offset, const void *p, size_t n, struct cw_err *err);
    int (*sync)(void *out, struct cw_err *err); /* all is where it survives, or an error (opt) */
    int (*commit)(void *out, struct cw_err *err);
    void (*abandon)(void *out);

    int (*remove)(void *self, const char *name, struct cw_err *err); /* NOT_FOUND is no error */
    int (*stat)(void *self, const char *name, uint64_t *ret_bytes, struct cw_err *err);
    int (*list)(void *self, const char *prefix, cw_store_list_fn *fn, void *arg,
                struct cw_err *err);
    /* (opt) */
    int (*space)(void *self, uint64_t *ret_total, uint64_t *ret_free, struct cw_err *err);

    int (*open)(void *self, const char *name, void **ret_file, uint64_t *ret_bytes,
                struct cw_err *err);
    /* all n, or CORRUPT: it is shorter */
    int (*read)(void *file, uint64_t offset, void *dst, size_t n, struct cw_err *err);
    const void *(*map)(void *file); /* (opt) */
    /* some of the map could not be read, and it is zeros now (opt) */
    bool (*is_broken)(void *file, uint64_t *ret_offset);
    /* The same as read, past the kernel's page cache if that can be: dst is as far into a page
     * as offset, and the whole pages around it are read_past's to fill. Of a file that is
     * mapped; may_read_past tells whether that makes sense (opt). */
    bool (*may_read_past)(void *file);
    int (*read_past)(void *file, uint64_t offset, void *dst, size_t n, struct cw_err *err);
    void (*close)(void *file);
};

/* ---- backends.c ---- */

extern const struct cw_backend *const cw_backends[]; /* all of them, NULL-terminated */

/* ---- file_name.c ---- */

int cw_store_check_name(const char *name, struct cw_err *err);

/* for backends made of directories */

/* Fills "DIR/.tmp-RANDOM" of "DIR/FILE": never a name, so never seen. */
#define CW_STORE_TEMP_BYTES 32
void cw_store_temp_name(char ret_name[CW_STORE_TEMP_BYTES]); /* the last part */
/* one that its writer left behind an hour ago */
bool cw_store_is_old_temp(const char *part, int64_t mtime_ms);

#endif
