/* SPDX-License-Identifier: Apache-2.0 */
/* What filling a cache costs beside bare loops that write the same bytes into the same
 * directory: CPU time of the whole process (user and system) per record of 150,528 bytes (224 x
 * 224 x 3).
 *   build/release/tests/bench_fill DIRECTORY [records]
 *     write         write() of each record into files of 64 MiB, fsync: through the page cache
 *     write direct  the same past the page cache: records are copied into pieces of 1 MiB, which
 *     are written with O_DIRECT
 *     cache         cw_cache_put of each record into a cache in dir:, until all is written;
 *                   direct=off and direct=on
 * They take turns for ROUNDS rounds. The first round is not counted: memory is new then (what
 * that costs is printed too, and is much in a virtual machine whose host has not given it the
 * memory yet). Threads of the kernel that write pages back later are not counted. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cache/record/record_cache.h"
#include "cache/store/store.h"

#define ROUNDS 7u /* and one before */
#define BYTES ((size_t)224 * 224 * 3)
#define RING 8u /* records in memory, as many as a few threads have in hand */
#define FILE_BYTES ((size_t)64 << 20)
#define PIECE ((size_t)1 << 20)
#define DIRECT_ALIGN 4096u
#define MEMORY ((size_t)1 << 30)

static const struct {
    const char *name;
    const char *params; /* of the store; NULL: a bare loop */
    int flags;
} ways[] = {{"write", NULL, 0},
            {"write direct", NULL, O_DIRECT},
            {"cache direct=off", "?direct=off", 0},
            {"cache direct=on", "?direct=on", 0}};
#define WAYS CW_ARRAY_LEN(ways)
struct bench {
    const char *dir;
    size_t n;
    unsigned char *ring;
    unsigned char *piece;
    struct cw_cache *caches[WAYS];
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_fill: %s: %s\n", what, why);
    exit(1);
}

static unsigned char *record(const struct bench *b, uint64_t id)
{
    unsigned char *p = b->ring + id % RING * BYTES;

    memcpy(p, &id, sizeof(id));
    return p;
}

/* ---- bare loops ---- */

static int new_file(const struct bench *b, size_t no, int flags)
{
    CW_CLEANUP(cw_mem_free_at) char *path = cw_mem_printf("%s/bare-%zu", b->dir, no);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | flags, 0600);

    if (fd < 0)
        die(path, strerror(errno));
    return fd;
}

static void write_out(int fd, const void *p, size_t n)
{
    if (write(fd, p, n) != (ssize_t)n)
        die("write", strerror(errno));
}

static void end_file(int fd)
{
    if (fsync(fd) < 0 || close(fd) < 0)
        die("fsync", strerror(errno));
}

static void run_bare(const struct bench *b, int flags)
{
    size_t files = 0, in_file = 0, in_piece = 0;
    int fd = new_file(b, files++, flags);

    for (uint64_t id = 0; id < b->n; id++) {
        const unsigned char *p = record(b, id);

        if (in_file >= FILE_BYTES) {
            end_file(fd);
            fd = new_file(b, files++, flags);
            in_file = 0;
        }
        in_file += BYTES;
        if (!flags) {
            write_out(fd, p, BYTES);
            continue;
        }
        for (size_t at = 0; at < BYTES;) {
            size_t some = CW_MIN(BYTES - at, PIECE - in_piece);
            memcpy(b->piece + in_piece, p + at, some);
            at += some;
            in_piece += some;
            if (in_piece == PIECE) {
                write_out(fd, b->piece, PIECE);
                in_piece = 0;
            }
        }
    }
    end_file(fd);
    while (files-- > 0) {
        CW_CLEANUP(cw_mem_free_at) char *path = cw_mem_printf("%s/bare-%zu", b->dir, files);
        unlink(path);
    }
}

/* ---- the cache ---- */

static void on_event(void *arg, const struct cw_cache_event *event)
{
    (void)arg;
    if (event->kind != CW_CACHE_WRITTEN)
        die("an event that must not be", event->why ? event->why : "?");
}

static int remove_one(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    (void)bytes;
    (void)mtime_ms;
    return cw_store_remove(arg, name, NULL);
}

