/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/bpe.h"

#include <string.h>

#include "base/mem.h"
#include "ops/text/bpe_long.h"

/* Up to this many symbols the least rank is found by looking at all of them. */
#define SHORT_MAX 40
#define NO_RANK UINT32_MAX

static void set_slots(struct cw_bpe *bpe, int bits)
{
    bpe->slots_n = (size_t)1 << bits;
    bpe->shift = 64 - bits;
    bpe->pairs = CW_NEW_ARRAY(struct cw_bpe_pair, bpe->slots_n);
    for (size_t i = 0; i < bpe->slots_n; i++)
        bpe->pairs[i].key = CW_BPE_NO_PAIR;
}

void cw_bpe_init(struct cw_bpe *bpe)
{
    *bpe = (struct cw_bpe){.unk = -1};
    memset(bpe->of_byte, 0xff, sizeof(bpe->of_byte));
    set_slots(bpe, 10);
}

void cw_bpe_fini(struct cw_bpe *bpe)
{
    cw_mem_free(bpe->pairs);
    cw_vocab_fini(&bpe->words);
    *bpe = (struct cw_bpe){0};
}

static void grow(struct cw_bpe *bpe)
{
    struct cw_bpe_pair *old = bpe->pairs;
    const size_t old_n = bpe->slots_n;
    set_slots(bpe, 64 - bpe->shift + 1);
    bpe->pairs_n = 0;
    for (size_t i = 0; i < old_n; i++)
        if (old[i].key != CW_BPE_NO_PAIR)
            cw_bpe_add(bpe, (int32_t)(old[i].key >> 32), (int32_t)(uint32_t)old[i].key, old[i].rank,
                       old[i].id);
    cw_mem_free(old);
}

void cw_bpe_add(struct cw_bpe *bpe, int32_t left, int32_t right, uint32_t rank, int32_t id)
{
    const struct cw_bpe_pair *known = cw_bpe_pair(bpe, left, right);
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    if (known) {
        bpe->pairs[known - bpe->pairs] = (struct cw_bpe_pair){key, rank, id};
        return;
    }
    if (2 * (bpe->pairs_n + 1) > bpe->slots_n)
        grow(bpe);
    size_t i = (size_t)((key * 0x9e3779b97f4a7c15u) >> bpe->shift);
    while (bpe->pairs[i].key != CW_BPE_NO_PAIR)
        i = (i + 1) & (bpe->slots_n - 1);
    bpe->pairs[i] = (struct cw_bpe_pair){key, rank, id};
    bpe->pairs_n++;
}

/* Writes the tokens of the single bytes. Returns their number. */
static size_t split_bytes(const struct cw_bpe *bpe, const uint8_t *p, size_t n, int32_t *ids)
{
    size_t ids_n = 0;
    bool in_unk = false;
    for (size_t i = 0; i < n; i++) {
        const int32_t id = bpe->of_byte[p[i]];
        const bool is_unk = id < 0;
        if (!is_unk)
            ids[ids_n++] = id;
        else if (bpe->unk >= 0 && !(in_unk && bpe->fuse_unk))
            ids[ids_n++] = bpe->unk;
        in_unk = is_unk;
    }
    return ids_n;
}

struct symbols {
    size_t n;
    int32_t *ids;
    uint32_t ranks[SHORT_MAX]; /* of symbol i and the next one; the last is NO_RANK */
    int32_t merged[SHORT_MAX];
};

static inline void rank_pair(const struct cw_bpe *bpe, struct symbols *s, size_t i)
{
    const struct cw_bpe_pair *pair =
        i + 1 < s->n ? cw_bpe_pair(bpe, s->ids[i], s->ids[i + 1]) : NULL;
    s->ranks[i] = pair ? pair->rank : NO_RANK;
    s->merged[i] = pair ? pair->id : -1;
}

static void merge_at(const struct cw_bpe *bpe, struct symbols *s, size_t i)
{
    s->ids[i] = s->merged[i];
    const size_t rest = s->n - i - 2;
    memmove(s->ids + i + 1, s->ids + i + 2, rest * sizeof(s->ids[0]));
    memmove(s->ranks + i + 1, s->ranks + i + 2, rest * sizeof(s->ranks[0]));
    memmove(s->merged + i + 1, s->merged + i + 2, rest * sizeof(s->merged[0]));
    s->n--;
    rank_pair(bpe, s, i);
    if (i > 0)
        rank_pair(bpe, s, i - 1);
}

static size_t merge_short(const struct cw_bpe *bpe, int32_t *ids, size_t n)
{
    struct symbols s = {.n = n, .ids = ids};
    for (size_t i = 0; i < n; i++)
        rank_pair(bpe, &s, i);
    while (s.n > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < s.n; i++)
            if (s.ranks[i] < s.ranks[best])
                best = i;
        if (s.merged[best] < 0)
            break;
        merge_at(bpe, &s, best);
    }
    return s.n;
}

int64_t cw_bpe_word(const struct cw_bpe *bpe, struct cw_bpe_scratch *scratch, const uint8_t *p,
                    size_t n, int32_t *out, struct cw_err *err)
{
    if (bpe->whole_words) {
        const int32_t whole = cw_vocab_find(&bpe->words, p, n);
        if (whole >= 0) {
            out[0] = whole;
            return 1;
        }
    }
    const size_t ids_n = split_bytes(bpe, p, n, out);
    if (ids_n <= SHORT_MAX)
        return (int64_t)merge_short(bpe, out, ids_n);
    return cw_bpe_merge_long(bpe, scratch, out, ids_n, err);
}
