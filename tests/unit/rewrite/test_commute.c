/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that are said to commute do: both orders of all pairs of the registry are computed, with
 * options that are made from their tables, on random elements that have what is odd in them: one
 * pixel, no pixels, odd sizes, images smaller than the crop, NaN, -0.0, the ends of integers. Pairs
 * that must be found are found, and where the answer is no, there is an element that shows why. */
#include "support/cm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "two_ops.h"

/* ---- random numbers ---- */

struct random {
    struct cw_rng rng;
    uint32_t draws;
};

static struct random random_from(uint64_t seed)
{
    struct random random = {0};

    cw_rng_init(&random.rng, seed, 0, 0, 0, 0);
    return random;
}

static size_t below(struct random *random, size_t n)
{
    return (size_t)cw_rng_below(&random->rng, random->draws++, n);
}

/* ---- elements ---- */

static struct cw_field field_of(const char *name, enum cw_dtype dtype, int rank, int64_t d0,
                                int64_t d1, int64_t d2)
{
    struct cw_field field = {.dtype = dtype, .rank = rank, .dims = {d0, d1, d2}};

    snprintf(field.name, sizeof(field.name), "%s", name);
    return field;
}

#define SPECS 8
#ifndef PAIRS       /* sanitizer builds try fewer */
#define PAIRS 30000 /* that are drawn, of which a third or so is said to commute */
#endif
/* Two images, a vector, three scalars, a text, boxes and tokens; of known shapes or not. */
static struct cw_spec make_spec(size_t which)
{
    static const int64_t SIZES[SPECS][2] = {{6, 8}, {7, 5},  {-1, -1}, {1, 1},
                                            {4, 4}, {-1, 6}, {9, 2},   {3, 12}};
    static const enum cw_dtype DTYPES[SPECS] = {CW_DTYPE_U8,  CW_DTYPE_F32, CW_DTYPE_U8,
                                                CW_DTYPE_F64, CW_DTYPE_I32, CW_DTYPE_F32,
                                                CW_DTYPE_F16, CW_DTYPE_I64};
    int64_t h = SIZES[which][0], w = SIZES[which][1];
    int64_t channels = which == 5 ? -1 : which % 2 ? 1 : 3;

    const struct cw_field fields[] = {
        field_of("image", DTYPES[which], 3, h, w, channels),
        field_of("flat", which % 3 ? CW_DTYPE_F32 : CW_DTYPE_U8, 2, h, w, 0),
        field_of("v", CW_DTYPE_I64, 1, which % 2 ? -1 : 3, 0, 0),
        field_of("s", CW_DTYPE_I64, 0, 0, 0, 0),
        field_of("f", CW_DTYPE_F32, 0, 0, 0, 0),
        field_of("text", CW_DTYPE_STR, 0, 0, 0, 0),
        field_of("boxes", CW_DTYPE_F32, 2, which % 2 ? -1 : 3, 4, 0),
        field_of("tokens", CW_DTYPE_I32, 1, which % 2 ? -1 : 5, 0, 0),
        field_of("k", CW_DTYPE_I64, 0, 0, 0, 0)};
    struct cw_spec spec = {0};
    for (size_t i = 0; i < CW_ARRAY_LEN(fields); i++)
        cw_spec_push(&spec, &fields[i]);
    return spec;
}

static void fill_value(struct random *random, enum cw_dtype dtype, void *to)
{
    static const double FLOATS[] = {0, 1, -1, 0.5, 255, 1e30, 3, -7.25};
    static const int64_t INTS[] = {0, 1, -1, 2, 255, INT64_MAX, INT64_MIN, 3};
    double d = FLOATS[below(random, 8)];
    int64_t i = INTS[below(random, 8)];
    size_t odd = below(random, 10);
    float f;

    d = odd == 0 ? (double)NAN : odd == 1 ? -0.0 : odd == 2 ? HUGE_VAL : d;
    f = (float)d;
    if (dtype == CW_DTYPE_F64)
        memcpy(to, &d, sizeof(d));
    else if (dtype == CW_DTYPE_F32)
        memcpy(to, &f, sizeof(f));
    else if (dtype == CW_DTYPE_F16) /* any bits are an f16, odd ones included */
        memcpy(to, &i, 2);
    else
        memcpy(to, &i, cw_dtype_bytes(dtype));
}

static struct cw_view make_view(struct random *random, const struct cw_field *field,
                                struct cw_arena *arena)
{
    struct cw_view view = {.dtype = field->dtype, .rank = field->rank};
    size_t n = 1, each = cw_dtype_bytes(field->dtype);

