/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of sources. */
#include "ops/cases.h"

#include "base/mem.h"

#include <string.h>

struct run {
    struct test_case *c;
    struct cw_spec spec;
    struct cw_arena *arena;
};

static int read_at(struct run *r, void *state, int64_t pos, struct cw_element *ret,
                   struct cw_err *err)
{
    struct cw_op_ctx ctx = {.arena = r->arena, .out = &r->spec};
    *ret = (struct cw_element){0};
    int rc = r->c->op->read(&ctx, r->c->opts, state, pos, ret, err);
    if (rc == 0 && ret->n != r->spec.n)
        rc = cw_err_set(err, CW_E_INTERNAL, "the element has %zu fields, the spec %zu", ret->n,
                        r->spec.n);
    return rc;
}

static int64_t position(const struct run *r, size_t i)
{
    const struct cw_value *at = cw_value_get(r->c->expect, "at");
    return at ? at->items[i].i : (int64_t)i;
}

/* What read_run gives, forwards and in larger steps, is what read gives. It may refuse rows only if
 * one of them is refused by read, too. */
static int check_run(struct run *r, void *state, int64_t n, int64_t step, struct cw_err *err)
{
    const struct cw_op *op = r->c->op;
    int64_t bytes = cw_field_bytes(&r->spec.fields[0]);
    int64_t count = CW_MIN((n + step - 1) / step, 50);
    if (!op->read_run || n == 0 || r->spec.n != 1 || bytes < 0)
        return 0;
    cw_autofree char *run = cw_mem_new((size_t)(count * bytes));
    bool refused = op->read_run(r->c->opts, state, 0, step, count, run) < 0;
    int rc = 0;
    for (int64_t i = 0; i < count && rc == 0; i++) {
        struct cw_element e;
        rc = read_at(r, state, i * step, &e, err);
        if (rc < 0 && refused)
            return 0;
        if (rc == 0 && !refused && memcmp(run + i * bytes, e.fields[0].data, (size_t)bytes) != 0)
            rc = cw_err_set(err, CW_E_INTERNAL, "read_run differs from read at position %lld",
                            (long long)(i * step));
    }
    if (rc == 0 && refused)
        rc = cw_err_set(err, CW_E_INTERNAL, "read_run refuses what read gives");
    return rc;
}

static int check_elements(struct run *r, void *state, struct cw_err *err)
{
    const struct cw_value *wants = cw_value_get(r->c->expect, "elements");
    const struct cw_value *describe = cw_value_get(r->c->expect, "describe");
    int64_t n = 0;
    int rc = r->c->op->count(r->c->opts, state, NULL, 0, &n, err);
    int64_t want_n = test_number(r->c->expect, "count", n);
    if (rc == 0 && n != want_n)
        return cw_err_set(err, CW_E_INVALID, "count is %lld, expected %lld", (long long)n,
                          (long long)want_n);
    for (size_t i = 0; wants && i < wants->n && rc == 0; i++) {
        struct cw_element e;
        rc = read_at(r, state, position(r, i), &e, err);
        if (rc == 0)
            rc = test_check_element(r->c, i, &r->spec, &e, err);
    }
    if (rc == 0 && describe) {
        CW_STR_AUTO text = {0};
        r->c->op->describe(r->c->opts, state, position(r, 0), &text);
        if (!strstr(cw_str_text(&text), describe->s))
            rc = cw_err_set(err, CW_E_INVALID, "describe says \"%s\"", cw_str_text(&text));
    }
    if (rc == 0)
        rc = check_run(r, state, n, 1, err);
    return rc < 0 ? rc : check_run(r, state, n, 3, err);
}

/* A case that expects an error may get it from any element. */
static int read_all(struct run *r, void *state, struct cw_err *err)
{
    int64_t n = 0;
    int rc = r->c->op->count(r->c->opts, state, NULL, 0, &n, err);
    for (int64_t i = 0; i < CW_MIN(n, 1000) && rc == 0; i++) {
        struct cw_element e;
        rc = read_at(r, state, i, &e, err);
    }
    return rc;
}

static int open_and_check(struct run *r, const struct cw_value *manifest,
                          struct cw_value *ret_manifest, struct cw_err *err)
{
    const struct cw_op *op = r->c->op;
    const struct cw_op_open how = {.manifest = manifest, .out = &r->spec};
    void *state = NULL;
    int rc = op->open ? op->open(r->c->opts, &how, &state, err) : 0;
    if (rc == 0)
        rc = cw_value_get(r->c->expect, "error") ? read_all(r, state, err)
                                                 : check_elements(r, state, err);
    if (rc == 0 && op->manifest && ret_manifest)
        op->manifest(r->c->opts, state, ret_manifest);
    if (op->close && state)
        op->close(state);
    cw_arena_reset(r->arena);
    return rc;
}

int test_run_source(struct test_case *c, struct cw_err *err)
{
    struct run r = {.c = c, .arena = cw_arena_new((size_t)1 << 20)};
    struct cw_value manifest = {0};
    int rc = c->op->infer(c->opts, NULL, 0, &r.spec, err);
    if (rc == 0)
        rc = test_check_spec(c, &r.spec, err);
    if (rc == 0)
        rc = open_and_check(&r, NULL, &manifest, err);
    if (rc == 0 && c->op->manifest) {
        rc = open_and_check(&r, &manifest, NULL, err);
        if (rc < 0)
            cw_err_wrap(err, "opened with the manifest");
    }
    cw_value_fini(&manifest);
    cw_arena_free(r.arena);
    return rc;
}
