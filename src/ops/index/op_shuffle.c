/* SPDX-License-Identifier: Apache-2.0 */
/* Index operator `shuffle`: permutes the positions. Each position is computed by itself (cw_perm in
 * base/rng.h), as a function of seed, epoch, repetition and operator. With `window`, neighbours in
 * the input stay near each other: blocks of neighbouring records are permuted, and then the records
 * inside of windows of some blocks, so that reading stays mostly sequential. */
#include "ops/op_util.h"

#include "base/hash.h"

struct shuffle_opts {
    int64_t seed, window;
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
    {0},
};

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    (void)opts;
    (void)state;
    (void)inputs_n;
    (void)err;
    *ret_n = in_n[0];
    return 0;
}

static uint64_t permuted(const struct cw_at *at, uint64_t seed, uint64_t key, uint64_t n,
                         uint64_t i)
{
    struct cw_perm perm;
    cw_perm_init(&perm, n, seed, at->tag + cw_mix64(key), at->epoch, at->rep);
    return cw_perm_at(&perm, i);
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

static uint64_t map_windowed(const struct cw_at *at, uint64_t seed, uint64_t window, uint64_t n,
                             uint64_t pos)
{
    uint64_t block = CW_MAX(window / BLOCKS_OF_WINDOW, 1);
    uint64_t blocks = n / block;
    uint64_t begin = pos / window * window;
    uint64_t length = CW_MIN(window, n - begin);
    uint64_t q = begin + permuted(at, seed, KEY_WINDOW + begin, length, pos - begin);
    if (q < blocks * block)
        q = permuted(at, seed, KEY_BLOCKS, blocks, q / block) * block + q % block;
    uint64_t offset = ring_offset(at, seed, n);
    return q < n - offset ? q + offset : q - (n - offset);
}

static uint64_t own_seed(const struct shuffle_opts *o, const struct cw_at *at)
{
    return o->seed ? at->seed ^ cw_mix64((uint64_t)o->seed + 0x9e3779b97f4a7c15u) : at->seed;
}

static int64_t map(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input)
{
    const struct shuffle_opts *o = opts;
    uint64_t n = (uint64_t)at->n;
    uint64_t seed = own_seed(o, at);
    (void)state;
    (void)ret_input;
    if (o->window > 0 && o->window < at->n)
        return (int64_t)map_windowed(at, seed, (uint64_t)o->window, n, (uint64_t)pos);
    struct cw_perm perm;
    cw_perm_init(&perm, n, seed, at->tag, at->epoch, at->rep);
    return (int64_t)cw_perm_at(&perm, (uint64_t)pos);
}

static void map_run(const void *opts, void *state, const struct cw_at *at, int64_t *pos, size_t n)
{
    const struct shuffle_opts *o = opts;
    uint64_t seed = own_seed(o, at);
    (void)state;
    if (o->window > 0 && o->window < at->n) {
        for (size_t i = 0; i < n; i++)
            pos[i] = (int64_t)map_windowed(at, seed, (uint64_t)o->window, (uint64_t)at->n,
                                           (uint64_t)pos[i]);
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
           "whole input, and needs no memory: there is no buffer to fill.\n"
           "\n"
           "With `window`, blocks of a sixteenth of a window of neighbouring elements are "
           "permuted, then the\n"
           "elements inside each window of sixteen blocks. Use it when the storage is slow at "
           "random reads.",
    .kind = CW_OP_INDEX,
    .traits = CW_OP_RANDOM | CW_OP_PERMUTES,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct shuffle_opts),
    .infer = cw_op_infer_same,
    .count = count,
    .map = map,
    .map_run = map_run,
};
