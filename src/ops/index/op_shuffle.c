/* SPDX-License-Identifier: Apache-2.0 */
/* Index operator `shuffle`: permutes the positions. Each position is computed by itself (cw_perm in
 * base/rng.h), as a function of seed, epoch, repetition and operator. With `window`, neighbours in
 * the input stay near each other: blocks of neighbouring records are permuted, and then the records
 * inside of windows of some blocks, so that reading stays mostly sequential. With `blocks`, these are
 * the blocks of the source (block_order.h), so that each is read about once. */
#include "ops/op_util.h"

#include <string.h>

#include "base/hash.h"
#include "ops/index/block_order.h"

struct shuffle_opts {
    int64_t seed, window;
    bool blocks;
};

/* Number of blocks in a window: enough that a window mixes records from many places of the
 * source. */
enum { BLOCKS_OF_WINDOW = 16 };
/* Distinguish the keys of the several permutations of one operator. */
enum { KEY_BLOCKS = 1, KEY_OFFSET = 2, KEY_WINDOW = 3 };

#define OFFSET(member) offsetof(struct shuffle_opts, member)
static const struct cw_opt options[] = {
    {.name = "seed",
     .help = "mixed into the job's seed; 0 = only the job's",
     .type = CW_OPT_I64,
     .offset = OFFSET(seed),
     .def = "0"},
    {.name = "window",
     .help = "elements that are mixed at a time; 0 = all of them",
     .type = CW_OPT_I64,
     .offset = OFFSET(window),
     .def = "0",
     .min = 0,
     .max = 0x1p40},
    {.name = "blocks",
     .help = "whole blocks of the source are mixed: `window` elements at least at a time; 0 = 16 "
             "blocks",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(blocks),
     .def = "false",
     .flags = CW_OPT_NEWER},
    {0},
};

static bool by_blocks(const void *opts)
{
    return ((const struct shuffle_opts *)opts)->blocks;
}

static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct shuffle_opts *o = opts;
    struct cw_blocks blocks = {0};
    if (!o->blocks)
        return 0;
    if (!how->manifest && !how->blocks)
        return cw_err_set(err, CW_E_UNSUPPORTED, "option blocks: where they begin is not known");
    if (how->manifest) {
        int rc = cw_blocks_read(how->manifest, &blocks, err);
        if (rc < 0)
            return rc;
    } else {
        blocks = *how->blocks;
        *how->blocks = (struct cw_blocks){0};
    }
    *ret_state = cw_block_orders_new(&blocks, o->window);
    return 0;
}

static void free_state(void *state)
{
    cw_block_orders_free(state);
}

static void manifest(const void *opts, void *state, struct cw_value *ret_value)
{
    (void)opts;
    cw_value_set_object(ret_value);
    cw_blocks_write(cw_block_orders_blocks(state), ret_value);
}

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    const struct shuffle_opts *o = opts;
    (void)inputs_n;
    if (o->blocks && cw_block_orders_blocks(state)->end != in_n[0])
        return cw_err_set(err, CW_E_INVALID, "the blocks have %lld elements, and %lld come in",
                          (long long)cw_block_orders_blocks(state)->end, (long long)in_n[0]);
    *ret_n = in_n[0];
    return 0;
}

/* Returns where the ring of all records begins in this epoch and repetition. The place is random,
 * so the bounds of blocks differ each time, and so do the records that are left over because they
 * fill no block. */
static uint64_t ring_offset(const struct cw_at *at, uint64_t seed, uint64_t n)
{
    struct cw_rng rng;
    cw_rng_init(&rng, seed, at->tag, at->epoch, at->rep, KEY_OFFSET);
    return cw_rng_below(&rng, 0, n);
}

/* The windows of a pass over the data. */
struct windows {
    const struct cw_at *at;
    uint64_t seed, n;
    uint64_t window, block, blocks; /* elements of a window and of a block; whole blocks */
    uint64_t offset;                /* where the ring begins */
};

static struct windows windows_of(const struct cw_at *at, uint64_t seed, uint64_t window)
{
    const uint64_t n = (uint64_t)at->n, block = CW_MAX(window / BLOCKS_OF_WINDOW, 1);
    return (struct windows){.at = at,
                            .seed = seed,
                            .n = n,
                            .window = window,
                            .block = block,
                            .blocks = n / block,
                            .offset = ring_offset(at, seed, n)};
}

/* Blocks that a window may have a part of: below two windows' worth of them, since a block is at least half of
 * a sixteenth, and one that begins in the window before. */
enum { BLOCKS_MAX = 2 * BLOCKS_OF_WINDOW + 1 };

