/* SPDX-License-Identifier: Apache-2.0 */
/* Index operator `mix`: elements of its inputs in given proportions. Which input position p is from
 * follows from p alone: a period of slots is laid out once, each input's slots as evenly as the others let
 * them be (the slot goes to the input that is farthest behind its share), and position p is slot
 * p mod P of period p / P. */
#include "ops/index/choose.h"

#include <math.h>

#include "base/mem.h"

/* The most slots of a period: whole weights have their exact proportions up to this sum, others are rounded to
 * multiples of 1 / SLOTS_ROUNDED. */
enum { SLOTS_MAX = 65536, SLOTS_ROUNDED = 10000 };
enum { FIRST, LAST };
static const char *const stop_words[] = {"first", "last", NULL};

struct mix_opts {
    struct cw_f64_list weights;
    int stop; /* index into stop_words */
};

struct slot {
    uint32_t input;
    uint32_t before; /* slots of the same input before it in the period */
};
struct mix_state {
    uint32_t n;          /* slots of a period */
    struct slot *slots;  /* n of them */
    uint32_t *share;     /* for each input: its slots in a period */
    uint32_t **slots_of; /* for each input: which slots these are */
    size_t inputs_n;
};

#define OFFSET(member) offsetof(struct mix_opts, member)
static const struct cw_opt options[] = {
    {.name = "weights",
     .help = "one for each input: in which proportion its elements come",
     .type = CW_OPT_F64_LIST,
     .offset = OFFSET(weights),
     .min = 0x1p-20,
     .max = 0x1p30,
     .flags = CW_OPT_REQUIRED,
     .len_min = 2,
     .len_max = CW_CHOOSE_INPUTS_MAX},
    {.name = "stop",
     .help =
         "where it ends: with the first input that has no elements left, or with the last one (the "
         "others are repeated)",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(stop),
     .def = "\"first\"",
     .names = stop_words},
    {0},
};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct mix_opts *o = opts;
    if (o->weights.n != in_n)
        return cw_err_set(err, CW_E_INVALID, "option weights: %zu of them for %zu inputs",
                          o->weights.n, in_n);
    return cw_choose_infer(opts, in, in_n, ret_spec, err);
}

/* ---- the period ---- */

static bool are_whole(const struct cw_f64_list *weights)
{
    double sum = 0;
    for (size_t i = 0; i < weights->n; i++) {
        if (weights->v[i] != floor(weights->v[i]))
            return false;
        sum += weights->v[i];
    }
    return sum <= SLOTS_MAX;
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void share_whole(const struct cw_f64_list *weights, uint32_t *share)
{
    uint32_t all = 0;
    for (size_t i = 0; i < weights->n; i++)
        all = gcd((uint32_t)weights->v[i], all);
    for (size_t i = 0; i < weights->n; i++)
        share[i] = (uint32_t)weights->v[i] / all;
}

/* Every input has a slot, however small its weight is. */
static void share_rounded(const struct cw_f64_list *weights, uint32_t *share)
{
    double sum = 0;
    for (size_t i = 0; i < weights->n; i++)
        sum += weights->v[i];
    for (size_t i = 0; i < weights->n; i++) {
        double slots = weights->v[i] / sum * SLOTS_ROUNDED + 0.5;
        share[i] = slots < 1 ? 1 : (uint32_t)slots;
    }
}

/* Returns the input that is farthest behind its share of the first `done` + 1 slots. */
static size_t farthest_behind(const struct mix_state *s, const uint32_t *has, uint32_t done)
{
    size_t best = 0;
    int64_t most = INT64_MIN;
    for (size_t i = 0; i < s->inputs_n; i++) {
        int64_t behind = (int64_t)s->share[i] * (done + 1) - (int64_t)has[i] * s->n;
        if (has[i] < s->share[i] && behind > most) {
            most = behind;
            best = i;
        }
    }
    return best;
}

static void lay_out(struct mix_state *s)
{
    cw_autofree uint32_t *has = CW_NEW_ARRAY(uint32_t, s->inputs_n);
    for (size_t i = 0; i < s->inputs_n; i++)
        s->n += s->share[i];
    s->slots = CW_NEW_ARRAY(struct slot, s->n);
    s->slots_of = CW_NEW_ARRAY(uint32_t *, s->inputs_n);
    for (size_t i = 0; i < s->inputs_n; i++)
        s->slots_of[i] = CW_NEW_ARRAY(uint32_t, s->share[i]);
    for (uint32_t k = 0; k < s->n; k++) {
        size_t i = farthest_behind(s, has, k);
        s->slots_of[i][has[i]] = k;
        s->slots[k] = (struct slot){.input = (uint32_t)i, .before = has[i]++};
    }
}

static void free_state(void *state)
{
    struct mix_state *s = state;
    for (size_t i = 0; i < s->inputs_n; i++)
        cw_mem_free(s->slots_of[i]);
    cw_mem_free(s->slots_of);
    cw_mem_free(s->slots);
    cw_mem_free(s->share);
    cw_mem_free(s);
}

static int make_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct mix_opts *o = opts;
    struct mix_state *s = CW_NEW(struct mix_state);
    (void)how;
    (void)err;
    s->inputs_n = o->weights.n;
    s->share = CW_NEW_ARRAY(uint32_t, s->inputs_n);
    if (are_whole(&o->weights))
        share_whole(&o->weights, s->share);
    else
        share_rounded(&o->weights, s->share);
    lay_out(s);
    *ret_state = s;
    return 0;
}

