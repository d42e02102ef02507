/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `standardize`: subtracts the mean of a column and divides by its deviation. */
#include "ops/element/columns_op.h"

#include "base/mem.h"
#include "ops/kernels/columns.h"
#include "ops/kernels/kernel_table.h"
#include "ops/kernels/num.h"

struct standardize_opts {
    char *file;
    struct cw_f64_list mean;
    struct cw_value stats;
    struct cw_f64_list std;
};
/* The numbers of a field. */
struct numbers {
    const char *field; /* NULL: of all fields; belongs to the options */
    size_t columns, period;
    double *mean, *std;
    float *mean_f32, *std_f32;
};
struct standardize_state {
    struct numbers *v;
    size_t n;
};

static const char *const keys[] = {"mean", "std", NULL};

#define OFFSET(member) offsetof(struct standardize_opts, member)
static const struct cw_opt options[] = {
    {.name = "file",
     .help = "a file that `cachew analyze` wrote, which says mean and std of each field",
     .type = CW_OPT_STR,
     .offset = OFFSET(file)},
    {.name = "mean",
     .help = "of all values, or of each column",
     .type = CW_OPT_F64_LIST,
     .offset = OFFSET(mean),
     .len_min = 0,
     .len_max = CW_COLUMNS_MAX},
    {.name = "stats",
     .help = "what the file says: {field: {\"mean\": [...], \"std\": [...]}}",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(stats)},
    {.name = "std",
     .help = "standard deviation of all values, or of each column; 0 counts as 1",
     .type = CW_OPT_F64_LIST,
     .offset = OFFSET(std),
     .len_min = 0,
     .len_max = CW_COLUMNS_MAX},
    {0},
};

static bool has_file(const struct standardize_opts *o)
{
    return o->file && o->file[0];
}

static int check_std(const struct cw_f64_list *std, struct cw_err *err)
{
    for (size_t i = 0; i < std->n; i++)
        if (!(std->v[i] >= 0))
            return cw_err_set(err, CW_E_INVALID, "option std: %g is below 0", std->v[i]);
    return 0;
}

static int check(const void *opts, struct cw_err *err)
{
    const struct standardize_opts *o = opts;
    const bool is_told = o->stats.type != CW_VALUE_NULL || has_file(o);
    size_t columns;
    if (is_told == (o->mean.n > 0 || o->std.n > 0))
        return cw_err_set(err, CW_E_INVALID,
                          "either the option file is needed, or the options mean and std");
    int rc = cw_columns_check_stats(&o->stats, err);
    if (rc == 0)
        rc = cw_columns_of_lists("mean", &o->mean, "std", &o->std, &columns, err);
    return rc < 0 ? rc : check_std(&o->std, err);
}

static bool is_complete(const void *opts)
{
    const struct standardize_opts *o = opts;
    return !has_file(o) || o->stats.type != CW_VALUE_NULL;
}

static int complete(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err)
{
    (void)how;
    return cw_columns_complete(((const struct standardize_opts *)opts)->file, keys, said, err);
}

/* ---- the numbers of a field ---- */

static void numbers_fini(struct numbers *numbers)
{
    cw_mem_free(numbers->mean);
    cw_mem_free(numbers->std);
    cw_mem_free(numbers->mean_f32);
    cw_mem_free(numbers->std_f32);
}

static int numbers_init(struct numbers *numbers, const struct cw_f64_list *mean,
                        const struct cw_f64_list *std, struct cw_err *err)
{
    const double zero = 0, one = 1;
    int rc = cw_columns_of_lists("mean", mean, "std", std, &numbers->columns, err);
    if (rc == 0)
        rc = check_std(std, err);
    if (rc < 0)
        return rc;
    const size_t period = numbers->period = cw_columns_period(numbers->columns);
    numbers->mean = cw_columns_spread(mean->n ? mean->v : &zero, CW_MAX(mean->n, 1), period);
    numbers->std = cw_columns_spread(std->n ? std->v : &one, CW_MAX(std->n, 1), period);
    for (size_t i = 0; i < period; i++)
        numbers->std[i] = numbers->std[i] > 0 ? numbers->std[i] : 1;
    numbers->mean_f32 = cw_columns_narrow(numbers->mean, period);
    numbers->std_f32 = cw_columns_narrow(numbers->std, period);
    for (size_t i = 0; i < period; i++) /* too small for f32 */
        numbers->std_f32[i] = numbers->std_f32[i] > 0 ? numbers->std_f32[i] : 1;
    return 0;
}

/* Reads what `stats` says of a field. */
static int numbers_of_field(const struct cw_value *stats, const char *field,
                            struct numbers *numbers, struct cw_err *err)
{
    const struct cw_value *mean_value = cw_columns_stats(stats, field, "mean", err);
    const struct cw_value *std_value =
        mean_value ? cw_columns_stats(stats, field, "std", err) : NULL;
    struct cw_f64_list mean = {0}, std = {0};
    if (!std_value)
        return CW_E_INVALID;
    *numbers = (struct numbers){.field = field};
    int rc = cw_columns_numbers(mean_value, &mean, err);
    if (rc == 0)
        rc = cw_columns_numbers(std_value, &std, err);
    if (rc == 0)
        rc = numbers_init(numbers, &mean, &std, err);
    cw_mem_free(mean.v);
    cw_mem_free(std.v);
    return rc < 0 ? cw_err_wrap(err, "option stats: field \"%s\"", field) : 0;
}

