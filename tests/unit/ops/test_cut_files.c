/* SPDX-License-Identifier: Apache-2.0 */
/* Files of tables and arrays that end too early: cut at any byte, a file is refused, or gives the rows that the
 * whole file has; of lines the last row may be a shorter one. CACHEW_CUTS=all: at every byte; without it at the
 * first, the last, and some between. */
#include "support/cm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "ops/op.h"
#include "support/completed.h"

enum { ENDS = 24, CUTS = 60, ROWS_MAX = 1000, FILE_MAX = 1 << 17 };

/* What a file gives. */
struct rows {
    int64_t n;
    uint64_t hash[ROWS_MAX];
};
enum end {
    KNOWN, /* the file says where it ends */
    PARTS, /* it may end behind any of its parts: fewer rows are right */
    TEXT,  /* or within one: the last row may be another */
};
struct cut_file {
    const char *op;
    const char *file;   /* in tests/ops/data */
    const char *beside; /* that must lie beside it, whole; NULL: none */
    const char *more;   /* further options, each with a comma in front */
    enum end end;
};

static char folder[] = "/tmp/cachew-cut-XXXXXX";

static uint64_t hash_of(const struct cw_element *e)
{
    uint64_t hash = e->n;
    for (size_t f = 0; f < e->n; f++) {
        const struct cw_view *view = &e->fields[f];
        const uint64_t words[] = {hash, view->bytes, (uint64_t)view->dims[0],
                                  cw_hash_u64(view->data, view->bytes)};
        hash = cw_hash_u64(words, sizeof(words));
    }
    return hash;
}

/* Reads each row that there is; hash 0: it was refused. */
static void read_rows(const struct cw_op *op, const void *opts, void *state,
                      const struct cw_spec *spec, struct rows *ret_rows)
{
    struct cw_arena *arena = cw_arena_new(1 << 16);
    const struct cw_op_ctx ctx = {.arena = arena, .out = spec};
    assert_true(ret_rows->n <= ROWS_MAX);
    for (int64_t i = 0; i < ret_rows->n; i++) {
        struct cw_element *e = CW_NEW(struct cw_element);
        struct cw_err err = {0};
        if (op->read(&ctx, opts, state, i, e, &err) == 0)
            ret_rows->hash[i] = hash_of(e);
        else
            assert_true(err.msg[0] != 0);
        cw_mem_free(e);
        cw_arena_reset(arena);
    }
    cw_arena_free(arena);
}

static int open_and_read(const struct cw_op *op, const void *opts, struct rows *ret_rows,
                         struct cw_err *err)
{
    struct cw_spec spec = {0};
    void *state = NULL;
    int rc = op->infer(opts, NULL, 0, &spec, err);
    const struct cw_op_open how = {.out = &spec};
    if (rc == 0)
        rc = op->open(opts, &how, &state, err);
    if (rc == 0) {
        rc = op->count(opts, state, NULL, 0, &ret_rows->n, err);
        if (rc == 0)
            read_rows(op, opts, state, &spec, ret_rows);
        op->close(state);
    }
    cw_spec_fini(&spec);
    return rc;
}

/* Opens the file in the folder, and reads all of it. */
static int read_file(const struct cut_file *c, struct rows *ret_rows, struct cw_err *err)
{
    const struct cw_op *op = cw_op_find(c->op);
    cw_autofree char *text =
        cw_mem_printf("{\"pattern\":\"%s/%s\"%s}", folder, c->file, c->more ? c->more : "");
    cw_autofree void *opts = cw_mem_new(op->options_bytes);
    struct cw_value options = {0};
    memset(ret_rows, 0, sizeof(*ret_rows));
    if (c->beside) { /* the pattern names the .bin */
        char *end = strstr(text, ".idx");
        if (end)
            memcpy(end, ".bin", 4);
    }
    assert_int_equal(cw_value_parse(text, strlen(text), "options", &options, NULL), 0);
    int rc = cw_test_parse_completed(op, &options, opts, err);
    if (rc == 0)
        rc = open_and_read(op, opts, ret_rows, err);
    cw_opt_fini(op->options, opts);
    cw_value_fini(&options);
    return rc;
}

