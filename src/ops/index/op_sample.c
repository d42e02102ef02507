/* SPDX-License-Identifier: Apache-2.0 */
/* Index operator `sample`: so many draws an epoch, by weights, with or without replacement. With it each
 * draw is computed by itself from an alias table; without it the order of an epoch is made when a thread
 * first asks for it, and a few orders are kept. */
#include <stdatomic.h>

#include "ops/index/sample_values.h"
#include "ops/op_util.h"

#include "base/mem.h"
#include "base/thread.h"

struct sample_opts {
    int64_t count;
    bool replacement;
    struct cw_f64_list weights;
    char *file;
    char *weight_field, *balance;
};

/* Orders that are kept: of the epoch that ends, the one that begins, and of repetitions. */
enum { ORDERS = 4 };
/* Read without a lock while another thread may make it anew: then its version has changed. All is stored with
 * release order and loaded with acquire order, so who loads a new value finds the new version, too. */
struct order {
    _Atomic uint64_t version; /* 0: none yet; odd: it is being made */
    _Atomic uint64_t seed, tag, epoch, rep;
    _Atomic uint64_t used; /* how many orders had been made when it was used last */
    _Atomic uint32_t *v;
    void *memory; /* of v */
};
struct sample_state {
    struct cw_weights weights; /* n = 0: all are equal */
    struct cw_alias alias;
    uint64_t file_sum;
    struct cw_survey_note note; /* n = 0: there was no survey */
    struct order orders[ORDERS];
    _Atomic uint64_t made; /* orders so far */
    struct cw_mutex mutex; /* held while one is made, of `keys` */
    struct cw_weights_key *keys;
};

#define OFFSET(member) offsetof(struct sample_opts, member)
static const struct cw_opt options[] = {
    {.name = "count",
     .help = "draws of an epoch; 0 = as many as elements come in",
     .type = CW_OPT_I64,
     .offset = OFFSET(count),
     .def = "0",
     .min = 0,
     .max = 0x1p60},
    {.name = "replacement",
     .help = "an element may be drawn several times",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(replacement),
     .def = "true"},
    {.name = "weights",
     .help = "a number for each element: how likely it is drawn, in proportion; empty = all alike",
     .type = CW_OPT_F64_LIST,
     .offset = OFFSET(weights)},
    {.name = "file",
     .help = "a file with these numbers, as text with white space between them",
     .type = CW_OPT_STR,
     .offset = OFFSET(file)},
    {.name = "weight_field",
     .help = "a field of numbers: how likely the element is drawn",
     .type = CW_OPT_STR,
     .offset = OFFSET(weight_field),
     .flags = CW_OPT_NEWER},
    {.name = "balance",
     .help = "a field of whole numbers or strings, a label: each label is equally likely",
     .type = CW_OPT_STR,
     .offset = OFFSET(balance),
     .flags = CW_OPT_NEWER},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct sample_opts *o = opts;
    const int given = (o->weights.n > 0) + !!o->file + !!o->weight_field + !!o->balance;
    if (given > 1)
        return cw_err_set(err, CW_E_INVALID,
                          "options weights, file, weight_field and balance: give one of them");
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct sample_opts *o = opts;
    int rc = o->weight_field ? cw_sample_check_weight(&in[0], o->weight_field, err) : 0;
    if (rc == 0 && o->balance)
        rc = cw_sample_check_label(&in[0], o->balance, err);
    return rc < 0 ? rc : cw_op_infer_same(opts, in, in_n, ret_spec, err);
}

static const char *surveyed_field(const void *opts)
{
    const struct sample_opts *o = opts;
    return o->weight_field ? o->weight_field : o->balance;
}

static void free_state(void *state)
{
    struct sample_state *s = state;
    for (size_t i = 0; i < ORDERS; i++)
        cw_mem_free(s->orders[i].memory);
    cw_mem_free(s->keys);
    cw_weights_fini(&s->weights);
    cw_alias_fini(&s->alias);
    cw_survey_note_fini(&s->note);
    cw_mutex_fini(&s->mutex);
    cw_mem_free(s);
}

/* The file must have the bytes that it had where the job was prepared. */
static int check_same(const struct sample_opts *o, const struct sample_state *s,
                      const struct cw_op_open *how, struct cw_err *err)
{
    const struct cw_value *sum = how->manifest && how->manifest->type == CW_VALUE_OBJECT
                                     ? cw_value_get(how->manifest, "sum")
                                     : NULL;
    if (!o->file || !sum || (uint64_t)sum->i == s->file_sum)
        return 0;
    return cw_err_set(err, CW_E_OTHER_FILE,
                      "option file: %s is not the file that the job was prepared with", o->file);
}

