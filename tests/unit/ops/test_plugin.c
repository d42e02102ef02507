/* SPDX-License-Identifier: Apache-2.0 */
/* The adapter to cachew/op.h with the example of docs/user-operators.md: where results are written, what is
 * noted of calls, and that nothing is allocated for an element. */
#include "support/cm.h"

#include <signal.h>
#include <string.h>

#include "base/call_note.h"
#include "base/mem.h"
#include "ops/foreign.h"
#include "ops/op.h"
#include "ops/plugin.h"

static const struct cw_op *whiten;

static int load(void **state)
{
    struct cw_err err = {0};
    (void)state;
    int rc = cw_plugin_load_file(CW_TEST_WHITEN, &err);
    if (rc < 0)
        print_error("%s\n", err.msg);
    whiten = cw_op_find("mylab.whiten");
    return rc;
}

struct call {
    struct cw_spec in, out;
    size_t field;
    void *opts;
    struct cw_op_ctx ctx;
    uint8_t bytes[3];
    float slot[3];
};

static void begin(struct call *c, const char *options)
{
    struct cw_value value = {0};
    const int64_t dim = 3;
    *c = (struct call){.bytes = {1, 2, 6}};
    assert_int_equal(cw_value_parse(options, strlen(options), "test", &value, NULL), 0);
    c->opts = cw_mem_new(whiten->options_bytes);
    assert_int_equal(cw_opt_parse(whiten->options, &value, c->opts, NULL), 0);
    cw_value_fini(&value);
    assert_int_equal(cw_spec_add(&c->in, "x", CW_DTYPE_U8, 1, &dim, NULL), 0);
    c->out = cw_spec_copy(&c->in);
    assert_int_equal(whiten->infer_field(c->opts, &c->in.fields[0], &c->out.fields[0], NULL), 0);
    c->ctx = (struct cw_op_ctx){.arena = cw_arena_new(1 << 16),
                                .in = &c->in,
                                .out = &c->out,
                                .fields = &c->field,
                                .fields_n = 1,
                                .slot = c->slot,
                                .slot_bytes = sizeof(c->slot)};
    cw_rng_init(&c->ctx.rng, 1, 2, 3, 0, 4);
}

static void end(struct call *c)
{
    cw_opt_fini(whiten->options, c->opts);
    cw_mem_free(c->opts);
    cw_spec_fini(&c->in);
    cw_spec_fini(&c->out);
    cw_arena_free(c->ctx.arena);
}

static int apply(struct call *c, struct cw_view *out, struct cw_err *err)
{
    const struct cw_view in = {
        .data = c->bytes, .bytes = 3, .dtype = CW_DTYPE_U8, .rank = 1, .dims = {3}};
    *out = in;
    return whiten->apply_field(&c->ctx, c->opts, NULL, NULL, &in, out, err);
}

static void results_are_written_into_the_slot(void **state)
{
    (void)state;
    struct call c;
    struct cw_view out;
    begin(&c, "{\"gain\":2}");
    assert_int_equal(c.out.fields[0].dtype, CW_DTYPE_F32);
    assert_int_equal(apply(&c, &out, NULL), 0);
    assert_ptr_equal(out.data, c.slot);
    const float want[] = {-4, -2, 6};
    assert_memory_equal(c.slot, want, sizeof(want));
    end(&c);
}

/* The stream is that of the element: equal draws each time. */
static void draws_are_those_of_the_engine(void **state)
{
    (void)state;
    struct call c;
    struct cw_view out;
    float first[3];
    begin(&c, "{\"noise\":50}");
    assert_int_equal(apply(&c, &out, NULL), 0);
    memcpy(first, c.slot, sizeof(first));
    assert_int_equal(apply(&c, &out, NULL), 0);
    assert_memory_equal(c.slot, first, sizeof(first));
    for (size_t i = 0; i < 3; i++)
        assert_true(
            first[i] ==
            (float)(c.bytes[i] + (double)cw_rng_below(&c.ctx.rng, (uint32_t)i, 101) - 50 - 3));
    end(&c);
}

static size_t allocations;
void *__real_cw_mem_new(size_t bytes);
void *__wrap_cw_mem_new(size_t bytes);
void *__wrap_cw_mem_new(size_t bytes)
{
    allocations++;
    return __real_cw_mem_new(bytes);
}

static void an_element_costs_no_allocation(void **state)
{
    (void)state;
    struct call c;
    struct cw_view out;
    begin(&c, "{}");
    c.ctx.slot = NULL;
    assert_int_equal(apply(&c, &out, NULL), 0);
    const size_t before = allocations, used = cw_arena_used(c.ctx.arena);
    for (int i = 0; i < 1000; i++) {
        cw_arena_reset(c.ctx.arena);
        assert_int_equal(apply(&c, &out, NULL), 0);
    }
    assert_int_equal(allocations, before);
    assert_int_equal(cw_arena_used(c.ctx.arena), used);
    end(&c);
}

/* What the parent of a worker reads when it dies. */
static void calls_are_noted(void **state)
{
    (void)state;
    static char mine[65536];
    const stack_t stack = {.ss_sp = mine, .ss_size = sizeof(mine)};
    stack_t found;
    assert_int_equal(sigaltstack(&stack, &found), 0);
    struct cw_call_page *page = cw_call_page_new();
    assert_non_null(page);
    stack_t before, after;
    assert_int_equal(sigaltstack(NULL, &before), 0);
    cw_call_page_use(page);
    cw_call_page_process(77);
    cw_call_at_item("job-1", 2, 5);
    cw_call_at_element("node-1", 9);
    cw_call_enter("mylab.whiten");
    assert_int_equal(page->process, 77);
    const struct cw_call_slot *slot = &page->v[0];
    assert_true(slot->taken && slot->inside && slot->has_item && slot->has_element);
    assert_string_equal(slot->job, "job-1");
    assert_string_equal(slot->node, "node-1");
    assert_string_equal(slot->op, "mylab.whiten");
    assert_true(slot->epoch == 2 && slot->item == 5 && slot->element == 9 && slot->calls == 1);
    cw_call_leave();
    assert_false(slot->inside);
    cw_call_at_job(NULL);
    cw_call_enter("mylab.words");
    assert_string_equal(slot->job, "");
    assert_string_equal(slot->node, "");
    assert_false(slot->has_item || slot->has_element);
    assert_int_equal(slot->calls, 2);
    cw_call_leave();
    assert_int_equal(sigaltstack(NULL, &after), 0);
    assert_ptr_not_equal(after.ss_sp, before.ss_sp);
    cw_call_thread_end();
    assert_false(slot->taken);
    /* the stack for signals is again who else's it was */
    assert_int_equal(sigaltstack(NULL, &after), 0);
    assert_ptr_equal(after.ss_sp, before.ss_sp);
    assert_int_equal(after.ss_flags, before.ss_flags);
    assert_int_equal(sigaltstack(&found, NULL), 0);
}

static void definitions_are_told(void **state)
{
    (void)state;
    size_t n = 0;
    char **texts = cw_plugin_definitions(&n);
    assert_int_equal(n, 1);
    assert_non_null(strstr(texts[0], "\"name\":\"mylab.whiten\""));
    assert_non_null(strstr(texts[0], cw_foreign_of_op(whiten)->hash));
    cw_mem_free(texts[0]);
    cw_mem_free(texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_written_into_the_slot),
        cmocka_unit_test(draws_are_those_of_the_engine),
        cmocka_unit_test(an_element_costs_no_allocation),
        cmocka_unit_test(calls_are_noted),
        cmocka_unit_test(definitions_are_told),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
