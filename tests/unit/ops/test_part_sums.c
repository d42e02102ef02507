/* SPDX-License-Identifier: Apache-2.0 */
/* What a survey keeps of numbers of parts: as sums that are asked for a part, and as bytes. */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "ops/index/fates.h"
#include "ops/index/part_sums.h"
#include "support/cm.h"

static uint64_t drawn = 1;

static uint64_t below(uint64_t n)
{
    return cw_mix64(++drawn) % n;
}

/* The numbers of n elements, many of them 0, the largest `most` at most. */
static uint64_t *numbers(uint64_t n, uint64_t most)
{
    uint64_t *parts = CW_NEW_ARRAY(uint64_t, (size_t)n + 1);
    for (uint64_t i = 0; i < n; i++)
        parts[i] = below(2) ? 0 : below(most + 1);
    return parts;
}

static void every_part_is_found(void **state)
{
    static const uint64_t most[] = {1, 3, 255, 256, 700, 65536};
    (void)state;
    for (size_t m = 0; m < CW_ARRAY_LEN(most); m++) {
        for (size_t t = 0; t < 8; t++) {
            const uint64_t n = t < 4 ? t : 1 + below(300);
            cw_autofree uint64_t *parts = numbers(n, most[m]);
            struct cw_part_sums sums;
            uint64_t k = 0, part;
            uint8_t bad[40] = {0};
            const bool has_bad = t % 2 == 1;
            for (uint64_t i = 0; has_bad && i < n; i++)
                if (parts[i] == 0 && below(3) == 0)
                    bad[i / 8] |= (uint8_t)(1u << i % 8);
            assert_true(cw_part_sums_init(&sums, parts, has_bad ? bad : NULL, n));
            for (uint64_t i = 0; i < n; i++) {
                const uint64_t its = bad[i / 8] >> i % 8 & 1 ? 1 : parts[i];
                for (uint64_t p = 0; p < its; p++, k++) {
                    if (its > 1000 && p > 3 && p < its - 3)
                        continue;
                    assert_int_equal(cw_part_sums_at(&sums, k, &part), i);
                    assert_int_equal(part, p);
                }
            }
            assert_int_equal(sums.all, k);
            cw_part_sums_fini(&sums);
        }
    }
}

static void check_bytes(uint64_t n, uint64_t most, bool has_bad)
{
    cw_autofree uint64_t *parts = numbers(n, most);
    struct cw_fates fates, again;
    CW_STR_AUTO bytes = {0};
    assert_true(cw_fates_init(&fates, n, CW_FATES_PARTS));
    for (uint64_t i = 0; i < n; i++) {
        fates.values[i] = parts[i];
        fates.kept[i / 8] |= (uint8_t)((parts[i] > 0) << i % 8);
        if (has_bad && parts[i] == 0)
            fates.bad[i / 8] |= (uint8_t)(1u << i % 8);
    }
    cw_fates_write(&fates, &bytes);
    const uint8_t *p = (const uint8_t *)cw_str_text(&bytes);
    assert_true(cw_fates_read(p, bytes.len, n, CW_FATES_PARTS, &again));
    assert_memory_equal(fates.values, again.values, n * sizeof(*fates.values));
    assert_memory_equal(fates.kept, again.kept, cw_fates_bytes(n));
    assert_memory_equal(fates.bad, again.bad, cw_fates_bytes(n));
    cw_fates_fini(&again);
    for (size_t cut = 0; cut < bytes.len;
         cut++) /* one that is cut is none, unless what is bad is cut off */
        if (cut + cw_fates_bytes(n) != bytes.len &&
            cw_fates_read(p, cut, n, CW_FATES_PARTS, &again))
            fail_msg("%zu of %zu bytes", cut, bytes.len);
    cw_fates_fini(&fates);
}

static void they_are_read_as_they_are_written(void **state)
{
    (void)state;
    for (size_t t = 0; t < 30; t++)
        check_bytes(20 + below(200), t % 3 == 0 ? 9 : t % 3 == 1 ? 300 : 70000, t % 2 == 1);
    /* The width is the least, and nothing that is bad has parts. */
    static const uint8_t wide[] = {2, 1, 0, 2, 0}, good[] = {1, 1, 2}, both[] = {1, 1, 2, 1},
                         none[] = {1, 1, 2, 0}, width[] = {3, 1, 0, 0, 2, 0, 0};
    struct cw_fates fates;
    assert_false(cw_fates_read(wide, sizeof(wide), 2, CW_FATES_PARTS, &fates));
    assert_false(cw_fates_read(both, sizeof(both), 2, CW_FATES_PARTS, &fates));
    assert_false(cw_fates_read(none, sizeof(none), 2, CW_FATES_PARTS, &fates));
    assert_false(cw_fates_read(width, sizeof(width), 2, CW_FATES_PARTS, &fates));
    assert_false(cw_fates_read(NULL, 0, 0, CW_FATES_PARTS, &fates));
    assert_true(cw_fates_read(good, sizeof(good), 2, CW_FATES_PARTS, &fates));
    assert_int_equal(fates.values[1], 2);
    cw_fates_fini(&fates);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_part_is_found),
    cmocka_unit_test(they_are_read_as_they_are_written),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
