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
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads), cmocka_unit_test(wrong_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
