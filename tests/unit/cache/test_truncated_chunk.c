/* SPDX-License-Identifier: Apache-2.0 */
/* Mapped chunks that are cut short in place: what a disk that begins to fail does to them, too,
 * is a signal to whoever touches them. Here it costs a miss, at whatever moment it happens, and
 * the chunk is given up by name. */
#include "records.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define N 400
#define READERS 3

static char scratch[] = "/tmp/cachew-test-cut-XXXXXX";

static int make_scratch(void **state)
{
    (void)state;
    return mkdtemp(scratch) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int remove_scratch(void **state)
{
    (void)state;
    return nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

struct world {
    struct fixture filled, f;
    char path[300]; /* of the only chunk */
    off_t bytes;
};

/* One chunk with samples [0, N), written by one process and loaded by another, which has touched
 * none of it yet. */
static void world_open(struct world *w, int level, const char *options)
{
    static unsigned no;
    cw_autofree char *url = cw_mem_printf("dir:%s/%u?map=on&direct=off%s", scratch, ++no, options);
    struct stat st;

    fixture_open(&w->filled, url, (struct cw_cache_options){.level = level});
    for (uint64_t id = 0; id < N; id++)
        put_sample(w->filled.node, id);
    settle(&w->filled);
    assert_int_equal(w->filled.events.names_n, 1);
    const char *name = w->filled.events.names[0];
    snprintf(w->path, sizeof(w->path), "%s/%u/%s", scratch, no, name);
    assert_int_equal(stat(w->path, &st), 0);
    w->bytes = st.st_size;
    fixture_open(&w->f, url, (struct cw_cache_options){0});
    cw_cache_dataset_add(w->f.node, &name, 1);
    WAIT_FOR(cw_cache_dataset_is_loaded(w->f.node));
    assert_int_equal(counts_of(w->f.node).records, N);
}

static void world_close(struct world *w)
{
    fixture_close(&w->f, 0);
    fixture_close(&w->filled, 0);
}

/* 1 right, 0 not found, or broken while it was looked at; -1 wrong */
static int get_intact(struct cw_cache_dataset *node, uint64_t id)
{
    struct cw_cache_pins hold = {0};
    struct cw_element element;
    int found = 0;

    if (cw_cache_get(node, id, &hold, &element) == CW_CACHE_HIT) {
        found = is_sample(&element, id) ? 1 : -1;
        if (!cw_cache_is_intact(&hold))
            found = 0;
    }
    cw_cache_unpin(&hold);
    return found;
}

static int count_right(struct cw_cache_dataset *node)
{
    int right = 0;

    for (uint64_t id = 0; id < N; id++) {
        int found = get_intact(node, id);

        assert_true(found >= 0);
        right += found;
    }
    return right;
}

static void expect_given_up(struct world *w, const char *why)
{
    WAIT_FOR(events_of(&w->f.events, CW_CACHE_DAMAGED) == 1);
    assert_string_equal(w->f.events.damaged, w->filled.events.names[0]);
    if (!strstr(w->f.events.damaged_why, why))
        fail_msg("\"%s\" does not say \"%s\"", w->f.events.damaged_why, why);
    assert_int_equal(count_right(w->f.node), 0);
    assert_int_equal(counts_of(w->f.node).damaged, 1);
}

static void run_cut(int level, bool is_verified, off_t to)
{
    struct world w;

    world_open(&w, level, "");
    if (is_verified)
        assert_int_equal(count_right(w.f.node), N);
    assert_int_equal(truncate(w.path, w.bytes * to / 4), 0);
    assert_true(count_right(w.f.node) < N);
    expect_given_up(&w, "bytes long, and ends at");
    world_close(&w);
}

static void test_before_the_first_touch(void **state)
{
    (void)state;
    for (off_t to = 0; to < 4; to++) {
        run_cut(CW_CHUNK_PLAIN, false, to);
        run_cut(3, false, to);
    }
}

/* Of packed ones the plain bytes are in memory by then. */
static void test_after_it_was_verified(void **state)
{
    (void)state;
    for (off_t to = 0; to < 4; to++)
        run_cut(CW_CHUNK_PLAIN, true, to);
}

/* The kernel zeroes what is behind the new end in its page, without a signal. */
static void test_within_a_page(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, CW_CHUNK_PLAIN, "");
    assert_int_equal(count_right(w.f.node), N);
    for (off_t to = w.bytes - 1; to > w.bytes - 300; to -= 100)
        assert_int_equal(truncate(w.path, to), 0);
    assert_int_equal(truncate(w.path, w.bytes), 0); /* as long as it was, but zeros at its end */
    assert_int_equal(count_right(w.f.node), 0);
    expect_given_up(&w, "the end of the file was changed");
    world_close(&w);
}

struct readers {
    struct world *w;
    atomic_size_t reads, wrong;
    atomic_bool is_cut;
};

static void read_on(void *arg, size_t no)
{
    struct readers *r = arg;

    if (no == 0) {
        while (atomic_load(&r->reads) < 3 * N)
            cw_clock_sleep_ns(100000);
        if (truncate(r->w->path, r->w->bytes / 3) != 0)
            atomic_fetch_add(&r->wrong, 1);
        atomic_store(&r->is_cut, true);
        return;
    }
    for (uint64_t i = no;
         !atomic_load(&r->is_cut) || events_of(&r->w->f.events, CW_CACHE_DAMAGED) == 0; i++) {
        atomic_fetch_add(&r->wrong, get_intact(r->w->f.node, i % N) < 0);
        atomic_fetch_add(&r->reads, 1);
    }
}

static void test_while_others_read(void **state)
{
    struct world w;

    (void)state;
    for (int i = 0; i < 5; i++) {
        world_open(&w, CW_CHUNK_PLAIN, "");
        struct readers r = {.w = &w};
        crew(1 + READERS, read_on, &r);
        assert_int_equal(r.wrong, 0);
        expect_given_up(&w, "bytes long, and ends at");
        world_close(&w);
    }
}

/* What one thread holds while another finds out. */
static void test_what_is_held(void **state)
{
    struct cw_cache_pins hold = {0};
    struct cw_element element;
    struct world w;

    (void)state;
    world_open(&w, CW_CHUNK_PLAIN, "");
    assert_int_equal(cw_cache_get(w.f.node, 7, &hold, &element), CW_CACHE_HIT);
    assert_true(cw_cache_is_intact(&hold));
    assert_int_equal(truncate(w.path, 0), 0);
    assert_int_equal(count_right(w.f.node), 0);
    assert_false(is_sample(&element, 7));
    assert_false(cw_cache_is_intact(&hold));
    cw_cache_unpin(&hold);
    assert_true(cw_cache_is_intact(&hold)); /* nothing is held */
    expect_given_up(&w, "bytes long, and ends at");
    world_close(&w);
}

/* Records that wait to be written are not written when a chunk comes that has them, too. When that
 * chunk turns out to be damaged they are misses, and are written when they are put again. */
static void test_what_it_took_over(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, CW_CHUNK_PLAIN, "");
    const char *name = w.filled.events.names[0];
    cw_cache_dataset_remove(w.f.node, &name, 1);
    WAIT_FOR(counts_of(w.f.node).records == 0);
    for (uint64_t id = 0; id < N; id++)
        put_sample(w.f.node, id);
    cw_cache_dataset_add(w.f.node, &name, 1);
    WAIT_FOR(cw_cache_dataset_is_loaded(w.f.node));
    assert_int_equal(counts_of(w.f.node).records, N);
    assert_int_equal(truncate(w.path, w.bytes / 2), 0);
    assert_true(count_right(w.f.node) < N);
    expect_given_up(&w, "bytes long, and ends at");
    settle(&w.f);
    assert_int_equal(counts_of(w.f.node).written, 0);
    for (uint64_t id = 0; id < N; id++) {
        assert_false(cw_cache_has(w.f.node, id));
        put_sample(w.f.node, id);
    }
    settle(&w.f);
    assert_int_equal(counts_of(w.f.node).written, N);
    world_close(&w);
}

