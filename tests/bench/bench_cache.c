/* SPDX-License-Identifier: Apache-2.0 */
/* Records from a cache beside a plain loop over the same files in the same run, on a warm page
 * cache:
 *   build/release/tests/bench_cache DIRECTORY [MiB a size]
 * First records are put (CPU time of the call), then read by cw_cache_get and copied; beside it
 * a loop that maps the chunk files and copies the same records from where the index says.
 * `first`: nothing was mapped before, and the cache checks sums; `again`: the second time. Then
 * the same from a store that does not map (map=off, read ahead, frames of 256 MiB stay), beside
 * a loop of pread. Each figure is the median of ROUNDS rounds that take turns. A line for each
 * size, order and store:
 *   bench_cache: bytes=150000 order=random store=map first=6.1/6.9 again=8.8/8.9 GB/s
 *   (cache/plain) ratio first=88% again=99% get=123ns */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/thread.h"
#include "cache/record/record_cache.h"
#include "format/chunk.h"

#define ROUNDS 5
#define CHUNKS_MAX 256
#define PUT_BYTES ((size_t)128 << 20)
#define BATCH_BYTES ((size_t)16 << 20) /* what is copied goes round in this, as into a batch */

struct place {
    uint32_t chunk;
    uint64_t offset;
};
struct bench {
    const char *dir;
    size_t bytes, n;
    struct cw_spec spec;
    char *names[CHUNKS_MAX];
    size_t chunks;
    struct place *places; /* by id */
    uint64_t *order;
    unsigned char *batch;
    struct cw_mutex lock;
};
struct result {
    double first, again; /* seconds */
};

static void die(const char *what, const struct cw_err *err)
{
    fprintf(stderr, "bench_cache: %s: %s\n", what, err && err->msg[0] ? err->msg : "failed");
    exit(1);
}

static void on_event(void *arg, const struct cw_cache_event *event)
{
    struct bench *b = arg;

    if (event->kind != CW_CACHE_WRITTEN)
        die("an event that must not be", NULL);
    cw_mutex_lock(&b->lock);
    if (cw_cache_dataset_key(event->dataset).lo == 1) /* else it is the warm-up */
        b->names[b->chunks++] = cw_mem_strdup(event->name);
    cw_mutex_unlock(&b->lock);
}

static struct cw_cache *open_cache(struct bench *b, const char *scheme, const char *rest,
                                   size_t memory)
{
    CW_CLEANUP(cw_mem_free_at) char *url = cw_mem_printf("%s%s", scheme, rest);
    struct cw_store *store;
    struct cw_err err = {0};

    if (cw_store_open(url, &store, &err) != 0)
        die(url, &err);
    struct cw_cache_options options = {.memory = memory, .event = on_event, .event_arg = b};
    return cw_cache_new(store, &options);
}

/* ---- filling ---- */

/* CPU time: the writer threads may have the other core. */
static int64_t put_all(const struct bench *b, size_t n, struct cw_cache *cache,
                       struct cw_cache_dataset *node)
{
    cw_autofree unsigned char *data = cw_mem_new(b->bytes);
    struct cw_element element = {.n = 1};

    for (size_t i = 0; i < b->bytes; i++)
        data[i] = (unsigned char)(cw_mix64(i / 8) >> i % 8 * 8);
    element.fields[0] = (struct cw_view){.data = data,
                                         .bytes = b->bytes,
                                         .dtype = CW_DTYPE_U8,
                                         .rank = 1,
                                         .dims = {(int64_t)b->bytes}};
    int64_t begin = cw_clock_thread_cpu_ns();
    for (uint64_t id = 0; id < n; id++) {
        memcpy(data, &id, sizeof(id));
        cw_cache_put(node, id, &element, 0);
    }
    int64_t ns = cw_clock_thread_cpu_ns() - begin;
    cw_cache_flush(cache, NULL);
    while (cw_cache_is_writing(cache))
        cw_clock_sleep_ns(1000000);
    return ns;
}

static struct cw_cache_dataset *node_of(struct cw_cache *cache, const struct bench *b, uint64_t no)
{
    return cw_cache_dataset(cache, "", (struct cw_hash){b->bytes, no}, &b->spec);
}

/* Into a store in memory. The first time memory is new, and most of the cost may be to get it. */
static void measure_put(struct bench *b)
{
    struct cw_cache *cache = open_cache(b, "mem:bench", "", 0);
    size_t n = CW_MIN(b->n, PUT_BYTES / b->bytes);
    int64_t first = 0, best = INT64_MAX;

    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct cw_cache_dataset *node = node_of(cache, b, 2 + round);
        int64_t ns = put_all(b, n, cache, node);

        first = round ? first : ns;
        best = CW_MIN(best, ns);
        cw_cache_dataset_unref(node);
    }
    printf("bench_cache: bytes=%zu put=%.0fns %.2fGB/s (%.0fns in new memory), copied once\n",
           b->bytes, (double)best / (double)n, (double)(n * b->bytes) / (double)best,
           (double)first / (double)n);
    cw_cache_free(cache, 0);
}