    for (int d = 0; d < field->rank; d++) {
        view.dims[d] = field->dims[d] >= 0 ? field->dims[d] : (int64_t)below(random, 8);
        n *= (size_t)view.dims[d];
    }
    if (field->dtype == CW_DTYPE_STR)
        n = below(random, 5);
    view.bytes = field->dtype == CW_DTYPE_STR ? n : n * each;
    view.data = cw_arena_alloc(arena, view.bytes);
    if (field->dtype == CW_DTYPE_STR && n > 0)
        memset(view.data, 'a', n);
    for (size_t i = 0; field->dtype != CW_DTYPE_STR && i < n; i++)
        fill_value(random, field->dtype, (uint8_t *)view.data + i * each);
    return view;
}

static void make_element(struct random *random, const struct cw_spec *spec, struct cw_arena *arena,
                         struct cw_element *ret_element)
{
    *ret_element = (struct cw_element){.n = spec->n};
    for (size_t i = 0; i < spec->n; i++)
        ret_element->fields[i] = make_view(random, &spec->fields[i], arena);
}

/* ---- both orders ---- */

struct both {
    struct one_op down, up;            /* in the written order */
    struct one_op down_late, up_early; /* the other way round */
    bool is_written_ok, is_swapped_ok;
    const char *why_not;
    struct cw_spec spec;
};

/* What a test makes of the facts before they are believed; NULL: nothing. */
typedef void lie_fn(struct cw_op_facts *facts);
static lie_fn *lie;

static void get_facts(const struct one_op *op, struct cw_chain_op *ret_op)
{
    one_op_facts(op, ret_op);
    if (lie)
        lie(&ret_op->facts);
}

static void set_spec(struct both *both, const struct cw_spec *spec)
{
    both->spec = cw_spec_borrow(spec);
    both->is_written_ok = one_op_infer(&both->down, spec) == 0 &&
                          one_op_infer(&both->up, &both->down.checked.out) == 0;
    if (both->is_written_ok) {
        one_op_pin(&both->down, &both->down_late);
        one_op_pin(&both->up, &both->up_early);
    }
    both->is_swapped_ok = one_op_infer(&both->up_early, spec) == 0 &&
                          one_op_infer(&both->down_late, &both->up_early.checked.out) == 0;
    if (both->is_written_ok) {
        struct cw_chain_op down, up;
        get_facts(&both->down, &down);
        get_facts(&both->up, &up);
        both->why_not = cw_why_not_swapped(&down, &up);
    }
}

static void both_parse(const char *down, const char *up, struct both *ret_both)
{
    *ret_both = (struct both){0};
    one_op_parse(down, &ret_both->down);
    one_op_parse(down, &ret_both->down_late);
    one_op_parse(up, &ret_both->up);
    one_op_parse(up, &ret_both->up_early);
}

static void both_fini(struct both *both)
{
    one_op_fini(&both->down);
    one_op_fini(&both->down_late);
    one_op_fini(&both->up);
    one_op_fini(&both->up_early);
}

/* Computes an element in both orders; returns whether that shows. */
static bool differs(struct both *both, struct cw_arena *arena, struct random *random)
{
    struct cw_element written, swapped;
    uint64_t id = below(random, 1000);

    make_element(random, &both->spec, arena, &written);
    swapped = written;
    enum outcome first = one_op_apply(&both->down, arena, id, &written);
    enum outcome w = first == KEPT ? one_op_apply(&both->up, arena, id, &written) : first;
    enum outcome up = one_op_apply(&both->up_early, arena, id, &swapped);
    enum outcome s = up == KEPT ? one_op_apply(&both->down_late, arena, id, &swapped) : up;
    if (w == KEPT && s == KEPT)
        return !same_elements(&written, &swapped);
    /* a filter that comes earlier leaves out what would have been refused */
    return w != s && !(first == REFUSED && up == DROPPED);
}

/* ---- all pairs ---- */

static const char *const EXPRESSIONS[] = {
    "x",          "image + 1", "image * s",  "flat * 2 - f", "v % 3",
    "v % s",      "s + 1",     "f * 2",      "s > 0",        "v != 0",
    "image == 0", "flat < f",  "2 ** s",     "s ** 2",       "image + image",
    "flat + v",   "flat * -1", "exp(f) + s", "v // 2",       "min(v, s)",
    "flat >= 0",  "100 % s",   "abs(image)", "-flat",        "9 % image",
};
static const char *const OUTS[] = {"", "image", "flat", "v", "s", "f", "new", "text"};
static const char *const FIELDS[] = {"",  "",           "image", "flat", "v",
                                     "s", "image,flat", "text",  "v,s",  "f"};

