/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `shift`: the inputs and labels of a task in which the next value is to be told. */
#include <string.h>

#include "ops/op_util.h"

struct shift_opts {
    char *field, *labels;
};

#define OFFSET(member) offsetof(struct shift_opts, member)
static const struct cw_opt options[] = {
    {.name = "field",
     .help = "the field with the tokens; default: the only one with dimensions",
     .type = CW_OPT_STR,
     .offset = OFFSET(field)},
    {.name = "labels",
     .help = "name of the field that is added",
     .type = CW_OPT_STR,
     .offset = OFFSET(labels),
     .def = "\"labels\""},
    {0},
};

static bool is_fit(const struct cw_field *field)
{
    return field->dtype != CW_DTYPE_STR && field->rank >= 1;
}

/* Finds the field; in->n: there is none, or it is not clear which. */
static size_t find_field(const struct shift_opts *o, const struct cw_spec *in)
{
    size_t found = in->n;
    if (o->field && o->field[0]) {
        const int named = cw_spec_find(in, o->field);
        return named >= 0 && is_fit(&in->fields[named]) ? (size_t)named : in->n;
    }
    for (size_t i = 0; i < in->n; i++) {
        if (!is_fit(&in->fields[i]))
            continue;
        if (found < in->n)
            return in->n;
        found = i;
    }
    return found;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct shift_opts *o = opts;
    const size_t at = find_field(o, in);
    (void)in_n;
    if (at == in->n)
        return cw_err_set(err, CW_E_INVALID,
                          "option field: must name one of the fields that have "
                          "dimensions");
    CW_SPEC_AUTO spec = cw_spec_copy(in);
    struct cw_field *field = &spec.fields[at];
    if (field->dims[0] >= 0)
        field->dims[0] = CW_MAX(field->dims[0] - 1, 0);
    int rc = cw_spec_add(&spec, o->labels, field->dtype, field->rank, field->dims, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    struct cw_view *inputs = &element->fields[find_field(opts, ctx->in)];
    (void)state;
    (void)scratch;
    (void)err;
    if (inputs->dims[0] > 0) {
        const size_t row = inputs->bytes / (size_t)inputs->dims[0];
        inputs->dims[0]--;
        inputs->bytes -= row;
        element->fields[element->n] = *inputs;
        element->fields[element->n].data = (char *)inputs->data + row;
    } else {
        element->fields[element->n] = *inputs;
    }
    element->n++;
    return 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const size_t at = find_field(opts, in);
    (void)fields;
    (void)fields_n;
    *ret_facts = (struct cw_op_facts){0};
    if (at == in->n)
        return;
    cw_facts_of_fields(CW_EFFECT_OTHER, &at, 1, ret_facts);
    cw_field_set_add(&ret_facts->writes, in->n);
    ret_facts->names_field = true;
}

static bool pin(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                struct cw_value *pinned)
{
    const size_t at = find_field(opts, in);
    (void)fields;
    (void)fields_n;
    if (at < in->n)
        cw_value_set_str(cw_value_member(pinned, "field"), in->fields[at].name);
    return at < in->n;
}

const struct cw_op cw_op_shift = {
    .name = "shift",
    .version = 1,
    .summary = "inputs and labels of a task in which the next token is told",
    .doc =
        "Makes two fields of one: the field itself without its last value along the first\n"
        "dimension, and `labels`, which is the field without its first value. So label k is what\n"
        "follows input k. A field without values stays, and has no labels.",
    .kind = CW_OP_ELEMENT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct shift_opts),
    .infer = infer,
    .apply = apply,
    .facts = facts,
    .pin = pin,
};
