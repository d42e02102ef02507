/* SPDX-License-Identifier: Apache-2.0 */
/* Index operator `mix`: elements of its inputs in given proportions. Which input position p is from
 * follows from p alone: a period of slots is laid out once, each input's slots as evenly as the others let
 * them be (the slot goes to the input that is farthest behind its share), and position p is slot
 * p mod P of period p / P. Where the proportions change with the position, each phase has a period of its
 * own, which begins with the phase, and notes how many elements of each input come before it. */
#include "ops/index/choose.h"

#include <math.h>

#include "base/mem.h"

/* The most slots of a period: whole weights have their exact proportions up to this sum, others are rounded to
 * multiples of 1 / SLOTS_ROUNDED. And of all periods together. */
enum { SLOTS_MAX = 65536, SLOTS_ROUNDED = 10000, SLOTS_ALL_MAX = 1 << 22 };
enum { PHASES_MAX = 1000 };
enum { FIRST, LAST };
static const char *const stop_words[] = {"first", "last", NULL};
#define WEIGHT_MIN 0x1p-20
#define WEIGHT_MAX 0x1p30

struct mix_opts {
    struct cw_f64_list weights;
    struct cw_value phases; /* null, or a list of objects with `until` and `weights` */
    int stop;               /* index into stop_words */
};

struct slot {
    uint32_t input;
    uint32_t before; /* slots of the same input before it in the period */
};
struct phase {
    int64_t begin;       /* its first position */
    uint32_t n;          /* slots of a period */
    struct slot *slots;  /* n of them */
    uint32_t *share;     /* for each input: its slots in a period */
    uint32_t **slots_of; /* for each input: which slots these are */
    int64_t *before;     /* for each input: how many of its elements come before this phase */
};
struct mix_state {
    size_t inputs_n;
    size_t n; /* phases; the last has no end */
    struct phase *phases;
};

