/* SPDX-License-Identifier: Apache-2.0 */
/* Records from a cache through the whole engine: positions, read-ahead, the walk, batches. The
 * chunks are what an epoch of the same pipeline wrote.
 *
 *   bench_cached DIRECTORY [GLUSTER-URL [MIB [ROUNDS [BYTES...]]]]    default: 512 MiB of
 *                                         records, 5 rounds, records of 150000 and 16384 bytes
 *
 * Without a URL (or with "") the store is the directory: mapped (`map`), mapped with every checksum
 * taken for right without being computed (`unchecked`: what it costs), mapped and verified at each
 * get (`verified`), and not mapped (`read`); with one it is that volume, and the directory has the
 * source only. BENCH_STORES="map unchecked" and BENCH_ORDERS=random in the environment: only
 * these.
 *
 * idx -> cache -> [shuffle] -> batch, of about 8 MiB a batch; a pool of one thread, four items
 * in it; where the cache wants it, the next sixteen are told by another, as a worker does.
 * Batches are built in buffers that are used again, and thrown away. The cache has 64 MiB of
 * memory, so that it cannot keep what it has read. Beside it, in turn and in this process, the
 * plain loops of bare_cached.c on one thread: mmap and memcpy of each record; pread into the
 * ring; glfs_pread_async with eight in flight. What is read is blocks of 1 MiB in file order for
 * `sequential`, and single records in a shuffled order for `random`. `first`: chunks and files
 * were opened, or mapped, just before; `again`: two more epochs. Medians of the rounds,
 * everything on a warm page cache. A line for each size, order and store:
 *
 *   bench_cached: bytes=150000 order=random store=map first=9.61/10.83 again=12.10/14.52 GB/s
 *   (ours/bare) ratio first=89% again=83% cpu first=90% again=85% sums=65%
 *
 * `cpu`: the same of the least CPU time of the process that a round took; other work on the machine
 * changes that less. `sums` (mapped, sequential): the plain loop that computes the sum of each frame
 * before it copies its records, against the one that does not. MISSED behind a line: it is below its
 * goal (docs/performance.md), and the program ends with 1.
 *
 * A volume to try it on: tests/support/glusterd.sh run 127.0.0.9 (prints URLs). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bare_cached.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "cached_times.h"
#include "exec/exec.h"
#include "format/chunk.h"

#define THREADS 1 /* as many as the plain loops have */
#define IN_FLIGHT 4
#define AHEAD 16
#define BUFFERS (IN_FLIGHT + 2)
#define BATCH_BYTES ((size_t)8 << 20)
#define CHUNKS_MAX 1024
#define MEMORY ((size_t)64 << 20)

static bool is_unchecked;

/* Stands between the cache and the checksums of frames, by --wrap. */
int __real_cw_chunk_frame_check(const struct cw_chunk_index *index, uint32_t frame,
                                const void *stored, struct cw_err *err);
int __wrap_cw_chunk_frame_check(const struct cw_chunk_index *index, uint32_t frame,
                                const void *stored, struct cw_err *err);

int __wrap_cw_chunk_frame_check(const struct cw_chunk_index *index, uint32_t frame,
                                const void *stored, struct cw_err *err)
{
    return is_unchecked ? 0 : __real_cw_chunk_frame_check(index, frame, stored, err);
}

struct bench {
    const char *dir;
    size_t total, rounds;
    size_t bytes, n, rows; /* of a record; records, of a batch */
    struct cw_mutex lock;
    struct cw_cond changed;
    char *names[CHUNKS_MAX];       /* lock */
    size_t chunks;                 /* lock */
    size_t under_way, told, begun; /* lock: items */
    void *buffers[BUFFERS];        /* lock: idle ones */
    size_t buffers_n, buffer_bytes;
    struct cw_plan *plan;
    struct cw_cache_dataset *node;
    uint64_t epoch;
    size_t missed_n; /* lines that miss their goal */
};

static void on_event(void *arg, const struct cw_cache_event *event)
{
    struct bench *b = arg;

    if (event->kind != CW_CACHE_WRITTEN)
        bare_die(event->why ? event->why : "an event that must not be", NULL);
    cw_mutex_lock(&b->lock);
    b->names[b->chunks++] = cw_mem_strdup(event->name);
    cw_mutex_unlock(&b->lock);
}

/* ---- the pipeline ---- */

