/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of which only the definition is known: what is made of it, and what is refused. */
#include "support/cm.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "graph/check.h"
#include "ops/foreign.h"

#define HASH "0123456789abcdef0123456789abcdef"
#define GOOD                                                                                       \
    "{\"name\":\"lab.gain\",\"hash\":\"" HASH "\",\"library\":\"lab 1\",\"kind\":\"element\","     \
    "\"version\":3,\"fieldwise\":1,\"traits\":1,\"options\":["                                     \
    "{\"name\":\"by\",\"type\":2,\"default\":\"1.5\",\"min\":0.5,\"max\":9.0},"                    \
    "{\"name\":\"mode\",\"type\":4,\"words\":[\"a\",\"b\"],\"default\":\"\\\"b\\\"\"},"            \
    "{\"name\":\"sizes\",\"type\":5,\"len_max\":4}]}"

static int add(const char *text, enum cw_foreign_announced announced, const struct cw_foreign **ret,
               struct cw_err *err)
{
    struct cw_value definition = {0};
    assert_int_equal(cw_value_parse(text, strlen(text), "test", &definition, NULL), 0);
    const struct cw_foreign_new how = {.definition = &definition, .announced = announced};
    int rc = cw_foreign_add(&how, ret, err);
    cw_value_fini(&definition);
    return rc;
}

/* Checks a pipeline of a range and the operator with these options. */
static int check(const char *options, bool without_data, struct cw_checked **ret_checked,
                 struct cw_err *err)
{
    cw_autofree char *text =
        cw_mem_printf("{\"pipeline\":[{\"op\":\"range\",\"stop\":4},{\"op\":\"lab.gain\"%s%s}]}",
                      *options ? "," : "", options);
    struct cw_graph *graph = NULL;
    assert_int_equal(cw_graph_parse(text, strlen(text), "test", &graph, err), 0);
    int rc = without_data ? cw_graph_check_without_data(graph, ret_checked, err)
                          : cw_graph_check(graph, ret_checked, err);
    cw_graph_unref(graph);
    return rc;
}

static void it_is_found_once_it_is_announced(void **state)
{
    (void)state;
    const struct cw_foreign *quiet = NULL, *told = NULL, *again = NULL;
    assert_int_equal(add(GOOD, CW_FOREIGN_NOT_ANNOUNCED, &quiet, NULL), 0);
    assert_null(cw_op_find("lab.gain"));
    assert_int_equal(add(GOOD, CW_FOREIGN_ANNOUNCED, &told, NULL), 0);
    assert_ptr_equal(cw_op_find("lab.gain"), &told->op);
    assert_int_equal(add(GOOD, CW_FOREIGN_ANNOUNCED, &again, NULL), 0);
    assert_ptr_equal(again, told);
    assert_string_equal(cw_op_nearest("lab.gian"), "lab.gain");
    assert_int_equal(told->op.version, 3);
    assert_true(told->op.traits & CW_OP_RANDOM);
    assert_true(told->op.traits & CW_OP_FIELDWISE);
}

static void options_are_checked_and_what_it_gives_is_not_known(void **state)
{
    (void)state;
    struct cw_checked *checked = NULL;
    struct cw_err err = {0};
    assert_true(check("\"by\":20", true, &checked, &err) < 0);
    assert_non_null(strstr(err.msg, "option by: must be at most 9 (given 20)"));
    assert_true(check("\"mode\":\"c\"", true, &checked, &err) < 0);
    assert_non_null(strstr(err.msg, "one of \"a\", \"b\""));
    assert_true(check("\"operator\":0", true, &checked, &err) < 0);
    assert_non_null(strstr(err.msg, "unknown option \"operator\""));
    assert_true(check("\"by\":2", false, &checked, &err) < 0);
    assert_non_null(strstr(err.msg, "where its plugin is loaded"));
    assert_int_equal(check("\"by\":2,\"sizes\":[1,2]", true, &checked, &err), 0);
    assert_true(checked->nodes[1].unknown);
    cw_checked_unref(checked);
}

