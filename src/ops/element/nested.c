/* SPDX-License-Identifier: Apache-2.0 */
/* Chains in options: parsed, inferred, and what they say of themselves. */
#include "ops/element/nested_int.h"

#include <string.h>
#include "base/mem.h"
#include "ops/op_lookup.h"

/* ---- parsing ---- */

static const char reads[] =
    "an operator that reads files or asks other processes cannot stand in a chain";

static const char *why_not(const struct cw_op *op)
{
    if (op->foreign)
        return "operators of plugins cannot stand in a chain";
    if (op->kind != CW_OP_ELEMENT)
        return "only operators that work on one element can stand in a chain";
    if (op->traits & (CW_OP_CACHE | CW_OP_MARK))
        return "elements are not cached within a chain";
    if (op->traits & CW_OP_CHANGES_COUNT)
        return "an operator that leaves elements out cannot stand in a chain";
    if (op->traits & CW_OP_READS || (op->manifest && !op->names_file) || op->probe)
        return reads;
    return NULL;
}

/* The members that are not the operator's own options. */
static bool is_reserved(const char *key)
{
    return strcmp(key, "op") == 0 || strcmp(key, "fields") == 0;
}

static int parse_names(const struct cw_value *names, struct cw_nested_op *op, struct cw_err *err)
{
    const size_t n = !names ? 0 : names->type == CW_VALUE_LIST ? names->n : 1;
    const struct cw_value *items = names && names->type == CW_VALUE_LIST ? names->items : names;
    if (n > CW_FIELDS_MAX)
        return cw_err_set(err, CW_E_LIMIT, "fields: more than %d", CW_FIELDS_MAX);
    op->names = CW_NEW_ARRAY(char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (items[i].type != CW_VALUE_STR)
            return cw_err_set(err, CW_E_INVALID, "fields: not a list of names");
        op->names[op->names_n++] = cw_mem_strdup(items[i].s);
    }
    return 0;
}

static int parse_options(const struct cw_value *item, struct cw_nested_op *op, struct cw_err *err)
{
    static const struct cw_opt none[] = {
        {0},
    };
    struct cw_value own = {0};
    cw_value_set_object(&own);
    for (size_t i = 0; i < item->n; i++)
        if (!is_reserved(item->keys[i]))
            cw_value_copy(cw_value_append(&own, item->keys[i]), &item->items[i]);
    void *opts = cw_mem_new(CW_MAX(op->op->options_bytes, 1));
    const int rc = cw_opt_parse(op->op->options ? op->op->options : none, &own, opts, err);
    cw_value_fini(&own);
    if (rc < 0) {
        cw_mem_free(opts);
        return rc;
    }
    op->opts = opts;
    if (cw_op_has_manifest(op->op, opts))
        return cw_err_set(err, CW_E_UNSUPPORTED, "%s", reads);
    if (op->op->is_complete && !op->op->is_complete(opts))
        return cw_err_set(err, CW_E_UNSUPPORTED, "in a chain it needs %s", op->op->completed);
    return op->op->check ? op->op->check(opts, err) : 0;
}

static int parse_op(const struct cw_value *item, struct cw_nested_op *op, struct cw_err *err)
{
    const struct cw_value *name = NULL;
    if (item->type == CW_VALUE_OBJECT)
        name = cw_value_get(item, "op");
    if (!name || name->type != CW_VALUE_STR)
        return cw_err_set(err, CW_E_INVALID, "not an object with a member \"op\"");
    op->op = cw_op_lookup(name->s);
    if (!op->op)
        return cw_err_set(err, CW_E_NOT_FOUND, "there is no operator \"%s\"", name->s);
    const char *refusal = why_not(op->op);
    int rc = refusal ? cw_err_set(err, CW_E_UNSUPPORTED, "%s", refusal) : 0;
    if (rc == 0)
        rc = parse_names(cw_value_get(item, "fields"), op, err);
    return rc == 0 ? parse_options(item, op, err) : rc;
}

