/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin whose operators put into elements what they are told in calls. Source test.told: a position, the
 * state's number, and which call of its thread this is. Group test.told_rows: for each row the same of its
 * own, and the row's id. */
#include <cachew/op.h>

#include <stdlib.h>

static const struct cachew_op_engine *engine;

struct scratch {
    int64_t state, calls;
};

static int open_it(const struct cachew_op_open *open, void **ret_state,
                   struct cachew_op_error *error)
{
    int64_t *number = malloc(sizeof(*number));
    (void)open;
    if (!number)
        return engine->fail(error, CACHEW_OP_NOMEM, "no memory");
    *number = 1000;
    *ret_state = number;
    return 0;
}

static void *scratch_new(const void *opts, void *state)
{
    struct scratch *scratch = calloc(1, sizeof(*scratch));
    (void)opts;
    if (scratch)
        scratch->state = *(const int64_t *)state;
    return scratch;
}

static int add(struct cachew_op_spec *out, const char *name, struct cachew_op_error *error)
{
    const struct cachew_op_field field = {
        .struct_size = sizeof(field), .name = name, .dtype = CACHEW_OP_I64};
    return engine->spec_add(out, &field, error);
}

/* Sets the view of one number. */
static int put(const struct cachew_op_call *call, struct cachew_op_view *view, int64_t number,
               struct cachew_op_error *error)
{
    *view = (struct cachew_op_view){.struct_size = sizeof(*view), .dtype = CACHEW_OP_I64};
    int64_t *to = engine->memory(call, sizeof(number), error);
    if (!to)
        return CACHEW_OP_NOMEM;
    *to = number;
    view->data = to;
    view->bytes = sizeof(number);
    return 0;
}

/* The state's number, and 1 if scratch was made from this state and belongs to the thread. */
static int64_t told(const struct cachew_op_call *call)
{
    const int64_t *state = call->state;
    struct scratch *scratch = call->scratch;
    if (!state || !scratch || scratch->state != *state)
        return -1;
    scratch->calls++;
    return *state + (scratch->calls > 0);
}

/* ---- the source ---- */

static int infer_source(const void *opts, const struct cachew_op_spec *in,
                        struct cachew_op_spec *out, struct cachew_op_error *error)
{
    (void)opts;
    (void)in;
    int rc = add(out, "pos", error);
    return rc == 0 ? add(out, "told", error) : rc;
}

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cachew_op_error *error)
{
    (void)opts;
    (void)in_n;
    (void)inputs_n;
    (void)error;
    *ret_n = *(const int64_t *)state / 200;
    return 0;
}

static int read_it(const struct cachew_op_call *call, int64_t pos, struct cachew_op_element *out,
                   struct cachew_op_error *error)
{
    int rc = put(call, out->fields[0], pos, error);
    return rc == 0 ? put(call, out->fields[1], told(call), error) : rc;
}

/* ---- the group ---- */

static int infer_rows(const void *opts, const struct cachew_op_spec *in, struct cachew_op_spec *out,
                      struct cachew_op_error *error)
{
    (void)opts;
    (void)in;
    int rc = add(out, "id", error);
    if (rc == 0)
        rc = add(out, "told", error);
    return rc == 0 ? add(out, "of_source", error) : rc;
}

static int inside(const struct cachew_op_call *call, const struct cachew_op_rows *rows,
                  struct cachew_op_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < rows->n; i++) {
        struct cachew_op_view id, mine, source = *rows->row[i]->fields[1];
        struct cachew_op_view *fields[] = {&id, &mine, &source};
        const struct cachew_op_element element = {
            .struct_size = sizeof(element), .n = 3, .fields = fields};
        rc = put(call, &id, (int64_t)rows->row[i]->id, error);
        if (rc == 0)
            rc = put(call, &mine, told(call), error);
        if (rc == 0)
            rc = engine->make(call, rows, i, &element, error);
    }
    return rc;
}

static const struct cachew_op source = {
    .struct_size = sizeof(struct cachew_op),
    .name = "test.told",
    .version = 1,
    .summary = "what a source is told",
    .kind = CACHEW_OP_SOURCE,
    .infer = infer_source,
    .open = open_it,
    .close = free,
    .scratch_new = scratch_new,
    .scratch_free = free,
    .count = count,
    .read = read_it,
};
static const struct cachew_op group = {
    .struct_size = sizeof(struct cachew_op),
    .name = "test.told_rows",
    .version = 1,
    .summary = "what a group operator is told",
    .kind = CACHEW_OP_GROUP,
    .infer = infer_rows,
    .open = open_it,
    .close = free,
    .scratch_new = scratch_new,
    .scratch_free = free,
    .inside = inside,
};

CACHEW_OP_LIBRARY(loader)
{
    static const struct cachew_op *const ops[] = {&source, &group};
    static struct cachew_op_library library = {
        .struct_size = sizeof(struct cachew_op_library),
        .abi = CACHEW_OP_ABI,
        .name = "told",
        .ops = ops,
        .ops_n = 2,
    };
    engine = loader;
    return &library;
}
