/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of files when several threads read: what is built at the first read is built once, and
 * every thread gets what one thread alone gets. A manifest that does not fit the files is
 * refused. */
#include "support/cm.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"
#include "ops/op.h"
#include "ops/source/held.h"
#include "ops/source/loaded.h"
#include "support/completed.h"

enum { THREADS = 4, ROUNDS = 200 };

struct source {
    const struct cw_op *op;
    uint64_t opts[32];
    struct cw_spec spec;
    struct cw_value manifest;
    void *state;
    int64_t n;
};

static int open_source(struct source *s, const struct cw_value *manifest, struct cw_err *err)
{
    const struct cw_op_open how = {.manifest = manifest, .out = &s->spec};
    int rc = s->op->open(s->opts, &how, &s->state, err);
    return rc < 0 ? rc : s->op->count(s->opts, s->state, NULL, 0, &s->n, err);
}

/* Opened twice, the second time with the first one's manifest: nothing is built yet. more: further
 * options, each with a comma in front. */
static void source_init(struct source *s, const char *op, const char *pattern, const char *more)
{
    cw_autofree char *text = cw_mem_printf("{\"pattern\":\"%s/tests/ops/data/%s\"%s}",
                                           CW_TEST_SOURCE_DIR, pattern, more);
    struct cw_value options = {0};
    struct cw_err err = {0};
    *s = (struct source){.op = cw_op_find(op)};
    assert_true(s->op->options_bytes <= sizeof(s->opts));
    assert_int_equal(cw_value_parse(text, strlen(text), "options", &options, &err), 0);
    assert_int_equal(cw_test_parse_completed(s->op, &options, s->opts, &err), 0);
    cw_value_fini(&options);
    if (s->op->infer(s->opts, NULL, 0, &s->spec, &err) < 0 || open_source(s, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    s->op->manifest(s->opts, s->state, &s->manifest);
    s->op->close(s->state);
    if (open_source(s, &s->manifest, &err) < 0)
        fail_msg("%s", err.msg);
}

static void source_fini(struct source *s)
{
    if (s->state)
        s->op->close(s->state);
    cw_value_fini(&s->manifest);
    cw_spec_fini(&s->spec);
    cw_opt_fini(s->op->options, s->opts);
}

static int read_one(const struct source *s, struct cw_arena *arena, int64_t pos, uint64_t *ret_hash,
                    struct cw_err *err)
{
    const struct cw_op_ctx ctx = {.arena = arena, .out = &s->spec};
    struct cw_element e = {0};
    int rc = s->op->read(&ctx, s->opts, s->state, pos, &e, err);
    if (rc == 0)
        *ret_hash = cw_hash_u64(e.fields[0].data, e.fields[0].bytes);
    cw_arena_reset(arena);
    return rc;
}

struct reader {
    struct cw_thread thread;
    const struct source *source;
    uint64_t id, sum;
    int bad;
};

static void read_all(void *arg)
{
    struct reader *r = arg;
    struct cw_arena *arena = cw_arena_new(1 << 16);
    for (int64_t k = 0; k < ROUNDS * r->source->n; k++) {
        struct cw_err err = {0};
        uint64_t hash = 0;
        r->bad += read_one(r->source, arena, (k + (int64_t)r->id) % r->source->n, &hash, &err) < 0;
        r->sum += hash;
    }
    cw_arena_free(arena);
}

static void threads_agree(const char *op, const char *pattern, const char *more)
{
    struct source s;
    struct reader readers[THREADS] = {{.id = 0}};
    source_init(&s, op, pattern, more);
    for (size_t i = 0; i < THREADS; i++) {
        readers[i] = (struct reader){.source = &s, .id = i};
        cw_thread_start(&readers[i].thread, "reader", read_all, &readers[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        cw_thread_join(&readers[i].thread);
        assert_int_equal(readers[i].bad, 0);
        assert_true(readers[i].sum == readers[0].sum && readers[i].sum != 0);
    }
    source_fini(&s);
}

static void threads(void **state)
{
    (void)state;
    threads_agree("tfrecord", "records_*.tfrecord", "");
    threads_agree("tfrecord", "packed_*.tfrecord.gz", "");
    threads_agree("webdataset", "wds_packed.tar.gz",
                  ",\"columns\":[\"jpg\",\"cls\"],\"key\":\"key\"");
    threads_agree("idx", "idx_u8.i*", "");
    threads_agree("idx", "idx_f64.idx.gz", "");
    threads_agree("chunks", "chunks_*.chunk", "");
    threads_agree("files", "*.tfrecord", "");
    threads_agree("parquet", "parquet_snappy_v1.parquet",
                  ",\"columns\":\"text\",\"types\":{\"text\":\"str\"},\"cache\":\"1MiB\"");
    threads_agree("parquet", "parquet_types_v2.parquet",
                  ",\"columns\":\"fixed\",\"types\":{\"fixed\":\"u8[3]\"}");
}

enum { MANY = 9000 };

/* More rows than are sorted at a time, of columns of unlike width, packed ones too, are what they are one by one. */
static void many_in_any_order(void **state)
{
    static uint8_t memory[3][MANY * 8];
    static int64_t positions[MANY];
    struct source s;
    struct cw_column columns[3];
    (void)state;
    source_init(&s, "parquet", "parquet_none_v1.parquet",
                ",\"columns\":{\"a\":\"i32\",\"b\":\"f64\",\"c\":[\"flag\",\"flag\"]},"
                "\"types\":{\"a\":\"i32\",\"b\":\"f64\",\"c\":\"bool[2]\"}");
    struct cw_arena *arena = cw_arena_new(1 << 16);
    for (size_t f = 0; f < 3; f++)
        columns[f] = (struct cw_column){memory[f], (size_t)cw_field_bytes(&s.spec.fields[f])};
    for (int64_t i = 0; i < MANY; i++)
        positions[i] = (i * 7919 + i / s.n) % s.n;
    assert_int_equal(s.op->read_rows(s.opts, s.state, positions, MANY, columns), 0);
    for (size_t i = 0; i < MANY; i++) {
        const struct cw_op_ctx ctx = {.arena = arena, .out = &s.spec};
        struct cw_element e = {0};
        struct cw_err err = {0};
        assert_int_equal(s.op->read(&ctx, s.opts, s.state, positions[i], &e, &err), 0);
        for (size_t f = 0; f < 3; f++)
            assert_memory_equal(memory[f] + i * columns[f].bytes, e.fields[f].data,
                                columns[f].bytes);
        cw_arena_reset(arena);
    }
    cw_arena_free(arena);
    assert_true(cw_loaded_bytes() >= (size_t)s.n * (4 + 8 + 1)); /* decoded pages count */
    source_fini(&s);
    assert_int_equal(cw_loaded_bytes(), 0);
}

/* ---- what is decoded is given back ---- */

static void init_two(struct source *s)
{
    source_init(s, "parquet", "parquet_none_v1.parquet",
                ",\"columns\":[\"text\",\"i64\"],"
                "\"types\":{\"text\":\"str\",\"i64\":\"i64\"}");
}

/* The sum of the hashes of all rows. */
static uint64_t sum_of(const struct source *s)
{
    struct cw_arena *arena = cw_arena_new(1 << 16);
    struct cw_err err = {0};
    uint64_t sum = 0, hash = 0;
    for (int64_t i = 0; i < s->n; i++) {
        assert_int_equal(read_one(s, arena, i, &hash, &err), 0);
        sum += hash;
    }
    cw_arena_free(arena);
    return sum;
}

static void is_given_back(void **state)
{
    struct source a, b;
    (void)state;
    init_two(&a);
    init_two(&b);
    const uint64_t sum = sum_of(&a);
    const size_t one = cw_held_bytes();
    assert_true(one > 0 && cw_loaded_bytes() >= one);
    assert_true(sum_of(&b) == sum);
    assert_int_equal(cw_held_bytes(), 2 * one);
    cw_held_set_max(one); /* what was used last stays */
    assert_true(cw_held_bytes() <= one && cw_held_bytes() > 0);
    assert_true(sum_of(&b) == sum && sum_of(&a) == sum);
    assert_true(cw_held_bytes() <= one);
    cw_held_drop_all();
    assert_int_equal(cw_held_bytes(), 0);
    assert_int_equal(cw_loaded_bytes(), 0); /* nor memory for decoding */
    assert_true(sum_of(&a) == sum);         /* it is decoded again */
    cw_held_set_max(1);                     /* less than is in use at one time */
    assert_true(sum_of(&a) == sum && sum_of(&b) == sum);
    cw_held_set_max(SIZE_MAX);
    source_fini(&a);
    source_fini(&b);
    assert_int_equal(cw_loaded_bytes(), 0);
}

/* ---- strings of many rows ---- */

enum { STRINGS = 3000 };

struct texts {
    void *memory;
    bool memory_is_short; /* while they are read */
};

static void *get_memory(void *arg, size_t bytes)
{
    struct texts *t = arg;
    if (t->memory_is_short)
        cw_held_drop_all();
    t->memory = cw_mem_try(bytes);
    return t->memory;
}

/* Reads the strings of many rows at once, and returns how many bytes they have. */
static size_t read_texts(const struct source *s, bool memory_is_short)
{
    static int64_t positions[STRINGS], ends[STRINGS];
    struct texts t = {.memory_is_short = memory_is_short};
    struct cw_loose_column column = {.ends = ends};
    const struct cw_loose_rows rows = {
        .positions = positions, .n = STRINGS, .columns = &column, .get = get_memory, .arg = &t};
    for (int64_t i = 0; i < STRINGS; i++)
        positions[i] = i * 7 % s->n;
    assert_int_equal(s->op->read_loose(s->opts, s->state, &rows), 0);
    cw_mem_free(t.memory);
    return column.bytes;
}

/* What threads put strings together in counts, and goes when memory is short, also of one that reads meanwhile. */
static void staged_strings_are_given_back(void **state)
{
    struct source s;
    (void)state;
    source_init(&s, "parquet", "parquet_none_v1.parquet",
                ",\"columns\":[\"text\"],\"types\":{\"text\":\"str\"}");
    (void)sum_of(&s);
    const size_t decoded = cw_held_bytes();
    const size_t bytes = read_texts(&s, false);
    const size_t kept = cw_held_bytes();
    assert_true(bytes > 0 && kept >= decoded + bytes);
    assert_true(cw_loaded_bytes() >= kept);
    cw_held_drop_all();
    assert_int_equal(cw_held_bytes(), 0);
    assert_int_equal(read_texts(&s, false), bytes);
    assert_int_equal(cw_held_bytes(), kept); /* it is decoded again */
    assert_int_equal(read_texts(&s, true), bytes);
    assert_true(cw_held_bytes() <= decoded);
    cw_held_drop_all();
    assert_int_equal(cw_held_bytes(), 0);
    source_fini(&s);
    assert_int_equal(cw_loaded_bytes(), 0);
}

/* ---- all sources of a process ---- */

/* A source that holds some bytes. */
struct some {
    struct cw_held held;
    uint64_t stamp;
    int64_t bytes;
    bool is_taken; /* a thread began to use them after `oldest` was asked */
};

static uint64_t oldest_of_some(void *arg)
{
    const struct some *some = arg;
    return some->bytes > 0 && !some->is_taken ? some->stamp : UINT64_MAX;
}

static bool drop_some(void *arg)
{
    struct some *some = arg;
    if (some->stamp == 1)
        some->is_taken = true;
    if (some->is_taken)
        return false;
    cw_held_add(&some->held, -some->bytes);
    some->bytes = 0;
    return true;
}

/* What is being used again in one source is no reason to leave what others hold. */
static void others_give_back(void **state)
{
    struct some sources[3];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        sources[i] = (struct some){
            .held = {.arg = &sources[i], .oldest = oldest_of_some, .drop_oldest = drop_some},
            .stamp = i + 1,
            .bytes = 100};
        cw_held_join(&sources[i].held);
        cw_held_add(&sources[i].held, 100);
    }
    cw_held_drop_all();
    assert_int_equal(cw_held_bytes(), 100);
    assert_int_equal(sources[0].bytes, 100);
    cw_held_add(&sources[0].held, -100);
    for (size_t i = 0; i < 3; i++)
        cw_held_leave(&sources[i].held);
}

/* Chunks of HDF5 files are not counted in the limit, and go when memory is short; of a dataset in one piece there are
 * none. */
static void chunks_are_given_back(void **state)
{
    static const char more[] = ",\"datasets\":\"image\",\"types\":{\"image\":\"u8[2,3]\"}";
    struct source chunked, plain;
    (void)state;
    source_init(&chunked, "hdf5", "hdf5_chunked.h5", more);
    const uint64_t sum = sum_of(&chunked);
    assert_int_equal(cw_held_bytes(), chunked.n * 6); /* all rows have less than `cache` */
    source_init(&plain, "hdf5", "hdf5_plain.h5", more);
    assert_true(sum_of(&plain) == sum);
    assert_int_equal(cw_held_bytes(), chunked.n * 6);
    cw_held_set_max(1);
    assert_false(cw_held_is_over());
    assert_int_equal(cw_held_bytes(), chunked.n * 6);
    cw_held_drop_all();
    assert_int_equal(cw_held_bytes(), 0);
    assert_true(sum_of(&chunked) == sum && sum_of(&plain) == sum);
    assert_int_equal(cw_held_bytes(), chunked.n * 6);
    cw_held_set_max(SIZE_MAX);
    source_fini(&chunked);
    source_fini(&plain);
    assert_int_equal(cw_loaded_bytes(), 0);
}

/* Threads read while others take what they keep. */
static void is_given_back_while_read(void **state)
{
    struct source s;
    struct reader readers[THREADS];
    (void)state;
    init_two(&s);
    cw_held_set_max(1 << 12);
    for (size_t i = 0; i < THREADS; i++) {
        readers[i] = (struct reader){.source = &s, .id = i};
        cw_thread_start(&readers[i].thread, "reader", read_all, &readers[i]);
    }
    for (size_t i = 0; i < 200; i++)
        cw_held_drop_all();
    for (size_t i = 0; i < THREADS; i++) {
        cw_thread_join(&readers[i].thread);
        assert_int_equal(readers[i].bad, 0);
        assert_true(readers[i].sum == readers[0].sum);
    }
    cw_held_set_max(SIZE_MAX);
    source_fini(&s);
    assert_int_equal(cw_loaded_bytes(), 0);
}

/* The manifest says another number of records than the file has. */
static void wrong_counts(void **state)
{
    static const char *const sources[][3] = {
        {"tfrecord", "records_a.tfrecord", ""},
        {"idx", "idx_u8.idx", ""},
        {"chunks", "chunks_a.chunk", ""},
        {"parquet", "parquet_plain.parquet", ",\"columns\":\"i32\",\"types\":{\"i32\":\"i32\"}"}};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(sources); i++) {
        struct source s;
        struct cw_err err = {0};
        struct cw_arena *arena = cw_arena_new(1 << 16);
        uint64_t hash;
        source_init(&s, sources[i][0], sources[i][1], sources[i][2]);
        s.op->close(s.state);
        s.state = NULL;
        s.manifest.items[0].items[0].items[3].i = 2;
        int rc = open_source(&s, &s.manifest, &err);
        if (rc == 0)
            rc = read_one(&s, arena, 0, &hash, &err);
        assert_int_equal(rc, CW_E_OTHER_FILE);
        assert_non_null(strstr(err.msg, "not the file that the job was prepared with"));
        assert_non_null(strstr(err.msg, sources[i][1]));
        cw_arena_free(arena);
        source_fini(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads),
                                       cmocka_unit_test(many_in_any_order),
                                       cmocka_unit_test(is_given_back),
                                       cmocka_unit_test(staged_strings_are_given_back),
                                       cmocka_unit_test(others_give_back),
                                       cmocka_unit_test(chunks_are_given_back),
                                       cmocka_unit_test(is_given_back_while_read),
                                       cmocka_unit_test(wrong_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
