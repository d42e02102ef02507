/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/group/pack_plan.h"

/* The most pieces of an item; more values than that are no rows of an item. */
#define PIECES_MAX ((uint64_t)1 << 28)

/* Returns how much of a sequence is packed. */
static int64_t used(const struct cw_pack_plan *plan, int64_t length)
{
    bool ends = plan->mode == CW_PACK_FIRST_FIT && plan->longer != CW_PACK_CUT;
    return ends ? CW_MIN(length, plan->length) : length;
}

/* Returns the most pieces that there can be: a cut in each sequence, and one at each end of a row. */
static uint64_t most_pieces(const struct cw_pack_plan *plan, const int64_t *lengths, size_t n)
{
    uint64_t pieces = 0;
    for (size_t i = 0; i < n; i++)
        pieces += 2 + (uint64_t)(used(plan, lengths[i]) / plan->length);
    return pieces;
}

static void put(struct cw_pack_plan *plan, size_t bin, size_t row, int64_t begin, int64_t n)
{
    struct cw_pack_bin *to = &plan->bins[bin];
    uint32_t piece = (uint32_t)plan->pieces_n++;
    plan->pieces[piece] =
        (struct cw_pack_piece){.row = (uint32_t)row, .next = CW_PACK_END, .begin = begin, .n = n};
    if (bin == plan->bins_n) {
        *to = (struct cw_pack_bin){.first = piece};
        plan->bins_n++;
    } else {
        plan->pieces[to->last].next = piece;
    }
    to->last = piece;
    to->used += n;
}

static void plan_stream(struct cw_pack_plan *plan, const int64_t *lengths, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (int64_t at = 0, part; at < lengths[i]; at += part) {
            bool full = plan->bins_n == 0 || plan->bins[plan->bins_n - 1].used == plan->length;
            size_t bin = full ? plan->bins_n : plan->bins_n - 1;
            int64_t room = full ? plan->length : plan->length - plan->bins[bin].used;
            part = CW_MIN(room, lengths[i] - at);
            put(plan, bin, i, at, part);
        }
    }
    if (plan->drop_rest && plan->bins_n > 0 && plan->bins[plan->bins_n - 1].used < plan->length)
        plan->bins_n--;
}

/* Returns the most bins that first fit can fill. What begins a bin had no room in the one before it, so two that
 * follow each other have more than one row holds. */
static uint64_t most_bins(const struct cw_pack_plan *plan, const int64_t *lengths, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += (uint64_t)used(plan, lengths[i]);
    return 2 * (all / (uint64_t)plan->length) + 2;
}

/* ---- the first bin with room: a tree over all bins, each node with the most room below it ---- */

struct room {
    int64_t *most; /* node k has the children 2 k and 2 k + 1; leaves begin at `leaves` */
    size_t leaves;
};

static size_t first_with(const struct room *room, int64_t n)
{
    size_t k = 1;
    while (k < room->leaves)
        k = room->most[2 * k] >= n ? 2 * k : 2 * k + 1;
    return k - room->leaves;
}

static void take(struct room *room, size_t bin, int64_t n)
{
    size_t k = room->leaves + bin;
    room->most[k] -= n;
    for (k /= 2; k > 0; k /= 2)
        room->most[k] = CW_MAX(room->most[2 * k], room->most[2 * k + 1]);
}

static int plan_first_fit(struct cw_pack_plan *plan, const struct cw_op_ctx *ctx, size_t bins,
                          const int64_t *lengths, size_t n, struct cw_err *err)
{
    struct room room = {.leaves = 1};
    while (room.leaves < bins)
        room.leaves *= 2;
    room.most = cw_op_scratch(ctx, 2 * room.leaves * sizeof(*room.most), err);
    if (!room.most)
        return CW_E_NOMEM;
    for (size_t k = 0; k < 2 * room.leaves; k++)
        room.most[k] = plan->length;
    for (size_t i = 0; i < n; i++) {
        int64_t all = used(plan, lengths[i]);
        for (int64_t at = 0, part; at < all; at += part) {
            part = CW_MIN(plan->length, all - at);
            size_t bin = first_with(&room, part);
            put(plan, bin, i, at, part);
            take(&room, bin, part);
        }
    }
    return 0;
}

int cw_pack_plan(struct cw_pack_plan *plan, const struct cw_op_ctx *ctx, const int64_t *lengths,
                 size_t n, struct cw_err *err)
{
    uint64_t most = most_pieces(plan, lengths, n);
    if (most > PIECES_MAX)
        return cw_err_set(err, CW_E_LIMIT,
                          "an item would be cut into %llu pieces; give it fewer elements (option "
                          "span)",
                          (unsigned long long)most);
    plan->pieces = cw_op_scratch(ctx, ((size_t)most + 1) * sizeof(*plan->pieces), err);
    plan->bins =
        plan->pieces ? cw_op_scratch(ctx, ((size_t)most + 1) * sizeof(*plan->bins), err) : NULL;
    if (!plan->bins)
        return CW_E_NOMEM;
    if (plan->mode == CW_PACK_STREAM) {
        plan_stream(plan, lengths, n);
        return 0;
    }
    const uint64_t bins = CW_MIN(most, most_bins(plan, lengths, n));
    return plan_first_fit(plan, ctx, (size_t)bins, lengths, n, err);
}