/* Operators whose options seldom fit or are of types that are not made, with some that do. */
static const char *const MADE[] = {
    "add_tokens {\"begin\": [1]} tokens",
    "add_tokens {\"end\": [2, 3]} tokens",
    "bucketize {\"boundaries\": [0, 1, 5]} f",
    "bucketize {\"boundaries\": [-1, 2.5], \"dtype\": \"i32\"} flat",
    "concat_fields {\"names\": [\"flat\", \"boxes\"], \"axis\": 0}",
    "concat_fields {\"names\": [\"boxes\", \"flat\"], \"axis\": -1, \"out\": \"new\"}",
    "drop {\"names\": [\"text\"]}",
    "mask_tokens {\"field\": \"tokens\", \"mask\": 1, \"vocab_size\": 50, \"p\": 0.5}",
    "mask_tokens {\"field\": \"tokens\", \"mask\": 0, \"random\": 0, \"labels\": \"new\"}",
    "drop {\"names\": [\"v\", \"s\"]}",
    "iou_crop {\"boxes\": \"boxes\"} image",
    "mixup {\"classes\": 256, \"label\": \"v\"}",
    "pad_boxes {\"boxes\": \"boxes\", \"count\": 4, \"more\": \"drop\"}",
    "pad_boxes {\"boxes\": \"boxes\", \"count\": 4, \"more\": \"drop\", \"valid\": \"valid\"}",
    "random_apply {\"chain\": [{\"op\": \"invert\", \"fields\": \"image\"}]}",
    "random_apply {\"chain\": [{\"op\": \"eval\", \"expr\": \"s + 1\"}, {\"op\": \"cast\", "
    "\"fields\": \"s\", \"dtype\": \"i64\"}], \"p\": 1}",
    "random_choice {\"chains\": [[{\"op\": \"random_flip\", \"fields\": \"image\"}], [{\"op\": "
    "\"cast\", \"fields\": \"v\", \"dtype\": \"i64\"}]]}",
    "rename {\"names\": {\"s\": \"t\"}}",
    "rename {\"names\": {\"v\": \"s\", \"s\": \"v\"}}",
    "sanitize_boxes {\"boxes\": \"boxes\"}",
    "select {\"names\": [\"s\", \"f\", \"image\"]}",
    "select {\"names\": [\"text\", \"v\", \"flat\", \"image\", \"s\", \"f\"]}",
    "stack {\"names\": [\"s\", \"k\"]}",
    "stack {\"names\": [\"k\", \"s\"], \"out\": \"new\"}",
};

static void add_number(struct random *random, const struct cw_opt *opt, struct cw_str *out)
{
    static const double NUMBERS[] = {0, 1, 2, 3, 4, 5, 7, 0.5, 0.25, 255};
    double d = NUMBERS[below(random, 10)];
    bool is_real = opt->type == CW_OPT_F64 || opt->type == CW_OPT_F64_LIST;

    if (opt->min < opt->max)
        d = fmin(fmax(d, opt->min), opt->max);
    if (strcmp(opt->name, "ms") == 0) /* of time, which passes really */
        d = 0;
    if (is_real)
        cw_str_addf(out, "%.17g", d);
    else
        cw_str_addf(out, "%lld", (long long)d);
}

static void add_list(struct random *random, const struct cw_opt *opt, struct cw_str *out)
{
    size_t least = CW_MAX(opt->len_min, (size_t)1), most = opt->len_max ? opt->len_max : 4;
    size_t n = least + below(random, CW_MIN(most, (size_t)4) - CW_MIN(least, (size_t)4) + 1);

    cw_str_add(out, "[");
    for (size_t i = 0; i < n; i++) {
        cw_str_add(out, i ? "," : "");
        add_number(random, opt, out);
    }
    cw_str_add(out, "]");
}

static void add_option(struct random *random, const struct cw_opt *opt, struct cw_str *out)
{
    size_t names_n = 0;

    if (opt->type == CW_OPT_BOOL) {
        cw_str_add(out, below(random, 2) ? "true" : "false");
    } else if (opt->type == CW_OPT_STR) {
        cw_str_addf(out, "\"%s\"",
                    strcmp(opt->name, "expr") == 0
                        ? EXPRESSIONS[below(random, CW_ARRAY_LEN(EXPRESSIONS))]
                        : OUTS[below(random, CW_ARRAY_LEN(OUTS))]);
    } else if (opt->type == CW_OPT_ENUM) {
        while (opt->names[names_n])
            names_n++;
        cw_str_addf(out, "\"%s\"", opt->names[below(random, names_n)]);
    } else if (opt->type == CW_OPT_I64_LIST || opt->type == CW_OPT_F64_LIST) {
        add_list(random, opt, out);
    } else {
        add_number(random, opt, out);
    }
}

static bool can_make(const struct cw_opt *opt)
{
    /* There is no field of boxes, so an operator that names one would be refused. */
    return opt->type != CW_OPT_VALUE && opt->type != CW_OPT_STR_LIST &&
           strcmp(opt->name, "boxes") != 0;
}

/* Operators that pairs are drawn from. */
struct pool {
    const struct cw_op *ops[256];
    size_t n;
};

