/* SPDX-License-Identifier: Apache-2.0 */
/* Resume tokens: what goes in comes out, those of the version before are read, and no damaged
 * one is. */
#include "support/cm.h"

#include <string.h>

#include "wire/token.h"

static struct cw_token make(void)
{
    struct cw_token token = {.fingerprint = {1, UINT64_MAX},
                             .pipeline_sum = 3,
                             .files_sum = UINT64_MAX - 1,
                             .identity = 2,
                             .seed = UINT64_MAX,
                             .epoch = 300,
                             .item = 7,
                             .row = 1,
                             .rows = 128,
                             .batches = 6,
                             .mode = 1,
                             .consumers = 4,
                             .to_come = 3};
    cw_set_add(&token.beyond, 9, 12);
    cw_set_add(&token.beyond, 500, 501);
    return token;
}

static void check(const struct cw_token *a, const struct cw_token *b)
{
    assert_true(cw_hash_eq(a->fingerprint, b->fingerprint) && a->seed == b->seed &&
                a->epoch == b->epoch && a->item == b->item);
    assert_true(a->row == b->row && a->rows == b->rows && a->batches == b->batches &&
                a->mode == b->mode && a->consumers == b->consumers);
    assert_true(a->to_come == b->to_come && a->pipeline_sum == b->pipeline_sum &&
                a->files_sum == b->files_sum && a->identity == b->identity);
    assert_true(b->beyond.n == 2 && b->beyond.v[0].lo == 9 && b->beyond.v[0].hi == 12 &&
                b->beyond.v[1].lo == 500 && b->beyond.v[1].hi == 501);
}

static void there_and_back(void **state)
{
    unsigned char bytes[200];
    size_t n = 0;
    struct cw_err err = {0};
    struct cw_token token = make(), back = {0};
    (void)state;
    assert_int_equal(cw_token_encode(&token, bytes, sizeof(bytes), &n, &err), 0);
    assert_int_equal(cw_token_decode(bytes, n, &back, &err), 0);
    check(&token, &back);
    cw_token_fini(&back);
    assert_int_equal(cw_token_encode(&token, bytes, n - 1, &n, &err), CW_E_INVALID);
    for (size_t cut = 0; cut < n; cut++)
        assert_int_equal(cw_token_decode(bytes, cut, &back, &err), CW_E_CORRUPT);
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= 0x20;
        assert_int_equal(cw_token_decode(bytes, n, &back, &err), CW_E_CORRUPT);
        bytes[i] ^= 0x20;
    }
    cw_token_fini(&token);
}

/* The largest numbers, without gaps. */
static void bound(void **state)
{
    unsigned char bytes[200];
    size_t n = 0;
    const struct cw_token token = {
        {UINT64_MAX, UINT64_MAX},
        UINT64_MAX,
        UINT64_MAX,
        3,
        UINT64_MAX,
        UINT64_MAX,
        UINT64_MAX,
        UINT64_MAX,
        UINT64_MAX,
        UINT64_MAX,
        2,
        UINT32_MAX,
        UINT32_MAX,
        {0},
    };
    (void)state;
    assert_int_equal(cw_token_encode(&token, bytes, sizeof(bytes), &n, NULL), 0);
    assert_true(n <= 160);
}

/* As the version before wrote it: without parts of the fingerprint. */
static void version_before(void **state)
{
    unsigned char bytes[200], old[200];
    size_t n = 0;
    struct cw_err err = {0};
    struct cw_token token = make(), back = {0};
    (void)state;
    assert_int_equal(cw_token_encode(&token, bytes, sizeof(bytes), &n, &err), 0);
    /* two sums of 8 bytes, identity in one */
    size_t head = 20, left_out = 17, end = n - 8 - left_out;
    memcpy(old, "CWT1", 4);
    memcpy(old + 4, bytes + 4, head - 4);
    memcpy(old + head, bytes + head + left_out, end - head);
    uint64_t sum = cw_hash_u64(old, end);
    for (int i = 0; i < 8; i++)
        old[end + (size_t)i] = (unsigned char)(sum >> (8 * i));
    if (cw_token_decode(old, end + 8, &back, &err) != 0)
        fail_msg("%s", err.msg);
    token.pipeline_sum = token.files_sum = token.identity = 0;
    check(&token, &back);
    cw_token_fini(&back);
    cw_token_fini(&token);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_and_back), cmocka_unit_test(bound),
                                       cmocka_unit_test(version_before)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