/* What a prepared pipeline says is enough for everybody, and is part of the fingerprint. */
static void a_prepared_pipeline_says_it_all(void **state)
{
    (void)state;
    struct cw_checked *checked = NULL, *plain = NULL, *other = NULL;
    struct cw_err err = {0};
    assert_int_equal(check("\"plugin\":" GOOD ",\"gives\":\"x: f32\"", false, &checked, &err), 0);
    assert_int_equal(checked->nodes[1].out.fields[0].dtype, CW_DTYPE_F32);
    assert_int_equal(check("", true, &plain, &err), 0);
    assert_false(cw_hash_eq(checked->fingerprint, plain->fingerprint));
    cw_autofree char *changed = cw_mem_strdup("\"plugin\":" GOOD ",\"gives\":\"x: f32\"");
    *strstr(changed, HASH) = 'f';
    assert_int_equal(check(changed, false, &other, &err), 0);
    assert_false(cw_hash_eq(checked->fingerprint, other->fingerprint));
    assert_ptr_not_equal(checked->nodes[1].op, other->nodes[1].op);
    const struct cw_op_open how = {.out = &checked->nodes[1].out};
    void *opened = NULL;
    assert_true(checked->nodes[1].op->open(checked->nodes[1].opts, &how, &opened, &err) < 0);
    assert_non_null(strstr(err.msg, "lab.gain is of the plugin lab 1 (01234567), which is not"));
    cw_checked_unref(checked);
    cw_checked_unref(plain);
    cw_checked_unref(other);
}

static void what_is_no_definition_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *says;
    } wrong[] = {
        {"lab.gain", "gain", "a dot"},
        {"lab.gain", ".gain", "a dot"},
        {"lab.gain", "lab..gain", "a dot"},
        {"lab.gain", "lab gain.x", "a dot"},
        {HASH, "0123", "of which file"},
        {"\"element\"", "\"elephant\"", "kind"},
        {"\"traits\":1", "\"traits\":8", "a trait that is not for its kind"},
        {"\"version\":3", "\"version\":-3", "version"},
        {"\"type\":2", "\"type\":9", "type of an option"},
        {"\"type\":2", "\"type\":-1", "type of an option"},
        {"\"by\"", "\"gives\"", "is taken"},
        {"\"by\"", "\"mode\"", "one name"},
        {"\"1.5\"", "\"15\"", "at most 9"},
        {"\"1.5\"", "\"{\"", "default"},
        {"[\"a\",\"b\"]", "[]", "words"},
        {"[\"a\",\"b\"]", "[1]", "no string"},
        {"\"version\"", "\"span\":\"no\",\"version\"", "span"},
        {"\"version\"", "\"rank_max\":99,\"version\"", "ranks"},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(wrong); i++) {
        const char *at = strstr(GOOD, wrong[i].from);
        struct cw_err err = {0};
        const struct cw_foreign *made = NULL;
        cw_autofree char *text = cw_mem_printf("%.*s%s%s", (int)(at - GOOD), GOOD, wrong[i].to,
                                               at + strlen(wrong[i].from));
        assert_true(add(text, CW_FOREIGN_ANNOUNCED, &made, &err) < 0);
        if (!strstr(err.msg, wrong[i].says))
            fail_msg("%s: %s", text, err.msg);
    }
    struct cw_err err = {0};
    const struct cw_foreign *made = NULL;
    assert_true(add("[1]", CW_FOREIGN_ANNOUNCED, &made, &err) < 0);
}

