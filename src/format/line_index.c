/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the offsets of records as distances within blocks. */
#include "format/line_index.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

#define BLOCK 128

struct block {
    uint64_t first; /* offset of its first record in the file */
    uint64_t
        place; /* where its distances begin in `distances`, times 4, plus log2 of their width */
};

struct cw_line_index {
    struct block *blocks;
    size_t blocks_n, blocks_cap;
    uint8_t *distances;
    size_t distances_n, distances_cap;
    uint64_t n, end;
    uint64_t open[BLOCK]; /* the block that is being filled; open[open_n...] are not set */
    size_t open_n;
};

struct cw_line_index *cw_line_index_new(void)
{
    return CW_NEW(struct cw_line_index);
}

void cw_line_index_free(struct cw_line_index *index)
{
    if (!index)
        return;
    cw_mem_free(index->blocks);
    cw_mem_free(index->distances);
    cw_mem_free(index);
}

/* Data decide how much is needed, so there may be no memory for it. */
static int make_room(void *p_to_pointer, size_t *cap, size_t n, size_t size)
{
    void *old;
    if (n <= *cap)
        return 0;
    memcpy(&old, p_to_pointer, sizeof(old));
    size_t more = CW_MAX(n, *cap + *cap / 2 + 16);
    void *p = cw_mem_try_grow(old, more * size);
    if (!p)
        return CW_E_NOMEM;
    memcpy(p_to_pointer, &p, sizeof(p));
    *cap = more;
    return 0;
}

static unsigned width_of(uint64_t distance)
{
    return distance <= UINT8_MAX ? 0 : distance <= UINT16_MAX ? 1 : distance <= UINT32_MAX ? 2 : 3;
}

static int close_block(struct cw_line_index *index)
{
    if (index->open_n == 0)
        return 0;
    const uint64_t first = index->open[0];
    const unsigned log = width_of(index->open[index->open_n - 1] - first);
    const size_t bytes = index->open_n << log;
    int rc =
        make_room(&index->blocks, &index->blocks_cap, index->blocks_n + 1, sizeof(*index->blocks));
    if (rc == 0)
        rc = make_room(&index->distances, &index->distances_cap, index->distances_n + bytes, 1);
    if (rc < 0)
        return rc;
    uint8_t *to = index->distances + index->distances_n;
    for (size_t i = 0; i < index->open_n; i++) {
        const uint64_t distance = index->open[i] - first;
        for (unsigned b = 0; b < 1u << log; b++)
            *to++ = (uint8_t)(distance >> (8 * b));
    }
    index->blocks[index->blocks_n++] =
        (struct block){.first = first, .place = (uint64_t)index->distances_n << 2 | log};
    index->distances_n += bytes;
    index->open_n = 0;
    return 0;
}

int cw_line_index_add(struct cw_line_index *index, uint64_t begin)
{
    if (index->open_n == BLOCK) {
        int rc = close_block(index);
        if (rc < 0)
            return rc;
    }
    index->open[index->open_n++] = begin;
    index->n++;
    return 0;
}

/* Gives back the room in which the arrays grew. */
static void shrink(struct cw_line_index *index)
{
    void *blocks = cw_mem_try_grow(index->blocks, index->blocks_n * sizeof(*index->blocks) + 1);
    void *distances = cw_mem_try_grow(index->distances, index->distances_n + 1);
    if (blocks) {
        index->blocks = blocks;
        index->blocks_cap = index->blocks_n;
    }
    if (distances) {
        index->distances = distances;
        index->distances_cap = index->distances_n;
    }
}

int cw_line_index_end(struct cw_line_index *index, uint64_t end)
{
    index->end = end;
    int rc = close_block(index);
    shrink(index);
    return rc;
}

uint64_t cw_line_index_n(const struct cw_line_index *index)
{
    return index->n;
}

uint64_t cw_line_index_at(const struct cw_line_index *index, uint64_t k)
{
    if (k >= index->n)
        return index->end;
    const struct block *block = &index->blocks[k / BLOCK];
    const unsigned width = 1u << (block->place & 3);
    const uint8_t *from = index->distances + (block->place >> 2) + k % BLOCK * width;
    uint64_t distance = 0;
    for (unsigned b = 0; b < width; b++)
        distance |= (uint64_t)from[b] << (8 * b);
    return block->first + distance;
}