/* ---- rows of a batch ---- */

#define ROWS 64
#define ROW_BYTES 4096

static struct cw_cache_dataset *row_dataset(struct fixture *f)
{
    CW_SPEC_AUTO spec = {0};
    int64_t bytes = ROW_BYTES;

    assert_int_equal(cw_spec_add(&spec, "row", CW_DTYPE_U8, 1, &bytes, NULL), 0);
    return cw_cache_dataset(f->cache, "", test_key(2), &spec);
}

static void put_row(struct cw_cache_dataset *dataset, uint64_t id)
{
    unsigned char bytes[ROW_BYTES];
    struct cw_element element = {.n = 1};

    memset(bytes, (int)(id + 1), sizeof(bytes));
    element.fields[0] = (struct cw_view){
        .data = bytes, .bytes = ROW_BYTES, .dtype = CW_DTYPE_U8, .rank = 1, .dims = {ROW_BYTES}};
    cw_cache_put(dataset, id, &element, 1000);
}

/* Returns how many rows were copied; all of them are right. */
static size_t copy_rows(struct cw_cache_dataset *dataset, struct cw_cache_pins *pins)
{
    static unsigned char to[ROWS][ROW_BYTES];
    int64_t ids[ROWS];

    for (size_t i = 0; i < ROWS; i++)
        ids[i] = (int64_t)i;
    const struct cw_cache_rows rows = {.n = 1, .to = {to[0]}, .bytes = {ROW_BYTES}};
    size_t n = cw_cache_get_rows(dataset, ids, ROWS, pins, &rows);
    for (size_t i = 0; i < n; i++)
        assert_true(to[i][0] == i + 1 && memcmp(to[i], to[i] + 1, ROW_BYTES - 1) == 0);
    return n;
}

