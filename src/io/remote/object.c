/* SPDX-License-Identifier: Apache-2.0 */
#include "io/remote/object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/ahead.h"
#include "io/copies.h"

#define WINDOWS 4
#define WINDOW_MIN ((size_t)64 << 10) /* what a server sends in the time of a round trip */
#define WINDOW_MAX ((size_t)1 << 20)
#define PART_BYTES ((size_t)8 << 20) /* of a large read */
#define PARTS_AT_ONCE 8

/* Bytes that were fetched, of which the next reads may need some. */
struct window {
    uint64_t offset;
    size_t n, cap;
    char *bytes;
    uint64_t used_at;
    bool is_busy; /* a thread fills it */
};
struct object {
    const struct cw_dialect *dialect;
    char *url;
    struct cw_io_info info;
    uint64_t copied;       /* bytes of the copy */
    int copy;              /* of an object of a server without ranges; -1: there is none */
    struct cw_mutex mutex; /* guards the windows */
    struct window windows[WINDOWS];
    uint64_t clock;
};

void cw_object_set_state(struct cw_io_info *info, const char *url)
{
    struct cw_hash name = cw_hash_bytes(url, strlen(url)),
                   version = cw_hash_bytes(info->version, strlen(info->version));
    const uint64_t words[] = {name.hi, name.lo, version.hi, version.lo, (uint64_t)info->size};
    info->is_object = true;
    info->state = cw_hash_bytes(words, sizeof(words));
}

static struct cw_fetch fetch_of(const struct cw_dialect *dialect, const char *url)
{
    return (struct cw_fetch){.dialect = dialect, .ask = {.method = "GET", .url = url}, .fd = -1};
}

/* Reads the first bytes of whatever version there is. */
static int probe(const struct cw_dialect *dialect, const char *url, char *dst, size_t n,
                 const struct cw_stop *stop, struct cw_fetch *fetch, struct cw_err *err)
{
    *fetch = fetch_of(dialect, url);
    fetch->dst = dst;
    fetch->n = n;
    int rc = cw_fetch_run(fetch, stop, err);
    if (rc == 0 && fetch->info.size >= 0)
        cw_object_set_state(&fetch->info, url);
    return rc;
}

int cw_object_stat(const struct cw_dialect *dialect, const char *url, const struct cw_stop *stop,
                   struct cw_io_info *ret_info, struct cw_err *err)
{
    char byte;
    struct cw_fetch fetch;
    struct cw_io_file file;
    int rc = probe(dialect, url, &byte, 1, stop, &fetch, err);
    *ret_info = fetch.info;
    cw_fetch_fini(&fetch);
    if (rc < 0 || ret_info->size >= 0)
        return rc;
    rc = cw_object_open(dialect, url, stop, &file, err); /* the server does not tell its length */
    if (rc < 0)
        return rc;
    *ret_info = file.info;
    cw_object_close(&file);
    return 0;
}

/* ---- copies ---- */

static int make_copy(struct cw_err *err)
{
    const char *dir = getenv("TMPDIR");
    if (!dir || !*dir)
        dir = "/tmp";
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return cw_err_errno(err, errno, "%s: a temporary file", dir);
    return fd;
}

/* Copies the whole object. */
static int copy(struct object *o, const struct cw_stop *stop, struct cw_err *err)
{
    int fd = make_copy(err);
    if (fd < 0)
        return cw_err_wrap(err, "%.*s: the server has no ranges", (int)strcspn(o->url, "?"),
                           o->url);
    struct cw_fetch fetch = fetch_of(o->dialect, o->url);
    fetch.fd = fd;
    fetch.n = UINT64_MAX;
    fetch.no_range = true;
    fetch.expected = o->info.size >= 0 || o->info.version[0] ? &o->info : NULL;
    int rc = cw_fetch_run(&fetch, stop, err);
    uint64_t got = fetch.got;
    o->copied = fetch.copied;
    cw_fetch_fini(&fetch);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    o->copy = fd;
    o->info.size = (int64_t)got;
    cw_object_set_state(&o->info, o->url);
    return 0;
}

/* ---- opening ---- */

static void object_free(struct object *o)
{
    for (size_t i = 0; i < WINDOWS; i++)
        cw_mem_free(o->windows[i].bytes);
    if (o->copy >= 0)
        close(o->copy);
    cw_io_copies_remove(o->copied);
    cw_mutex_fini(&o->mutex);
    cw_mem_free(o->url);
    cw_mem_free(o);
}

