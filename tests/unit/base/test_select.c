/* SPDX-License-Identifier: Apache-2.0 */
/* The k-th member of a set of bits, against counting. */
#include "base/select.h"
#include "support/cm.h"

#include "base/mem.h"
#include "base/hash.h"

static void check(uint64_t n, uint64_t of_256, uint64_t seed)
{
    struct cw_select select;
    uint64_t set = 0, drawn = seed << 32;
    cw_autofree uint8_t *bytes = CW_NEW_ARRAY(uint8_t, n / 8 + 1),
                        *also = CW_NEW_ARRAY(uint8_t, n / 8 + 1);
    cw_autofree uint64_t *want = CW_NEW_ARRAY(uint64_t, n + 1);
    cw_autofree int64_t *run = CW_NEW_ARRAY(int64_t, n + 1);
    for (uint64_t i = 0; i < n; i++) {
        if (cw_mix64(++drawn) % 256 >= of_256)
            continue;
        uint8_t *to = cw_mix64(++drawn) % 4 == 0 ? also : bytes;
        to[i / 8] |= (uint8_t)(1u << i % 8);
        want[set] = i;
        run[set] = (int64_t)set;
        set++;
    }
    assert_true(cw_select_init(&select, bytes, also, n));
    assert_int_equal(select.set_n, set);
    for (uint64_t k = 0; k < set; k++)
        assert_int_equal(cw_select_at(&select, k), want[k]);
    for (uint64_t k = 0; k + 1 < set; k++) { /* not in order */
        uint64_t other = cw_mix64(++drawn) % set;
        int64_t mine = run[k];
        run[k] = run[other];
        run[other] = mine;
    }
    cw_autofree int64_t *asked = cw_mem_dup(run, (size_t)(set + 1) * sizeof(*run));
    cw_select_run(&select, run, (size_t)set);
    for (uint64_t k = 0; k < set; k++)
        assert_int_equal(run[k], want[asked[k]]);
    cw_select_fini(&select);
}

static void finds_what_counting_finds(void **state)
{
    static const uint64_t sizes[] = {0, 1, 7, 8, 63, 64, 65, 511, 512, 513, 1024, 5000, 20011};
    static const uint64_t shares[] = {0, 1, 30, 128, 250, 256};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(sizes); i++)
        for (size_t k = 0; k < CW_ARRAY_LEN(shares); k++)
            check(sizes[i], shares[k], i * 100 + k);
}

/* Bits behind the last one do not count. */
static void bits_behind_the_end_are_none(void **state)
{
    static const uint8_t bytes[] = {0xff, 0xff};
    struct cw_select select;
    (void)state;
    assert_true(cw_select_init(&select, bytes, NULL, 11));
    assert_int_equal(select.set_n, 11);
    assert_int_equal(cw_select_at(&select, 10), 10);
    cw_select_fini(&select);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(finds_what_counting_finds),
                                          cmocka_unit_test(bits_behind_the_end_are_none)};
CW_TESTS_MAIN(tests)