/* A chunk that is cut short gives no rows, whether it was pinned before or not. What was in it is
 * written when it is put again. */
static void run_rows(bool pinned, bool within_a_page)
{
    struct cw_cache_pins pins = {0};
    struct world w;
    char path[300];
    struct stat st;

    world_open(&w, CW_CHUNK_PLAIN, "");
    struct cw_cache_dataset *dataset = row_dataset(&w.f);
    for (uint64_t id = 0; id < ROWS; id++)
        put_row(dataset, id);
    settle(&w.f);
    assert_int_equal(w.f.events.names_n, 1);
    snprintf(path, sizeof(path), "%.*s/%s", (int)(strstr(w.path, "/default/") - w.path), w.path,
             w.f.events.names[0]);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(copy_rows(dataset, &pins), ROWS);
    if (!pinned)
        cw_cache_unpin(&pins);
    assert_int_equal(truncate(path, within_a_page ? st.st_size - 1 : st.st_size / 2), 0);
    assert_int_equal(copy_rows(dataset, &pins), 0);
    assert_int_equal(pins.n, 0);
    WAIT_FOR(events_of(&w.f.events, CW_CACHE_DAMAGED) == 1);
    for (uint64_t id = 0; id < ROWS; id++)
        put_row(dataset, id);
    settle(&w.f);
    assert_int_equal(counts_of(dataset).written, 2 * ROWS);
    cw_cache_dataset_unref(dataset);
    world_close(&w);
}

static void test_rows(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        run_rows(i & 1, i & 2);
}

static void overwrite(const struct world *w)
{
    static const unsigned char other[4096] = {1, 2, 3};
    int fd = open(w->path, O_WRONLY);

    assert_true(fd >= 0);
    for (off_t at = 4096; at < w->bytes - 65536; at += 65536)
        assert_int_equal(pwrite(fd, other, sizeof(other), at), sizeof(other));
    close(fd);
}

/* Written over in place after each frame was verified once: whoever verifies each time finds it. */
static void test_verify_always(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, CW_CHUNK_PLAIN, "&verify=always");
    assert_int_equal(count_right(w.f.node), N);
    assert_int_equal(count_right(w.f.node), N);
    overwrite(&w);
    assert_true(count_right(w.f.node) < N);
    expect_given_up(&w, "checksum");
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_the_first_touch), cmocka_unit_test(test_after_it_was_verified),
        cmocka_unit_test(test_within_a_page),          cmocka_unit_test(test_while_others_read),
        cmocka_unit_test(test_what_is_held),           cmocka_unit_test(test_verify_always),
        cmocka_unit_test(test_what_it_took_over),      cmocka_unit_test(test_rows),
    };

    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