static void write_source(const struct bench *b, const char *path)
{
    unsigned char head[12] = {0, 0, 8, 2};
    cw_autofree unsigned char *data = cw_mem_new(b->bytes);
    FILE *file = fopen(path, "wb");

    for (int i = 0; i < 4; i++) {
        head[4 + i] = (unsigned char)(b->n >> (24 - 8 * i));
        head[8 + i] = (unsigned char)(b->bytes >> (24 - 8 * i));
    }
    if (!file || fwrite(head, 1, sizeof(head), file) != sizeof(head))
        bare_die(path, NULL);
    for (uint64_t id = 0; id < b->n; id++) {
        for (size_t i = 0; i < b->bytes; i++)
            data[i] = (unsigned char)((id + 1) * (i / 8 * 2654435761u + 97) >> i % 8 * 8);
        if (fwrite(data, 1, b->bytes, file) != b->bytes)
            bare_die(path, NULL);
    }
    fclose(file);
}

static struct cw_plan *plan_of(const struct bench *b, bool random)
{
    CW_CLEANUP(cw_mem_free_at)
    char *text = cw_mem_printf("{\"pipeline\":[{\"op\":\"idx\",\"pattern\":\"%s/"
                               "source.idx\",\"dtype\":\"u8\",\"dims\":[%zu]},"
                               "{\"op\":\"cache\",\"name\":\"c\"}%s,"
                               "{\"op\":\"batch\",\"size\":%zu}]}",
                               b->dir, b->bytes, random ? ",{\"op\":\"shuffle\"}" : "", b->rows);
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    struct cw_err err = {0};

    if (cw_graph_parse(text, strlen(text), "", &graph, &err) != 0 ||
        cw_graph_check(graph, &checked, &err) != 0 ||
        cw_plan_new(checked, 1, NULL, &plan, &err) != 0)
        bare_die("pipeline", &err);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return plan;
}

/* ---- an epoch ---- */

static void give_back(void *arg, struct cw_buf *buf)
{
    struct bench *b = arg;

    cw_mutex_lock(&b->lock);
    b->buffers[b->buffers_n++] = buf->data;
    cw_mutex_unlock(&b->lock);
}

static struct cw_buf *alloc(void *arg, size_t bytes, struct cw_err *err)
{
    struct bench *b = arg;
    void *data = NULL;

    (void)err;
    if (bytes > b->buffer_bytes)
        bare_die("a batch is larger than its buffer", NULL);
    cw_mutex_lock(&b->lock);
    if (b->buffers_n)
        data = b->buffers[--b->buffers_n];
    cw_mutex_unlock(&b->lock);
    if (!data)
        bare_die("no buffer", NULL);
    return cw_buf_wrap(data, bytes, give_back, b);
}

static void on_done(struct cw_exec_item *item, struct cw_batch *batch, const struct cw_err *err)
{
    struct bench *b = item->arg;

    if (!batch)
        bare_die("item", err);
    cw_batch_unref(batch);
    cw_mem_free(item);
    cw_mutex_lock(&b->lock);
    b->under_way--;
    cw_cond_broadcast(&b->changed);
    cw_mutex_unlock(&b->lock);
}

static void tell_ahead(void *arg)
{
    struct bench *b = arg;
    uint64_t items = cw_plan_info(b->plan)->items;

    for (uint64_t item = 0; item < items; item++) {
        cw_mutex_lock(&b->lock);
        while (item >= b->begun + AHEAD)
            cw_cond_wait(&b->changed, &b->lock);
        cw_mutex_unlock(&b->lock);
        cw_exec_prefetch(b->plan, b->epoch, item);
    }
}

static double run_epoch(struct bench *b, struct cw_exec *exec, uint64_t epoch)
{
    struct cw_thread ahead = {0};
    int64_t begin = cw_clock_ns();

    b->epoch = epoch;
    b->begun = 0;
    bool ahead_too = cw_cache_wants_prefetch(b->node);
    if (ahead_too)
        cw_thread_start(&ahead, "ahead", tell_ahead, b);
    for (uint64_t item = 0; item < cw_plan_info(b->plan)->items; item++) {
        struct cw_exec_item *it = CW_NEW(struct cw_exec_item);

        *it = (struct cw_exec_item){.plan = b->plan,
                                    .epoch = epoch,
                                    .item = item,
                                    .bad = CW_BAD_FAIL,
                                    .alloc = alloc,
                                    .alloc_arg = b,
                                    .done = on_done,
                                    .arg = b};
        cw_mutex_lock(&b->lock);
        while (b->under_way == IN_FLIGHT)
            cw_cond_wait(&b->changed, &b->lock);
        b->under_way++;
        b->begun++;
        cw_cond_broadcast(&b->changed);
        cw_mutex_unlock(&b->lock);
        cw_exec_submit(exec, it);
    }
    cw_mutex_lock(&b->lock);
    while (b->under_way)
        cw_cond_wait(&b->changed, &b->lock);
    cw_mutex_unlock(&b->lock);
    double seconds = (double)(cw_clock_ns() - begin) * 1e-9;
    if (ahead_too)
        cw_thread_join(&ahead);
    return seconds;
}