static struct object *object_new(const struct cw_dialect *dialect, const char *url)
{
    struct object *o = CW_NEW(struct object);
    o->dialect = dialect;
    o->url = cw_mem_strdup(url);
    o->copy = -1;
    cw_mutex_init(&o->mutex);
    return o;
}

/* Asks the server for the first bytes, which tell what there is. */
static int ask_first(struct object *o, const struct cw_stop *stop, struct cw_err *err)
{
    struct window *first = &o->windows[0];
    struct cw_fetch fetch;
    cw_io_waits();
    first->bytes = CW_NEW_ARRAY(char, WINDOW_MIN);
    first->cap = WINDOW_MIN;
    int rc = probe(o->dialect, o->url, first->bytes, WINDOW_MIN, stop, &fetch, err);
    o->info = fetch.info;
    first->n = rc == 0 ? (size_t)fetch.got : 0;
    bool is_part = o->info.size < 0 || fetch.got < (uint64_t)o->info.size;
    bool is_read_by_ranges = fetch.has_ranges && o->info.size >= 0;
    if (rc == 0 && is_part && !is_read_by_ranges)
        rc = copy(o, stop, err);
    cw_fetch_fini(&fetch);
    return rc;
}

int cw_object_open(const struct cw_dialect *dialect, const char *url, const struct cw_stop *stop,
                   struct cw_io_file *file, struct cw_err *err)
{
    struct object *o = object_new(dialect, url);
    int rc = cw_ahead_info(url, stop, &o->info) ? 0 : ask_first(o, stop, err);
    if (rc < 0) {
        object_free(o);
        return rc;
    }
    file->info = o->info;
    file->object = o;
    return 0;
}

void cw_object_close(struct cw_io_file *file)
{
    object_free(file->object);
    file->object = NULL;
}

bool cw_object_is_unchanged(const struct cw_io_file *file)
{
    (void)file;
    return true;
}

/* ---- windows ---- */

/* Copies what a window has of a range's beginning. Returns how much. */
static size_t take_there(struct object *o, uint64_t offset, char *dst, size_t n)
{
    size_t part = 0;
    cw_mutex_lock(&o->mutex);
    for (size_t i = 0; i < WINDOWS && part == 0; i++) {
        struct window *w = &o->windows[i];
        if (w->is_busy || offset < w->offset || offset - w->offset >= w->n)
            continue;
        size_t at = (size_t)(offset - w->offset);
        part = CW_MIN(n, w->n - at);
        memcpy(dst, w->bytes + at, part);
        w->used_at = ++o->clock;
    }
    cw_mutex_unlock(&o->mutex);
    return part;
}

/* Picks the window that is fetched anew: the one that ends where this one begins, which then is
 * twice as large, or the one that was not used for longest. NULL: all are busy. */
static struct window *pick(struct object *o, uint64_t offset, size_t *ret_n)
{
    struct window *best = NULL;
    *ret_n = WINDOW_MIN;
    for (size_t i = 0; i < WINDOWS; i++) {
        struct window *w = &o->windows[i];
        if (w->is_busy)
            continue;
        if (w->n > 0 && w->offset + w->n == offset) {
            *ret_n = CW_MIN(2 * CW_MAX(w->n, WINDOW_MIN), WINDOW_MAX);
            return w;
        }
        if (!best || w->used_at < best->used_at)
            best = w;
    }
    return best;
}

static int fetch_range(struct object *o, uint64_t offset, char *dst, size_t n,
                       const struct cw_stop *stop, struct cw_err *err)
{
    struct cw_fetch fetch = fetch_of(o->dialect, o->url);
    cw_io_waits();
    fetch.offset = offset;
    fetch.n = n;
    fetch.dst = dst;
    fetch.expected = &o->info;
    int rc = cw_fetch_run(&fetch, stop, err);
    cw_fetch_fini(&fetch);
    return rc;
}

/* Gives a window room for n bytes. */
static int make_room(struct window *w, size_t n, struct cw_err *err)
{
    if (w->cap >= n)
        return 0;
    cw_mem_free(w->bytes);
    w->bytes = cw_mem_try(n);
    w->cap = w->bytes ? n : 0;
    return w->bytes ? 0 : cw_err_set(err, CW_E_NOMEM, "no memory for %zu bytes of it", n);
}

