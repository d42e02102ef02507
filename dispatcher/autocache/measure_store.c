/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/autocache/measure_store.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "cache/store/store.h"
#include "dispatcher/cache/cache.h"

#define FILE_BYTES ((size_t)4 << 20)
#define PIECE_BYTES ((size_t)1 << 20) /* Several reads of this size go on at once. */
#define PIECES (FILE_BYTES / PIECE_BYTES)
#define READS_MAX 16 /* The largest number of reads that are timed for each size. */
#define SIZE_NS ((int64_t)1000000000) /* The longest time that the reads of one size take. */

static const size_t sizes[CW_BENCHMARK_POINTS] = {(size_t)4 << 10, (size_t)64 << 10,
                                                  (size_t)512 << 10, (size_t)2 << 20};

struct cw_store_benchmark {
    char *url;
    struct cw_thread thread;
    struct cw_mutex mutex;
    struct cw_store *store; /* The store while the thread uses it, or NULL. `mutex` guards it. */
    bool is_ended;          /* Nobody wants the result any more. `mutex` guards it. */
    _Atomic bool done;
    /* The result belongs to the thread until `done` is set. */
    struct cw_store_benchmark_result result;
};
struct pieces { /* Counts the reads that have begun and not ended. */
    struct cw_mutex mutex;
    struct cw_cond cond;
    size_t left; /* The number of reads that have not ended. `mutex` guards it. */
    int rc;      /* The code of a read that failed, or 0. `mutex` guards it. */
};

static int time_reads(struct cw_store_file *file, char *buffer, size_t bytes,
                      struct cw_autocache_point *ret_point, struct cw_err *err)
{
    int64_t begin = cw_clock_ns();
    size_t n = 0;
    while (n < READS_MAX && (n == 0 || cw_clock_ns() - begin < SIZE_NS)) {
        uint64_t at = (n * 7919 * 4096) % (FILE_BYTES - bytes + 1);
        int rc = cw_store_file_read(file, at, buffer, bytes, err);
        if (rc < 0)
            return rc;
        n++;
    }
    *ret_point =
        (struct cw_autocache_point){(double)bytes, (double)(cw_clock_ns() - begin) / (double)n};
    return 0;
}

static void on_piece(struct cw_store_read *read, int rc)
{
    struct pieces *pieces = read->arg;
    cw_mutex_lock(&pieces->mutex);
    pieces->rc = rc < 0 ? rc : pieces->rc;
    pieces->left--;
    cw_cond_signal(&pieces->cond);
    cw_mutex_unlock(&pieces->mutex);
}

/* Times the whole file, which is read in pieces at once. */
static int time_all(struct cw_store_file *file, char *buffer, double *ret_bytes_s)
{
    struct pieces pieces = {.left = PIECES};
    struct cw_store_read reads[PIECES];
    cw_mutex_init(&pieces.mutex);
    cw_cond_init(&pieces.cond);
    int64_t begin = cw_clock_ns();
    for (size_t i = 0; i < PIECES; i++) {
        reads[i] = (struct cw_store_read){.file = file,
                                          .offset = i * PIECE_BYTES,
                                          .dst = buffer + i * PIECE_BYTES,
                                          .n = PIECE_BYTES,
                                          .done = on_piece,
                                          .arg = &pieces};
        cw_store_file_read_start(&reads[i]);
    }
    cw_mutex_lock(&pieces.mutex);
    while (pieces.left > 0)
        cw_cond_wait(&pieces.cond, &pieces.mutex);
    cw_mutex_unlock(&pieces.mutex);
    int64_t ns = CW_MAX(cw_clock_ns() - begin, 1);
    cw_cond_fini(&pieces.cond);
    cw_mutex_fini(&pieces.mutex);
    *ret_bytes_s = (double)FILE_BYTES / (double)ns * 1e9;
    return pieces.rc;
}

static int time_file(struct cw_store *store, const char *name, char *buffer,
                     struct cw_store_benchmark_result *result)
{
    struct cw_store_file *file = NULL;
    uint64_t bytes = 0;
    int rc = cw_store_file_open(store, name, &file, &bytes, &result->err);
    for (size_t i = 0; rc == 0 && i < CW_BENCHMARK_POINTS; i++) {
        rc = time_reads(file, buffer, sizes[i], &result->points[i], &result->err);
        result->points_n += rc == 0;
    }
    if (rc == 0)
        rc = time_all(file, buffer, &result->read_bytes_s);
    cw_store_file_close(file);
    return rc;
}