static size_t copy(const char *file)
{
    static char bytes[FILE_MAX];
    cw_autofree char *from = cw_mem_printf("%s/tests/ops/data/%s", CW_TEST_SOURCE_DIR, file),
                     *to = cw_mem_printf("%s/%s", folder, file);
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    const size_t n = fread(bytes, 1, sizeof(bytes), in);
    assert_true(n < sizeof(bytes));
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
    return n;
}

static void discard(const char *file)
{
    cw_autofree char *path = cw_mem_printf("%s/%s", folder, file);
    assert_int_equal(unlink(path), 0);
}

static void check_cut(const struct cut_file *c, const struct rows *whole, size_t cut)
{
    static struct rows rows;
    struct cw_err err = {0};
    cw_autofree char *path = cw_mem_printf("%s/%s", folder, c->file);
    assert_int_equal(truncate(path, (off_t)cut), 0);
    if (read_file(c, &rows, &err) < 0) {
        if (!strstr(err.msg, folder))
            fail_msg("%s, cut at %zu: the message names no file: %s", c->file, cut, err.msg);
        return;
    }
    if (rows.n > whole->n || (rows.n < whole->n && c->end == KNOWN))
        fail_msg("%s, cut at %zu: %lld rows, and not %lld", c->file, cut, (long long)rows.n,
                 (long long)whole->n);
    for (int64_t i = 0; i < rows.n; i++)
        if (rows.hash[i] != 0 && rows.hash[i] != whole->hash[i] &&
            (c->end != TEXT || i + 1 < rows.n))
            fail_msg("%s, cut at %zu: row %lld is another", c->file, cut, (long long)i);
}

static void cut(const struct cut_file *c)
{
    static struct rows whole;
    struct cw_err err = {0};
    const size_t n = copy(c->file);
    const char *cuts = getenv("CACHEW_CUTS");
    const size_t step = cuts && strcmp(cuts, "all") == 0 ? 1 : CW_MAX((n / CUTS) | 1, (size_t)1);
    if (c->beside)
        copy(c->beside);
    if (read_file(c, &whole, &err) < 0)
        fail_msg("%s", err.msg);
    assert_true(whole.n > 0);
    for (int64_t i = 0; i < whole.n; i++)
        assert_true(whole.hash[i] != 0);
    for (size_t at = n; at-- > 0;) /* a file is only ever made shorter */
        if (at < ENDS || at + ENDS >= n || at % step == 0)
            check_cut(c, &whole, at);
    discard(c->file);
    if (c->beside)
        discard(c->beside);
}

static void cut_each(const struct cut_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cut(&files[i]);
}

#define GAPS ",\"fill\":{\"gap\":-9,\"gap_text\":\"none\"}"
#define FLAGS ",\"fill\":{\"gap\":-9,\"gap_text\":\"none\",\"gap_flag\":true}"
#define WORDS ",\"columns\":[\"plain\",\"gaps\",\"long\",\"numbers\"],\"fill\":{\"gaps\":\"?\"}"

static void parquet(void **state)
{
    static const struct cut_file files[] = {
        {"parquet", "parquet_none_v1.parquet", NULL, GAPS, KNOWN},
        {"parquet", "parquet_snappy_v2.parquet", NULL, GAPS, KNOWN},
        {"parquet", "parquet_delta_v2.parquet", NULL, GAPS, KNOWN},
        {"parquet", "parquet_index.parquet", NULL, GAPS, KNOWN},
        {"parquet", "parquet_duckdb_zstd.parquet", NULL, GAPS, KNOWN},
        {"parquet", "parquet_types.parquet", NULL,
         ",\"columns\":[\"fixed\",\"list\",\"pair\"],\"fill\":{\"list\":0}", KNOWN},
        {"parquet", "parquet_types.parquet", NULL, ",\"columns\":\"words\"", KNOWN},
    };
    (void)state;
    cut_each(files, CW_ARRAY_LEN(files));
}