static int fill(struct object *o, struct window *w, uint64_t offset, size_t n,
                const struct cw_stop *stop, struct cw_err *err)
{
    int rc = make_room(w, n, err);
    if (rc == 0)
        rc = fetch_range(o, offset, w->bytes, n, stop, err);
    cw_mutex_lock(&o->mutex);
    w->offset = offset;
    w->n = rc == 0 ? n : 0;
    w->used_at = ++o->clock;
    w->is_busy = false;
    cw_mutex_unlock(&o->mutex);
    return rc;
}

/* Fetches at least n bytes, n < WINDOW_MAX, into a window, or n bytes into dst if all windows are
 * busy: then *ret_done is n. */
static int fetch_window(struct object *o, uint64_t offset, char *dst, size_t n, size_t *ret_done,
                        const struct cw_stop *stop, struct cw_err *err)
{
    size_t want;
    cw_mutex_lock(&o->mutex);
    struct window *w = pick(o, offset, &want);
    if (w)
        w->is_busy = true;
    cw_mutex_unlock(&o->mutex);
    *ret_done = w ? 0 : n;
    if (!w)
        return fetch_range(o, offset, dst, n, stop, err);
    want = (size_t)CW_MIN((uint64_t)CW_MAX(want, n), (uint64_t)o->info.size - offset);
    return fill(o, w, offset, want, stop, err);
}

/* ---- large reads ---- */

/* Fetches at most PARTS_AT_ONCE parts at the same time. */
static int fetch_parts(struct object *o, uint64_t offset, char *dst, size_t n,
                       const struct cw_stop *stop, struct cw_err *err)
{
    size_t parts_n = (n + PART_BYTES - 1) / PART_BYTES;
    struct cw_fetch *fetches = CW_NEW_ARRAY(struct cw_fetch, parts_n);
    int rc = 0;
    cw_io_waits();
    for (size_t i = 0; i < parts_n; i++) {
        size_t begin = i * PART_BYTES;
        fetches[i] = fetch_of(o->dialect, o->url);
        fetches[i].offset = offset + begin;
        fetches[i].n = CW_MIN(PART_BYTES, n - begin);
        fetches[i].dst = dst + begin;
        fetches[i].expected = &o->info;
        cw_fetch_start(&fetches[i]);
    }
    for (size_t i = 0; i < parts_n; i++) {
        int one = cw_fetch_wait(&fetches[i], stop, rc == 0 ? err : NULL);
        rc = rc < 0 ? rc : one;
        cw_fetch_fini(&fetches[i]);
    }
    cw_mem_free(fetches);
    return rc;
}

static int fetch_large(struct object *o, uint64_t offset, char *dst, size_t n,
                       const struct cw_stop *stop, struct cw_err *err)
{
    int rc = 0;
    for (size_t done = 0; done < n && rc == 0;) {
        size_t part = CW_MIN(n - done, PARTS_AT_ONCE * PART_BYTES);
        rc = fetch_parts(o, offset + done, dst + done, part, stop, err);
        done += part;
    }
    return rc;
}

int cw_object_read(const struct cw_io_file *file, uint64_t offset, void *dst, size_t n,
                   const struct cw_stop *stop, struct cw_err *err)
{
    struct object *o = file->object;
    char *p = dst;
    uint64_t size = (uint64_t)o->info.size;
    int rc = 0;
    if (offset > size || n > size - offset)
        return cw_err_set(err, CW_E_CORRUPT, "it ends at byte %llu", (unsigned long long)size);
    if (o->copy >= 0)
        return cw_io_read_fd(o->copy, offset, dst, n, err);
    while (n > 0 && rc == 0) {
        size_t done = take_there(o, offset, p, n);
        if (done == 0)
            done = cw_ahead_read(o->url, o->info.state, offset, p, n, stop);
        if (done == 0 && n >= WINDOW_MAX) {
            rc = fetch_large(o, offset, p, n, stop, err);
            done = n;
        } else if (done == 0) {
            rc = fetch_window(o, offset, p, n, &done, stop, err);
        }
        p += done;
        offset += done;
        n -= done;
    }
    return rc;
}