/* Through the page cache, which is to be warm. */
static void fill(struct bench *b)
{
    CW_CLEANUP(cw_mem_free_at) char *rest = cw_mem_printf("%s?direct=off", b->dir);
    struct cw_cache *cache = open_cache(b, "dir:", rest, (size_t)2 << 30);
    struct cw_cache_dataset *node = node_of(cache, b, 1);
    struct cw_cache_counts counts;

    put_all(b, b->n, cache, node);
    cw_cache_counts(node, &counts);
    if (counts.written != b->n)
        die("not everything was written", NULL);
    cw_cache_dataset_unref(node);
    cw_cache_free(cache, 0);
}

/* ---- the plain loops ---- */

static int open_chunk(const struct bench *b, size_t i, size_t *ret_bytes)
{
    CW_CLEANUP(cw_mem_free_at) char *path = cw_mem_printf("%s/%s", b->dir, b->names[i]);
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) < 0)
        die(path, NULL);
    *ret_bytes = (size_t)st.st_size;
    return fd;
}

static void find_places(struct bench *b)
{
    b->places = CW_NEW_ARRAY(struct place, b->n);
    for (size_t c = 0; c < b->chunks; c++) {
        struct cw_chunk_index *index = NULL;
        struct cw_err err = {0};
        size_t bytes, n;
        uint64_t offset;
        int fd = open_chunk(b, c, &bytes);
        unsigned char *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

        if (map == MAP_FAILED ||
            cw_chunk_footer_read(map + bytes - CW_CHUNK_FOOTER_BYTES, bytes, &offset, &n, &err) !=
                0 ||
            cw_chunk_index_read(map + offset, bytes - offset, bytes, &index, &err) != 0)
            die(b->names[c], &err);
        for (uint32_t i = 0; i < index->records_n; i++)
            b->places[index->records[i].id] =
                (struct place){(uint32_t)c, index->frames[index->records[i].frame].offset +
                                                index->records[i].offset};
        cw_chunk_index_free(index);
        munmap(map, bytes);
        close(fd);
    }
}

static unsigned char *next(const struct bench *b, size_t *at)
{
    if (*at + b->bytes > BATCH_BYTES)
        *at = 0;
    unsigned char *p = b->batch + *at;
    *at += CW_ALIGN_UP(b->bytes, (size_t)64);
    return p;
}

static double copy_mapped(const struct bench *b, unsigned char *const *maps)
{
    int64_t begin = cw_clock_ns();
    size_t at = 0;

    for (size_t i = 0; i < b->n; i++) {
        const struct place *place = &b->places[b->order[i]];

        memcpy(next(b, &at), maps[place->chunk] + place->offset, b->bytes);
    }
    return (double)(cw_clock_ns() - begin) * 1e-9;
}

static struct result plain_mapped(const struct bench *b)
{
    unsigned char *maps[CHUNKS_MAX];
    size_t bytes[CHUNKS_MAX];
    struct result r;

    for (size_t c = 0; c < b->chunks; c++) {
        int fd = open_chunk(b, c, &bytes[c]);

        maps[c] = mmap(NULL, bytes[c], PROT_READ, MAP_SHARED, fd, 0);
        if (maps[c] == MAP_FAILED)
            die("mmap", NULL);
        close(fd);
    }
    r.first = copy_mapped(b, maps);
    r.again = copy_mapped(b, maps);
    for (size_t c = 0; c < b->chunks; c++)
        munmap(maps[c], bytes[c]);
    return r;
}

static double read_all(const struct bench *b, const int *fds)
{
    int64_t begin = cw_clock_ns();
    size_t at = 0;

    for (size_t i = 0; i < b->n; i++) {
        const struct place *place = &b->places[b->order[i]];

        if (pread(fds[place->chunk], next(b, &at), b->bytes, (off_t)place->offset) !=
            (ssize_t)b->bytes)
            die("pread", NULL);
    }
    return (double)(cw_clock_ns() - begin) * 1e-9;
}

static struct result plain_read(const struct bench *b)
{
    int fds[CHUNKS_MAX];
    size_t bytes;
    struct result r;

    for (size_t c = 0; c < b->chunks; c++)
        fds[c] = open_chunk(b, c, &bytes);
    r.first = read_all(b, fds);
    r.again = read_all(b, fds);
    for (size_t c = 0; c < b->chunks; c++)
        close(fds[c]);
    return r;
}