/* All that can be tried: one that reads a file of its own cannot be opened here. */
static void all_ops(struct pool *ret_pool)
{
    size_t n;
    const struct cw_op *const *all = cw_op_all(&n);

    ret_pool->n = 0;
    for (size_t i = 0; i < n; i++)
        if (all[i]->kind == CW_OP_ELEMENT && (all[i]->apply || all[i]->apply_field) &&
            all[i]->facts && (!all[i]->manifest || all[i]->names_file) &&
            ret_pool->n < CW_ARRAY_LEN(ret_pool->ops))
            ret_pool->ops[ret_pool->n++] = all[i];
}

/* Returns one of those that are made for an operator; NULL: there is none. */
static const char *made_for(struct random *random, const struct cw_op *op)
{
    const char *found[4];
    size_t n = 0, len = strlen(op->name);

    for (size_t i = 0; i < CW_ARRAY_LEN(MADE) && n < CW_ARRAY_LEN(found); i++)
        if (strncmp(MADE[i], op->name, len) == 0 && MADE[i][len] == ' ')
            found[n++] = MADE[i];
    return n > 0 ? found[below(random, n)] : NULL;
}

/* An operator with options out of its table, as text; they need not fit together. */
static char *random_op(struct random *random, const struct pool *pool)
{
    const struct cw_op *op = pool->ops[below(random, pool->n)];
    const char *separator = "", *made = made_for(random, op);
    CW_STR_AUTO out = {0};

    if (made)
        return cw_mem_strdup(made);
    cw_str_addf(&out, "%s {", op->name);
    for (const struct cw_opt *opt = op->options; opt && opt->name; opt++) {
        if (!can_make(opt) || (!(opt->flags & CW_OPT_REQUIRED) && below(random, 2)))
            continue;
        cw_str_addf(&out, "%s\"%s\": ", separator, opt->name);
        add_option(random, opt, &out);
        separator = ", ";
    }
    cw_str_add(&out, "}");
    if (op->traits & CW_OP_FIELDWISE)
        cw_str_addf(&out, " %s", FIELDS[below(random, CW_ARRAY_LEN(FIELDS))]);
    return cw_str_take(&out);
}

static bool fits_together(const char *text)
{
    struct one_op op;
    bool fits;

    if (!strchr(text, '{'))
        return true;
    /* which is the only field that fits depends on where the operator stands: its `pin`, which is not asked here,
     * writes it down before anything moves */
    if (strstr(text, "\"field\": \"\""))
        return false;
    /* options that a table refuses would end the test where they are parsed */
    struct cw_value value = {0};
    cw_autofree char *name = cw_mem_strndup(text, strcspn(text, " "));
    const struct cw_op *it = cw_op_find(name);
    const char *begin = strchr(text, '{'), *end = strrchr(text, '}');
    assert_int_equal(cw_value_parse(begin, (size_t)(end + 1 - begin), text, &value, NULL), 0);
    op.checked.opts = it->options ? cw_mem_new(it->options_bytes) : NULL;
    bool is_parsed = it->options && cw_opt_parse(it->options, &value, op.checked.opts, NULL) == 0;
    fits = (is_parsed || !it->options) && (!it->check || it->check(op.checked.opts, NULL) == 0);
    if (is_parsed)
        cw_opt_fini(it->options, op.checked.opts);
    cw_mem_free(op.checked.opts);
    cw_value_fini(&value);
    return fits;
}

static char *fitting_op(struct random *random, const struct pool *pool)
{
    char *text = random_op(random, pool);

    while (!fits_together(text)) {
        cw_mem_free(text);
        text = random_op(random, pool);
    }
    return text;
}

/* Whether it changes values in a way that another may change sides with, on one of the specs. */
static bool has_effect(const char *text)
{
    bool has = false;

    for (size_t i = 0; i < SPECS && !has; i++) {
        CW_SPEC_AUTO spec = make_spec(i);
        struct one_op op;
        struct cw_chain_op chain_op;
        one_op_parse(text, &op);
        if (one_op_infer(&op, &spec) >= 0) {
            one_op_facts(&op, &chain_op);
            has = chain_op.facts.known && chain_op.facts.effect != CW_EFFECT_OTHER;
        }
        one_op_fini(&op);
    }
    return has;
}

/* Operators with such an effect, of which pairs on one field are made: most operators have none, so pairs of all
 * would seldom have two. */
static void ops_with_effect(const struct pool *all, struct pool *ret_pool)
{
    struct random random = random_from(2);

    ret_pool->n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct pool one = {.ops = {all->ops[i]}, .n = 1};
        bool has = false;
        for (int k = 0; k < 20 && !has; k++) {
            cw_autofree char *text = random_op(&random, &one);
            has = fits_together(text) && has_effect(text);
        }
        if (has)
            ret_pool->ops[ret_pool->n++] = all->ops[i];
    }
}

