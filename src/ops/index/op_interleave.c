/* SPDX-License-Identifier: Apache-2.0 */
/* Index operator `interleave`: blocks of its inputs in turn. */
#include "ops/index/choose.h"

struct interleave_opts {
    int64_t block;
};

static const struct cw_opt options[] = {
    {.name = "block",
     .help = "how many elements of an input come in a row",
     .type = CW_OPT_I64,
     .offset = offsetof(struct interleave_opts, block),
     .def = "1",
     .min = 1,
     .max = 0x1p40},
    {0},
};

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    int64_t n = 0;
    (void)opts;
    (void)state;
    for (size_t i = 0; i < inputs_n; i++)
        if (__builtin_add_overflow(n, in_n[i], &n))
            return cw_err_set(err, CW_E_LIMIT, "the inputs have more than 2^63 - 1 elements");
    *ret_n = n;
    return 0;
}

/* The inputs that have elements left after `rounds` rounds, and the fewest rounds that one of these can
 * still fill. An input with elements left fills less than a block in its last round. */
struct phase {
    int64_t rounds;
    int64_t inputs;
    int64_t full;
};

static int64_t left(const struct cw_at *at, size_t input, int64_t block, int64_t rounds)
{
    return rounds > at->in_n[input] / block ? 0 : at->in_n[input] - rounds * block;
}

/* The inputs end where those before have none left: `n` adds up to at->n. */
static void look(const struct cw_at *at, int64_t block, struct phase *phase)
{
    int64_t sum = 0;
    phase->inputs = 0;
    phase->full = INT64_MAX;
    for (size_t i = 0; sum < at->n; i++) {
        int64_t n = left(at, i, block, phase->rounds);
        sum += at->in_n[i];
        if (n == 0)
            continue;
        phase->inputs++;
        phase->full = CW_MIN(phase->full, n / block);
    }
}

/* Finds a position in the round after phase->rounds, in which some input may have less than a block. Returns -1, with
 * the position behind the round, if it is not in it. */
static int64_t in_round(const struct cw_at *at, int64_t block, int64_t rounds, int64_t *pos,
                        size_t *ret_input)
{
    int64_t sum = 0;
    for (size_t i = 0; sum < at->n; i++) {
        int64_t n = CW_MIN(left(at, i, block, rounds), block);
        sum += at->in_n[i];
        if (*pos < n) {
            *ret_input = i;
            return rounds * block + *pos;
        }
        *pos -= n;
    }
    return -1;
}

/* Rounds in which all inputs that are left fill their blocks are counted together, so it takes at most two steps
 * for each input. */
static int64_t map(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input)
{
    const struct interleave_opts *o = opts;
    struct phase phase = {.rounds = 0};
    (void)state;
    for (;;) {
        look(at, o->block, &phase);
        int64_t fit = pos / o->block / phase.inputs; /* whole rounds before the position */
        int64_t rounds = CW_MIN(fit, phase.full);
        pos -= rounds * phase.inputs * o->block;
        phase.rounds += rounds;
        int64_t there = in_round(at, o->block, phase.rounds, &pos, ret_input);
        if (there >= 0)
            return there;
        phase.rounds++;
    }
}

const struct cw_op cw_op_interleave = {
    .name = "interleave",
    .version = 1,
    .summary = "blocks of several inputs in turn",
    .doc = "Gives `block` elements of the first input, then of the second, and so on, and begins "
           "again. An input that has no elements\n"
           "left is passed over; it ends with the last one.\n" CW_CHOOSE_DOC,
    .kind = CW_OP_INDEX,
    .inputs_min = 2,
    .inputs_max = CW_CHOOSE_INPUTS_MAX,
    .options = options,
    .options_bytes = sizeof(struct interleave_opts),
    .infer = cw_choose_infer,
    .count = count,
    .map = map,
};