/* ---- a cache ---- */

struct engine {
    struct cw_cache *cache;
    struct cw_cache_dataset *node;
    struct cw_exec *exec;
};

static void engine_open(struct bench *b, struct engine *e, const char *url, bool random, bool fills)
{
    struct cw_cache_options options = {.memory = fills ? (size_t)1 << 30 : MEMORY,
                                       .level = CW_CHUNK_PLAIN,
                                       .event = on_event,
                                       .event_arg = b};
    struct cw_plan_cacheable what;
    struct cw_store *store;
    struct cw_err err = {0};

    if (cw_store_open(url, &store, &err) != 0)
        bare_die(url, &err);
    e->cache = cw_cache_new(store, &options);
    b->plan = plan_of(b, random);
    cw_plan_cacheable(b->plan, 1, &what);
    e->node = cw_cache_dataset(e->cache, "", what.key, what.out);
    if (cw_plan_set_cache(b->plan, 1, e->node, !fills, fills, &err) != 0)
        bare_die("cache", &err);
    if (!fills)
        cw_cache_dataset_add(e->node, (const char *const *)b->names, b->chunks);
    while (!cw_cache_dataset_is_loaded(e->node))
        cw_clock_sleep_ns(1000000);
    b->node = e->node;
    e->exec = cw_exec_new(THREADS);
}

static void engine_close(struct bench *b, struct engine *e)
{
    cw_exec_free(e->exec);
    cw_plan_unref(b->plan);
    cw_cache_dataset_unref(e->node);
    cw_cache_free(e->cache, 0);
}

static void fill(struct bench *b, const char *url)
{
    struct engine e;
    struct cw_cache_counts counts;

    while (b->chunks)
        cw_mem_free(b->names[--b->chunks]);
    engine_open(b, &e, url, false, true);
    run_epoch(b, e.exec, 0);
    cw_cache_flush(e.cache, NULL);
    while (cw_cache_is_writing(e.cache))
        cw_clock_sleep_ns(1000000);
    cw_cache_counts(e.node, &counts);
    if (counts.written != b->n)
        bare_die("not everything was written", NULL);
    engine_close(b, &e);
}

static void must_hit(const struct bench *b, const struct engine *e, uint64_t epochs)
{
    struct cw_cache_counts counts;

    cw_cache_counts(e->node, &counts);
    if (counts.hits != epochs * b->n)
        bare_die("not every record came from the cache", NULL);
}

/* ---- */

/* The ids as the first epoch's shuffle gives them: what the records say is what they are. */
static uint64_t *order_of(const struct bench *b)
{
    struct cw_perm perm;
    uint64_t *order = CW_NEW_ARRAY(uint64_t, b->n);

    cw_perm_init(&perm, b->n, 1, 2, 3, 4);
    for (uint64_t i = 0; i < b->n; i++)
        order[i] = cw_perm_at(&perm, i);
    return order;
}

static void time_bare(struct bare *bare, struct times *times)
{
    int64_t cpu = cw_clock_process_cpu_ns();

    times->wall[times->n] = bare_run(bare);
    times->cpu[times->n++] = (double)(cw_clock_process_cpu_ns() - cpu) * 1e-9;
}

static void time_epoch(struct bench *b, struct cw_exec *exec, uint64_t epoch, struct times *times)
{
    int64_t cpu = cw_clock_process_cpu_ns();

    times->wall[times->n] = run_epoch(b, exec, epoch);
    times->cpu[times->n++] = (double)(cw_clock_process_cpu_ns() - cpu) * 1e-9;
}

static bool is_named(const char *variable, const char *word)
{
    const char *words = getenv(variable);

    return !words || strstr(words, word);
}

