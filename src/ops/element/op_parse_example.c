/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `parse_example`: makes fields of the features of a tf.train.Example or a
 * tf.train.SequenceExample. */
#include "base/mem.h"
#include "format/example.h"
#include "ops/element/example_feature.h"
#include "ops/op_util.h"

#include <string.h>

struct parse_example_opts {
    struct cw_value features, sequence_features;
    char *input;
};

#define OFFSET(member) offsetof(struct parse_example_opts, member)
static const struct cw_opt options[] = {
    {.name = "features",
     .help = "the fields: {\"label\": \"i64\", \"image\": {\"feature\": \"image/encoded\", "
             "\"type\": \"str\"}}",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(features)},
    {.name = "sequence_features",
     .help = "the same for feature lists of a SequenceExample, whose first dimension is the steps",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(sequence_features)},
    {.name = "input",
     .help = "the field with the message; \"\" = the only str of the element",
     .type = CW_OPT_STR,
     .offset = OFFSET(input),
     .def = "\"\""},
    {0},
};

static int parse(const struct parse_example_opts *o, struct cw_example_features *ret_features,
                 struct cw_err *err)
{
    return cw_example_features_parse(&o->features, &o->sequence_features, ret_features, err);
}

static int check(const void *opts, struct cw_err *err)
{
    struct cw_example_features features = {0};
    int rc = parse(opts, &features, err);
    cw_example_features_fini(&features);
    return rc;
}

static int find_input(const struct parse_example_opts *o, const struct cw_spec *in, size_t *ret_at,
                      struct cw_err *err)
{
    int at = o->input[0] ? cw_spec_find(in, o->input) : -1;
    size_t strings = 0;
    for (size_t i = 0; i < in->n && !o->input[0]; i++)
        if (in->fields[i].dtype == CW_DTYPE_STR) {
            at = (int)i;
            strings++;
        }
    if (at < 0)
        return cw_err_set(err, CW_E_INVALID, "option input: there is no field \"%s\" that is a str",
                          o->input);
    if (strings > 1)
        return cw_err_set(err, CW_E_INVALID,
                          "option input: is needed, since the element has %zu strings", strings);
    if (in->fields[at].dtype != CW_DTYPE_STR || in->fields[at].rank > 0)
        return cw_err_set(err, CW_E_INVALID, "field \"%s\" is a %s; a str is needed",
                          in->fields[at].name, cw_dtype_name(in->fields[at].dtype));
    *ret_at = (size_t)at;
    return 0;
}

static int add_field(struct cw_spec *spec, const struct cw_field *field, struct cw_err *err)
{
    return cw_spec_add(spec, field->name, field->dtype, field->rank, field->dims, err);
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    struct cw_example_features features = {0};
    CW_SPEC_AUTO spec = {0};
    size_t at = 0;
    (void)in_n;
    int rc = find_input(opts, in, &at, err);
    if (rc == 0)
        rc = parse(opts, &features, err);
    for (size_t i = 0; i < in->n && rc == 0; i++)
        rc = i == at ? 0 : add_field(&spec, &in->fields[i], err);
    for (size_t i = 0; i < features.n && rc == 0; i++)
        rc = add_field(&spec, &features.v[i].field, err);
    cw_example_features_fini(&features);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

static void close_features(void *state)
{
    cw_example_features_fini(state);
    cw_mem_free(state);
}

static int open_features(const void *opts, const struct cw_op_open *how, void **ret_state,
                         struct cw_err *err)
{
    struct cw_example_features *features = CW_NEW(struct cw_example_features);
    (void)how;
    int rc = parse(opts, features, err);
    if (rc < 0)
        cw_mem_free(features);
    else
        *ret_state = features;
    return rc;
}

/* What a thread keeps: the features as they are looked for, and where the last one was found. */
struct scratch {
    struct cw_example_feature *wanted;
    size_t hint;
};

static void *scratch_new(const void *opts, void *state)
{
    const struct cw_example_features *features = state;
    struct scratch *s = CW_NEW(struct scratch);
    (void)opts;
    s->wanted = CW_NEW_ARRAY(struct cw_example_feature, features->n);
    for (size_t i = 0; i < features->n; i++)
        s->wanted[i] = (struct cw_example_feature){.name = features->v[i].feature,
                                                   .name_n = strlen(features->v[i].feature),
                                                   .is_list = features->v[i].is_list};
    return s;
}

static void scratch_free(void *scratch)
{
    struct scratch *s = scratch;
    cw_mem_free(s->wanted);
    cw_mem_free(s);
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct cw_example_features *features = state;
    struct scratch *s = scratch;
    size_t at = 0;
    int rc = find_input(opts, ctx->in, &at, err);
    if (rc < 0)
        return rc;
    const struct cw_view record = element->fields[at];
    rc = cw_example_find(record.data, record.bytes, s->wanted, features->n, &s->hint, err);
    for (size_t i = at; i + 1 < element->n; i++)
        element->fields[i] = element->fields[i + 1];
    element->n--;
    for (size_t i = 0; i < features->n && rc == 0; i++) {
        rc = cw_example_feature_make(ctx, record.data, &features->v[i], &s->wanted[i],
                                     &element->fields[element->n], err);
        element->n++;
    }
    return rc;
}

static bool names(const void *opts, struct cw_op_names *names)
{
    const struct parse_example_opts *o = opts;
    if (!o->input[0]) /* whichever is the only str */
        return false;
    cw_op_names_add(names, o->input);
    return true;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct parse_example_opts *o = opts;
    size_t at = 0;
    (void)fields;
    (void)fields_n;
    *ret_facts = (struct cw_op_facts){0};
    if (find_input(o, in, &at, NULL) == 0)
        cw_facts_of_unpacking(in, at, false, o->features.n + o->sequence_features.n, ret_facts);
}

/* Which str is the only one may be another where the operator stands elsewhere. */
static bool pin(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                struct cw_value *pinned)
{
    size_t at = 0;
    (void)fields;
    (void)fields_n;
    if (find_input(opts, in, &at, NULL) < 0)
        return false;
    cw_value_set_str(cw_value_member(pinned, "input"), in->fields[at].name);
    return true;
}

const struct cw_op cw_op_parse_example = {
    .name = "parse_example",
    .version = 1,
    .summary = "fields from tf.train.Example and SequenceExample",
    .doc =
        "Replaces a `str` with a serialized tf.train.Example, as TFRecord files hold them, by "
        "fields made of its\n"
        "features; other fields stay before them. `features` says which, and only these are "
        "decoded: by field name a\n"
        "type, or an object with `feature` (the name in the message, if it is another), `type` "
        "and `default`. Types\n"
        "are `str`, `i64` and `f32` for one value, with dims for more: `f32[4]` has 4 values, "
        "`i64[-1]` any number,\n"
        "`f32[-1,4]` any number of fours. A feature that is not there, or has no values, takes "
        "its default (one value,\n"
        "which fills the tensor); without default it is an error, or an empty tensor if its first "
        "dimension is -1.\n"
        "\n"
        "`sequence_features` are the feature lists of a tf.train.SequenceExample: `f32[-1,3]` "
        "has three values a\n"
        "step, `i64[-1]` one. Its context are `features`. Lists of strings (`str[-1]`) can be in "
        "`features` only.",
    .kind = CW_OP_ELEMENT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct parse_example_opts),
    .check = check,
    .infer = infer,
    .open = open_features,
    .close = close_features,
    .scratch_new = scratch_new,
    .scratch_free = scratch_free,
    .apply = apply,
    .facts = facts,
    .names = names,
    .pin = pin,
};
