/* SPDX-License-Identifier: Apache-2.0 */
/* What an item will read is asked for before the item is computed: behind filters, and of Parquet and Arrow files.
 * The scheme of the test gives what was read ahead, and counts what was not. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/ahead.h"
#include "io/brace.h"
#include "run.h"
#include "support/cm.h"

#define HOST "http://x/"
#define FILES "{\"op\":\"image_folder\",\"pattern\":\"" HOST "{a,b,c,d}/{0..9}\"}"

static struct {
    int fetched; /* ranges that were asked for */
    uint64_t fetched_bytes;
    int late; /* reads of what nobody had asked for */
} seen;

static char packed_path[] = "/tmp/cachew-ahead-XXXXXX.gz";
static char text_path[] = "/tmp/cachew-ahead-XXXXXX.txt";

/* Files of the test data, a compressed one, and others of 100 bytes. */
static char *local_path(const char *url)
{
    if (strstr(url, ".gz"))
        return cw_mem_strdup(packed_path);
    if (strstr(url, ".txt"))
        return cw_mem_strdup(text_path);
    return strstr(url, ".parquet") || strstr(url, "arrow_")
               ? cw_mem_printf("%s/%s", CW_TEST_IMAGES, url + strlen(HOST))
               : NULL;
}

static struct cw_io_info info_of(const char *url)
{
    struct cw_io_info info = {.size = 100, .is_object = true, .version = "\"1\""};
    cw_autofree char *path = local_path(url);
    struct stat st;
    if (path) {
        assert_int_equal(stat(path, &st), 0);
        info.size = st.st_size;
    }
    info.state = cw_hash_bytes(url, strlen(url));
    return info;
}

static void get(const char *url, uint64_t offset, void *dst, size_t n)
{
    cw_autofree char *path = local_path(url);
    memset(dst, url[strlen(url) - 1], n);
    if (!path)
        return;
    int fd = open(path, O_RDONLY);
    assert_int_equal(pread(fd, dst, n, (off_t)offset), n);
    close(fd);
}

static int stub_stat(const char *url, const struct cw_stop *stop, struct cw_io_info *ret_info,
                     struct cw_err *err)
{
    (void)stop;
    (void)err;
    *ret_info = info_of(url);
    return 0;
}

static int stub_open(const char *url, const struct cw_stop *stop, struct cw_io_file *file,
                     struct cw_err *err)
{
    (void)stop;
    (void)err;
    file->info = info_of(url);
    file->object = cw_mem_strdup(url);
    return 0;
}

static void stub_close(struct cw_io_file *file)
{
    cw_mem_free(file->object);
}

static int stub_read(const struct cw_io_file *file, uint64_t offset, void *dst, size_t n,
                     const struct cw_stop *stop, struct cw_err *err)
{
    char *p = dst;
    (void)err;
    while (n > 0) {
        const size_t got = cw_ahead_read(file->object, file->info.state, offset, p, n, stop);
        if (got == 0)
            break;
        p += got;
        offset += got;
        n -= got;
    }
    seen.late += n > 0;
    get(file->object, offset, p, n);
    return 0;
}

static bool stub_is_unchanged(const struct cw_io_file *file)
{
    (void)file;
    return true;
}

static int stub_glob(const char *pattern, size_t entries_max, const struct cw_stop *stop,
                     struct cw_io_list *list, struct cw_err *err)
{
    struct cw_paths texts = {0};
    (void)entries_max;
    (void)stop;
    assert_int_equal(cw_brace_expand(pattern, &texts, err), 0);
    for (size_t i = 0; i < texts.n; i++)
        cw_io_list_add(list, cw_mem_strdup(texts.v[i]), -1, 0);
    cw_paths_fini(&texts);
    return 0;
}

static struct cw_io_fetch *asked[4096];
static char *asked_url[4096];

static void stub_fetch(const char *url, struct cw_io_fetch *fetch)
{
    asked[seen.fetched] = fetch;
    asked_url[seen.fetched++] = cw_mem_strdup(url);
    seen.fetched_bytes += fetch->n;
}

static void stub_cancel(struct cw_io_fetch *fetch)
{
    (void)fetch;
}

static const struct cw_io_scheme scheme = {.name = "http",
                                           .stat = stub_stat,
                                           .open = stub_open,
                                           .close = stub_close,
                                           .read = stub_read,
                                           .is_unchanged = stub_is_unchanged,
                                           .glob = stub_glob,
                                           .fetch = stub_fetch,
                                           .cancel = stub_cancel};
static const struct cw_io_scheme *const schemes[] = {&scheme, NULL};

static int begin(void **state)
{
    (void)state;
    cw_io_set_schemes(schemes);
    cw_ahead_set_limit(CW_ARRAY_LEN(asked));
    return 0;
}

