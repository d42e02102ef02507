/* SPDX-License-Identifier: Apache-2.0 */
/* Records of fixed size that are copied into rows of a batch. */
#include "records.h"

#include "fake_store.h"

#define N 60
#define CHUNK 20 /* records */
#define BYTES 100

struct rows {
    struct cw_cache_rows rows;
    unsigned char bytes[N][BYTES];
    uint64_t id[N];
};

static void rows_init(struct rows *r)
{
    memset(r, 0, sizeof(*r));
    r->rows = (struct cw_cache_rows){
        .n = 2, .to = {r->bytes[0], (uint8_t *)r->id}, .bytes = {BYTES, sizeof(r->id[0])}};
}

static bool row_is(const struct rows *r, size_t i, uint64_t id)
{
    for (size_t k = 0; k < BYTES; k++)
        if (r->bytes[i][k] != (unsigned char)(id + k))
            return false;
    return r->id[i] == id;
}

static void put(struct cw_cache_dataset *node, uint64_t id)
{
    unsigned char bytes[BYTES];
    struct cw_element element = {.n = 2};

    for (size_t k = 0; k < BYTES; k++)
        bytes[k] = (unsigned char)(id + k);
    element.fields[0] = (struct cw_view){
        .data = bytes, .bytes = BYTES, .dtype = CW_DTYPE_U8, .rank = 1, .dims = {BYTES}};
    element.fields[1] = (struct cw_view){
        .data = &id, .bytes = sizeof(id), .dtype = CW_DTYPE_U64, .rank = 1, .dims = {1}};
    cw_cache_put(node, id, &element, 1000);
}

/* A dataset of [0, N) in chunks of CHUNK records, but for LEFT_OUT. */
#define LEFT_OUT 37u
static struct cw_cache_dataset *open_filled(struct fixture *f)
{
    CW_SPEC_AUTO spec = {0};
    int64_t bytes = BYTES, one = 1;

    fake_reset();
    fixture_open(f, "fake:map", (struct cw_cache_options){0});
    assert_int_equal(cw_spec_add(&spec, "bytes", CW_DTYPE_U8, 1, &bytes, NULL), 0);
    assert_int_equal(cw_spec_add(&spec, "id", CW_DTYPE_U64, 1, &one, NULL), 0);
    struct cw_cache_dataset *node = cw_cache_dataset(f->cache, "", test_key(2), &spec);
    for (uint64_t id = 0; id < N; id++) {
        if (id == LEFT_OUT)
            cw_cache_put(node, id, NULL, 1000);
        else
            put(node, id);
        if (id % CHUNK == CHUNK - 1)
            settle(f);
    }
    WAIT_FOR(fake_files() == N / CHUNK);
    return node;
}

static void test_rows(void **state)
{
    struct cw_cache_pins pins = {0};
    struct fixture f;
    struct rows r;
    /* from three chunks, back and forth */
    const int64_t ids[] = {3, 4, 5, 45, 46, 19, 20, 59, 0};

    (void)state;
    struct cw_cache_dataset *node = open_filled(&f);
    rows_init(&r);
    uint64_t before = counts_of(node).hits;
    assert_int_equal(cw_cache_get_rows(node, ids, CW_ARRAY_LEN(ids), &pins, &r.rows),
                     CW_ARRAY_LEN(ids));
    for (size_t i = 0; i < CW_ARRAY_LEN(ids); i++)
        assert_true(row_is(&r, i, (uint64_t)ids[i]));
    assert_int_equal(counts_of(node).hits - before, CW_ARRAY_LEN(ids));
    assert_int_equal(pins.n, 0); /* of several chunks none stays pinned */
    assert_int_equal(cw_cache_get_rows(node, ids, 3, &pins, &r.rows), 3);
    assert_true(pins.n == 1 && pins.is_kept);
    cw_cache_unpin(&pins);
    cw_cache_dataset_unref(node);
    fixture_close(&f, 0);
}

/* It ends before what it does not copy, and counts nothing of that. */
static void test_ends(void **state)
{
    struct cw_cache_pins pins = {0};
    struct fixture f;
    struct rows r;
    const int64_t ids[] = {35, 36, LEFT_OUT, 38}, unknown[] = {1, 1000, 2}, first[] = {1000, 1};

    (void)state;
    struct cw_cache_dataset *node = open_filled(&f);
    rows_init(&r);
    uint64_t before = counts_of(node).hits;
    assert_int_equal(cw_cache_get_rows(node, ids, 4, &pins, &r.rows), 2);
    assert_true(row_is(&r, 0, 35) && row_is(&r, 1, 36) && r.id[2] == 0 && r.id[3] == 0);
    assert_int_equal(cw_cache_get_rows(node, unknown, 3, &pins, &r.rows), 1);
    assert_int_equal(cw_cache_get_rows(node, first, 2, &pins, &r.rows), 0);
    assert_int_equal(counts_of(node).hits - before, 3);
    /* what waits to be written is got one by one */
    put(node, 500);
    assert_int_equal(cw_cache_get_rows(node, (const int64_t[]){500}, 1, &pins, &r.rows), 0);
    /* rows of other sizes */
    r.rows.bytes[1]++;
    assert_int_equal(cw_cache_get_rows(node, ids, 2, &pins, &r.rows), 0);
    r.rows.bytes[1]--;
    r.rows.n = 1;
    assert_int_equal(cw_cache_get_rows(node, ids, 2, &pins, &r.rows), 0);
    cw_cache_unpin(&pins);
    /* nor are there any where sizes vary */
    r.rows.n = 2;
    put_sample(f.node, 7);
    settle(&f);
    assert_int_equal(cw_cache_get_rows(f.node, (const int64_t[]){7}, 1, &pins, &r.rows), 0);
    cw_cache_unpin(&pins);
    cw_cache_dataset_unref(node);
    fixture_close(&f, 0);
}

/* A damaged frame is not copied, and its chunk is given up. */
static void test_damaged(void **state)
{
    struct cw_cache_pins pins = {0};
    struct fixture f;
    struct rows r;
    const int64_t ids[] = {0, 1};

    (void)state;
    struct cw_cache_dataset *node = open_filled(&f);
    rows_init(&r);
    for (size_t i = 0; i < fake_files(); i++)
        fake_damage_in_place(i, fake_bytes(i) / 2);
    (void)cw_cache_get_rows(node, ids, 2, &pins, &r.rows);
    for (int64_t id = 0; id < N; id++)
        if (cw_cache_get_rows(node, &id, 1, &pins, &r.rows) == 1)
            assert_true(row_is(&r, 0, (uint64_t)id));
    cw_cache_unpin(&pins);
    WAIT_FOR(events_of(&f.events, CW_CACHE_DAMAGED) > 0);
    cw_cache_dataset_unref(node);
    fixture_close(&f, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_ends),
                                       cmocka_unit_test(test_damaged)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