/* Whether a pair that is said to commute does, as far as some elements show it. */
static bool is_right(struct random *random, struct both *both, struct cw_arena *arena)
{
    bool right = both->is_swapped_ok;

    for (size_t i = 0; right && i < 12; i++) {
        right = !differs(both, arena, random);
        cw_arena_reset(arena);
    }
    return right;
}

struct tally {
    size_t commute, on_one_field, wrong;
    struct pool first, second; /* operators that stood there in a pair that was taken */
    char *wrong_pair;          /* the first */
};

static bool is_in(const struct pool *pool, const struct cw_op *op)
{
    for (size_t i = 0; i < pool->n; i++)
        if (pool->ops[i] == op)
            return true;
    return false;
}

static void add_op(struct pool *pool, const struct cw_op *op)
{
    if (!is_in(pool, op))
        pool->ops[pool->n++] = op;
}

static void try_pair(struct random *random, const struct pool *first, const struct pool *second,
                     struct cw_arena *arena, struct tally *tally)
{
    cw_autofree char *down = fitting_op(random, first);
    cw_autofree char *up = fitting_op(random, second);
    CW_SPEC_AUTO spec = make_spec(below(random, SPECS));
    struct both both;

    both_parse(down, up, &both);
    set_spec(&both, &spec);
    if (both.is_written_ok) {
        add_op(&tally->first, both.down.checked.op);
        add_op(&tally->second, both.up.checked.op);
    }
    if (both.is_written_ok && !both.why_not) {
        struct cw_chain_op a, b;
        one_op_facts(&both.down, &a);
        one_op_facts(&both.up, &b);
        tally->commute++;
        tally->on_one_field += cw_field_set_meets(&a.facts.effect_on, &b.facts.effect_on);
        if (!is_right(random, &both, arena) && tally->wrong++ == 0)
            tally->wrong_pair = cw_mem_printf("%s, then %s", down, up);
    }
    both_fini(&both);
}

/* Operators of which no pair, or none with them in both places, is made here. */
static const char *const LEFT_OUT[] = {
    "bpe",              /* these read a file of their own, */
    "embedding_lookup", /* which cannot be opened here */
    "sentencepiece",
    "vocab_lookup",
    "wordpiece",
    "join_text", /* there is no field of several strings, */
    "ngrams",
    "time_stretch",  /* nor of complex numbers, */
    "mosaic",        /* nor of batches of images */
    "assert_spec",   /* options of these name fields and their types, which are not drawn: pairs */
    "parse_example", /* of them stand in the tables below */
    "parse_json",
    "detokenize", /* its model is a file */
};

static bool is_left_out(const struct cw_op *op)
{
    for (size_t i = 0; i < CW_ARRAY_LEN(LEFT_OUT); i++)
        if (strcmp(LEFT_OUT[i], op->name) == 0)
            return true;
    return false;
}

#define SEEKING 5000 /* pairs that are drawn at most, until one with a certain operator is taken */

/* Tries pairs of each operator that was in none that was taken, or never in one of the places. */
static void try_the_rest(struct random *random, const struct pool *all, struct cw_arena *arena,
                         struct tally *tally)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct pool one = {.ops = {all->ops[i]}, .n = 1};
        if (is_left_out(all->ops[i]))
            continue;
        for (int k = 0; k < SEEKING && !is_in(&tally->first, all->ops[i]); k++)
            try_pair(random, &one, all, arena, tally);
        for (int k = 0; k < SEEKING && !is_in(&tally->second, all->ops[i]); k++)
            try_pair(random, all, &one, arena, tally);
    }
}

static struct tally try_pairs(uint64_t seed, size_t n)
{
    struct random random = random_from(seed);
    struct cw_arena *arena = cw_arena_new((size_t)1 << 20);
    struct tally tally = {0};
    struct pool all, with_effect;

    all_ops(&all);
    ops_with_effect(&all, &with_effect);
    for (size_t i = 0; i < n && tally.wrong == 0; i++) {
        const struct pool *pool = i % 4 == 0 ? &with_effect : &all;
        try_pair(&random, pool, pool, arena, &tally);
    }
    if (tally.wrong == 0 && !lie)
        try_the_rest(&random, &all, arena, &tally);
    cw_arena_free(arena);
    return tally;
}

/* Each operator that says something of itself was in a pair that was taken, in both places, or is left out. */
static void check_tried(const struct tally *tally)
{
    size_t n;
    const struct cw_op *const *all = cw_op_all(&n);

    for (size_t i = 0; i < n; i++) {
        const bool is_tried = is_in(&tally->first, all[i]) && is_in(&tally->second, all[i]);
        if (all[i]->kind == CW_OP_ELEMENT && all[i]->facts && is_tried == is_left_out(all[i]))
            fail_msg("%s: %s", all[i]->name, is_tried ? "tried, and left out" : "not tried");
    }
}

