/* SPDX-License-Identifier: Apache-2.0 */
/* Index operator `interleave`: blocks of its inputs in turn, of all of them or of some at a time. */
#include "ops/index/choose.h"

struct interleave_opts {
    int64_t block, cycle;
};

static const struct cw_opt options[] = {
    {.name = "block",
     .help = "how many elements of an input come in a row",
     .type = CW_OPT_I64,
     .offset = offsetof(struct interleave_opts, block),
     .def = "1",
     .min = 1,
     .max = 0x1p40},
    {.name = "cycle",
     .help =
         "how many inputs are read in turn; the next one takes the place of one that has ended. "
         "0 = all",
     .type = CW_OPT_I64,
     .offset = offsetof(struct interleave_opts, cycle),
     .def = "0",
     .min = 0,
     .max = CW_CHOOSE_INPUTS_MAX,
     .flags = CW_OPT_NEWER},
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
static int64_t map_all(const struct cw_at *at, int64_t block, int64_t pos, size_t *ret_input)
{
    struct phase phase = {.rounds = 0};
    for (;;) {
        look(at, block, &phase);
        int64_t fit = pos / block / phase.inputs; /* whole rounds before the position */
        int64_t rounds = CW_MIN(fit, phase.full);
        pos -= rounds * phase.inputs * block;
        phase.rounds += rounds;
        int64_t there = in_round(at, block, phase.rounds, &pos, ret_input);
        if (there >= 0)
            return there;
        phase.rounds++;
    }
}

/* ---- some inputs at a time ---- */

/* A place that inputs take one after another. */
struct place {
    int64_t free;  /* the first round in which it is free */
    int64_t place; /* places have their turns in this order */
};
/* Which input has which place in which rounds. It follows from the numbers of elements alone. */
struct turns {
    size_t n;       /* inputs */
    int64_t rounds; /* of all */
    int64_t begin[CW_CHOOSE_INPUTS_MAX];
    uint16_t place[CW_CHOOSE_INPUTS_MAX];
};

static bool is_before(const struct place *a, const struct place *b)
{
    return a->free < b->free || (a->free == b->free && a->place < b->place);
}

/* Puts the root of a heap to where it belongs. */
static void sift(struct place *heap, size_t n)
{
    const struct place moved = heap[0];
    size_t at = 0;
    for (size_t child = 1; child < n; child = 2 * at + 1) {
        child += child + 1 < n && is_before(&heap[child + 1], &heap[child]);
        if (!is_before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static int64_t rounds_of(int64_t n, int64_t block)
{
    return n / block + (n % block ? 1 : 0);
}

/* Gives each input the place that is free first. */
static void find_turns(const struct cw_at *at, const struct interleave_opts *o, struct turns *turns)
{
    struct place heap[CW_CHOOSE_INPUTS_MAX];
    int64_t sum = 0;
    turns->n = 0;
    turns->rounds = 0;
    for (int64_t i = 0; i < o->cycle; i++)
        heap[i] = (struct place){.free = 0, .place = i};
    for (; sum < at->n; turns->n++) {
        const int64_t n = at->in_n[turns->n];
        turns->begin[turns->n] = heap[0].free;
        turns->place[turns->n] = (uint16_t)heap[0].place;
        sum += n;
        if (n == 0)
            continue;
        heap[0].free += rounds_of(n, o->block);
        turns->rounds = CW_MAX(turns->rounds, heap[0].free);
        sift(heap, (size_t)o->cycle);
    }
}

/* Returns how many elements of an input come before a round. */
static int64_t before_round(const struct cw_at *at, const struct turns *turns, size_t i,
                            int64_t block, int64_t round)
{
    const int64_t n = at->in_n[i], turn = CW_MAX(round - turns->begin[i], 0);
    return turn >= rounds_of(n, block) ? n : turn * block;
}

static int64_t all_before_round(const struct cw_at *at, const struct turns *turns, int64_t block,
                                int64_t round)
{
    int64_t sum = 0;
    for (size_t i = 0; i < turns->n; i++)
        sum += before_round(at, turns, i, block, round);
    return sum;
}

/* Finds the round of a position, and in it the turn. */
static int64_t map_some(const struct cw_at *at, const struct interleave_opts *o, int64_t pos,
                        size_t *ret_input)
{
    struct turns turns;
    uint16_t whose[CW_CHOOSE_INPUTS_MAX] = {0}; /* of each place: an input, plus 1 */
    find_turns(at, o, &turns);
    int64_t lo = 0, hi = turns.rounds - 1;
    while (lo < hi) {
        const int64_t mid = hi - (hi - lo) / 2;
        if (all_before_round(at, &turns, o->block, mid) <= pos)
            lo = mid;
        else
            hi = mid - 1;
    }
    pos -= all_before_round(at, &turns, o->block, lo);
    for (size_t i = 0; i < turns.n; i++)
        if (lo >= turns.begin[i] && before_round(at, &turns, i, o->block, lo) < at->in_n[i])
            whose[turns.place[i]] = (uint16_t)(i + 1);
    for (int64_t k = 0; k < o->cycle; k++) {
        if (!whose[k])
            continue;
        const size_t i = (size_t)whose[k] - 1;
        const int64_t there = before_round(at, &turns, i, o->block, lo);
        const int64_t n = CW_MIN(at->in_n[i] - there, o->block);
        if (pos < n) {
            *ret_input = i;
            return there + pos;
        }
        pos -= n;
    }
    return -1; /* never: the position is in this round */
}

static int64_t map(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input)
{
    const struct interleave_opts *o = opts;
    (void)state;
    return o->cycle > 0 ? map_some(at, o, pos, ret_input) : map_all(at, o->block, pos, ret_input);
}

const struct cw_op cw_op_interleave = {
    .name = "interleave",
    .version = 1,
    .summary = "blocks of several inputs in turn",
    .doc =
        "Gives `block` elements of the first input, then of the second, and so on, and begins "
        "again. An input that has no elements\n"
        "left is passed over; it ends with the last one. With `cycle` only so many inputs have "
        "turns; when one has\n"
        "ended, its next turn is that of the next input, in the order of `inputs`.\n" CW_CHOOSE_DOC,
    .kind = CW_OP_INDEX,
    .inputs_min = 2,
    .inputs_max = CW_CHOOSE_INPUTS_MAX,
    .options = options,
    .options_bytes = sizeof(struct interleave_opts),
    .infer = cw_choose_infer,
    .count = count,
    .map = map,
};