static void arrow(void **state)
{
    static const struct cut_file files[] = {
        {"arrow", "arrow_plain.arrow", NULL, FLAGS, KNOWN},
        {"arrow", "arrow_zstd.arrow", NULL, FLAGS, KNOWN},
        {"arrow", "arrow_dictionary.arrow", NULL, WORDS, KNOWN},
        {"arrow", "arrow_nested_lz4.arrow", NULL, NULL, KNOWN},
        {"arrow", "arrow_stream.arrow", NULL, FLAGS, PARTS},
        {"arrow", "arrow_dictionary_stream.arrow", NULL, WORDS, PARTS},
    };
    (void)state;
    cut_each(files, CW_ARRAY_LEN(files));
}

static void arrays(void **state)
{
    static const struct cut_file files[] = {
        {"npy", "npy_c_f4.npy", NULL, NULL, KNOWN},
        {"npy", "npy_f_i2.npy", NULL, NULL, KNOWN},
        {"npz", "npz_stored.npz", NULL, NULL, KNOWN},
        {"npz", "npz_packed.npz", NULL, NULL, KNOWN},
        {"npz", "npz_zip64.npz", NULL, NULL, KNOWN},
        {"idx", "idx_i32.idx", NULL, NULL, KNOWN},
        {"idx", "idx_i32.idx.gz", NULL, NULL, KNOWN},
        {"megatron", "megatron_i2.bin", "megatron_i2.idx", NULL, KNOWN},
        {"megatron", "megatron_i2.idx", "megatron_i2.bin", NULL, KNOWN},
        {"megatron", "megatron_many.idx", "megatron_many.bin", NULL, KNOWN},
        {"megatron", "megatron_many.bin", "megatron_many.idx", NULL, KNOWN},
        {"chunks", "chunks_a.chunk", NULL, NULL, KNOWN},
        {"chunks", "chunks_b.chunk", NULL, NULL, KNOWN},
        {"hdf5", "hdf5_plain.h5", NULL, NULL, KNOWN},
    };
    (void)state;
    cut_each(files, CW_ARRAY_LEN(files));
}

#define COLUMNS                                                                                    \
    ",\"schema\":[\"text = text, long: str\",\"id: i64\",\"x: f64\",\"y = say \\\"y\\\": f32\","   \
    "\"flag: bool\"]"
#define KEYS                                                                                       \
    ",\"schema\":[\"text: str\",\"id: i64\",\"score = meta.score: f64\",\"vector: f32[?]\","       \
    "\"box: i32[2,2]\"]"

static void lines(void **state)
{
    static const struct cut_file files[] = {
        {"csv", "csv_a.csv", NULL, COLUMNS, PARTS},
        {"csv", "csv_b.csv", NULL, COLUMNS, PARTS},
        {"csv", "csv_a.csv", NULL, ",\"schema\":[\"unused: str\"]", TEXT},
        {"csv", "csv_all.tsv", NULL, COLUMNS ",\"separator\":\"\\t\"", PARTS},
        {"csv", "csv_all.csv.gz", NULL, COLUMNS, PARTS},
        {"csv", "csv_all.csv.zst", NULL, COLUMNS, TEXT},
        {"jsonl", "json_a.jsonl", NULL, KEYS, PARTS},
        {"jsonl", "json_b.jsonl", NULL, KEYS, PARTS},
        {"jsonl", "json_all.jsonl.gz", NULL, KEYS, PARTS},
        {"text_lines", "text_a.txt", NULL, NULL, TEXT},
    };
    (void)state;
    cut_each(files, CW_ARRAY_LEN(files));
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parquet), cmocka_unit_test(arrow),
                                       cmocka_unit_test(arrays), cmocka_unit_test(lines)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