/* Names an operator of a chain in a message. */
static int at_op(const struct cw_nested *nested, size_t i, struct cw_err *err)
{
    const struct cw_op *op = nested->v[i].op;
    return cw_err_wrap(err, "%s: operator %zu%s%s%s", nested->where, i + 1, op ? " (" : "",
                       op ? op->name : "", op ? ")" : "");
}

int cw_nested_new(const struct cw_value *list, const char *where, struct cw_nested **ret_nested,
                  struct cw_err *err)
{
    if (list->type != CW_VALUE_LIST || list->n == 0 || list->n > CW_NESTED_MAX)
        return cw_err_set(err, CW_E_INVALID, "%s: not a list of 1 to %d operators", where,
                          CW_NESTED_MAX);
    struct cw_nested *nested = CW_NEW(struct cw_nested);
    int rc = 0;
    nested->where = cw_mem_strdup(where);
    nested->v = CW_NEW_ARRAY(struct cw_nested_op, list->n);
    while (rc == 0 && nested->n < list->n) {
        const size_t i = nested->n++;
        rc = parse_op(&list->items[i], &nested->v[i], err);
        if (rc < 0)
            rc = at_op(nested, i, err);
    }
    if (rc < 0)
        cw_nested_free(nested);
    else
        *ret_nested = nested;
    return rc;
}

void cw_nested_free(struct cw_nested *nested)
{
    if (!nested)
        return;
    for (size_t i = 0; i < nested->n; i++) {
        struct cw_nested_op *op = &nested->v[i];
        if (op->state && op->op->close)
            op->op->close(op->state);
        for (size_t k = 0; k < op->names_n; k++)
            cw_mem_free(op->names[k]);
        cw_mem_free(op->names);
        if (op->opts && op->op->options)
            cw_opt_fini(op->op->options, op->opts);
        cw_mem_free(op->opts);
    }
    cw_mem_free(nested->v);
    cw_mem_free(nested->where);
    cw_mem_free(nested);
}

int cw_nested_open(struct cw_nested *nested, const struct cw_op_open *how, struct cw_err *err)
{
    for (size_t i = 0; i < nested->n; i++) {
        struct cw_nested_op *op = &nested->v[i];
        const struct cw_op_open own = {
            .identity = how->identity, .stop = how->stop, .op = op->op->name};
        if (op->op->open && op->op->open(op->opts, &own, &op->state, err) < 0)
            return at_op(nested, i, err);
    }
    return 0;
}

/* ---- inferring ---- */

void cw_nested_link_fini(struct cw_nested_link *link)
{
    cw_op_inferred_fini(&link->inferred);
}

int cw_nested_link_infer(const struct cw_nested *nested, size_t i, const struct cw_spec *in,
                         struct cw_nested_link *ret_link, struct cw_err *err)
{
    const struct cw_nested_op *op = &nested->v[i];
    const struct cw_op_written written = {
        .op = op->op, .opts = op->opts, .names = op->names, .names_n = op->names_n};
    *ret_link = (struct cw_nested_link){.in = in};
    int rc = cw_op_infer(&written, in, 1, &ret_link->inferred, err);
    if (rc == 0)
        rc = cw_motion_find(op->op, op->opts, in, &ret_link->moved, err);
    return rc < 0 ? at_op(nested, i, err) : 0;
}

/* Calls a function for each operator of a chain, with what it means for the elements that come to it, as long as it
 * returns 0. ret_out: the spec of what comes out, or NULL. */
typedef int link_fn(void *arg, size_t i, const struct cw_nested_op *op,
                    const struct cw_nested_link *link);
static int for_links(const struct cw_nested *nested, const struct cw_spec *in, link_fn *fn,
                     void *arg, struct cw_spec *ret_out, struct cw_err *err)
{
    CW_SPEC_AUTO spec = cw_spec_copy(in);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < nested->n; i++) {
        struct cw_nested_link link;
        rc = cw_nested_link_infer(nested, i, &spec, &link, err);
        if (rc == 0 && fn)
            rc = fn(arg, i, &nested->v[i], &link);
        if (rc == 0) {
            cw_spec_fini(&spec);
            spec = cw_spec_take(&link.inferred.out);
        }
        cw_nested_link_fini(&link);
    }
    if (rc == 0 && ret_out)
        *ret_out = cw_spec_take(&spec);
    return rc;
}