#define OFFSET(member) offsetof(struct mix_opts, member)
static const struct cw_opt options[] = {
    {.name = "weights",
     .help = "one for each input: in which proportion its elements come",
     .type = CW_OPT_F64_LIST,
     .offset = OFFSET(weights),
     .min = WEIGHT_MIN,
     .max = WEIGHT_MAX,
     .flags = CW_OPT_REQUIRED,
     .len_min = 2,
     .len_max = CW_CHOOSE_INPUTS_MAX},
    {.name = "phases",
     .help = "other proportions for the first positions, a list in their order: "
             "[{\"until\": 100000, \"weights\": [9, 1]}, ...] holds for positions before 100,000; "
             "`weights` holds after the last. A weight may be 0 there",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(phases),
     .flags = CW_OPT_NEWER},
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

/* ---- options ---- */

static double number_of(const struct cw_value *v)
{
    return v->type == CW_VALUE_I64 ? (double)v->i : v->type == CW_VALUE_F64 ? v->f : -1;
}

static bool is_weight(double weight)
{
    return weight == 0 || (weight >= WEIGHT_MIN && weight <= WEIGHT_MAX); // NOLINT: 0 as written
}

static bool are_weights(const struct cw_value *weights)
{
    double sum = 0;
    if (!weights || weights->type != CW_VALUE_LIST)
        return false;
    for (size_t i = 0; i < weights->n; i++) {
        const double weight = number_of(&weights->items[i]);
        if (!is_weight(weight))
            return false;
        sum += weight;
    }
    return sum > 0;
}

static int check(const void *opts, struct cw_err *err)
{
    const struct cw_value *phases = &((const struct mix_opts *)opts)->phases;
    int64_t last = 0;
    bool ok = phases->type == CW_VALUE_NULL ||
              (phases->type == CW_VALUE_LIST && phases->n > 0 && phases->n <= PHASES_MAX);
    for (size_t i = 0; ok && phases->type == CW_VALUE_LIST && i < phases->n; i++) {
        const struct cw_value *phase = &phases->items[i];
        const bool is_object = phase->type == CW_VALUE_OBJECT && phase->n == 2;
        const struct cw_value *until = is_object ? cw_value_get(phase, "until") : NULL;
        ok = until && until->type == CW_VALUE_I64 && until->i > last &&
             are_weights(cw_value_get(phase, "weights"));
        last = ok ? until->i : 0;
    }
    return ok ? 0
              : cw_err_set(err, CW_E_INVALID,
                           "option phases: must be a list of at most %d objects "
                           "{\"until\": POSITION, \"weights\": [WEIGHT, ...]}, with positions that "
                           "rise, and weights of 0 or from 2^-20 to 2^30, not all 0",
                           PHASES_MAX);
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct mix_opts *o = opts;
    if (o->weights.n != in_n)
        return cw_err_set(err, CW_E_INVALID, "option weights: %zu of them for %zu inputs",
                          o->weights.n, in_n);
    for (size_t i = 0; i < o->phases.n; i++) {
        const struct cw_value *weights = cw_value_get(&o->phases.items[i], "weights");
        if (weights->n != in_n)
            return cw_err_set(err, CW_E_INVALID,
                              "option phases: phase %zu has %zu weights for %zu inputs", i + 1,
                              weights->n, in_n);
    }
    return cw_choose_infer(opts, in, in_n, ret_spec, err);
}

/* ---- the periods ---- */

static bool are_whole(const double *weights, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (weights[i] != floor(weights[i]))
            return false;
        sum += weights[i];
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

static void share_whole(const double *weights, size_t n, uint32_t *share)
{
    uint32_t all = 0;
    for (size_t i = 0; i < n; i++)
        all = gcd((uint32_t)weights[i], all);
    for (size_t i = 0; i < n; i++)
        share[i] = (uint32_t)weights[i] / all;
}

/* Every input whose weight is not 0 has a slot, however small it is. */
static void share_rounded(const double *weights, size_t n, uint32_t *share)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += weights[i];
    for (size_t i = 0; i < n; i++) {
        double slots = weights[i] / sum * SLOTS_ROUNDED + 0.5;
        share[i] = weights[i] > 0 && slots < 1 ? 1 : (uint32_t)slots;
    }
}

/* Returns the input that is farthest behind its share of the first `done` + 1 slots. */
static size_t farthest_behind(const struct phase *phase, size_t inputs_n, const uint32_t *has,
                              uint32_t done)
{
    size_t best = 0;
    int64_t most = INT64_MIN;
    for (size_t i = 0; i < inputs_n; i++) {
        int64_t behind = (int64_t)phase->share[i] * (done + 1) - (int64_t)has[i] * phase->n;
        if (has[i] < phase->share[i] && behind > most) {
            most = behind;
            best = i;
        }
    }
    return best;
}

static void lay_out(struct phase *phase, size_t inputs_n)
{
    cw_autofree uint32_t *has = CW_NEW_ARRAY(uint32_t, inputs_n);
    phase->slots = CW_NEW_ARRAY(struct slot, phase->n);
    phase->slots_of = CW_NEW_ARRAY(uint32_t *, inputs_n);
    for (size_t i = 0; i < inputs_n; i++)
        phase->slots_of[i] = CW_NEW_ARRAY(uint32_t, phase->share[i] + 1);
    for (uint32_t k = 0; k < phase->n; k++) {
        size_t i = farthest_behind(phase, inputs_n, has, k);
        phase->slots_of[i][has[i]] = k;
        phase->slots[k] = (struct slot){.input = (uint32_t)i, .before = has[i]++};
    }
}

/* Returns how many of the first n positions of a phase are of an input. */
static int64_t share_of_first(const struct phase *phase, size_t input, int64_t n)
{
    int64_t has = n / phase->n * phase->share[input];
    const int64_t rest = n % phase->n;
    for (uint32_t k = 0; k < phase->share[input] && phase->slots_of[input][k] < rest; k++)
        has++;
    return has;
}

static void make_phase(struct mix_state *s, size_t k, int64_t begin, const double *weights)
{
    struct phase *phase = &s->phases[k];
    const struct phase *last = k > 0 ? &s->phases[k - 1] : NULL;
    phase->begin = begin;
    phase->share = CW_NEW_ARRAY(uint32_t, s->inputs_n);
    phase->before = CW_NEW_ARRAY(int64_t, s->inputs_n);
    if (are_whole(weights, s->inputs_n))
        share_whole(weights, s->inputs_n, phase->share);
    else
        share_rounded(weights, s->inputs_n, phase->share);
    for (size_t i = 0; i < s->inputs_n; i++) {
        phase->n += phase->share[i];
        if (last)
            phase->before[i] = last->before[i] + share_of_first(last, i, begin - last->begin);
    }
    lay_out(phase, s->inputs_n);
}

static void free_state(void *state)
{
    struct mix_state *s = state;
    for (size_t k = 0; k < s->n; k++) {
        struct phase *phase = &s->phases[k];
        for (size_t i = 0; phase->slots_of && i < s->inputs_n; i++)
            cw_mem_free(phase->slots_of[i]);
        cw_mem_free(phase->slots_of);
        cw_mem_free(phase->slots);
        cw_mem_free(phase->share);
        cw_mem_free(phase->before);
    }
    cw_mem_free(s->phases);
    cw_mem_free(s);
}

static int make_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct mix_opts *o = opts;
    struct mix_state *s = CW_NEW(struct mix_state);
    cw_autofree double *weights = CW_NEW_ARRAY(double, o->weights.n);
    int64_t begin = 0;
    size_t slots = 0;
    (void)how;
    s->inputs_n = o->weights.n;
    s->phases = CW_NEW_ARRAY(struct phase, o->phases.n + 1);
    while (s->n < o->phases.n && slots <= SLOTS_ALL_MAX) {
        const struct cw_value *phase = &o->phases.items[s->n];
        const struct cw_value *given = cw_value_get(phase, "weights");
        for (size_t i = 0; i < s->inputs_n; i++)
            weights[i] = number_of(&given->items[i]);
        make_phase(s, s->n, begin, weights);
        begin = cw_value_get(phase, "until")->i;
        slots += s->phases[s->n++].n;
    }
    make_phase(s, s->n, begin, o->weights.v);
    slots += s->phases[s->n++].n;
    if (slots > SLOTS_ALL_MAX) {
        free_state(s);
        return cw_err_set(err, CW_E_LIMIT,
                          "option phases: the weights of all phases together, as the smallest "
                          "whole numbers in their proportions, have a sum of more than %d",
                          SLOTS_ALL_MAX);
    }
    *ret_state = s;
    return 0;
}