static void measure(struct bench *b, const char *store, const char *url, enum bare_kind kind,
                    bool random)
{
    if (!is_named("BENCH_STORES", store) ||
        !is_named("BENCH_ORDERS", random ? "random" : "sequential"))
        return;
    is_unchecked = strcmp(store, "unchecked") == 0;
    struct measured t = {.ours_first = {.n = 0}};
    struct bare bare = {.kind = kind,
                        .url = url,
                        .names = b->names,
                        .names_n = b->chunks,
                        .record_bytes = b->bytes,
                        .records_n = b->n,
                        .ring_bytes = 2 * BATCH_BYTES};
    uint64_t *order = random ? order_of(b) : NULL;
    struct engine e;

    bare.order = order;
    bare.ring = cw_mem_new(bare.ring_bytes);
    for (size_t i = 0; i < b->rounds; i++) {
        engine_open(b, &e, url, random, false);
        bare_open(&bare, cw_cache_store(e.cache));
        time_bare(&bare, &t.bare_first);
        time_epoch(b, e.exec, 0, &t.ours_first);
        if ((bare.with_sums = kind == BARE_MAP && !random))
            time_bare(&bare, &t.bare_sums);
        bare.with_sums = false;
        for (size_t k = 0; k < 2; k++) {
            time_bare(&bare, &t.bare_again);
            time_epoch(b, e.exec, 1 + k, &t.ours_again);
        }
        must_hit(b, &e, 3);
        bare_close(&bare);
        engine_close(b, &e);
    }
    b->missed_n += !measured_report(&t, b->bytes, b->n, store, random);
    cw_mem_free(order);
    cw_mem_free(bare.ring);
}

static void run(struct bench *b, size_t bytes, const char *gluster)
{
    CW_CLEANUP(cw_mem_free_at)
    char *map = cw_mem_printf("dir:%s", b->dir), *read = cw_mem_printf("dir:%s?map=off", b->dir);
    CW_CLEANUP(cw_mem_free_at) char *always = cw_mem_printf("dir:%s?verify=always", b->dir);
    CW_CLEANUP(cw_mem_free_at) char *source = cw_mem_printf("%s/source.idx", b->dir);
    /* through the page cache */
    CW_CLEANUP(cw_mem_free_at) char *warm = cw_mem_printf("dir:%s?direct=off", b->dir);

    b->bytes = bytes;
    b->n = b->total / bytes;
    b->rows = CW_MAX(BATCH_BYTES / bytes, (size_t)1);
    write_source(b, source);
    fill(b, gluster ? gluster : warm);
    for (int random = 0; random < 2; random++) {
        if (gluster) {
            measure(b, "gluster", gluster, BARE_GLUSTER, random);
        } else {
            measure(b, "map", map, BARE_MAP, random);
            measure(b, "unchecked", map, BARE_MAP, random);
            measure(b, "verified", always, BARE_MAP, random);
            measure(b, "read", read, BARE_READ, random);
        }
    }
    unlink(source);
}

int main(int argc, char **argv)
{
    struct bench b = {.lock = CW_MUTEX_INIT, .buffer_bytes = BATCH_BYTES + 4096};
    int64_t mib = 512, rounds = 5, bytes;

    if (argc < 2 || (argc > 3 && !cw_str_to_i64(argv[3], &mib)) ||
        (argc > 4 && !cw_str_to_i64(argv[4], &rounds)) || mib < 1 || rounds < 1 ||
        rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_cached DIRECTORY [GLUSTER-URL [MIB [ROUNDS [BYTES...]]]]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    cw_cond_init(&b.changed);
    b.dir = argv[1];
    b.total = (size_t)mib << 20;
    b.rounds = (size_t)rounds;
    for (size_t i = 0; i < BUFFERS; i++) {
        b.buffers[b.buffers_n++] = cw_mem_try_aligned(64, b.buffer_bytes);
        memset(b.buffers[i], 1, b.buffer_bytes);
    }
    const char *gluster = argc > 2 && *argv[2] ? argv[2] : NULL;
    for (int i = 5; i < argc; i++)
        if (cw_str_to_i64(argv[i], &bytes) && bytes > 0)
            run(&b, (size_t)bytes, gluster);
    if (argc <= 5) {
        run(&b, 150000, gluster);
        run(&b, 16384, gluster);
    }
    fflush(stdout);
    _exit(b.missed_n > 0); /* glfs_fini takes 10 s */
}
