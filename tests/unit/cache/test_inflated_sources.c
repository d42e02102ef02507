/* SPDX-License-Identifier: Apache-2.0 */
/* A .zst file of one frame that is larger than what may be held of it: it is inflated once into the source
 * cache, and read from there; without a cache on a disk or in a store it is refused. */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/thread.h"
#include "codec/codec.h"
#include "ops/op.h"
#include "ops/source/held.h"
#include "ops/source/inflated.h"
#include "ops/source/loaded.h"
#include "source_world.h"

enum { LINES = 1 << 18, LINE_BYTES = 80 }; /* 20 MiB */
enum { GZIP_LINES = 1 << 15 };             /* 2.5 MiB */

static void line_of(uint64_t k, char line[LINE_BYTES + 1])
{
    snprintf(line, LINE_BYTES + 1, "%016llx%-63llu\n", (unsigned long long)cw_mix64(k),
             (unsigned long long)k);
}

/* Writes the file as one frame, of an hour ago. */
static void write_frame(const char *path)
{
    const struct timespec times[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
    CW_STR_AUTO plain = {0};
    char line[LINE_BYTES + 1];
    for (uint64_t k = 0; k < LINES; k++) {
        line_of(k, line);
        cw_str_add_bytes(&plain, line, LINE_BYTES);
    }
    struct cw_buf *packed = cw_codec_pack(plain.s, plain.len);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(packed->data, 1, packed->len, f), packed->len);
    fclose(f);
    cw_buf_unref(packed);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

struct lines {
    const struct cw_op *op;
    uint64_t opts[64];
    struct cw_spec spec;
    void *state;
};

static int open_lines(struct lines *l, const char *path, struct cw_err *err)
{
    struct cw_value options = {0};
    const struct cw_op_open how = {.out = &l->spec};
    *l = (struct lines){.op = cw_op_find("text_lines")};
    cw_value_set_object(&options);
    cw_value_set_str(cw_value_member(&options, "pattern"), path);
    cw_value_set_str(cw_value_member(&options, "inflated_max"), "1MiB");
    cw_value_set_str(cw_value_member(&options, "inflate_every"), "64KiB");
    assert_int_equal(cw_opt_parse(l->op->options, &options, l->opts, err), 0);
    cw_value_fini(&options);
    assert_int_equal(l->op->infer(l->opts, NULL, 0, &l->spec, err), 0);
    return l->op->open(l->opts, &how, &l->state, err);
}

static void close_lines(struct lines *l)
{
    if (l->state)
        l->op->close(l->state);
    cw_opt_fini(l->op->options, l->opts);
    cw_spec_fini(&l->spec);
}

static void read_some(struct lines *l, uint64_t seed)
{
    struct cw_arena *arena = cw_arena_new(1 << 16);
    const struct cw_op_ctx ctx = {.arena = arena, .out = &l->spec};
    for (uint64_t i = 0; i < 300; i++) {
        struct cw_element e = {0};
        struct cw_err err = {0};
        char line[LINE_BYTES + 1];
        const uint64_t k = cw_mix64(seed + i) % LINES;
        if (l->op->read(&ctx, l->opts, l->state, (int64_t)k, &e, &err) < 0)
            fail_msg("%s", err.msg);
        line_of(k, line);
        assert_int_equal(e.fields[0].bytes, LINE_BYTES - 1);
        assert_memory_equal(e.fields[0].data, line, LINE_BYTES - 1);
        cw_arena_reset(arena);
    }
    cw_arena_free(arena);
}

/* Opens and reads it until the directory has all: what comes while its disk does not keep up is refused,
 * blocks of the packed file as well. Returns how many were. */
static uint64_t read_until_kept(const char *path, struct cw_source_cache *c)
{
    uint64_t before, refused = 0;
    struct cw_err err = {0};
    struct lines l;
    do {
        before = refused;
        assert_int_equal(open_lines(&l, path, &err), 0);
        read_some(&l, 1);
        close_lines(&l);
        wait_written(c);
        refused = counts_of(c, CW_SOURCE_DIR).refused;
    } while (refused > before);
    return refused;
}

static void a_frame_is_inflated_once(void **state)
{
    struct world *w = *state;
    const struct cw_source_cache_options o = {.dir = w->dir, .memory = (uint64_t)8 << 20};
    struct cw_source_cache *c = new_cache(&o);
    struct cw_err err = {0};
    struct lines l;
    char path[128];
    snprintf(path, sizeof(path), "%s/one.zst", w->root);
    write_frame(path);
    cw_source_hook_set(cw_source_cache_hook(c));
    const uint64_t refused = read_until_kept(path, c), reads = origin_reads(c);
    assert_true(reads >= LINES * LINE_BYTES / BLOCK);
    assert_true(refused > 0 || reads <= LINES * LINE_BYTES / BLOCK + 20);
    assert_int_equal(open_lines(&l, path, &err), 0);
    read_some(&l, 2);
    assert_int_equal(origin_reads(c), reads);
    close_lines(&l);
    cw_source_hook_set(NULL);
    cw_source_cache_free(c);
    /* the next process finds it */
    c = new_cache(&o);
    cw_source_hook_set(cw_source_cache_hook(c));
    assert_int_equal(open_lines(&l, path, &err), 0);
    read_some(&l, 3);
    assert_int_equal(origin_reads(c), 0);
    close_lines(&l);
    cw_source_hook_set(NULL);
    cw_source_cache_free(c);
}

/* Where the cache keeps nothing of it, it is inflated again for each block, and gives the same lines. */
static void without_room(void **state)
{
    struct world *w = *state;
    const struct cw_source_cache_options o = {
        .dir = w->dir, .dir_bytes = 1, .memory = (uint64_t)8 << 20};
    struct cw_source_cache *c = new_cache(&o);
    struct cw_err err = {0};
    struct lines l;
    char path[128];
    snprintf(path, sizeof(path), "%s/one.zst", w->root);
    write_frame(path);
    cw_source_hook_set(cw_source_cache_hook(c));
    assert_int_equal(open_lines(&l, path, &err), 0);
    struct cw_arena *arena = cw_arena_new(1 << 16);
    const struct cw_op_ctx ctx = {.arena = arena, .out = &l.spec};
    for (int64_t k = LINES - 1; k > 0; k -= LINES / 3) {
        struct cw_element e = {0};
        char line[LINE_BYTES + 1];
        assert_int_equal(l.op->read(&ctx, l.opts, l.state, k, &e, &err), 0);
        line_of((uint64_t)k, line);
        assert_memory_equal(e.fields[0].data, line, LINE_BYTES - 1);
    }
    cw_arena_free(arena);
    close_lines(&l);
    cw_source_hook_set(NULL);
    cw_source_cache_free(c);
}

/* Without a cache of such files because this one may be being written: that is no error of the data. */
static void of_a_new_file(void **state)
{
    struct world *w = *state;
    const struct cw_source_cache_options o = {.dir = w->dir, .memory = (uint64_t)8 << 20};
    const struct timespec times[2] = {{.tv_sec = time(NULL) + 3600}, {.tv_sec = time(NULL) + 3600}};
    struct cw_source_cache *c = new_cache(&o);
    struct cw_arena *arena = cw_arena_new(1 << 16);
    struct cw_element e = {0};
    struct cw_err err = {0};
    struct lines l;
    char path[128];
    snprintf(path, sizeof(path), "%s/one.zst", w->root);
    write_frame(path);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    cw_source_hook_set(cw_source_cache_hook(c));
    assert_int_equal(open_lines(&l, path, &err), 0);
    const struct cw_op_ctx ctx = {.arena = arena, .out = &l.spec};
    assert_int_equal(l.op->read(&ctx, l.opts, l.state, 5, &e, &err), CW_E_UNAVAILABLE);
    assert_false(cw_err_is_of_data(CW_E_UNAVAILABLE));
    assert_non_null(strstr(err.msg, "one.zst: 20971520 inflated bytes can only be"));
    cw_arena_free(arena);
    close_lines(&l);
    cw_source_hook_set(NULL);
    cw_source_cache_free(c);
}

/* ---- damage ---- */

enum { RAW_BYTES = LINE_BYTES * 1024, RAW_HEAD = 3, FRAME_HEAD = 6 };

/* Writes the lines as a frame that is not compressed, so that damage shows in the bytes alone. */
static void write_raw_frame(const char *path)
{
    static const char head[FRAME_HEAD] = "\x28\xb5\x2f\xfd\x00\x50"; /* a window of 1 MiB */
    const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    char line[LINE_BYTES + 1];
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(head, 1, sizeof(head), f), sizeof(head));
    for (uint64_t k = 0; k < LINES; k++) {
        const uint32_t is_last = k + 1024 == LINES, block = is_last | (uint32_t)RAW_BYTES << 3;
        const uint8_t bytes[RAW_HEAD] = {(uint8_t)block, (uint8_t)(block >> 8),
                                         (uint8_t)(block >> 16)};
        if (k % 1024 == 0)
            assert_int_equal(fwrite(bytes, 1, RAW_HEAD, f), RAW_HEAD);
        line_of(k, line);
        assert_int_equal(fwrite(line, 1, LINE_BYTES, f), LINE_BYTES);
    }
    fclose(f);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Changes the first byte of a line, which has the time of change that it had. */
static void flip_line(const char *path, uint64_t k)
{
    const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    const uint64_t at = FRAME_HEAD + RAW_HEAD * (k / 1024 + 1) + k * LINE_BYTES;
    char byte;
    int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    close(fd);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Returns how many of some lines are refused; the others are the right ones. */
static unsigned refused_lines(struct lines *l)
{
    struct cw_arena *arena = cw_arena_new(1 << 16);
    const struct cw_op_ctx ctx = {.arena = arena, .out = &l->spec};
    unsigned refused = 0;
    for (uint64_t k = 0; k < LINES; k += 500) {
        struct cw_element e = {0};
        struct cw_err err = {0};
        char line[LINE_BYTES + 1];
        int rc = l->op->read(&ctx, l->opts, l->state, (int64_t)k, &e, &err);
        line_of(k, line);
        if (rc == 0)
            assert_memory_equal(e.fields[0].data, line, LINE_BYTES - 1);
        else
            assert_int_equal(rc, CW_E_CORRUPT);
        refused += rc < 0;
        cw_arena_reset(arena);
    }
    cw_arena_free(arena);
    return refused;
}

/* What is damaged after the file was scanned never gets into the cache, though all else of it is read from there. */
static void nothing_damaged_is_kept(void **state)
{
    struct world *w = *state;
    char path[128], other[128];
    const struct cw_source_cache_options o = {.dir = w->dir, .memory = (uint64_t)8 << 20},
                                         empty = {.dir = other, .memory = (uint64_t)8 << 20};
    struct cw_source_cache *c = new_cache(&o);
    struct cw_err err = {0};
    struct lines l;
    const uint64_t damaged = LINES / 500 / 2 * 500;
    snprintf(path, sizeof(path), "%s/one.zst", w->root);
    write_raw_frame(path);
    cw_source_hook_set(cw_source_cache_hook(c));
    assert_int_equal(open_lines(&l, path, &err), 0);
    cw_source_hook_set(NULL);
    cw_source_cache_free(c);
    flip_line(path, damaged);
    snprintf(other, sizeof(other), "%s/other", w->root); /* which has not seen the file as it was */
    c = new_cache(&empty);
    cw_source_hook_set(cw_source_cache_hook(c));
    assert_true(refused_lines(&l) > 0);
    wait_written(c);
    assert_in_range(refused_lines(&l), 1, LINES / 500 * 2 / 3); /* not those of the blocks before */
    close_lines(&l);
    cw_source_hook_set(NULL);
    cw_source_cache_free(c);
}

static void without_a_cache(void **state)
{
    struct world *w = *state;
    struct cw_err err = {0};
    struct lines l;
    char path[128];
    snprintf(path, sizeof(path), "%s/one.zst", w->root);
    write_frame(path);
    assert_int_equal(open_lines(&l, path, &err), CW_E_LIMIT);
    assert_non_null(strstr(err.msg, "one.zst: 20971520 inflated bytes, from 0 on, can only be "
                                    "inflated together; option inflated_max allows 1048576"));
    close_lines(&l);
}

/* ---- stretches of a gzip file ---- */

/* Writes the lines as one member, which has many stretches. */
static void write_member(const char *path)
{
    const struct timespec times[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
    char line[LINE_BYTES + 1];
    gzFile f = gzopen(path, "wb6");
    assert_non_null(f);
    for (uint64_t k = 0; k < GZIP_LINES; k++) {
        line_of(k, line);
        assert_int_equal(gzwrite(f, line, LINE_BYTES), LINE_BYTES);
    }
    assert_int_equal(gzclose(f), Z_OK);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* ---- what a scan takes ---- */

struct scan {
    size_t before; /* bytes that the process had allocated */
    size_t most;   /* that were counted at a time */
    bool is_less;  /* less was counted than is allocated */
};

static size_t allocated(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static int look(void *arg, char *p, size_t n, struct cw_err *err)
{
    enum { OTHERS = 1800 << 10 }; /* pieces, windows, the inflater */
    struct scan *scan = arg;
    (void)p;
    (void)n;
    (void)err;
    scan->most = CW_MAX(scan->most, cw_loaded_bytes());
    if (allocated() > scan->before + cw_loaded_bytes() + OTHERS)
        scan->is_less = true;
    return 0;
}

/* What a scan keeps until it knows the stretches counts as it was allocated, and exceeds no bound. */
static void a_scan_counts_what_it_takes(void **state)
{
    struct world *w = *state;
    char path[128];
    snprintf(path, sizeof(path), "%s/one.gz", w->root);
    write_member(path);
    const size_t bytes = (size_t)GZIP_LINES * LINE_BYTES, maxes[] = {bytes - 1, bytes, SIZE_MAX};
    for (size_t i = 0; i < CW_ARRAY_LEN(maxes); i++) {
        struct scan scan = {0};
        const struct cw_access_sink sink = {look, &scan};
        struct cw_access_points *points = NULL;
        struct cw_io_file io = {0};
        struct cw_err err = {0};
        cw_loaded_set_part_max(maxes[i]);
        struct cw_inflated *inflated = cw_inflated_new((int64_t)1 << 30, 64 << 10);
        assert_int_equal(cw_io_open(path, NULL, &io, &err), 0);
        const struct cw_source_file file = {.path = path, .io = &io, .stamp.size = io.info.size};
        const struct cw_readable readable = cw_source_readable(&file);
        scan.before = allocated();
        assert_int_equal(cw_inflated_scan(inflated, 0, &readable, &sink, &points, &err), 0);
        assert_false(scan.is_less);
        assert_true(scan.most <= maxes[i] && scan.most > 0);
        assert_int_equal(cw_loaded_bytes(), maxes[i] < bytes ? 0 : bytes);
        cw_access_points_free(points);
        cw_inflated_free(inflated);
        cw_io_close(&io);
        assert_int_equal(cw_loaded_bytes(), 0);
    }
    cw_loaded_set_part_max(SIZE_MAX);
}

struct reader {
    struct lines *lines;
    uint64_t seed;
};

static void read_and_shed(void *arg)
{
    struct reader *r = arg;
    struct cw_arena *arena = cw_arena_new(1 << 16);
    const struct cw_op_ctx ctx = {.arena = arena, .out = &r->lines->spec};
    for (uint64_t i = 0; i < 200; i++) {
        struct cw_element e = {0};
        struct cw_err err = {0};
        char line[LINE_BYTES + 1];
        const uint64_t k = cw_mix64(r->seed * 1000 + i) % GZIP_LINES;
        CW_ASSERT(r->lines->op->read(&ctx, r->lines->opts, r->lines->state, (int64_t)k, &e, &err) ==
                  0);
        line_of(k, line);
        CW_ASSERT(memcmp(e.fields[0].data, line, LINE_BYTES - 1) == 0);
        if (i % 50 == 0)
            cw_held_drop_all();
        cw_arena_reset(arena);
    }
    cw_arena_free(arena);
}

/* Several threads read lines while stretches, and access points, are dropped under them. */
static void threads_share_stretches(void **state)
{
    struct world *w = *state;
    struct cw_err err = {0};
    struct lines l;
    struct cw_thread threads[4];
    struct reader readers[4];
    char path[128];
    snprintf(path, sizeof(path), "%s/one.gz", w->root);
    write_member(path);
    assert_int_equal(open_lines(&l, path, &err), 0);
    for (uint64_t t = 0; t < 4; t++) {
        readers[t] = (struct reader){&l, t};
        cw_thread_start(&threads[t], "reader", read_and_shed, &readers[t]);
    }
    for (size_t t = 0; t < 4; t++)
        cw_thread_join(&threads[t]);
    close_lines(&l);
    assert_int_equal(cw_loaded_bytes(), 0);
}

/* A file that is damaged without another time: lines are the right ones, or an error names the file once. */
static void damaged_later(void **state)
{
    struct world *w = *state;
    struct cw_err err = {0};
    struct lines l;
    char path[128];
    unsigned bad = 0;
    snprintf(path, sizeof(path), "%s/one.gz", w->root);
    write_member(path);
    const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(open_lines(&l, path, &err), 0);
    FILE *f = fopen(path, "r+b");
    assert_int_equal(fseek(f, 300000, SEEK_SET), 0);
    assert_int_equal(fwrite("damaged here", 1, 12, f), 12);
    fclose(f);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    struct cw_arena *arena = cw_arena_new(1 << 16);
    const struct cw_op_ctx ctx = {.arena = arena, .out = &l.spec};
    for (int64_t k = 0; k < GZIP_LINES; k += 100) {
        struct cw_element e = {0};
        char line[LINE_BYTES + 1];
        int rc = l.op->read(&ctx, l.opts, l.state, k, &e, &err);
        line_of((uint64_t)k, line);
        if (rc == 0)
            assert_memory_equal(e.fields[0].data, line, LINE_BYTES - 1);
        else
            assert_true(rc == CW_E_CORRUPT && strncmp(err.msg, path, strlen(path)) == 0 &&
                        !strstr(err.msg + 1, path));
        bad += rc < 0;
        cw_arena_reset(arena);
    }
    assert_true(bad > 0 && bad < GZIP_LINES / 100 / 2);
    cw_arena_free(arena);
    close_lines(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_frame_is_inflated_once, source_begin, source_end),
        cmocka_unit_test_setup_teardown(without_room, source_begin, source_end),
        cmocka_unit_test_setup_teardown(of_a_new_file, source_begin, source_end),
        cmocka_unit_test_setup_teardown(nothing_damaged_is_kept, source_begin, source_end),
        cmocka_unit_test_setup_teardown(without_a_cache, source_begin, source_end),
        cmocka_unit_test_setup_teardown(a_scan_counts_what_it_takes, source_begin, source_end),
        cmocka_unit_test_setup_teardown(threads_share_stretches, source_begin, source_end),
        cmocka_unit_test_setup_teardown(damaged_later, source_begin, source_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