/* Takes the memory of orders. */
static int reserve(struct sample_state *s, struct cw_err *err)
{
    size_t n = (size_t)s->weights.drawn;
    bool whole = (s->keys = cw_mem_try(n * sizeof(*s->keys))) != NULL;
    for (size_t i = 0; whole && i < ORDERS; i++) {
        s->orders[i].memory = cw_mem_try(n * sizeof(*s->orders[i].v));
        s->orders[i].v = s->orders[i].memory;
        whole = s->orders[i].v != NULL;
    }
    return whole ? 0 : cw_err_set(err, CW_E_NOMEM, "no memory for orders of %zu elements", n);
}

static int get_weights(const struct sample_opts *o, const struct cw_op_open *how,
                       struct sample_state *s, struct cw_err *err)
{
    if (o->file)
        return cw_weights_from_file(o->file, how->stop, &s->file_sum, &s->weights, err);
    if (o->weights.n > 0)
        return cw_weights_from_list(&o->weights, "option weights", &s->weights, err);
    if (!surveyed_field(o))
        return 0;
    if (!how->survey)
        return cw_err_set(err, CW_E_UNSUPPORTED, "its weights are found out by a survey");
    cw_survey_note_copy(how->survey->note, &s->note);
    if (how->survey->fates->n == 0)
        return 0;
    return o->balance
               ? cw_sample_by_label(how->survey->fates, &s->weights, err)
               : cw_sample_by_weight(how->survey->fates, how->survey->dtype, &s->weights, err);
}

static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct sample_opts *o = opts;
    struct sample_state *s = CW_NEW(struct sample_state);
    cw_mutex_init(&s->mutex);
    int rc = get_weights(o, how, s, err);
    if (rc == 0)
        rc = check_same(o, s, how, err);
    if (rc == 0 && o->replacement && s->weights.n > 0)
        cw_alias_init(&s->alias, &s->weights);
    else if (rc == 0 && s->weights.n > 0)
        rc = reserve(s, err);
    if (rc < 0)
        free_state(s);
    else
        *ret_state = s;
    return rc;
}

static void manifest(const void *opts, void *state, struct cw_value *ret_value)
{
    const struct sample_opts *o = opts;
    const struct sample_state *s = state;
    cw_value_set_object(ret_value);
    if (o->file)
        cw_value_set_i64(cw_value_member(ret_value, "sum"), (int64_t)s->file_sum);
    if (surveyed_field(o))
        cw_survey_note_write(&s->note, ret_value);
}

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    const struct sample_opts *o = opts;
    const struct sample_state *s = state;
    int64_t n = o->count > 0 ? o->count : in_n[0];
    int64_t has = s->weights.n > 0 ? s->weights.drawn : in_n[0];
    (void)inputs_n;
    if (s->weights.n > 0 && s->weights.n != in_n[0])
        return cw_err_set(err, CW_E_INVALID, "option %s: %lld weights for %lld elements",
                          o->file ? "file" : "weights", (long long)s->weights.n,
                          (long long)in_n[0]);
    if (has == 0 && o->count > 0)
        return cw_err_set(err, CW_E_INVALID, "nothing comes in that could be drawn");
    if (!o->replacement && n > has) {
        if (o->count > 0)
            return cw_err_set(err, CW_E_INVALID,
                              "option count: %lld cannot be drawn of %lld without replacement",
                              (long long)n, (long long)has);
        n = has;
    }
    *ret_n = n;
    return 0;
}

/* ---- draws ---- */

static bool is_of(const struct order *order, const struct cw_at *at)
{
    return atomic_load(&order->epoch) == at->epoch && atomic_load(&order->rep) == at->rep &&
           atomic_load(&order->seed) == at->seed && atomic_load(&order->tag) == at->tag;
}

/* Gives the draw at a position if the order is that of the epoch, all the time. */
static bool draw_of(struct order *order, const struct cw_at *at, int64_t pos, uint32_t *ret_draw)
{
    const uint64_t version = atomic_load(&order->version);
    if (version == 0 || version % 2 != 0 || !is_of(order, at))
        return false;
    *ret_draw = atomic_load_explicit(&order->v[pos], memory_order_acquire);
    return atomic_load(&order->version) == version;
}

