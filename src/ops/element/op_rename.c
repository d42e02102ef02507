/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `rename`: gives fields other names. */
#include <string.h>

#include "ops/element/pick_op.h"
#include "ops/op_util.h"

struct rename_opts {
    struct cw_value names; /* an object: {"old": "new"} */
};

static const struct cw_opt options[] = {
    {.name = "names",
     .help = "the new name of each field that gets one: {\"old\": \"new\"}",
     .type = CW_OPT_VALUE,
     .offset = offsetof(struct rename_opts, names),
     .flags = CW_OPT_REQUIRED},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct cw_value *names = &((const struct rename_opts *)opts)->names;
    bool ok = names->type == CW_VALUE_OBJECT && names->n > 0;
    for (size_t i = 0; ok && i < names->n; i++)
        ok = names->items[i].type == CW_VALUE_STR;
    return ok ? 0
              : cw_err_set(err, CW_E_INVALID,
                           "option names: must be an object of names, {\"old\": \"new\"}");
}

/* The name that a field has afterwards. */
static const char *name_of(const struct cw_value *names, const char *name)
{
    const struct cw_value *other = cw_value_get(names, name);
    return other ? other->s : name;
}

/* All get their names at once, so two fields can change theirs. */
static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct cw_value *names = &((const struct rename_opts *)opts)->names;
    CW_SPEC_AUTO spec = {0};
    size_t field;
    int rc = 0;
    (void)in_n;
    for (size_t i = 0; i < names->n && rc == 0; i++)
        rc = cw_pick_one(in, "names", names->keys[i], &field, err);
    for (size_t i = 0; i < in->n && rc == 0; i++) {
        const struct cw_field *old = &in->fields[i];
        rc = cw_spec_add(&spec, name_of(names, old->name), old->dtype, old->rank, old->dims, err);
    }
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc < 0 ? cw_err_wrap(err, "option names") : 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct cw_value *names = &((const struct rename_opts *)opts)->names;
    (void)fields;
    (void)fields_n;
    *ret_facts = (struct cw_op_facts){.known = true, .names_field = true};
    for (size_t i = 0; i < in->n; i++)
        if (cw_value_get(names, in->fields[i].name))
            cw_field_set_add(&ret_facts->reads, i);
    ret_facts->writes = ret_facts->reads;
}

static bool names(const void *opts, struct cw_op_names *names)
{
    const struct cw_value *all = &((const struct rename_opts *)opts)->names;
    for (size_t i = 0; all->type == CW_VALUE_OBJECT && i < all->n; i++)
        cw_op_names_add(names, all->keys[i]);
    return true;
}

const struct cw_op cw_op_rename = {
    .name = "rename",
    .version = 1,
    .summary = "gives fields other names",
    .doc = "Gives each field that `names` has another name; all at once, so two may change their "
           "names. A name that two fields\n"
           "would have is an error.",
    .kind = CW_OP_ELEMENT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct rename_opts),
    .check = check,
    .infer = infer,
    .apply = cw_op_apply_same,
    .facts = facts,
    .names = names,
};