/* ---- the cache ---- */

#define AHEAD 256 /* records that are known to come next; told in halves */

static double get_all(const struct bench *b, struct cw_cache_dataset *node, bool ahead)
{
    int64_t begin = cw_clock_ns();
    struct cw_cache_pins hold = {0};
    struct cw_element element;
    size_t at = 0;

    for (size_t i = 0; i < b->n; i++) {
        if (ahead && i % (AHEAD / 2) == 0) {
            size_t from = i ? i + AHEAD / 2 : 0, to = CW_MIN(i + AHEAD, b->n);

            if (from < to)
                cw_cache_prefetch(node, &b->order[from], to - from);
        }
        if (cw_cache_get(node, b->order[i], &hold, &element) != CW_CACHE_HIT)
            die("a record is not found", NULL);
        memcpy(next(b, &at), element.fields[0].data, b->bytes);
        cw_cache_unpin(&hold);
    }
    return (double)(cw_clock_ns() - begin) * 1e-9;
}

static struct result cached(struct bench *b, bool mapped)
{
    CW_CLEANUP(cw_mem_free_at) char *rest = cw_mem_printf("%s%s", b->dir, mapped ? "" : "?map=off");
    struct cw_cache *cache = open_cache(b, "dir:", rest, 0);
    struct cw_cache_dataset *node = node_of(cache, b, 1);
    struct result r;

    cw_cache_dataset_add(node, (const char *const *)b->names, b->chunks);
    while (!cw_cache_dataset_is_loaded(node))
        cw_clock_sleep_ns(100000);
    r.first = get_all(b, node, !mapped);
    r.again = get_all(b, node, !mapped);
    cw_cache_dataset_unref(node);
    cw_cache_free(cache, 0);
    return r;
}

/* ---- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(*values), compare);
    return values[ROUNDS / 2];
}

static void compare_with(struct bench *b, const char *order, bool mapped)
{
    double cf[ROUNDS], ca[ROUNDS], pf[ROUNDS], pa[ROUNDS], gb = (double)(b->n * b->bytes) * 1e-9;

    for (size_t i = 0; i < ROUNDS; i++) {
        struct result c, p;

        if (i % 2)
            c = cached(b, mapped);
        p = mapped ? plain_mapped(b) : plain_read(b);
        if (i % 2 == 0)
            c = cached(b, mapped);
        cf[i] = c.first, ca[i] = c.again, pf[i] = p.first, pa[i] = p.again;
    }
    double first = median(cf), again = median(ca), plain_first = median(pf),
           plain_again = median(pa);
    printf("bench_cache: bytes=%zu order=%s store=%s first=%.2f/%.2f again=%.2f/%.2f GB/s "
           "(cache/plain) ratio first=%.0f%% again=%.0f%% "
           "over=%.0fns a record\n",
           b->bytes, order, mapped ? "map" : "read", gb / first, gb / plain_first, gb / again,
           gb / plain_again, 100 * plain_first / first, 100 * plain_again / again,
           (again - plain_again) * 1e9 / (double)b->n);
}

static void run(struct bench *b, size_t bytes, size_t total)
{
    struct cw_perm perm;
    int64_t dim = (int64_t)bytes;

    b->bytes = bytes;
    b->n = total / bytes;
    b->spec = (struct cw_spec){0};
    if (cw_spec_add(&b->spec, "x", CW_DTYPE_U8, 1, &dim, NULL) != 0)
        die("spec", NULL);
    measure_put(b);
    fill(b);
    find_places(b);
    b->order = CW_NEW_ARRAY(uint64_t, b->n);
    cw_perm_init(&perm, b->n, 1, 2, 3, 4);
    for (int random = 0; random < 2; random++) {
        for (uint64_t i = 0; i < b->n; i++)
            b->order[i] = random ? cw_perm_at(&perm, i) : i;
        compare_with(b, random ? "random" : "sequential", true);
        compare_with(b, random ? "random" : "sequential", false);
    }
    while (b->chunks)
        cw_mem_free(b->names[--b->chunks]);
    cw_mem_free(b->places);
    cw_mem_free(b->order);
}

int main(int argc, char **argv)
{
    struct bench b = {.lock = CW_MUTEX_INIT};
    int64_t mib = 512;

    if (argc < 2 || (argc > 2 && !cw_str_to_i64(argv[2], &mib))) {
        fprintf(stderr, "usage: bench_cache DIRECTORY [MiB a size]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    b.dir = argv[1];
    b.batch = cw_mem_new(BATCH_BYTES);
    run(&b, 150000, (size_t)mib << 20);
    run(&b, 3000, (size_t)mib << 19);
    run(&b, 100, (size_t)mib << 17);
    cw_mem_free(b.batch);
    return 0;
}