static void put_all(const struct bench *b, struct cw_cache *cache, uint64_t round)
{
    CW_SPEC_AUTO spec = {0};
    struct cw_element element = {.n = 1};
    int64_t dims[] = {224, 224, 3};

    if (cw_spec_add(&spec, "image", CW_DTYPE_U8, 3, dims, NULL) != 0)
        die("spec", "failed");
    struct cw_cache_dataset *node = cw_cache_dataset(cache, "", (struct cw_hash){1, round}, &spec);
    element.fields[0] =
        (struct cw_view){.bytes = BYTES, .dtype = CW_DTYPE_U8, .rank = 3, .dims = {224, 224, 3}};
    for (uint64_t id = 0; id < b->n; id++) {
        element.fields[0].data = record(b, id);
        cw_cache_put(node, id, &element, 1);
        while (cw_cache_memory_used(cache) > MEMORY / 4)
            cw_clock_sleep_ns(1000000);
    }
    cw_cache_flush(cache, NULL);
    while (cw_cache_is_writing(cache))
        cw_clock_sleep_ns(1000000);
    struct cw_cache_counts counts;
    cw_cache_counts(node, &counts);
    if (counts.written != b->n)
        die("the cache", "not everything was written");
    cw_cache_dataset_unref(node);
}

static struct cw_cache *open_cache(const struct bench *b, const char *params)
{
    CW_CLEANUP(cw_mem_free_at) char *url = cw_mem_printf("dir:%s/cache%s", b->dir, params);
    struct cw_cache_options options = {.memory = MEMORY, .event = on_event};
    struct cw_store *store;
    struct cw_err err = {0};

    if (cw_store_open(url, &store, &err) != 0)
        die(url, err.msg);
    return cw_cache_new(store, &options);
}

static void empty(struct cw_cache *cache)
{
    struct cw_store *store = cw_cache_store(cache);
    struct cw_err err = {0};

    if (cw_store_list(store, "", remove_one, store, &err) != 0)
        die("the cache", err.msg);
}

static double run_way(struct bench *b, size_t way, uint64_t round)
{
    if (ways[way].params && !b->caches[way])
        b->caches[way] = open_cache(b, ways[way].params);
    int64_t begin = cw_clock_process_cpu_ns();
    if (ways[way].params)
        put_all(b, b->caches[way], round);
    else
        run_bare(b, ways[way].flags);
    double us = (double)(cw_clock_process_cpu_ns() - begin) * 1e-3 / (double)b->n;
    if (ways[way].params)
        empty(b->caches[way]);
    return us;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct bench b = {.n = 4000, .piece = cw_mem_try_aligned(DIRECT_ALIGN, PIECE)};
    double us[WAYS][ROUNDS + 1];
    int64_t n;

    if (argc < 2 || argc > 3 || (argc == 3 && (!cw_str_to_i64(argv[2], &n) || n < 1))) {
        fprintf(stderr, "usage: bench_fill DIRECTORY [records]\n");
        return 2;
    }
    b.dir = argv[1];
    b.n = argc == 3 ? (size_t)n : b.n;
    b.ring = cw_mem_new(RING * BYTES);
    for (size_t i = 0; i < RING * BYTES; i++)
        b.ring[i] = (unsigned char)(i * 2654435761u >> 11);
    for (size_t round = 0; round <= ROUNDS; round++)
        for (size_t k = 0; k < WAYS; k++) {
            size_t way = (round + k) % WAYS;
            us[way][round] = run_way(&b, way, round);
        }
    printf("bench_fill: records=%zu of %zu bytes, CPU us per record in %u rounds\n", b.n, BYTES,
           ROUNDS);
    for (size_t way = 0; way < WAYS; way++) {
        double first = us[way][0], *rest = us[way] + 1;
        qsort(rest, ROUNDS, sizeof(*rest), compare);
        printf("  %-17s median=%6.1f min=%6.1f max=%6.1f (first round %.1f)\n", ways[way].name,
               rest[ROUNDS / 2], rest[0], rest[ROUNDS - 1], first);
    }
    for (size_t way = 0; way < WAYS; way++)
        cw_cache_free(b.caches[way], 0);
    cw_mem_free(b.ring);
    cw_mem_free(b.piece);
    return 0;
}