static void test_what_is_said_to_commute_does(void **state)
{
    (void)state;
    struct tally tally = try_pairs(1, PAIRS);

    if (tally.wrong > 0)
        fail_msg("said to commute, and does not: %s", tally.wrong_pair);
    printf("%zu pairs commute, %zu of them on one field\n", tally.commute, tally.on_one_field);
    check_tried(&tally);
    assert_true(tally.commute > PAIRS / 40 && tally.on_one_field > PAIRS / 200);
}

/* ---- wrong facts ---- */

static void keeps_zero(struct cw_op_facts *facts)
{
    facts->keeps_zero = true;
}

static void ignores_columns(struct cw_op_facts *facts)
{
    facts->by_last_dim = false;
}

static void has_even_gaps(struct cw_op_facts *facts)
{
    for (size_t i = 0; i < CW_GAP_FIELDS; i++)
        facts->gap[i][0] = facts->gap[i][1] = 2;
}

static void refuses_nothing(struct cw_op_facts *facts)
{
    facts->refuses = false;
}

static void mirrors_columns(struct cw_op_facts *facts)
{
    facts->axis = 1;
}

static void adds_nothing(struct cw_op_facts *facts)
{
    facts->names_field = false;
}

static void takes_each(struct cw_op_facts *facts)
{
    if (facts->effect == CW_EFFECT_OTHER && facts->known &&
        !cw_field_set_is_empty(&facts->writes)) {
        facts->effect = CW_EFFECT_EACH;
        facts->effect_on = facts->writes;
    }
}

static void reads_nothing_else(struct cw_op_facts *facts)
{
    cw_field_set_meet(&facts->reads, &facts->writes);
}

static void writes_nothing(struct cw_op_facts *facts)
{
    facts->writes = (struct cw_field_set){{0}};
}

/* Each wrong fact is found by the pairs that it would let through. */
static void test_wrong_facts_are_found(void **state)
{
    (void)state;
    static const struct {
        lie_fn *lie;
        const char *name;
    } LIES[] = {{keeps_zero, "keeps_zero"}, {ignores_columns, "by_last_dim"},
                {has_even_gaps, "gap"},     {refuses_nothing, "refuses"},
                {mirrors_columns, "axis"},  {adds_nothing, "names_field"},
                {takes_each, "effect"},     {reads_nothing_else, "reads"},
                {writes_nothing, "writes"}};

    for (size_t i = 0; i < CW_ARRAY_LEN(LIES); i++) {
        lie = LIES[i].lie;
        struct tally tally = try_pairs(4, 1000000) /* it ends with the first that is found */;
        lie = NULL;
        if (tally.wrong == 0)
            fail_msg("%s: a wrong one is not found", LIES[i].name);
        cw_mem_free(tally.wrong_pair);
    }
}

/* ---- pairs that must be found, and those that must not ---- */

struct expected {
    const char *down, *up;
    size_t spec;
};