void cw_line_index_prefetch(const struct cw_line_index *index, uint64_t k)
{
    if (k >= index->n)
        return;
    const struct block *block = &index->blocks[k / BLOCK];
    __builtin_prefetch(index->distances + (block->place >> 2) + (k % BLOCK << (block->place & 3)));
}

size_t cw_line_index_bytes(const struct cw_line_index *index)
{
    return sizeof(*index) + index->blocks_cap * sizeof(*index->blocks) + index->distances_cap;
}

/* ---- as bytes ----
 * u64 n, end, distances_n; blocks of u64 first, place; distances. All in little endian. */

static void add_u64(struct cw_str *out, uint64_t v)
{
    v = htole64(v);
    cw_str_add_bytes(out, &v, sizeof(v));
}

static uint64_t take_u64(const uint8_t **p)
{
    uint64_t v;
    memcpy(&v, *p, sizeof(v));
    *p += sizeof(v);
    return le64toh(v);
}

void cw_line_index_pack(const struct cw_line_index *index, struct cw_str *out)
{
    add_u64(out, index->n);
    add_u64(out, index->end);
    add_u64(out, index->distances_n);
    for (size_t i = 0; i < index->blocks_n; i++) {
        add_u64(out, index->blocks[i].first);
        add_u64(out, index->blocks[i].place);
    }
    if (index->distances_n > 0)
        cw_str_add_bytes(out, index->distances, index->distances_n);
}

/* Whether each block's distances lie where they must, one after the other. */
static bool places_fit(const struct cw_line_index *index)
{
    uint64_t at = 0;
    for (size_t i = 0; i < index->blocks_n; i++) {
        const uint64_t n = CW_MIN(index->n - i * BLOCK, (uint64_t)BLOCK);
        if (index->blocks[i].place >> 2 != at)
            return false;
        at += n << (index->blocks[i].place & 3);
    }
    return at == index->distances_n;
}

static bool is_ascending(const struct cw_line_index *index)
{
    uint64_t last = 0;
    for (uint64_t k = 0; k < index->n; k++) {
        const uint64_t at = cw_line_index_at(index, k);
        if (at < last || at > index->end)
            return false;
        last = at;
    }
    return true;
}

static int take_arrays(struct cw_line_index *index, const uint8_t *p)
{
    index->blocks = cw_mem_try(index->blocks_n * sizeof(*index->blocks) + 1);
    index->distances = cw_mem_try(index->distances_n + 1);
    if (!index->blocks || !index->distances)
        return CW_E_NOMEM;
    index->blocks_cap = index->blocks_n;
    index->distances_cap = index->distances_n;
    for (size_t i = 0; i < index->blocks_n; i++) {
        index->blocks[i].first = take_u64(&p);
        index->blocks[i].place = take_u64(&p);
    }
    memcpy(index->distances, p, index->distances_n);
    return 0;
}

struct cw_line_index *cw_line_index_unpack(const void *bytes, size_t n, uint64_t size)
{
    const uint8_t *p = bytes;
    enum { HEAD = 3 * sizeof(uint64_t), A_BLOCK = 2 * sizeof(uint64_t) };
    if (n < HEAD)
        return NULL;
    struct cw_line_index *index = cw_line_index_new();
    index->n = take_u64(&p);
    index->end = take_u64(&p);
    index->distances_n = take_u64(&p);
    const uint64_t blocks = index->n / BLOCK + (index->n % BLOCK ? 1 : 0);
    index->blocks_n = (size_t)blocks;
    bool fits = index->end <= size && blocks <= (n - HEAD) / A_BLOCK &&
                index->distances_n == n - HEAD - blocks * A_BLOCK;
    if (fits && take_arrays(index, p) == 0 && places_fit(index) && is_ascending(index))
        return index;
    cw_line_index_free(index);
    return NULL;
}