static bool find_draw(struct sample_state *s, const struct cw_at *at, int64_t pos,
                      uint32_t *ret_draw)
{
    const uint64_t made = atomic_load_explicit(&s->made, memory_order_relaxed);
    for (size_t i = 0; i < ORDERS; i++)
        if (draw_of(&s->orders[i], at, pos, ret_draw)) {
            _Atomic uint64_t *used = &s->orders[i].used;
            if (atomic_load_explicit(used, memory_order_relaxed) != made)
                atomic_store_explicit(used, made, memory_order_relaxed);
            return true;
        }
    return false;
}

/* Makes the order of an epoch in the place of that which was used longest ago. Called with the lock held. */
static struct order *make_order(struct sample_state *s, const struct cw_at *at)
{
    struct order *order = &s->orders[0];
    for (size_t i = 1; i < ORDERS; i++)
        if (atomic_load(&s->orders[i].used) < atomic_load(&order->used))
            order = &s->orders[i];
    atomic_fetch_add(&order->version, 1);
    atomic_store(&order->seed, at->seed);
    atomic_store(&order->tag, at->tag);
    atomic_store(&order->epoch, at->epoch);
    atomic_store(&order->rep, at->rep);
    cw_weights_order(&s->weights, at->seed, at->tag, at->epoch, at->rep, s->keys, order->v);
    atomic_store(&order->used, atomic_fetch_add(&s->made, 1) + 1);
    atomic_fetch_add(&order->version, 1);
    return order;
}

static int64_t map_once(struct sample_state *s, const struct cw_at *at, int64_t pos)
{
    uint32_t draw;
    if (s->weights.n == 0) {
        struct cw_perm perm;
        cw_perm_init(&perm, (uint64_t)at->in_n[0], at->seed, at->tag, at->epoch, at->rep);
        return (int64_t)cw_perm_at(&perm, (uint64_t)pos);
    }
    if (find_draw(s, at, pos, &draw))
        return draw;
    cw_mutex_lock(&s->mutex);
    if (!find_draw(s, at, pos, &draw)) /* no other thread has made it meanwhile */
        draw = make_order(s, at)->v[pos];
    cw_mutex_unlock(&s->mutex);
    return draw;
}

static int64_t map(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input)
{
    const struct sample_opts *o = opts;
    struct sample_state *s = state;
    struct cw_rng rng;
    (void)ret_input;
    if (!o->replacement)
        return map_once(s, at, pos);
    cw_rng_init(&rng, at->seed, at->tag, at->epoch, at->rep, (uint64_t)pos);
    /* The draw's number stands for the repetition: how often an element was drawn before is not known. */
    at->each = at->each * (uint64_t)at->n + (uint64_t)pos + 1;
    return s->weights.n > 0 ? cw_alias_draw(&s->alias, &rng)
                            : (int64_t)cw_rng_below(&rng, 0, (uint64_t)at->in_n[0]);
}

const struct cw_op cw_op_sample = {
    .name = "sample",
    .version = 1,
    .summary = "draws elements at random, by weights",
    .doc = "Draws `count` elements an epoch, each as likely as its weight says: with `replacement` "
           "independently of\n"
           "each other, in constant time a draw (an alias table of 12 bytes an element); without "
           "it each at most\n"
           "once, by the weights of those that are left. Other elements are drawn in each epoch "
           "and repetition;\n"
           "random operators draw anew for each time that an element comes. Weights belong to the "
           "positions of what\n"
           "comes in, so put a `shuffle` behind it, not before. With weights and without "
           "replacement the order of an\n"
           "epoch is made at its first draw, in memory of 32 bytes an element.\n"
           "\n"
           "`weight_field` names a field with the weight of an element. `balance` names one with a "
           "label: of each label as\n"
           "many elements are drawn as of each other one, however many it has, so epochs are "
           "class-balanced. All elements\n"
           "are computed up to here once for that, when a job is prepared: a survey, which is kept "
           "like an index of files.\n"
           "It is not possible behind a random operator. Where a job skips bad elements, these are "
           "never drawn.",
    .kind = CW_OP_INDEX,
    .traits = CW_OP_RANDOM | CW_OP_AGAIN,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct sample_opts),
    .check = check,
    .infer = infer,
    .surveyed_field = surveyed_field,
    .open = open_state,
    .close = free_state,
    .manifest = manifest,
    .count = count,
    .map = map,
};