static const struct expected COMMUTE[] = {
    {"cast {\"dtype\": \"f32\"} image", "random_flip {} image", 0},
    {"random_flip {} image", "cast {\"dtype\": \"f32\"} image", 2},
    {"normalize {\"mean\": 0.5} image", "random_flip {} image", 0},
    {"normalize {\"mean\": [1, 2, 3]} image", "random_flip {} image", 0},
    {"normalize {\"mean\": [1, 2, 3, 4, 5, 6, 7, 8]} flat",
     "random_flip {\"direction\": \"vertical\"} flat", 0},
    {"eval {\"expr\": \"image + 1\"}", "random_flip {} image", 0},
    {"eval {\"expr\": \"image * s\", \"out\": \"image\"}", "random_flip {} image", 0},
    {"cast {\"dtype\": \"f32\"} image", "center_crop {\"size\": 20} image", 2},
    {"center_crop {\"size\": 20} image", "cast {\"dtype\": \"i16\"} image", 0},
    {"normalize {\"mean\": 0.5} image", "center_crop {\"size\": 4} image", 0},
    {"normalize {\"mean\": 0} image", "center_crop {\"size\": 20} image", 0},
    {"normalize {\"mean\": [1, 2, 3]} image", "center_crop {\"size\": 4} image", 0},
    {"eval {\"expr\": \"image + 1\"}", "center_crop {\"size\": 4} image", 0},
    {"eval {\"expr\": \"flat * 2\"}", "center_crop {\"size\": 20} flat", 1},
    {"cast {\"dtype\": \"f32\"} image", "inflate {\"factor\": 3} image", 2},
    {"inflate {\"factor\": 3} image", "normalize {\"mean\": [1, 2, 3]} image", 0},
    {"eval {\"expr\": \"v * s\", \"out\": \"v\"}", "inflate {\"factor\": 3} v", 1},
    {"random_flip {} image", "random_flip {\"direction\": \"vertical\"} image", 0},
    {"random_flip {} image", "random_flip {\"p\": 0.7} image", 2},
    {"random_flip {} image", "center_crop {\"size\": [5, 4]} image", 0},
    {"random_flip {\"direction\": \"vertical\"} image", "center_crop {\"size\": [10, 3]} image", 0},
    {"center_crop {\"size\": [5, 20]} image", "random_flip {} image", 0},
    {"inflate {\"factor\": 2} image", "random_flip {\"direction\": \"vertical\"} image", 0},
    {"inflate {\"factor\": 2} image", "inflate {\"factor\": 3} image", 2},
    {"burn {\"ms\": 0}", "resize {\"size\": 9} image", 0},
    {"emulate {\"ns_per_byte\": 1} image", "resize {\"size\": 9} image", 0},
    {"random_flip {} image", "emulate {\"ns\": 100}", 0},
    {"sleep {\"ms\": 0}", "filter {\"expr\": \"s > 0\"}", 0},
    {"filter {\"expr\": \"s > 0\"}", "burn {\"ms\": 0}", 0},
    {"filter {\"expr\": \"s > 0\"}", "random_flip {} image", 0},
    {"random_flip {} image", "filter {\"expr\": \"s > 0\"}", 2},
    {"resize {\"size\": 3} image", "filter {\"expr\": \"100 % s\"}", 2},
    {"random_flip {} flat", "filter {\"expr\": \"flat > f\"}", 0},
    {"filter {\"expr\": \"flat > f\"}", "random_flip {} flat", 0},
    {"inflate {\"factor\": 3} v", "filter {\"expr\": \"v != 0\"}", 0},
    {"filter {\"expr\": \"v != 0\"}", "inflate {\"factor\": 3} v", 0},
    {"inflate {\"factor\": 3} s", "filter {\"expr\": \"s > 0\"}", 0},
    {"filter {\"expr\": \"s > 0\"}", "filter {\"expr\": \"f > 0\"}", 0},
    {"filter {\"expr\": \"100 % s\"}", "filter {\"expr\": \"f > 0\"}", 0},
    {"eval {\"expr\": \"s + 1\"}", "cast {\"dtype\": \"f64\"} f", 0},
    {"eval {\"expr\": \"s + 1\", \"out\": \"new\"}", "random_flip {} image", 0},
    {"random_resized_crop {\"size\": 3} image", "random_flip {} flat", 0},
    {"resize {\"size\": 3} image", "normalize {} flat", 2},
    {"invert {\"p\": 0.5} image", "random_flip {} image", 0},
    {"solarize {} image", "center_crop {\"size\": 20} image", 0},
    {"center_crop {\"size\": 4} image", "invert {} image", 0},
    {"assert_spec {\"spec\": [\"flat: f32[?,5]\"]}", "random_flip {} image", 1},
    {"random_flip {} image", "assert_spec {\"spec\": [\"v: i64[?]\", \"s: i64\"]}", 0},
    {"random_flip {} image", "parse_json {\"field\": \"text\", \"schema\": [\"a: i64\"]}", 0},
    {"parse_json {\"field\": \"text\", \"keep\": true, \"schema\": [\"a: i64\"]}",
     "cast {\"dtype\": \"f64\"} f", 0},
    {"parse_example {\"features\": {\"a\": \"i64\"}}", "random_flip {} image", 0},
};

