/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `assert_spec`: says what elements must be, and refuses others. */
#include <string.h>

#include "ops/element/pick_op.h"
#include "ops/op_util.h"

struct assert_opts {
    bool exact;
    struct cw_str_list spec;
};

#define OFFSET(member) offsetof(struct assert_opts, member)
static const struct cw_opt options[] = {
    {.name = "exact",
     .help = "there must be no other fields, and they must come in this order",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(exact),
     .def = "false"},
    {.name = "spec",
     .help = "fields as `cachew check` prints them: \"image: u8[224,224,3]\"; ? fits any dimension",
     .type = CW_OPT_STR_LIST,
     .offset = OFFSET(spec),
     .flags = CW_OPT_REQUIRED,
     .len_min = 1,
     .len_max = CW_FIELDS_MAX},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    CW_SPEC_AUTO spec = {0};
    int rc = cw_op_spec_from_list(&((const struct assert_opts *)opts)->spec, &spec, err);
    return rc < 0 ? cw_err_wrap(err, "option spec") : 0;
}

static int misfit(const struct cw_field *is, const struct cw_field *must, struct cw_err *err)
{
    CW_STR_AUTO is_text = {0}, must_text = {0};
    cw_field_print(is, &is_text);
    cw_field_print(must, &must_text);
    return cw_err_set(err, CW_E_INVALID, "option spec: must be %s, but is %s",
                      cw_str_text(&must_text), cw_str_text(&is_text));
}

/* Compares a field, and takes over dims that are not known yet. */
static int refine(struct cw_field *field, const struct cw_field *must, struct cw_err *err)
{
    bool fits = field->dtype == must->dtype && field->rank == must->rank;
    for (int i = 0; fits && i < must->rank; i++)
        fits = must->dims[i] < 0 || field->dims[i] == -1 || field->dims[i] == must->dims[i];
    if (!fits)
        return misfit(field, must, err);
    for (int i = 0; i < must->rank; i++)
        if (field->dims[i] == -1)
            field->dims[i] = must->dims[i];
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct assert_opts *o = opts;
    CW_SPEC_AUTO spec = cw_spec_copy(in);
    CW_SPEC_AUTO must = {0};
    (void)in_n;
    int rc = cw_op_spec_from_list(&o->spec, &must, err);
    for (size_t i = 0; rc == 0 && i < must.n; i++) {
        size_t field;
        rc = cw_pick_one(in, "spec", must.fields[i].name, &field, err);
        if (rc == 0)
            rc = refine(&spec.fields[field], &must.fields[i], err);
        if (rc == 0 && o->exact && field != i)
            rc =
                cw_err_set(err, CW_E_INVALID, "option exact: field \"%s\" is at place %zu, not %zu",
                           must.fields[i].name, field, i);
    }
    if (rc == 0 && o->exact && in->n > must.n)
        rc = cw_err_set(err, CW_E_INVALID, "option exact: there is a field \"%s\", too",
                        in->fields[must.n].name);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

/* Looks at what this operator has made known only: of a field whose dimensions were known before there may be a part,
 * where a crop behind needs no more. */
static bool fits(const struct cw_view *view, const struct cw_field *known,
                 const struct cw_field *field)
{
    for (int i = 0; i < field->rank; i++)
        if (known->dims[i] < 0 && field->dims[i] >= 0 && view->dims[i] != field->dims[i])
            return false;
    return true;
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    (void)opts;
    (void)state;
    (void)scratch;
    for (size_t i = 0; i < element->n; i++) {
        const struct cw_view *view = &element->fields[i];
        struct cw_field is = ctx->out->fields[i];
        if (fits(view, &ctx->in->fields[i], &is))
            continue;
        memcpy(is.dims, view->dims, sizeof(is.dims));
        return misfit(&is, &ctx->out->fields[i], err);
    }
    return 0;
}

/* The names of the fields that are looked at. */
static int find_spec(const struct assert_opts *o, struct cw_spec *ret_spec)
{
    return cw_op_spec_from_list(&o->spec, ret_spec, NULL);
}

static bool names(const void *opts, struct cw_op_names *names)
{
    const struct assert_opts *o = opts;
    CW_SPEC_AUTO must = {0};
    if (o->exact || find_spec(o, &must) < 0)
        return false;
    for (size_t i = 0; i < must.n; i++)
        cw_op_names_add(names, must.fields[i].name);
    return true;
}

/* Elements stay as they are, but what is known of these fields' dimensions does not. With `exact` it looks at which
 * fields there are, and where. */
static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct assert_opts *o = opts;
    CW_SPEC_AUTO must = {0};
    (void)fields;
    (void)fields_n;
    *ret_facts = (struct cw_op_facts){0};
    if (o->exact || find_spec(o, &must) < 0)
        return;
    *ret_facts = (struct cw_op_facts){.known = true, .refuses = true};
    for (size_t i = 0; i < must.n; i++) {
        const int at = cw_spec_find(in, must.fields[i].name);
        if (at >= 0)
            cw_field_set_add(&ret_facts->reads, (size_t)at);
    }
    ret_facts->writes = ret_facts->reads;
}

const struct cw_op cw_op_assert_spec = {
    .name = "assert_spec",
    .version = 1,
    .summary = "says what elements must be",
    .doc =
        "The fields of `spec` must be there, with this dtype and these dimensions; ? (or -1) fits "
        "any. What is known before there\n"
        "are data is checked then. Dimensions that only the data tell are known behind this "
        "operator, and an element\n"
        "that has others is refused, so that `batch` and what comes behind it know their sizes.",
    .kind = CW_OP_ELEMENT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct assert_opts),
    .check = check,
    .infer = infer,
    .apply = apply,
    .facts = facts,
    .names = names,
};