/* What is heard of one job is not what others mean by a name that the fleet knows. */
static void what_a_job_says_comes_last(void **state)
{
    (void)state;
#define LATE(hash)                                                                                 \
    "{\"name\":\"late.x\",\"hash\":\"" hash "\",\"library\":\"\",\"kind\":\"element\"}"
    const struct cw_foreign *job = NULL, *fleet = NULL, *last = NULL;
    cw_autofree char *other = cw_mem_strdup(LATE(HASH));
    *strstr(other, HASH) = 'f';
    assert_int_equal(add(LATE(HASH), CW_FOREIGN_BY_JOB, &job, NULL), 0);
    assert_ptr_equal(cw_op_find("late.x"), &job->op);
    assert_int_equal(add(LATE(HASH), CW_FOREIGN_ANNOUNCED, &fleet, NULL), 0);
    assert_ptr_equal(cw_op_find("late.x"), &fleet->op);
    assert_int_equal(add(other, CW_FOREIGN_BY_JOB, &last, NULL), 0);
    assert_ptr_equal(cw_op_find("late.x"), &fleet->op);
    assert_int_equal(add(other, CW_FOREIGN_ANNOUNCED, &last, NULL), 0);
    assert_ptr_equal(cw_op_find("late.x"), &last->op);
}

/* Each member of a definition becomes each kind of value once. */
static void members_of_other_kinds(void **state)
{
    (void)state;
    static const char *const texts[] = {"null",
                                        "true",
                                        "-1",
                                        "9223372036854775807",
                                        "1e308",
                                        "\"\"",
                                        "\"\\n\\u001b\"",
                                        "[]",
                                        "[{}]",
                                        "{}",
                                        "[[1]]",
                                        "\"x\""};
    struct cw_value good = {0};
    assert_int_equal(cw_value_parse(GOOD, strlen(GOOD), "test", &good, NULL), 0);
    const struct cw_value *options = cw_value_get(&good, "options");
    for (size_t k = 0; k < (options->n + 1) * CW_ARRAY_LEN(texts) * 16; k++) {
        const size_t of = k / 16 / CW_ARRAY_LEN(texts), member = k % 16;
        struct cw_value changed = {0}, other = {0};
        const char *text = texts[k / 16 % CW_ARRAY_LEN(texts)];
        cw_value_copy(&changed, &good);
        struct cw_value *at = &changed;
        for (size_t i = 0; of > 0 && i < changed.n; i++)
            if (strcmp(changed.keys[i], "options") == 0)
                at = &changed.items[i].items[of - 1];
        assert_int_equal(cw_value_parse(text, strlen(text), "test", &other, NULL), 0);
        if (member < at->n) {
            cw_value_fini(&at->items[member]);
            at->items[member] = other;
        } else {
            cw_value_fini(&other);
        }
        const struct cw_foreign *made = NULL;
        const struct cw_foreign_new how = {.definition = &changed};
        (void)cw_foreign_add(&how, &made, NULL);
        cw_value_fini(&changed);
    }
    cw_value_fini(&good);
}

/* Pipelines alone cannot fill the list, and workers still find room. */
static void there_is_an_end(void **state)
{
    (void)state;
    const struct cw_foreign *made = NULL;
    struct cw_err err = {0};
    int rc = 0;
    for (int i = 0; rc == 0 && i < 2 * CW_FOREIGN_MAX; i++) {
        cw_autofree char *text = cw_mem_printf("{\"name\":\"many.x%d\",\"hash\":\"" HASH
                                               "\",\"library\":\"\",\"kind\":\"element\"}",
                                               i);
        rc = add(text, i % 2 ? CW_FOREIGN_NOT_ANNOUNCED : CW_FOREIGN_BY_JOB, &made, &err);
    }
    assert_int_equal(rc, CW_E_LIMIT);
    assert_int_equal(add("{\"name\":\"many.y\",\"hash\":\"" HASH
                         "\",\"library\":\"\",\"kind\":\"source\"}",
                         CW_FOREIGN_ANNOUNCED, &made, &err),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_found_once_it_is_announced),
        cmocka_unit_test(options_are_checked_and_what_it_gives_is_not_known),
        cmocka_unit_test(a_prepared_pipeline_says_it_all),
        cmocka_unit_test(what_is_no_definition_is_refused),
        cmocka_unit_test(what_a_job_says_comes_last),
        cmocka_unit_test(members_of_other_kinds),
        cmocka_unit_test(there_is_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