static const struct expected KEEP[] = {
    {"invert {} image", "center_crop {\"size\": 20} image", 0},
    {"invert {} image", "solarize {} image", 0},
    {"auto_contrast {} image", "center_crop {\"size\": 4} image", 0},
    {"cast {\"dtype\": \"u8\"} flat", "normalize {} flat", 1},
    {"normalize {} flat", "cast {\"dtype\": \"u8\"} flat", 1},
    {"eval {\"expr\": \"flat + 1\"}", "eval {\"expr\": \"flat * 2\"}", 1},
    {"normalize {\"mean\": [1, 2, 3, 4, 5, 6, 7, 8]} flat", "random_flip {} flat", 0},
    {"normalize {\"mean\": 0.5} image", "center_crop {\"size\": 20} image", 0},
    {"eval {\"expr\": \"flat * -1\"}", "center_crop {\"size\": 20} flat", 1},
    {"normalize {\"mean\": [1, 2, 3]} image", "center_crop {\"size\": 4} image", 2},
    {"random_flip {\"p\": 1} image", "center_crop {\"size\": 5} image", 0},
    {"random_flip {\"p\": 1} image", "center_crop {\"size\": 5} image", 2},
    {"inflate {\"factor\": 2} image", "center_crop {\"size\": 4} image", 0},
    {"center_crop {\"size\": 4} image", "center_crop {\"size\": 5} image", 0},
    {"resize {\"size\": 3} image", "center_crop {\"size\": 2} image", 0},
    {"resize {\"size\": [4, 4]} image", "random_resized_crop {\"size\": 3} image", 0},
    {"random_resized_crop {\"size\": 3} image", "random_flip {\"p\": 1} image", 0},
    {"filter {\"expr\": \"s != 0\"}", "eval {\"expr\": \"100 % s\"}", 0},
    {"filter {\"expr\": \"s != 0\"}", "filter {\"expr\": \"100 % s\"}", 0},
    {"filter {\"expr\": \"s > 0\"}", "random_flip {\"p\": 1} image", 2},
    {"filter {\"expr\": \"s > 0\"}", "resize {\"size\": 3} image", 2},
    {"cast {\"dtype\": \"bool\"} s", "filter {\"expr\": \"s > 1\"}", 0},
    {"center_crop {\"size\": 2} flat", "filter {\"expr\": \"flat > f\"}", 1},
    {"eval {\"expr\": \"s + 1\", \"out\": \"a\"}", "eval {\"expr\": \"s + 2\", \"out\": \"b\"}", 0},
    {"eval {\"expr\": \"s + 1\", \"out\": \"a\"}", "eval {\"expr\": \"a + 2\", \"out\": \"a\"}", 0},
    {"eval {\"expr\": \"image + s\", \"out\": \"image\"}", "eval {\"expr\": \"s * 2\"}", 0},
    {"assert_spec {\"spec\": [\"v: i64[2]\"]}", "inflate {\"factor\": 2} v", 1},
};

static void test_pairs_that_must_be_found(void **state)
{
    (void)state;
    struct random random = random_from(2);
    struct cw_arena *arena = cw_arena_new((size_t)1 << 20);

    for (size_t i = 0; i < CW_ARRAY_LEN(COMMUTE); i++) {
        CW_SPEC_AUTO spec = make_spec(COMMUTE[i].spec);
        struct both both;
        both_parse(COMMUTE[i].down, COMMUTE[i].up, &both);
        set_spec(&both, &spec);
        if (!both.is_written_ok)
            fail_msg("%s, then %s: not taken", COMMUTE[i].down, COMMUTE[i].up);
        if (both.why_not)
            fail_msg("%s, then %s: %s", COMMUTE[i].down, COMMUTE[i].up, both.why_not);
        if (!is_right(&random, &both, arena))
            fail_msg("%s, then %s: do not commute", COMMUTE[i].down, COMMUTE[i].up);
        both_fini(&both);
    }
    cw_arena_free(arena);
}

/* Each has an element that comes out differently, or is refused, the other way round. */
static void test_pairs_that_must_stay(void **state)
{
    (void)state;
    struct random random = random_from(3);
    struct cw_arena *arena = cw_arena_new((size_t)1 << 20);

    for (size_t i = 0; i < CW_ARRAY_LEN(KEEP); i++) {
        CW_SPEC_AUTO spec = make_spec(KEEP[i].spec);
        struct both both;
        both_parse(KEEP[i].down, KEEP[i].up, &both);
        set_spec(&both, &spec);
        if (!both.is_written_ok)
            fail_msg("%s, then %s: not taken", KEEP[i].down, KEEP[i].up);
        if (!both.why_not)
            fail_msg("%s, then %s are said to commute", KEEP[i].down, KEEP[i].up);
        bool has_witness = !both.is_swapped_ok;
        for (size_t k = 0; !has_witness && k < 2000; k++) {
            has_witness = differs(&both, arena, &random);
            cw_arena_reset(arena);
        }
        if (!has_witness)
            fail_msg("%s, then %s: %s, but nothing shows it", KEEP[i].down, KEEP[i].up,
                     both.why_not);
        both_fini(&both);
    }
    cw_arena_free(arena);
}

/* What an operator does not say of itself, nobody believes. */
static void test_without_facts_nothing_moves(void **state)
{
    (void)state;
    struct cw_chain_op known = {.facts = {.known = true}}, unknown = {0};

    assert_null(cw_why_not_swapped(&known, &known));
    assert_non_null(cw_why_not_swapped(&known, &unknown));
    assert_non_null(cw_why_not_swapped(&unknown, &known));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_pairs_that_must_be_found),
    cmocka_unit_test(test_pairs_that_must_stay),
    cmocka_unit_test(test_what_is_said_to_commute_does),
    cmocka_unit_test(test_wrong_facts_are_found),
    cmocka_unit_test(test_without_facts_nothing_moves),
};

CW_TESTS_MAIN(tests)
