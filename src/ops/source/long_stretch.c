/* SPDX-License-Identifier: Apache-2.0 */
/* Shows a stretch to the source cache as a file, whose bytes come from an inflater. Blocks that the
 * cache asks for in order are inflated once; one that it has lost is inflated from the beginning of
 * the stretch. Each is compared with the hash that it had when the file was scanned before the cache
 * gets it. */
#include "ops/source/long_stretch.h"

#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/thread.h"

#define SKIP_BYTES ((size_t)1 << 20)

#define LOCKS_N 32

struct cw_long_stretches {
    struct cw_mutex filling[LOCKS_N]; /* by what names a stretch: is held while it is inflated */
    struct cw_mutex mutex;            /* guards what follows */
    struct cw_map filled;             /* by what names a stretch */
    bool is_warned;
};

struct cw_long_stretches *cw_long_stretches_new(void)
{
    struct cw_long_stretches *all = CW_NEW(struct cw_long_stretches);
    cw_mutex_init(&all->mutex);
    for (size_t i = 0; i < LOCKS_N; i++)
        cw_mutex_init(&all->filling[i]);
    return all;
}

void cw_long_stretches_free(struct cw_long_stretches *all)
{
    if (!all)
        return;
    cw_map_fini(&all->filled);
    cw_mutex_fini(&all->mutex);
    for (size_t i = 0; i < LOCKS_N; i++)
        cw_mutex_fini(&all->filling[i]);
    cw_mem_free(all);
}

/* ---- a stretch as a file ---- */

/* The file that the source cache sees, for the time of one call of cw_long_stretch_read. */
struct shown {
    struct cw_long_stretch stretch;
    struct cw_io_file io;
    struct cw_source_file file;
    struct cw_access_reader *reader; /* NULL: nothing was inflated yet */
    uint64_t at;                     /* which byte of the stretch it gives next */
    int rc;                          /* why it could not be inflated */
    struct cw_err err;
};

static int restart(struct shown *s)
{
    cw_access_reader_free(s->reader);
    s->reader = NULL;
    s->at = 0;
    return cw_access_reader_new(s->stretch.points, s->stretch.k, s->stretch.packed, &s->reader,
                                &s->err);
}

/* Inflates what lies before `offset`. */
static int skip_to(struct shown *s, uint64_t offset)
{
    cw_autofree char *piece = NULL;
    int rc = !s->reader || s->at > offset ? restart(s) : 0;
    if (rc == 0 && s->at < offset)
        piece = cw_mem_new(SKIP_BYTES);
    while (rc == 0 && s->at < offset) {
        const size_t n = (size_t)CW_MIN((uint64_t)SKIP_BYTES, offset - s->at);
        rc = cw_access_reader_read(s->reader, piece, n, &s->err);
        s->at += n;
    }
    return rc;
}

/* Inflates a block, and compares it. */
static int inflate_block(struct shown *s, uint64_t block, void *dst, size_t n)
{
    const struct cw_long_stretch *of = &s->stretch;
    int rc = skip_to(s, block * CW_ACCESS_BLOCK_BYTES);
    if (rc == 0)
        rc = cw_access_reader_read(s->reader, dst, n, &s->err);
    s->at += n;
    return rc < 0 ? rc
                  : cw_access_points_check(of->points, of->k, block, dst, n, of->packed, &s->err);
}

/* Copies what a block has of n bytes from `offset` on, and returns how many these are. Nothing is given on of a block
 * that was not compared as a whole, since it may be kept. */
static size_t read_of_block(struct shown *s, uint64_t offset, char *dst, size_t n)
{
    const uint64_t block = offset / CW_ACCESS_BLOCK_BYTES, begin = block * CW_ACCESS_BLOCK_BYTES;
    const size_t all = (size_t)CW_MIN(CW_ACCESS_BLOCK_BYTES, (uint64_t)s->io.info.size - begin);
    const size_t part = (size_t)CW_MIN((uint64_t)n, begin + all - offset);
    if (part == all) {
        s->rc = inflate_block(s, block, dst, all);
        return part;
    }
    cw_autofree char *bytes = cw_mem_try(all);
    s->rc = bytes ? inflate_block(s, block, bytes, all)
                  : cw_err_set(&s->err, CW_E_NOMEM, "%s: no memory for %zu inflated bytes",
                               s->stretch.packed->name, all);
    if (s->rc == 0)
        memcpy(dst, bytes + (offset - begin), part);
    return part;
}

static int read_shown(const struct cw_io_file *io, uint64_t offset, void *dst, size_t n,
                      const struct cw_stop *stop, struct cw_err *err)
{
    struct shown *s = io->object;
    char *to = dst;
    (void)stop;
    for (size_t part; s->rc == 0 && n > 0; n -= part, to += part, offset += part)
        part = read_of_block(s, offset, to, n);
    if (s->rc < 0 && err)
        *err = s->err;
    return s->rc;
}

