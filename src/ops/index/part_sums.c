/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/index/part_sums.h"

#include <string.h>

#include "base/mem.h"

/* The numbers of a block lie in one to four cache lines, and a block takes eight bytes more. */
#define BLOCK 64

static uint64_t parts_of(const uint64_t *parts, const uint8_t *bad, uint64_t i)
{
    return bad && bad[i / 8] >> i % 8 & 1 ? 1 : parts[i];
}

static unsigned width_of(const uint64_t *parts, uint64_t n)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < n; i++)
        most = CW_MAX(most, parts[i]);
    return most > UINT16_MAX ? 4 : most > UINT8_MAX ? 2 : 1;
}

static void set(struct cw_part_sums *sums, uint64_t i, uint64_t parts)
{
    const uint16_t two = (uint16_t)parts;
    const uint32_t four = (uint32_t)parts;
    if (sums->width == 1)
        sums->parts[i] = (uint8_t)parts;
    else if (sums->width == 2)
        memcpy(sums->parts + 2 * i, &two, sizeof(two));
    else
        memcpy(sums->parts + 4 * i, &four, sizeof(four));
}

static uint64_t get(const struct cw_part_sums *sums, uint64_t i)
{
    uint16_t two;
    uint32_t four;
    if (sums->width == 1)
        return sums->parts[i];
    if (sums->width == 2) {
        memcpy(&two, sums->parts + 2 * i, sizeof(two));
        return two;
    }
    memcpy(&four, sums->parts + 4 * i, sizeof(four));
    return four;
}

bool cw_part_sums_init(struct cw_part_sums *sums, const uint64_t *parts, const uint8_t *bad,
                       uint64_t n)
{
    const size_t blocks = (size_t)((n + BLOCK - 1) / BLOCK);
    *sums = (struct cw_part_sums){.n = n, .width = width_of(parts, n)};
    sums->parts = cw_mem_try((size_t)n * sums->width + 1);
    sums->before = cw_mem_try((blocks + 1) * sizeof(*sums->before));
    if (!sums->parts || !sums->before) {
        cw_part_sums_fini(sums);
        return false;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (i % BLOCK == 0)
            sums->before[i / BLOCK] = sums->all;
        set(sums, i, parts_of(parts, bad, i));
        sums->all += parts_of(parts, bad, i);
    }
    sums->before[blocks] = sums->all;
    return true;
}

void cw_part_sums_fini(struct cw_part_sums *sums)
{
    cw_mem_free(sums->parts);
    cw_mem_free(sums->before);
    *sums = (struct cw_part_sums){0};
}

uint64_t cw_part_sums_at(const struct cw_part_sums *sums, uint64_t k, uint64_t *ret_part)
{
    uint64_t lo = 0, hi = (sums->n + BLOCK - 1) / BLOCK;
    while (hi - lo > 1) { /* before[lo] <= k < before[hi] */
        const uint64_t mid = lo + (hi - lo) / 2;
        if (sums->before[mid] <= k)
            lo = mid;
        else
            hi = mid;
    }
    uint64_t i = lo * BLOCK, left = k - sums->before[lo];
    for (uint64_t parts; left >= (parts = get(sums, i)); i++)
        left -= parts;
    *ret_part = left;
    return i;
}
