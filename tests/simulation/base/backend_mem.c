/* SPDX-License-Identifier: Apache-2.0 */
/* mem:NAME on the world's store (store.h): in place of cache/store/backend_mem.c. Its calls take
 * time, so it has I/O threads, timeouts and a breaker as the stores have that are used. The files of
 * NAME are below NAME/ in the world's store. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cache/store/backend.h"
#include "planted.h"
#include "store.h"

#define PIECES 8 /* in so many a file is written, if they have a page at least */

static int fail(enum sim_store_rc rc, const char *what, struct cw_err *err)
{
    switch (rc) {
    case SIM_STORE_OK:
        return 0;
    case SIM_STORE_AWAY:
        return cw_err_set(err, CW_E_UNAVAILABLE, "%s: the store does not answer", what);
    case SIM_STORE_FULL:
        return cw_err_set(err, CW_E_LIMIT, "%s: the store is full", what);
    case SIM_STORE_NONE:
        return cw_err_set(err, CW_E_NOT_FOUND, "%s is not there", what);
    case SIM_STORE_SHORT:
        return cw_err_set(err, CW_E_CORRUPT, "%s has fewer bytes", what);
    case SIM_STORE_FAILS:
    default:
        return cw_err_set(err, CW_E_IO, "%s: input or output error", what);
    }
}

static int check(const struct cw_store_url *url, struct cw_err *err)
{
    return *url->address ? 0 : cw_err_set(err, CW_E_INVALID, "a store needs a name, mem:NAME");
}
static void *init(const struct cw_store_url *url)
{
    return cw_mem_printf("%s/", url->address);
}
static void fini(void *self)
{
    cw_mem_free(self);
}
/* The name of a file in the world's store. */
static void name_of(const char *place, const char *name, char ret[SIM_STORE_NAME_BYTES])
{
    snprintf(ret, SIM_STORE_NAME_BYTES, "%s%s", place, name);
}
static int try(void *self, struct cw_err *err)
{
    (void)self;
    return fail(sim_store_try(), "the store", err);
}

static int create(void *self, const char *name, void **ret_out, struct cw_err *err)
{
    char temp[SIM_STORE_NAME_BYTES], full[SIM_STORE_NAME_BYTES], part[CW_STORE_TEMP_BYTES];
    struct sim_store_file *file = NULL;

    name_of(self, name, full);
    cw_store_temp_name(part);
    snprintf(temp, sizeof(temp), "%.*s%s", (int)(strrchr(full, '/') + 1 - full), full, part);
    int rc = fail(sim_store_create(temp, full, &file), name, err);
    if (rc == 0)
        *ret_out = file;
    return rc;
}
static int write(void *out, uint64_t offset, const void *p, size_t n, struct cw_err *err)
{
    size_t piece = CW_MAX(n / PIECES, CW_MEM_PAGE);
    int rc = 0;

    for (size_t at = 0; rc == 0 && at < n; at += piece)
        rc = fail(sim_store_write(out, offset + at, (const char *)p + at, CW_MIN(piece, n - at)),
                  "a file", err);
    return sim_planted() == SIM_PLANTED_HALF ? 0 : rc;
}
static int sync(void *out, struct cw_err *err)
{
    return sim_planted() == SIM_PLANTED_UNSYNCED ? 0 : fail(sim_store_sync(out), "a file", err);
}
static int commit(void *out, struct cw_err *err)
{
    return fail(sim_store_commit(out), "a file", err);
}
static void abandon(void *out)
{
    sim_store_abandon(out);
}

static int remove_file(void *self, const char *name, struct cw_err *err)
{
    char full[SIM_STORE_NAME_BYTES];

    name_of(self, name, full);
    return fail(sim_store_remove(full), name, err);
}
static int stat(void *self, const char *name, uint64_t *ret_bytes, struct cw_err *err)
{
    char full[SIM_STORE_NAME_BYTES];

    name_of(self, name, full);
    return fail(sim_store_stat(full, ret_bytes), name, err);
}

struct listing {
    const char *place, *prefix;
    bool unwritten;
    cw_store_list_fn *fn;
    void *arg;
    struct cw_err *err;
};

static bool is_below(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);

    return n == 0 || (strncmp(name, prefix, n) == 0 && (name[n] == '/' || name[n] == '\0'));
}
/* Old temporary files go, as with every store. */
static int on_file(void *arg, const char *name, uint64_t bytes, int64_t age_ms)
{
    const struct listing *listing = arg;
    const char *part = strrchr(name, '/') + 1;
    int64_t mtime_ms = cw_clock_wall_ms() - age_ms;

    if (!cw_str_starts(name, listing->place) ||
        !is_below(&name[strlen(listing->place)], listing->prefix))
        return 0;
    if (part[0] != '.')
        return listing->fn(listing->arg, &name[strlen(listing->place)], bytes, mtime_ms);
    if (!cw_store_is_old_temp(part, mtime_ms, listing->unwritten))
        return 0;
    enum sim_store_rc rc = sim_store_remove(name);
    return rc == SIM_STORE_NONE || !listing->unwritten ? 0 : fail(rc, name, listing->err);
}
static int list(void *self, const char *prefix, bool unwritten, cw_store_list_fn *fn, void *arg,
                struct cw_err *err)
{
    struct listing listing = {self, prefix, unwritten, fn, arg, err};
    int ret = 0;

    int rc = fail(sim_store_list(on_file, &listing, &ret), "the listing", err);
    return rc == 0 ? ret : rc;
}
static int space(void *self, uint64_t *ret_total, uint64_t *ret_free, struct cw_err *err)
{
    enum sim_store_rc rc = sim_store_space(ret_total, ret_free);

    (void)self;
    if (rc == SIM_STORE_NONE)
        return cw_err_set(err, CW_E_UNSUPPORTED, "the store has no limit");
    return fail(rc, "the store", err);
}

static int open(void *self, const char *name, void **ret_file, uint64_t *ret_bytes,
                struct cw_err *err)
{
    char full[SIM_STORE_NAME_BYTES];
    struct sim_store_file *file = NULL;

    name_of(self, name, full);
    int rc = fail(sim_store_open(full, &file, ret_bytes), name, err);
    if (rc == 0)
        *ret_file = file;
    return rc;
}
static int read(void *file, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    return fail(sim_store_read(file, offset, dst, n), "a file", err);
}
static const void *map(void *file)
{
    return sim_store_map(file);
}
static void close(void *file)
{
    sim_store_close(file);
}

const struct cw_backend cw_backend_mem = {.scheme = "mem",
                                          .form = "mem:NAME",
                                          .waits = true,
                                          .writes = 3,
                                          .timeout_ms = 5000,
                                          .check = check,
                                          .init = init,
                                          .fini = fini,
                                          .try = try,
                                          .create = create,
                                          .write = write,
                                          .sync = sync,
                                          .commit = commit,
                                          .abandon = abandon,
                                          .remove = remove_file,
                                          .stat = stat,
                                          .list = list,
                                          .space = space,
                                          .open = open,
                                          .read = read,
                                          .map = map,
                                          .close = close};