static bool is_unchanged(const struct cw_io_file *io)
{
    const struct shown *s = io->object;
    return cw_io_is_unchanged(s->stretch.file->io);
}

static const struct cw_io_scheme inflated_scheme = {
    .name = "inflated", .read = read_shown, .is_unchanged = is_unchanged};

static uint64_t bytes_of(const struct cw_long_stretch *stretch)
{
    return cw_access_points_end(stretch->points, stretch->k) - stretch->points->v[stretch->k].at;
}

/* path: its name, which stays as long as the file is shown */
static void show(struct shown *s, const struct cw_long_stretch *stretch, const char *path)
{
    *s = (struct shown){.stretch = *stretch, .file = *stretch->file};
    s->io = (struct cw_io_file){
        .scheme = &inflated_scheme, .info = stretch->file->io->info, .fd = -1, .object = s};
    s->io.info.size = s->file.stamp.size = (int64_t)bytes_of(stretch);
    s->file.path = path;
    s->file.io = &s->io;
}

/* ---- reading ---- */

static bool is_there(struct shown *s, uint64_t offset, size_t n)
{
    for (uint64_t block = offset / CW_SOURCE_BLOCK_BYTES;
         block <= (offset + n - 1) / CW_SOURCE_BLOCK_BYTES; block++) {
        struct cw_source_block found = {0};
        if (cw_source_block_get(&s->file, block, false, &found, NULL) < 0 || found.tiers == 0)
            return false;
    }
    return true;
}

/* Has the cache load all blocks, in order. */
static int fill(struct shown *s, struct cw_err *err)
{
    const uint64_t blocks = cw_source_blocks(s->file.stamp.size);
    int rc = 0;
    for (uint64_t block = 0; rc == 0 && block < blocks; block++) {
        struct cw_source_block loaded = {0};
        rc = cw_stop_check(s->file.stop, err);
        if (rc == 0)
            rc = cw_source_block_get(&s->file, block, true, &loaded, err);
    }
    if (s->rc < 0 && err)
        *err = s->err; /* what was wrong with the data */
    return s->rc < 0 ? s->rc : rc;
}

/* Notes that it was done; says so once if the cache has not kept all, since reads of the rest are slow. */
static void note_filled(struct cw_long_stretches *all, struct shown *s, uint64_t name)
{
    const bool is_whole = is_there(s, 0, (size_t)s->file.stamp.size);
    cw_mutex_lock(&all->mutex);
    (void)cw_map_set(&all->filled, name, all);
    const bool warn = !is_whole && !all->is_warned;
    all->is_warned = all->is_warned || warn;
    cw_mutex_unlock(&all->mutex);
    if (warn)
        cw_log_warn(
            "worker",
            "%s: the source cache has not kept all of it; what it lacks is inflated from the "
            "beginning for each read: give it more room, or write such files in members or "
            "frames",
            s->file.path);
}

/* Fills the cache with the stretch if that was not done before. */
static int fill_once(struct cw_long_stretches *all, struct shown *s, struct cw_err *err)
{
    const uint64_t name = cw_hash_u64(s->file.path, strlen(s->file.path));
    int rc = 0;
    cw_mutex_lock(&all->filling[name % LOCKS_N]);
    cw_mutex_lock(&all->mutex);
    const bool is_filled = cw_map_get(&all->filled, name) != NULL;
    cw_mutex_unlock(&all->mutex);
    if (!is_filled)
        rc = fill(s, err);
    if (!is_filled && rc == 0)
        note_filled(all, s, name);
    cw_mutex_unlock(&all->filling[name % LOCKS_N]);
    return rc;
}

int cw_long_stretch_read(struct cw_long_stretches *all, const struct cw_long_stretch *stretch,
                         uint64_t memory_max, uint64_t offset, void *dst, size_t n,
                         struct cw_err *err)
{
    struct shown s;
    int rc = 0;
    if (n == 0)
        return 0;
    if (!stretch->file || !cw_source_keeps() ||
        !cw_source_is_settled(stretch->file, CW_LONG_STRETCH_SETTLE_MS))
        return CW_E_UNSUPPORTED;
    cw_autofree char *path = cw_mem_printf("%s (inflated from %llu)", stretch->file->path,
                                           (unsigned long long)stretch->points->v[stretch->k].at);
    show(&s, stretch, path);
    bool there = is_there(&s, offset, n);
    if (!there) {
        rc = fill_once(all, &s, err);
        there = rc == 0 && is_there(&s, offset, n);
    }
    if (rc == 0 && !there && bytes_of(stretch) <= memory_max)
        rc = CW_E_UNSUPPORTED;
    if (rc == 0)
        rc = cw_source_read(&s.file, offset, dst, n, err);
    cw_access_reader_free(s.reader);
    return rc;
}
