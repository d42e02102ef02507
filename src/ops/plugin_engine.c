/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the engine that operators of plugins call. */
#include "ops/plugin_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static const struct cw_op_ctx *ctx_of(const struct cachew_op_call *call)
{
    return call->engine;
}

static struct cw_err *err_of(struct cachew_op_error *error)
{
    return (struct cw_err *)(void *)error;
}

static const struct cw_spec *spec_of(const struct cachew_op_spec *spec)
{
    return (const struct cw_spec *)(const void *)spec;
}

__attribute__((format(printf, 3, 4))) static int fail(struct cachew_op_error *error, int code,
                                                      const char *format, ...)
{
    char text[sizeof(((struct cw_err *)NULL)->msg)];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return cw_err_set(err_of(error), code < 0 ? code : CW_E_INTERNAL, "%s", text);
}

static size_t spec_fields(const struct cachew_op_spec *spec)
{
    return spec ? spec_of(spec)->n : 0;
}

static int spec_field(const struct cachew_op_spec *spec, size_t i,
                      struct cachew_op_field *ret_field)
{
    if (!spec || i >= spec_of(spec)->n)
        return 0;
    struct cachew_op_field field;
    const size_t size = ret_field->struct_size;
    cw_plugin_to_field(&spec_of(spec)->fields[i], &field);
    memcpy(ret_field, &field, CW_MIN(size, sizeof(field)));
    ret_field->struct_size = size;
    return 1;
}

static int spec_find(const struct cachew_op_spec *spec, const char *name)
{
    return spec ? cw_spec_find(spec_of(spec), name) : -1;
}

static int spec_add(struct cachew_op_spec *spec, const struct cachew_op_field *field,
                    struct cachew_op_error *error)
{
    struct cw_field made = {0};
    int rc = cw_plugin_from_field(field, &made, err_of(error));
    if (rc == 0)
        rc = cw_spec_add((struct cw_spec *)(void *)spec, field->name ? field->name : "", made.dtype,
                         made.rank, made.dims, err_of(error));
    return rc;
}

static void *memory(const struct cachew_op_call *call, size_t bytes, struct cachew_op_error *error)
{
    return cw_op_scratch(ctx_of(call), bytes, err_of(error));
}

static int output(const struct cachew_op_call *call, struct cachew_op_view *view,
                  struct cachew_op_error *error)
{
    struct cw_field shape = {0};
    const struct cachew_op_field asked = {.dtype = view->dtype, .rank = view->rank};
    int rc = cw_plugin_from_field(&asked, &shape, err_of(error));
    if (rc < 0)
        return rc;
    struct cw_view made = {.bytes = view->bytes, .dtype = shape.dtype, .rank = view->rank};
    memcpy(made.dims, view->dims, sizeof(made.dims));
    rc = cw_op_output(ctx_of(call), &made, err_of(error));
    view->data = made.data;
    view->bytes = made.bytes;
    return rc;
}

static uint64_t random_u64(const struct cachew_op_call *call, uint32_t draw)
{
    return cw_rng_u64(&ctx_of(call)->rng, draw);
}

static double random_unit(const struct cachew_op_call *call, uint32_t draw)
{
    return cw_rng_unit(&ctx_of(call)->rng, draw);
}

static uint64_t random_below(const struct cachew_op_call *call, uint32_t draw, uint64_t n)
{
    return n ? cw_rng_below(&ctx_of(call)->rng, draw, n) : 0;
}

static int is_unwanted(const struct cachew_op_call *call)
{
    return cw_stop_is_set(ctx_of(call)->stop);
}

static int make(const struct cachew_op_call *call, const struct cachew_op_rows *rows, size_t first,
                const struct cachew_op_element *element, struct cachew_op_error *error)
{
    const struct cw_op_rows *ours = rows->engine;
    const struct cw_spec *out = ctx_of(call)->out;
    if (first >= ours->n || element->n != out->n)
        return fail(error, CW_E_INTERNAL,
                    "the operator makes an element of %zu fields, with the id of row %zu of %zu",
                    element->n, first, ours->n);
    cw_autofree struct cw_view *views = CW_NEW_ARRAY(struct cw_view, CW_MAX(out->n, 1));
    for (size_t i = 0; i < out->n; i++) {
        int rc = cw_plugin_from_view(element->fields[i], &out->fields[i], &views[i], err_of(error));
        if (rc < 0)
            return rc;
    }
    return ours->make(ours, first, views, err_of(error));
}

const struct cachew_op_engine *cw_plugin_engine(void)
{
    static const struct cachew_op_engine engine = {.struct_size = sizeof(engine),
                                                   .abi = CACHEW_OP_ABI,
                                                   .fail = fail,
                                                   .spec_fields = spec_fields,
                                                   .spec_field = spec_field,
                                                   .spec_find = spec_find,
                                                   .spec_add = spec_add,
                                                   .memory = memory,
                                                   .output = output,
                                                   .random_u64 = random_u64,
                                                   .random_unit = random_unit,
                                                   .random_below = random_below,
                                                   .is_unwanted = is_unwanted,
                                                   .make = make};
    return &engine;
}
