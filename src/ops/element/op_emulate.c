/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `emulate`: takes the time that another operator would, and makes fields larger or
 * smaller as it would. It stands for operators that are not there, in experiments and tests. */
#include "ops/op_util.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"

#define BYTES_MAX 0x1p40 /* of a field; more is refused before it is counted in an integer */

struct emulate_opts {
    double ns, ns_per_byte, ratio;
    bool random, wall;
};

static const struct cw_opt options[] = {
    {.name = "ns",
     .help = "nanoseconds of CPU time for each element",
     .type = CW_OPT_F64,
     .offset = offsetof(struct emulate_opts, ns),
     .def = "0.0",
     .min = 0,
     .max = 60e9},
    {.name = "ns_per_byte",
     .help = "and for each byte of its fields",
     .type = CW_OPT_F64,
     .offset = offsetof(struct emulate_opts, ns_per_byte),
     .def = "0.0",
     .min = 0,
     .max = 1e9},
    {.name = "ratio",
     .help = "bytes that come out, over those that come in",
     .type = CW_OPT_F64,
     .offset = offsetof(struct emulate_opts, ratio),
     .def = "1.0",
     .min = 1e-6,
     .max = 1e6},
    {.name = "random",
     .help = "which row comes first is drawn",
     .type = CW_OPT_BOOL,
     .offset = offsetof(struct emulate_opts, random),
     .def = "false"},
    {.name = "wall",
     .help = "the time passes without CPU: that of another host",
     .type = CW_OPT_BOOL,
     .offset = offsetof(struct emulate_opts, wall),
     .def = "false"},
    {0},
};

static bool accepts(const struct cw_field *field)
{
    (void)field;
    return true;
}

static bool draws(const void *opts)
{
    return ((const struct emulate_opts *)opts)->random;
}

/* ---- sizes ---- */

/* Rows that come out: at least one, unless none came in. */
static int rows_behind(const struct emulate_opts *o, int64_t rows, int64_t *ret_rows,
                       struct cw_err *err)
{
    double n = (double)rows * o->ratio;

    if (rows < 1 || o->ratio == 1) {
        *ret_rows = rows;
        return 0;
    }
    if (n > BYTES_MAX)
        return cw_err_set(err, CW_E_LIMIT, "option ratio: %lld rows times %g is too large",
                          (long long)rows, o->ratio);
    *ret_rows = n < 1 ? 1 : (int64_t)floor(n + 0.5);
    return 0;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    *ret_field = *in;
    if (in->dtype == CW_DTYPE_STR || in->rank == 0)
        return 0;
    return rows_behind(opts, in->dims[0], &ret_field->dims[0], err);
}

/* ---- time ---- */

/* The times of an element's fields add up to its time. */
static int take_time(const struct cw_op_ctx *ctx, const struct emulate_opts *o, size_t bytes,
                     struct cw_err *err)
{
    double ns = o->ns / (double)ctx->fields_n + o->ns_per_byte * (double)bytes;
    int64_t whole_ns = (int64_t)fmin(ns, 3600e9);

    if (o->wall)
        return cw_stop_sleep_ns(ctx->stop, whole_ns, err);
    if (whole_ns > 0)
        for (int64_t end_ns = cw_clock_thread_cpu_ns() + whole_ns;
             cw_clock_thread_cpu_ns() < end_ns && !cw_stop_is_set(ctx->stop);)
            continue;
    return cw_stop_check(ctx->stop, err);
}

/* ---- values ---- */

/* Whether a field comes out as it is. */
static bool is_kept(const struct emulate_opts *o, const struct cw_view *in)
{
    if (in->dtype == CW_DTYPE_STR && in->rank > 0) /* a list of strings */
        return true;
    return (in->rank == 0 && in->dtype != CW_DTYPE_STR) || (o->ratio == 1 && !o->random);
}

/* What the rows of a field are: those of its first dimension, or the bytes of a string. */
struct rows {
    size_t n, bytes; /* of each */
    size_t first;    /* which one comes out first */
};

static struct rows rows_of(const struct cw_op_ctx *ctx, const struct emulate_opts *o,
                           const struct cw_view *in)
{
    struct rows rows = {.n = in->bytes, .bytes = 1};

    if (in->dtype != CW_DTYPE_STR) {
        rows.n = in->rank > 0 ? (size_t)in->dims[0] : 1;
        rows.bytes = rows.n > 0 ? in->bytes / rows.n : 0;
    }
    if (o->random && rows.n > 1)
        rows.first = (size_t)cw_rng_below(&ctx->rng, 0, rows.n);
    return rows;
}

/* Copies rows round and round until the output is full. */
static void copy_rows(const struct rows *rows, const struct cw_view *in, size_t n, char *to)
{
    for (size_t i = 0, from = rows->first; rows->bytes > 0 && i < n; i++) {
        memcpy(to + i * rows->bytes, (const char *)in->data + from * rows->bytes, rows->bytes);
        from = from + 1 == rows->n ? 0 : from + 1;
    }
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct emulate_opts *o = opts;
    struct rows rows = rows_of(ctx, o, in);
    int64_t n = (int64_t)rows.n;
    (void)state;
    (void)scratch;

    int rc = take_time(ctx, o, in->bytes, err);
    if (rc < 0 || is_kept(o, in))
        return rc;
    rc = rows_behind(o, (int64_t)rows.n, &n, err);
    if (rc < 0)
        return rc;
    if (in->dtype != CW_DTYPE_STR)
        out->dims[0] = n;
    if (__builtin_mul_overflow((size_t)n, rows.bytes, &out->bytes))
        return cw_err_set(err, CW_E_LIMIT, "%zu bytes times %g is too large", in->bytes, o->ratio);
    rc = cw_op_output(ctx, out, err);
    if (rc == 0)
        copy_rows(&rows, in, (size_t)n, out->data);
    return rc;
}

/* What leaves elements as they are may be done anywhere; only its time depends on the fields. */
static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct emulate_opts *o = opts;
    (void)in;

    *ret_facts = (struct cw_op_facts){0};
    if (o->ratio == 1 && !o->random)
        cw_facts_of_nothing(ret_facts);
    for (size_t i = 0; i < fields_n; i++)
        cw_field_set_add(&ret_facts->weighs, fields[i]);
    ret_facts->by_bytes = o->ns_per_byte > 0;
    if (!ret_facts->known)
        ret_facts->writes = ret_facts->weighs;
}

const struct cw_op cw_op_emulate = {
    .name = "emulate",
    .version = 1,
    .summary = "takes the time of an operator that is not there (for tests)",
    .doc =
        "Takes `ns` nanoseconds of the thread's CPU time for each element, and `ns_per_byte` for "
        "each\n"
        "byte of its fields, at most as long as its job is there; with `wall` the time passes "
        "without\n"
        "CPU, as it does at another host. Times of less than a few microseconds come out longer, "
        "since the\n"
        "clock has to be read. Fields come out `ratio` times as large: so many rows (of the first\n"
        "dimension; of a string: bytes), the first ones again behind the last, and at least one; "
        "a scalar\n"
        "and a list of strings stay as they are. With `random`, draw 0 is the row that comes "
        "first. With ratio 1 and\n"
        "without `random` nothing is changed, and the operator may be moved anywhere; otherwise "
        "it stays\n"
        "where it is. Works on all fields unless `fields` says which. What is measured with it is "
        "emulated,\n"
        "and has to be labelled so.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct emulate_opts),
    .accepts = accepts,
    .takes_lists = true,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .draws = draws,
    .facts = facts,
};