/* ---- positions ---- */

/* Returns the position at which element k of an input comes; -1 if that is beyond 2^63 - 1. */
static int64_t place_of(const struct mix_state *s, size_t input, int64_t k)
{
    int64_t place;
    if (__builtin_mul_overflow(k / s->share[input], (int64_t)s->n, &place) ||
        __builtin_add_overflow(place, (int64_t)s->slots_of[input][k % s->share[input]], &place))
        return -1;
    return place;
}

/* With `first`: the first position at which an input has nothing left. With `last`: the one behind
 * the last element of the input that ends last. */
static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    const struct mix_opts *o = opts;
    int64_t n = o->stop == FIRST ? INT64_MAX : 0;
    for (size_t i = 0; i < inputs_n; i++) {
        if (o->stop == LAST && in_n[i] == 0)
            return cw_err_set(err, CW_E_INVALID,
                              "input %zu has no elements, and cannot be repeated (option stop)",
                              i + 1);
        int64_t place = place_of(state, i, o->stop == FIRST ? in_n[i] : in_n[i] - 1);
        if (place < 0 && o->stop == LAST)
            return cw_err_set(err, CW_E_LIMIT, "it would have more than 2^63 - 1 elements");
        if (o->stop == LAST)
            n = CW_MAX(n, place + 1);
        else if (place >= 0)
            n = CW_MIN(n, place);
    }
    *ret_n = n;
    return 0;
}

static int64_t map(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input)
{
    const struct mix_opts *o = opts;
    const struct mix_state *s = state;
    const struct slot *slot = &s->slots[pos % s->n];
    int64_t there = pos / s->n * s->share[slot->input] + slot->before;
    *ret_input = slot->input;
    if (o->stop == FIRST)
        return there;
    int64_t n = at->in_n[slot->input];
    /* Each combination of repetitions has a number of its own. */
    at->rep = at->rep * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)(there / n);
    return there % n;
}

const struct cw_op cw_op_mix = {
    .name = "mix",
    .version = 1,
    .summary = "elements of several inputs in given proportions",
    .doc =
        "Gives elements of its inputs in the proportions of `weights`, each input's in its order "
        "and as evenly spread as the\n"
        "others let them be; put a `shuffle` before it, or one with a `window` behind it. Whole "
        "weights with a sum of 65,536 at\n"
        "most are met exactly, others to 1/10,000 of all. With stop = last the inputs that end "
        "earlier begin again, and random\n"
        "operators and shuffles before it draw anew each time.\n" CW_CHOOSE_DOC,
    .kind = CW_OP_INDEX,
    .inputs_min = 2,
    .inputs_max = CW_CHOOSE_INPUTS_MAX,
    .options = options,
    .options_bytes = sizeof(struct mix_opts),
    .infer = infer,
    .open = make_state,
    .close = free_state,
    .count = count,
    .map = map,
};
