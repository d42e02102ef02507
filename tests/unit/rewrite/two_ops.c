/* SPDX-License-Identifier: Apache-2.0 */
#include "two_ops.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "ops/apply_field.h"
#include "support/cm.h"

static void add_fields(struct cw_node *node, const char *names)
{
    cw_autofree char *copy = cw_mem_strdup(names);
    char *rest = NULL;

    node->fields = CW_NEW_ARRAY(char *, CW_FIELDS_MAX);
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        node->fields[node->fields_n++] = cw_mem_strdup(name);
}

void one_op_parse(const char *text, struct one_op *op)
{
    cw_autofree char *copy = cw_mem_strdup(text);
    char *options = strchr(copy, '{'), *fields = options ? strrchr(copy, '}') : NULL;
    struct cw_err err = {0};

    *op = (struct one_op){.text = text};
    op->node.name = cw_mem_strdup(text);
    op->node.op = cw_mem_strndup(text, strcspn(text, " "));
    op->checked.op = cw_op_find(op->node.op);
    assert_non_null(op->checked.op);
    if (!options)
        options = fields = strchr(copy, ' ') ? strchr(copy, ' ') : copy + strlen(copy);
    else
        fields++;
    if (options != fields) {
        char end = *fields;
        *fields = '\0';
        assert_int_equal(cw_value_parse(options, strlen(options), text, &op->node.options, &err),
                         0);
        *fields = end;
    }
    if (strlen(fields) > 1)
        add_fields(&op->node, fields + 1);
    if (!op->checked.op->options)
        return;
    op->checked.opts = cw_mem_new(op->checked.op->options_bytes);
    if (cw_opt_parse(op->checked.op->options, &op->node.options, op->checked.opts, &err) != 0)
        fail_msg("%s: %s", text, err.msg);
}

static void close_op(struct one_op *op)
{
    const struct cw_op *it = op->checked.op;

    if (op->scratch && it->scratch_free)
        it->scratch_free(op->scratch);
    if (op->state && it->close)
        it->close(op->state);
    op->scratch = op->state = NULL;
}

int one_op_infer(struct one_op *op, const struct cw_spec *in)
{
    const struct cw_op *it = op->checked.op;
    struct cw_op_open how = {.out = &op->checked.out};
    struct cw_err err = {0};

    close_op(op);
    cw_spec_fini(&op->in);
    op->in = cw_spec_copy(in);
    cw_inferred_fini(&op->checked);
    int rc = cw_infer_node(&op->node, in, 1, &op->checked, &err);
    if (rc == 0 && it->open)
        rc = it->open(op->checked.opts, &how, &op->state, &err);
    if (rc == 0 && it->scratch_new)
        op->scratch = it->scratch_new(op->checked.opts, op->state);
    return rc;
}

void one_op_pin(const struct one_op *from, struct one_op *to)
{
    CW_STR_AUTO names = {0};

    if (to->node.fields_n > 0 || !(from->checked.op->traits & CW_OP_FIELDWISE))
        return;
    for (size_t i = 0; i < from->checked.fields_n; i++)
        cw_str_addf(&names, "%s%s", i ? "," : "", from->in.fields[from->checked.fields[i]].name);
    add_fields(&to->node, cw_str_text(&names));
}

void one_op_facts(const struct one_op *op, struct cw_chain_op *ret_op)
{
    *ret_op = (struct cw_chain_op){.in = &op->in};
    if (op->checked.op->facts)
        cw_op_facts_get(op->checked.op, op->checked.opts, &op->in, op->checked.fields,
                        op->checked.fields_n, &ret_op->facts);
}

void one_op_fini(struct one_op *op)
{
    close_op(op);
    if (op->checked.op->options)
        cw_opt_fini(op->checked.op->options, op->checked.opts);
    cw_mem_free(op->checked.opts);
    cw_inferred_fini(&op->checked);
    cw_spec_fini(&op->in);
    cw_node_fini(&op->node);
}

enum outcome one_op_apply(struct one_op *op, struct cw_arena *arena, uint64_t id,
                          struct cw_element *element)
{
    const struct cw_op *it = op->checked.op;
    struct cw_op_ctx ctx = {.arena = arena,
                            .in = &op->in,
                            .out = &op->checked.out,
                            .fields = op->checked.fields,
                            .fields_n = op->checked.fields_n};
    int rc = 0;

    cw_rng_init(&ctx.rng, 1, cw_hash_u64(op->text, strlen(op->text)), 0, 0, id);
    if (it->apply)
        rc = it->apply(&ctx, op->checked.opts, op->state, op->scratch, element, NULL);
    for (size_t i = 0; !it->apply && rc == 0 && i < ctx.fields_n; i++) {
        struct cw_view in = element->fields[ctx.fields[i]], out = in;
        ctx.field = ctx.fields[i];
        rc = cw_op_apply_field(it, &ctx, op->checked.opts, op->state, op->scratch, &in, &out, NULL);
        element->fields[ctx.fields[i]] = out;
    }
    return rc < 0 ? REFUSED : rc > 0 ? DROPPED : KEPT;
}

static bool same_views(const struct cw_view *a, const struct cw_view *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank && a->bytes == b->bytes;

    for (int i = 0; same && i < a->rank; i++)
        same = a->dims[i] == b->dims[i];
    return same && (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
}

bool same_elements(const struct cw_element *a, const struct cw_element *b)
{
    bool same = a->n == b->n;

    for (size_t i = 0; same && i < a->n; i++)
        same = same_views(&a->fields[i], &b->fields[i]);
    return same;
}