/* Makes the store known to cw_store_benchmark_free, or, with NULL, unknown. */
static void set_store(struct cw_store_benchmark *benchmark, struct cw_store *store)
{
    cw_mutex_lock(&benchmark->mutex);
    benchmark->store = store;
    if (store && benchmark->is_ended)
        cw_store_interrupt(store);
    cw_mutex_unlock(&benchmark->mutex);
}

static int measure_store(struct cw_store_benchmark *benchmark,
                         struct cw_store_benchmark_result *result)
{
    char host[64] = "", name[CW_STORE_NAME_MAX];
    (void)gethostname(host, sizeof(host) - 1);
    /* The name has no directory, since stores do not remove directories. */
    snprintf(name, sizeof(name), CW_BENCHMARK_FILE_PREFIX "%s-%d", host, (int)getpid());
    /* The name of a host may contain characters that the name of a file may not. */
    for (char *p = name; *p; p++) {
        bool ok = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                  (*p >= '0' && *p <= '9') || *p == '.' || *p == '-';
        *p = ok ? *p : '_';
    }
    struct cw_store *store = NULL;
    int rc = cw_store_open_lazily(benchmark->url, &store, &result->err);
    if (rc < 0)
        return rc;
    set_store(benchmark, store);
    char *buffer = cw_mem_try(FILE_BYTES);
    uint64_t state = 1;
    /* The bytes are random, since a store may compress them or leave holes. */
    for (size_t i = 0; buffer && i < FILE_BYTES; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        buffer[i] = (char)(unsigned char)(state >> 56);
    }
    const struct iovec part = {buffer, FILE_BYTES};
    rc = buffer ? cw_store_put(store, name, &part, 1, &result->err)
                : cw_err_set(&result->err, CW_E_NOMEM, "no memory to try the store");
    if (rc == 0) {
        rc = time_file(store, name, buffer, result);
        struct cw_err ignored = {0};
        (void)cw_store_remove(store, name, &ignored);
    }
    cw_mem_free(buffer);
    set_store(benchmark, NULL);
    cw_store_close(store);
    return rc;
}

static void run(void *arg)
{
    struct cw_store_benchmark *benchmark = arg;
    struct cw_store_benchmark_result *result = &benchmark->result;
    if (measure_store(benchmark, result) == 0) {
        cw_log_info("probe", "the store gives %.0f MB/s, and 4 KiB in %.3f ms",
                    result->read_bytes_s / 1e6, result->points[0].ns / 1e6);
    } else {
        cw_log_info("probe", "the speed of the store could not be measured: %s", result->err.msg);
        result->points_n = 0;
        result->read_bytes_s = 0;
    }
    atomic_store_explicit(&benchmark->done, true, memory_order_release);
}

struct cw_store_benchmark *cw_store_benchmark_start(const char *url)
{
    struct cw_store_benchmark *benchmark = CW_NEW(struct cw_store_benchmark);
    benchmark->url = cw_mem_strdup(url);
    cw_mutex_init(&benchmark->mutex);
    cw_thread_start(&benchmark->thread, "probe", run, benchmark);
    return benchmark;
}

const struct cw_store_benchmark_result *
cw_store_benchmark_result(const struct cw_store_benchmark *benchmark)
{
    return benchmark && atomic_load_explicit(&benchmark->done, memory_order_acquire)
               ? &benchmark->result
               : NULL;
}

void cw_store_benchmark_free(struct cw_store_benchmark *benchmark)
{
    if (!benchmark)
        return;
    cw_mutex_lock(&benchmark->mutex);
    benchmark->is_ended = true;
    if (benchmark->store)
        cw_store_interrupt(benchmark->store);
    cw_mutex_unlock(&benchmark->mutex);
    cw_thread_join(&benchmark->thread);
    cw_mutex_fini(&benchmark->mutex);
    cw_mem_free(benchmark->url);
    cw_mem_free(benchmark);
}