/* ---- positions ---- */

/* Returns the last phase that begins at or before a position. */
static const struct phase *phase_at(const struct mix_state *s, int64_t pos)
{
    size_t lo = 0, hi = s->n - 1;
    while (lo < hi) {
        const size_t mid = hi - (hi - lo) / 2;
        if (s->phases[mid].begin <= pos)
            lo = mid;
        else
            hi = mid - 1;
    }
    return &s->phases[lo];
}

/* Returns the phase in which element k of an input comes: the last one before which no more than k come. */
static const struct phase *phase_of(const struct mix_state *s, size_t input, int64_t k)
{
    size_t lo = 0, hi = s->n - 1;
    while (lo < hi) {
        const size_t mid = hi - (hi - lo) / 2;
        if (s->phases[mid].before[input] <= k)
            lo = mid;
        else
            hi = mid - 1;
    }
    return &s->phases[lo];
}

/* Returns the position at which element k of an input comes; -1 if that is beyond 2^63 - 1. */
static int64_t place_of(const struct mix_state *s, size_t input, int64_t k)
{
    const struct phase *phase = phase_of(s, input, k);
    const uint32_t share = phase->share[input];
    int64_t place;
    k -= phase->before[input];
    if (__builtin_mul_overflow(k / share, (int64_t)phase->n, &place) ||
        __builtin_add_overflow(place, (int64_t)phase->slots_of[input][k % share], &place) ||
        __builtin_add_overflow(place, phase->begin, &place))
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
    const struct phase *phase = phase_at(s, pos);
    pos -= phase->begin;
    const struct slot *slot = &phase->slots[pos % phase->n];
    int64_t there =
        phase->before[slot->input] + pos / phase->n * phase->share[slot->input] + slot->before;
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
        "operators and shuffles before it draw anew each time. `phases` give the first positions "
        "other proportions (a\n"
        "curriculum): positions count the elements of an epoch, and each input goes on where it "
        "was.\n" CW_CHOOSE_DOC,
    .kind = CW_OP_INDEX,
    .inputs_min = 2,
    .inputs_max = CW_CHOOSE_INPUTS_MAX,
    .options = options,
    .options_bytes = sizeof(struct mix_opts),
    .check = check,
    .infer = infer,
    .open = make_state,
    .close = free_state,
    .count = count,
    .map = map,
};