/* Reads ahead what the item will need, and returns the list. */
static struct cw_ahead *read_ahead(struct cw_plan *plan, uint64_t item)
{
    struct cw_ahead *ahead = cw_ahead_new(UINT64_MAX);
    memset(&seen, 0, sizeof(seen));
    cw_exec_ahead(plan, 0, item, ahead);
    (void)cw_ahead_begin(ahead, NULL, NULL);
    for (int i = 0; i < seen.fetched; i++) {
        asked[i]->info = info_of(asked_url[i]);
        asked[i]->is_there = true;
        get(asked_url[i], asked[i]->offset, asked[i]->dst, asked[i]->n);
        asked[i]->done(asked[i]);
        cw_mem_free(asked_url[i]);
    }
    assert_true(cw_ahead_is_done(ahead));
    return ahead;
}

static void compute(struct cw_plan *plan, uint64_t item)
{
    struct cw_err err = {0};
    struct cw_batch *batch = NULL;
    if (cw_exec_run(plan, 0, item, CW_BAD_FAIL, &batch, &err) < 0)
        fail_msg("%s", err.msg);
    cw_batch_unref(batch);
}

/* All that come to the filter are read ahead, also those that it leaves out; none is waited for. */
static void behind_a_filter(void **state)
{
    struct cw_plan *plan =
        plan_of(FILES ",{\"op\":\"shuffle\"},{\"op\":\"filter\",\"expr\":\"label > 0\"},"
                      "{\"op\":\"read_file\"}",
                3);
    int fetched = 0;
    (void)state;
    assert_true(cw_exec_can_ahead(plan));
    for (uint64_t item = 0; item < cw_plan_info(plan)->items; item++) {
        struct cw_ahead *ahead = read_ahead(plan, item);
        fetched += seen.fetched;
        compute(plan, item);
        assert_int_equal(seen.late, 0);
        cw_ahead_free(ahead);
    }
    assert_int_equal(fetched, 40);
    cw_plan_unref(plan);
}

/* A filter that lets almost nothing through is found out, and then nothing is read for what it leaves
 * out. */
static void behind_a_filter_that_keeps_little(void **state)
{
    struct cw_plan *plan = plan_of(
        "{\"op\":\"image_folder\",\"pattern\":\"" HOST "{a,b}/{0..999}\"},"
        "{\"op\":\"enumerate\",\"field\":\"n\"},{\"op\":\"filter\",\"expr\":\"n % 10 == 0\"},"
        "{\"op\":\"read_file\"}",
        3);
    (void)state;
    struct cw_ahead *ahead = NULL;
    const uint64_t items = cw_plan_info(plan)->items;
    assert_true(items > 40);
    for (uint64_t item = 0; item < items; item++) {
        ahead = read_ahead(plan, item);
        if (item == 0)
            assert_true(seen.fetched > 0);
        compute(plan, item);
        cw_ahead_free(ahead);
    }
    assert_int_equal(seen.fetched, 0);
    cw_plan_unref(plan);
}

/* Of Parquet files, the columns that are asked for of the row groups are. */
static void columns_of_row_groups(void **state)
{
    static const char *const files[] = {"parquet_delta_v1.parquet", "parquet_delta_v2.parquet",
                                        "parquet_brotli_v2.parquet",
                                        "parquet_duckdb_brotli.parquet"};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(files); i++) {
        cw_autofree char *nodes = cw_mem_printf(
            "{\"op\":\"parquet\",\"pattern\":\"" HOST "%s\",\"columns\":[\"i32\",\"word\",\"gap\","
            "\"text\"],\"fill\":{\"gap\":-9}},{\"op\":\"shuffle\"},{\"op\":\"batch\",\"size\":7}",
            files[i]);
        struct cw_plan *plan = plan_of(nodes, 3);
        assert_true(cw_exec_can_ahead(plan));
        const uint64_t items = cw_plan_info(plan)->items;
        uint64_t bytes = 0;
        for (uint64_t item = 0; item < items; item++) {
            struct cw_ahead *ahead = read_ahead(plan, item);
            bytes += seen.fetched_bytes;
            compute(plan, item);
            if (seen.late != 0)
                fail_msg("%s: item %d: %d reads were late", files[i], (int)item, seen.late);
            cw_ahead_free(ahead);
        }
        assert_true(bytes > 0);
        struct cw_ahead *again = read_ahead(plan, 0); /* all is decoded already */
        assert_int_equal(seen.fetched, 0);
        cw_ahead_free(again);
        cw_plan_unref(plan);
    }
}

/* Of Arrow files the columns of record batches are, and the dictionaries that hold for these: as they lie, and
 * compressed. Where that is stands in the head of a batch, which is read once, and waited for. */