static enum cw_dtype result_of(enum cw_dtype dtype)
{
    return dtype == CW_DTYPE_F64 ? CW_DTYPE_F64 : CW_DTYPE_F32;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct standardize_opts *o = opts;
    struct numbers numbers = {.columns = CW_MAX(CW_MAX(o->mean.n, o->std.n), 1)};
    int rc =
        o->stats.type == CW_VALUE_NULL ? 0 : numbers_of_field(&o->stats, in->name, &numbers, err);
    if (rc == 0)
        rc = cw_columns_infer(numbers.columns, in, err);
    numbers_fini(&numbers);
    if (rc < 0)
        return rc;
    *ret_field = *in;
    ret_field->dtype = result_of(in->dtype);
    return 0;
}

static void close_state(void *state)
{
    struct standardize_state *s = state;
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        numbers_fini(&s->v[i]);
    cw_mem_free(s->v);
    cw_mem_free(s);
}

static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct standardize_opts *o = opts;
    struct standardize_state *s = CW_NEW(struct standardize_state);
    const bool is_by_field = o->stats.type == CW_VALUE_OBJECT;
    (void)how;
    s->n = is_by_field ? o->stats.n : 1;
    s->v = CW_NEW_ARRAY(struct numbers, s->n + 1);
    int rc = is_by_field ? 0 : numbers_init(&s->v[0], &o->mean, &o->std, err);
    for (size_t i = 0; is_by_field && rc == 0 && i < s->n; i++)
        rc = numbers_of_field(&o->stats, o->stats.keys[i], &s->v[i], err);
    if (rc < 0)
        close_state(s);
    else
        *ret_state = s;
    return rc;
}

static const struct numbers *find(const struct standardize_state *s, const char *field)
{
    for (size_t i = 0; i < s->n; i++)
        if (!s->v[i].field || cw_str_eq(s->v[i].field, field))
            return &s->v[i];
    return NULL; /* infer_field has refused it */
}

/* Values of other dtypes than f32 are computed in double precision. */
static void scale(const struct numbers *numbers, const struct cw_view *in,
                  const struct cw_view *out, size_t n)
{
    for (size_t i = 0, p = 0; i < n; i++, p = p + 1 == numbers->period ? 0 : p + 1)
        cw_num_put_f64(out->dtype, out->data, i,
                       (cw_num_get_f64(in->dtype, in->data, i) - numbers->mean[p]) /
                           numbers->std[p]);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct numbers *numbers = find(state, ctx->in->fields[ctx->field].name);
    (void)opts;
    (void)scratch;
    if (!numbers)
        return cw_err_set(err, CW_E_INTERNAL, "a field without numbers");
    int rc = cw_columns_check(numbers->columns, in, err);
    out->dtype = result_of(in->dtype);
    if (rc == 0)
        rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    const size_t n = in->bytes / cw_dtype_bytes(in->dtype);
    if (in->dtype == CW_DTYPE_F32)
        cw_kernels()->column_scale(out->data, in->data, n, numbers->mean_f32, numbers->std_f32,
                                   numbers->period);
    else
        scale(numbers, in, out, n);
    return 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct standardize_opts *o = opts;
    *ret_facts = (struct cw_op_facts){0};
    /* with a file the numbers go by names of fields, which other operators may change */
    if (o->stats.type == CW_VALUE_NULL)
        cw_columns_facts(CW_MAX(o->mean.n, o->std.n), in, fields, fields_n, ret_facts);
}

const struct cw_op cw_op_standardize = {
    .name = "standardize",
    .version = 1,
    .summary = "subtracts means and divides by deviations",
    .doc = "(x - mean) / std for every value: one number for all, or one for each column, which is "
           "a place in the last\n"
           "dimension. A deviation of 0 counts as 1, as scikit-learn's StandardScaler has it. f64 "
           "stays f64; other dtypes\n"
           "become f32. Computed in single precision for f32, otherwise in double precision. "
           "Works on all float fields\n"
           "unless `fields` says which. (`normalize` is for pixels.)\n"
           "\n"
           "`file` names a file that `cachew analyze` wrote: each field has its own numbers "
           "there. It is read once, where\n"
           "the job is prepared; what it says becomes part of the job (`stats`).",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_POINTWISE | CW_OP_CAST | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct standardize_opts),
    .check = check,
    .is_complete = is_complete,
    .complete = complete,
    .completed = "stats",
    .accepts = cw_columns_accepts,
    .infer_field = infer_field,
    .open = open_state,
    .close = close_state,
    .apply_field = apply_field,
    .facts = facts,
};
