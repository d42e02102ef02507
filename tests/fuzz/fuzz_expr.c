/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as an expression over fields of several kinds, before a batch and behind it: it is computed,
 * and the result is what binding said, or an error says why. */
#include <string.h>

#include "base/mem.h"
#include "ops/expr/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct {
    const char *name;
    enum cw_dtype dtype;
    int rank;
    int64_t dims[3];
} fields[] = {{"f", CW_DTYPE_F32, 2, {2, 3}},    {"g", CW_DTYPE_F32, 2, {2, 3}},
              {"t", CW_DTYPE_I16, 3, {2, 3, 5}}, {"i", CW_DTYPE_I64, 0, {0}},
              {"d", CW_DTYPE_F64, 1, {0}},       {"b", CW_DTYPE_BOOL, 1, {2}},
              {"s", CW_DTYPE_STR, 0, {0}}};

/* Values of exact size, so that the sanitizer sees one too many. is_open: only the data tell the dims. */
static void make_element(bool is_open, struct cw_spec *spec, struct cw_element *element)
{
    static const unsigned char noise[] = {0, 0, 0xc0, 0x7f, 1, 0x80, 0xff, 3};
    for (size_t k = 0; k < CW_ARRAY_LEN(fields); k++) {
        struct cw_view *view = &element->fields[element->n++];
        int64_t dims[3];
        *view = (struct cw_view){.dtype = fields[k].dtype, .rank = fields[k].rank};
        view->bytes = view->dtype == CW_DTYPE_STR ? 5 : cw_dtype_bytes(view->dtype);
        for (int i = 0; i < view->rank; i++) {
            view->dims[i] = fields[k].dims[i];
            dims[i] = is_open ? -1 : view->dims[i];
            view->bytes *= (size_t)view->dims[i];
        }
        CW_ASSERT(cw_spec_add(spec, fields[k].name, view->dtype, view->rank, dims, NULL) == 0);
        unsigned char *values = cw_mem_new(view->bytes);
        for (size_t i = 0; i < view->bytes; i++)
            values[i] = view->dtype == CW_DTYPE_BOOL ? i & 1 : noise[(i + k) % sizeof(noise)];
        view->data = values;
    }
}

static void compute(const char *text, bool is_open)
{
    CW_SPEC_AUTO spec = {0};
    struct cw_element element = {0};
    struct cw_expr *expr = NULL;
    struct cw_view view = {0};
    struct cw_err err = {0};
    make_element(is_open, &spec, &element);
    struct cw_op_ctx ctx = {.arena = cw_arena_new(1 << 16), .in = &spec, .out = &spec};
    int rc = cw_expr_parse(text, &expr, &err);
    if (rc == 0)
        rc = cw_expr_bind(expr, &spec, &err);
    if (rc == 0)
        rc = cw_expr_eval(expr, &ctx, &element, &view, &err);
    CW_ASSERT(rc == 0 || err.msg[0]);
    CW_ASSERT(rc < 0 || (view.dtype == expr->result.dtype && view.rank == expr->result.rank));
    for (int i = 0; rc == 0 && i < view.rank; i++)
        CW_ASSERT(expr->result.dims[i] < 0 || expr->result.dims[i] == view.dims[i]);
    cw_expr_free(expr);
    cw_arena_free(ctx.arena);
    for (size_t k = 0; k < element.n; k++)
        cw_mem_free(element.fields[k].data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    cw_autofree char *text = cw_mem_strndup((const char *)data, n);
    compute(text, false);
    compute(text, true);
    return 0;
}
