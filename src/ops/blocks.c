/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/blocks.h"

#include "base/mem.h"

#define POSITIONS_MAX (INT64_C(1) << 60)

void cw_blocks_fini(struct cw_blocks *blocks)
{
    cw_mem_free(blocks->begins);
    *blocks = (struct cw_blocks){0};
}

/* Joins neighbours by twos. */
static void join(struct cw_blocks *blocks)
{
    blocks->n = (blocks->n + 1) / 2;
    for (size_t i = 0; i < blocks->n; i++)
        blocks->begins[i] = blocks->begins[2 * i];
    blocks->step = 2 * CW_MAX(blocks->step, (size_t)1);
}

void cw_blocks_add(struct cw_blocks *blocks, int64_t begin)
{
    if (blocks->added > 0 && blocks->last >= begin)
        return;
    blocks->last = begin;
    if (blocks->added++ % CW_MAX(blocks->step, (size_t)1) != 0)
        return;
    if (blocks->n == 2 * CW_BLOCKS_MAX) {
        join(blocks); /* the new one is the first of its pair */
    } else if (blocks->n == blocks->cap) {
        blocks->cap = CW_MAX(2 * blocks->cap, (size_t)16);
        blocks->begins = cw_mem_grow(blocks->begins, blocks->cap, sizeof(*blocks->begins));
    }
    blocks->begins[blocks->n++] = begin;
}

void cw_blocks_finish(struct cw_blocks *blocks, int64_t end)
{
    while (blocks->n > 0 && blocks->begins[blocks->n - 1] >= end)
        blocks->n--;
    while (blocks->n > CW_BLOCKS_MAX)
        join(blocks);
    blocks->end = end;
}

int64_t cw_blocks_length(const struct cw_blocks *blocks, size_t i)
{
    const int64_t end = i + 1 < blocks->n ? blocks->begins[i + 1] : blocks->end;
    return end - blocks->begins[i];
}

void cw_blocks_write(const struct cw_blocks *blocks, struct cw_value *manifest)
{
    struct cw_value *lengths = cw_value_set_list(cw_value_member(manifest, "blocks"), blocks->n);
    for (size_t i = 0; i < blocks->n; i++)
        cw_value_set_i64(&lengths[i], cw_blocks_length(blocks, i));
}

static bool is_length(const struct cw_value *value, int64_t end)
{
    return value->type == CW_VALUE_I64 && value->i > 0 && value->i <= POSITIONS_MAX - end;
}

int cw_blocks_read(const struct cw_value *manifest, struct cw_blocks *ret_blocks,
                   struct cw_err *err)
{
    const struct cw_value *lengths =
        manifest->type == CW_VALUE_OBJECT ? cw_value_get(manifest, "blocks") : NULL;
    struct cw_blocks blocks = {0};
    int64_t end = 0;
    if (!lengths || lengths->type != CW_VALUE_LIST || lengths->n > CW_BLOCKS_MAX)
        return cw_err_set(err, CW_E_INVALID, "its manifest says no blocks");
    for (size_t i = 0; i < lengths->n; i++) {
        if (!is_length(&lengths->items[i], end)) {
            cw_blocks_fini(&blocks);
            return cw_err_set(err, CW_E_INVALID, "its manifest says no length of block %zu", i);
        }
        cw_blocks_add(&blocks, end);
        end += lengths->items[i].i;
    }
    cw_blocks_finish(&blocks, end);
    *ret_blocks = blocks;
    return 0;
}