/* Maps positions of one window, whose places in it are permuted already. */
static void place_blocks(const struct windows *w, uint64_t begin, int64_t *pos, size_t n)
{
    const uint64_t first = begin / w->block, past = w->blocks * w->block, wraps = w->n - w->offset;
    uint64_t begins[BLOCKS_MAX]; /* where the blocks are; UINT64_MAX: not known yet */
    struct cw_perm perm;
    memset(begins, 0xff, sizeof(begins));
    cw_perm_init(&perm, w->blocks, w->seed, w->at->tag + cw_mix64(KEY_BLOCKS), w->at->epoch,
                 w->at->rep);
    for (size_t i = 0; i < n; i++) {
        uint64_t q = begin + (uint64_t)pos[i];
        if (q < past) {
            const uint64_t block = q / w->block;
            uint64_t *place = &begins[block - first];
            if (*place == UINT64_MAX)
                *place = cw_perm_at(&perm, block) * w->block;
            q = *place + (q - block * w->block);
        }
        pos[i] = (int64_t)(q < wraps ? q + w->offset : q - wraps);
    }
}

/* Maps positions that lie in the window of the first of them, and returns how many these are. */
static size_t map_window(const struct windows *w, int64_t *pos, size_t n)
{
    const uint64_t begin = (uint64_t)pos[0] / w->window * w->window,
                   length = CW_MIN(w->window, w->n - begin);
    struct cw_perm perm;
    size_t mine = 0;
    for (; mine < n && (uint64_t)pos[mine] - begin < length; mine++)
        pos[mine] -= (int64_t)begin;
    cw_perm_init(&perm, length, w->seed, w->at->tag + cw_mix64(KEY_WINDOW + begin), w->at->epoch,
                 w->at->rep);
    cw_perm_run(&perm, (uint64_t *)pos, mine);
    place_blocks(w, begin, pos, mine);
    return mine;
}

static void map_windows(const struct cw_at *at, uint64_t seed, uint64_t window, int64_t *pos,
                        size_t n)
{
    const struct windows w = windows_of(at, seed, window);
    for (size_t i = 0; i < n;)
        i += map_window(&w, pos + i, n - i);
}

static uint64_t own_seed(const struct shuffle_opts *o, const struct cw_at *at)
{
    return o->seed ? at->seed ^ cw_mix64((uint64_t)o->seed + 0x9e3779b97f4a7c15u) : at->seed;
}

static int64_t map(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input)
{
    const struct shuffle_opts *o = opts;
    const uint64_t seed = own_seed(o, at);
    (void)ret_input;
    if (o->blocks) {
        cw_block_orders_map(state, at, seed, &pos, 1);
        return pos;
    }
    if (o->window > 0 && o->window < at->n) {
        map_windows(at, seed, (uint64_t)o->window, &pos, 1);
        return pos;
    }
    struct cw_perm perm;
    cw_perm_init(&perm, (uint64_t)at->n, seed, at->tag, at->epoch, at->rep);
    return (int64_t)cw_perm_at(&perm, (uint64_t)pos);
}

static void map_run(const void *opts, void *state, const struct cw_at *at, int64_t *pos, size_t n)
{
    const struct shuffle_opts *o = opts;
    uint64_t seed = own_seed(o, at);
    if (o->blocks) {
        cw_block_orders_map(state, at, seed, pos, n);
        return;
    }
    if (o->window > 0 && o->window < at->n) {
        map_windows(at, seed, (uint64_t)o->window, pos, n);
        return;
    }
    struct cw_perm perm;
    cw_perm_init(&perm, (uint64_t)at->n, seed, at->tag, at->epoch, at->rep);
    cw_perm_run(&perm, (uint64_t *)pos, n);
}

const struct cw_op cw_op_shuffle = {
    .name = "shuffle",
    .version = 1,
    .summary = "another order each epoch",
    .doc = "Permutes the elements. The order is a function of the job's seed and the epoch, "
           "uniform over the\n"
           "whole input, and needs no memory: there is no buffer to fill. Nothing is drawn from "
           "elements' streams.\n"
           "\n"
           "With `window`, blocks of a sixteenth of a window of neighbouring elements are "
           "permuted, then the\n"
           "elements inside each window of sixteen blocks. Use it when the storage is slow at "
           "random reads.\n"
           "\n"
           "With `blocks`, blocks are those in which the source's elements lie: row groups, record "
           "batches, what lies\n"
           "between two points of entry of a .gz or .zst, frames of chunks, files. They are "
           "permuted, and then the elements inside\n"
           "windows of several whole blocks: as many as have `window` elements, or sixteen. So "
           "each is read, inflated or\n"
           "decoded about once an epoch, if the blocks of a window fit into the source's memory "
           "(docs/formats.md, \"Shuffled\n"
           "by blocks\"). Between source and shuffle may stand what keeps the order: element "
           "operators, take, skip, shard, step,\n"
           "concatenate, enumerate, repeat_each, zip (by the blocks of its first input), a "
           "surveyed filter.",
    .kind = CW_OP_INDEX,
    .traits = CW_OP_RANDOM | CW_OP_PERMUTES,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct shuffle_opts),
    .infer = cw_op_infer_same,
    .by_blocks = by_blocks,
    .open = open_state,
    .close = free_state,
    .manifest = manifest,
    .count = count,
    .map = map,
    .map_run = map_run,
};