int cw_nested_infer(const struct cw_nested *nested, const struct cw_spec *in,
                    struct cw_spec *ret_out, struct cw_err *err)
{
    return for_links(nested, in, NULL, NULL, ret_out, err);
}

static bool same_kind(const struct cw_field *a, const struct cw_field *b)
{
    bool same = strcmp(a->name, b->name) == 0 && a->dtype == b->dtype && a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++)
        same = (a->dims[d] == CW_DIM_RAGGED) == (b->dims[d] == CW_DIM_RAGGED);
    return same;
}

int cw_nested_join(struct cw_spec *spec, const struct cw_spec *other, const char *what,
                   struct cw_err *err)
{
    bool same = spec->n == other->n;
    for (size_t i = 0; same && i < spec->n; i++) {
        struct cw_field *field = &spec->fields[i];
        same = same_kind(field, &other->fields[i]);
        for (int d = 0; same && d < field->rank; d++)
            if (field->dims[d] != other->fields[i].dims[d])
                field->dims[d] = -1;
    }
    if (same)
        return 0;
    CW_STR_AUTO mine = {0};
    CW_STR_AUTO others = {0};
    cw_spec_print(spec, &mine);
    cw_spec_print(other, &others);
    return cw_err_set(err, CW_E_INVALID, "elements would be %s or, %s, %s: fields must stay alike",
                      cw_str_text(&mine), what, cw_str_text(&others));
}

/* ---- what it says of itself ---- */

bool cw_nested_draws(const struct cw_nested *nested)
{
    bool draws = false;
    for (size_t i = 0; i < nested->n; i++)
        draws = draws || cw_op_draws(nested->v[i].op, nested->v[i].opts);
    return draws;
}

bool cw_nested_varies(const struct cw_nested *nested)
{
    bool varies = false;
    for (size_t i = 0; i < nested->n; i++)
        varies = varies || (nested->v[i].op->varies && nested->v[i].op->varies(nested->v[i].opts));
    return varies;
}

static int add_facts(void *arg, size_t i, const struct cw_nested_op *op,
                     const struct cw_nested_link *link)
{
    struct cw_op_facts *facts = arg, own = {0};
    (void)i;
    cw_op_facts_get(op->op, op->opts, link->in, link->inferred.fields, link->inferred.fields_n,
                    &own);
    if (!own.known || own.names_field || own.drops || link->in->n != link->inferred.out.n)
        return -1;
    cw_field_set_join(&facts->reads, &own.reads);
    cw_field_set_join(&facts->reads, &own.writes); /* what was there may stay */
    cw_field_set_join(&facts->writes, &own.writes);
    cw_field_set_join(&facts->weighs, &own.weighs);
    facts->refuses = facts->refuses || own.refuses;
    facts->refuses_values = facts->refuses_values || own.refuses_values;
    return 0;
}

void cw_nested_facts(const struct cw_nested *nested, const struct cw_spec *in,
                     struct cw_op_facts *facts)
{
    if (facts->known && for_links(nested, in, add_facts, facts, NULL, NULL) < 0)
        *facts = (struct cw_op_facts){0};
}

static int pin_op(void *arg, size_t i, const struct cw_nested_op *op,
                  const struct cw_nested_link *link)
{
    struct cw_value *item = &((struct cw_value *)arg)->items[i];
    const size_t n = link->inferred.fields_n;
    if (op->op->pin && !op->op->pin(op->opts, link->in, link->inferred.fields, n, item))
        return -1;
    if (!(op->op->traits & CW_OP_FIELDWISE))
        return 0;
    struct cw_value *names = cw_value_set_list(cw_value_member(item, "fields"), n);
    for (size_t k = 0; k < n; k++)
        cw_value_set_str(&names[k], link->in->fields[link->inferred.fields[k]].name);
    return 0;
}

bool cw_nested_pin(const struct cw_nested *nested, const struct cw_spec *in, struct cw_value *list)
{
    return for_links(nested, in, pin_op, list, NULL, NULL) == 0;
}