static void columns_of_record_batches(void **state)
{
    static const char *const files[][2] = {
        {"arrow_plain.arrow", "i32\",\"flag\",\"text\",\"gap_text"},
        {"arrow_sliced.arrow", "i32\",\"flag\",\"text\",\"gap_text"},
        {"arrow_zstd.arrow", "i64\",\"word\",\"gap"},
        {"arrow_stream.arrow", "u16\",\"word"},
        {"arrow_nested.arrow", "point.x\",\"ids\",\"fixed"},
        {"arrow_dictionary.arrow", "plain\",\"long"}};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(files); i++) {
        cw_autofree char *nodes =
            cw_mem_printf("{\"op\":\"arrow\",\"pattern\":\"" HOST "%s\",\"columns\":[\"%s\"],"
                          "\"fill\":{\"gap\":1,\"gap_text\":\"\"}},{\"op\":\"shuffle\"},"
                          "{\"op\":\"batch\",\"size\":3,\"ragged\":true}",
                          files[i][0], files[i][1]);
        struct cw_plan *plan = plan_of(nodes, 3);
        assert_true(cw_exec_can_ahead(plan));
        const uint64_t items = cw_plan_info(plan)->items;
        uint64_t bytes = 0;
        int heads = 0;
        for (uint64_t item = 0; item < items; item++) {
            struct cw_ahead *ahead = read_ahead(plan, item);
            bytes += seen.fetched_bytes;
            heads += seen.late;
            seen.late = 0;
            compute(plan, item);
            if (seen.late != 0)
                fail_msg("%s: item %d: %d reads were late", files[i][0], (int)item, seen.late);
            cw_ahead_free(ahead);
        }
        assert_true(bytes > 0);
        assert_in_range(heads, 1, 3);                 /* as many as record batches */
        struct cw_ahead *again = read_ahead(plan, 0); /* all is decoded already */
        assert_int_equal(seen.fetched + seen.late, 0);
        cw_ahead_free(again);
        cw_plan_unref(plan);
    }
}

/* Of compressed files the stretches are, from their access points on. */
static void stretches_of_compressed_files(void **state)
{
    int fd = mkstemps(packed_path, 3);
    char line[64];
    (void)state;
    for (int member = 0; member < 20; member++) {
        gzFile f = gzdopen(dup(fd), "wb");
        for (int k = 0; k < 40; k++) {
            snprintf(line, sizeof(line), "%-39d\n", member * 40 + k);
            assert_int_equal(gzwrite(f, line, 40), 40);
        }
        assert_int_equal(gzclose(f), Z_OK);
    }
    close(fd);
    struct cw_plan *plan =
        plan_of("{\"op\":\"text_lines\",\"pattern\":\"" HOST "t.gz\",\"inflated_max\":5000,"
                "\"inflate_every\":1024},{\"op\":\"shuffle\"},{\"op\":\"batch\",\"size\":2}",
                3);
    assert_true(cw_exec_can_ahead(plan));
    for (uint64_t item = 0; item < 20; item++) {
        struct cw_ahead *ahead = read_ahead(plan, item);
        assert_true(seen.fetched_bytes < 20 * 100);
        compute(plan, item);
        assert_int_equal(seen.late, 0);
        cw_ahead_free(ahead);
    }
    cw_plan_unref(plan);
    assert_int_equal(unlink(packed_path), 0);
}

/* Of ranges of text the lines are that begin there: also the byte before a range, which is looked at first. */
static void ranges_of_text(void **state)
{
    int fd = mkstemps(text_path, 4);
    char line[64];
    (void)state;
    for (int k = 0; k < 8000; k++) {
        snprintf(line, sizeof(line), "%-38d\n", k);
        assert_int_equal(write(fd, line, 39), 39);
    }
    close(fd);
    struct cw_plan *plan =
        plan_of("{\"op\":\"text_ranges\",\"pattern\":\"" HOST "t.txt\",\"bytes\":10000},"
                "{\"op\":\"shuffle\"}",
                3);
    assert_true(cw_exec_can_ahead(plan));
    for (uint64_t item = 0; item < cw_plan_info(plan)->items; item++) {
        struct cw_ahead *ahead = read_ahead(plan, item);
        assert_true(seen.fetched > 0);
        compute(plan, item);
        assert_int_equal(seen.late, 0);
        cw_ahead_free(ahead);
    }
    cw_plan_unref(plan);
    assert_int_equal(unlink(text_path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(behind_a_filter, begin),
        cmocka_unit_test_setup(behind_a_filter_that_keeps_little, begin),
        cmocka_unit_test_setup(columns_of_row_groups, begin),
        cmocka_unit_test_setup(columns_of_record_batches, begin),
        cmocka_unit_test_setup(stretches_of_compressed_files, begin),
        cmocka_unit_test_setup(ranges_of_text, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
