/* SPDX-License-Identifier: Apache-2.0 */
#include "source_world.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "support/soon.h"

void write_source(struct world *w, uint64_t seed, int64_t age_s)
{
    FILE *f = fopen(w->path, "wb");
    assert_non_null(f);
    for (size_t i = 0; i + 8 <= BYTES; i += 8) {
        uint64_t v = cw_mix64(seed * 1000003 + i + 1);
        memcpy(w->bytes + i, &v, 8);
    }
    assert_int_equal(fwrite(w->bytes, 1, BYTES, f), BYTES);
    fclose(f);
    const struct timespec times[2] = {{.tv_sec = time(NULL) - age_s, .tv_nsec = (long)seed},
                                      {.tv_sec = time(NULL) - age_s, .tv_nsec = (long)seed}};
    assert_int_equal(utimensat(AT_FDCWD, w->path, times, 0), 0);
}

void open_source(struct world *w)
{
    if (w->file.io)
        cw_io_close(&w->io);
    w->file.path = w->path;
    assert_int_equal(cw_io_open(w->path, NULL, &w->io, NULL), 0);
    w->file.io = &w->io;
    w->file.stamp.size = w->io.info.size;
    w->file.stamp.mtime_ns = w->io.info.mtime_ns;
}

int source_begin(void **state)
{
    struct world *w = CW_NEW(struct world);
    snprintf(w->root, sizeof(w->root), "/tmp/cachew-source-XXXXXX");
    assert_non_null(mkdtemp(w->root));
    snprintf(w->path, sizeof(w->path), "%s/file", w->root);
    snprintf(w->dir, sizeof(w->dir), "%s/dir", w->root);
    snprintf(w->store, sizeof(w->store), "dir:%s/store", w->root);
    w->bytes = cw_mem_new(BYTES + 8);
    write_source(w, 1, 3600);
    open_source(w);
    *state = w;
    return 0;
}

int source_end(void **state)
{
    struct world *w = *state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", w->root);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    assert_int_equal(pclose(p), 0);
    cw_io_close(&w->io);
    cw_mem_free(w->bytes);
    cw_mem_free(w);
    return 0;
}

struct cw_source_cache *new_cache(const struct cw_source_cache_options *o)
{
    struct cw_source_cache *c = NULL;
    struct cw_err err = {0};
    assert_int_equal(cw_source_cache_new(o, &c, &err), 0);
    return c;
}

struct cw_source_counts counts_of(struct cw_source_cache *c, enum cw_source_tier tier)
{
    struct cw_source_counts counts[CW_SOURCE_TIERS_N];
    cw_source_cache_counts(c, counts);
    return counts[tier];
}

uint64_t origin_reads(struct cw_source_cache *c)
{
    return counts_of(c, CW_SOURCE_ORIGIN).hits;
}

void wait_written(struct cw_source_cache *c)
{
    soon(counts_of(c, CW_SOURCE_DIR).pending + counts_of(c, CW_SOURCE_STORE).pending == 0);
}

void read_range(struct world *w, struct cw_source_cache *c, uint64_t offset, size_t n)
{
    const struct cw_source_hook *hook = cw_source_cache_hook(c);
    struct cw_err err = {0};
    char *got = cw_mem_new(n + 1);
    assert_int_equal(hook->read(hook->arg, &w->file, offset, got, n, &err), 0);
    assert_memory_equal(got, w->bytes + offset, n);
    cw_mem_free(got);
}

void read_all(struct world *w, struct cw_source_cache *c)
{
    for (uint64_t at = 0; at < BYTES; at += 300000)
        read_range(w, c, at, (size_t)CW_MIN((uint64_t)300000, BYTES - at));
    read_range(w, c, 0, BYTES);
    read_range(w, c, BYTES, 0);
    read_range(w, c, BLOCK - 1, 2);
}

unsigned tiers_of(struct world *w, struct cw_source_cache *c, uint64_t block, bool load)
{
    const struct cw_source_hook *hook = cw_source_cache_hook(c);
    struct cw_err err = {0};
    struct cw_source_block b = {.bytes = CW_MIN((uint64_t)BLOCK, BYTES - block * BLOCK)};
    assert_int_equal(hook->block(hook->arg, &w->file, block, load, &b, &err), 0);
    return b.tiers;
}

void wait_found(struct world *w, struct cw_source_cache *c, unsigned tier)
{
    for (uint64_t i = 0; i < BLOCKS; i++)
        soon(tiers_of(w, c, i, false) & tier);
}

/* ---- files under a directory ---- */

void each_file(const char *root, file_fn *fn, void *arg)
{
    DIR *dir = opendir(root);
    const struct dirent *e;
    while (dir && (e = readdir(dir)) != NULL) {
        char path[512];
        struct stat st;
        if (e->d_name[0] == '.')
            continue;
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", root, e->d_name) >= sizeof(path))
            continue;
        if (stat(path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode))
            each_file(path, fn, arg);
        else if (strcmp(e->d_name, "usage") != 0)
            fn(arg, path, (uint64_t)st.st_size);
    }
    if (dir)
        closedir(dir);
}
static void on_add(void *arg, const char *path, uint64_t bytes)
{
    (void)path;
    *(uint64_t *)arg += bytes;
}
uint64_t bytes_under(const char *root)
{
    uint64_t sum = 0;
    each_file(root, on_add, &sum);
    return sum;
}
void source_flip(void *arg, const char *path, uint64_t bytes)
{
    int fd = open(path, O_RDWR);
    char c;
    uint64_t at =
        *(const double *)arg < 0 ? bytes - 20 : (uint64_t)((double)bytes * *(const double *)arg);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &c, 1, (off_t)at), 1);
    c = (char)(c ^ 4);
    assert_int_equal(pwrite(fd, &c, 1, (off_t)at), 1);
    close(fd);
}
void source_cut(void *arg, const char *path, uint64_t bytes)
{
    (void)arg;
    assert_int_equal(truncate(path, (off_t)bytes / 2), 0);
}
