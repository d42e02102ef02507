/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "conf/opt.h"

static const char *const modes[] = {"nearest", "bilinear", "bicubic", NULL};
struct opts {
    bool flag;
    int64_t size, memory;
    double p;
    char *text;
    int mode;
    struct cw_i64_list shape;
    struct cw_f64_list mean;
    struct cw_str_list pattern;
    struct cw_value any, anys;
};
#define AT(field) offsetof(struct opts, field)
static const struct cw_opt table[] = {
    {.name = "size",
     .help = "h",
     .type = CW_OPT_I64,
     .offset = AT(size),
     .min = 1,
     .max = 1000,
     .flags = CW_OPT_REQUIRED},
    {.name = "flag", .help = "h", .type = CW_OPT_BOOL, .offset = AT(flag), .def = "true"},
    {.name = "memory",
     .help = "h",
     .type = CW_OPT_BYTES,
     .offset = AT(memory),
     .def = "\"1KiB\"",
     .flags = CW_OPT_NO_FINGERPRINT},
    {.name = "p",
     .help = "h",
     .type = CW_OPT_F64,
     .offset = AT(p),
     .def = "0.5",
     .min = 0,
     .max = 1},
    {.name = "text", .help = "h", .type = CW_OPT_STR, .offset = AT(text)},
    {.name = "mode",
     .help = "h",
     .type = CW_OPT_ENUM,
     .offset = AT(mode),
     .def = "\"bilinear\"",
     .names = modes},
    {.name = "shape",
     .help = "h",
     .type = CW_OPT_I64_LIST,
     .offset = AT(shape),
     .min = 0,
     .max = 99,
     .len_min = 1,
     .len_max = 2},
    {.name = "mean", .help = "h", .type = CW_OPT_F64_LIST, .offset = AT(mean), .def = "[0.5, 1]"},
    {.name = "pattern", .help = "h", .type = CW_OPT_STR_LIST, .offset = AT(pattern)},
    {.name = "any", .help = "h", .type = CW_OPT_VALUE, .offset = AT(any)},
    {.name = "anys",
     .help = "h",
     .type = CW_OPT_VALUE,
     .offset = AT(anys),
     .def = "[]",
     .len_max = 2},
    {.name = NULL},
};

static struct opts opts;
static struct cw_err err;

static int parse(const char *text)
{
    struct cw_value object = {0};

    opts = (struct opts){0};
    err = (struct cw_err){0};
    if (cw_value_parse(text, strlen(text), NULL, &object, &err) != CW_OK)
        fail_msg("%s", err.msg);
    int rc = cw_opt_parse(table, &object, &opts, &err);
    cw_value_fini(&object);
    return rc;
}

static void reads_all_types(void **state)
{
    (void)state;
    assert_int_equal(parse("{\"size\":3,\"flag\":false,\"memory\":\"2MiB\",\"p\":1,\"text\":\"t\","
                           "\"mode\":\"bicubic\",\"shape\":[4,5],"
                           "\"mean\":0.25,\"pattern\":[\"a\",\"b\"],\"any\":{\"k\":[null]}}"),
                     CW_OK);
    assert_int_equal(opts.size, 3);
    assert_false(opts.flag);
    assert_int_equal(opts.memory, 2 << 20);
    assert_true(opts.p > 0.99);
    assert_string_equal(opts.text, "t");
    assert_int_equal(opts.mode, 2);
    assert_true(opts.shape.n == 2 && opts.shape.v[1] == 5);
    assert_true(opts.mean.n == 1 && opts.mean.v[0] < 0.26);
    assert_true(opts.pattern.n == 2);
    assert_string_equal(opts.pattern.v[1], "b");
    assert_int_equal(opts.any.type, CW_VALUE_OBJECT);
    cw_opt_fini(table, &opts);
    assert_null(opts.text);
    cw_opt_fini(table, &opts);
}

/* Any JSON with a length is a list, so that one item has the canonical form of a list of one. */
static void one_of_any_kind_is_a_list(void **state)
{
    (void)state;
    static const char *const given[] = {"{\"size\":1,\"anys\":\"x\"}",
                                        "{\"size\":1,\"anys\":[\"x\"]}"};
    for (size_t i = 0; i < CW_ARRAY_LEN(given); i++) {
        assert_int_equal(parse(given[i]), CW_OK);
        assert_true(opts.anys.type == CW_VALUE_LIST && opts.anys.n == 1);
        assert_string_equal(opts.anys.items[0].s, "x");
        cw_opt_fini(table, &opts);
    }
}

static void canon_has_defaults_sorted(void **state)
{
    CW_STR_AUTO a = {0};
    CW_STR_AUTO b = {0};

    (void)state;
    assert_int_equal(parse("{\"size\":3,\"pattern\":\"x\"}"), CW_OK);
    assert_int_equal(opts.memory, 1024);
    cw_opt_canon(table, &opts, &a);
    assert_string_equal(cw_str_text(&a),
                        "{\"any\":null,\"anys\":[],\"flag\":true,\"mean\":[0.5,1.0],\"mode\":"
                        "\"bilinear\",\"p\":0.5,"
                        "\"pattern\":[\"x\"],\"shape\":[],\"size\":3,\"text\":null}");
    cw_opt_fini(table, &opts);
    assert_int_equal(
        parse("{\"p\":5e-1,\"pattern\":[\"x\"],\"memory\":7,\"mean\":[0.50,1],\"size\":3}"), CW_OK);
    cw_opt_canon(table, &opts, &b);
    assert_string_equal(cw_str_text(&a), cw_str_text(&b));
    cw_opt_fini(table, &opts);
}

static void check_error(const char *text, const char *message)
{
    assert_int_equal(parse(text), CW_E_INVALID);
    assert_string_equal(err.msg, message);
    assert_null(opts.text);
    assert_null(opts.pattern.v);
}

static void explains_what_is_wrong(void **state)
{
    (void)state;
    check_error("{\"size\":0}", "option size: must be at least 1 (given 0)");
    check_error("{\"size\":1001}", "option size: must be at most 1000 (given 1001)");
    check_error(
        "{\"size\":1.5}",
        "option size: must be a whole number, written without a point or an exponent (given 1.5)");
    check_error("{\"sise\":1}", "unknown option \"sise\" (did you mean \"size\"?)");
    check_error("{\"whatever\":1}",
                "unknown option \"whatever\"; there are: size, flag, memory, p, text, mode, "
                "shape, mean, pattern, any, anys");
    check_error("{\"batch_size\":1}", "unknown option \"batch_size\" (did you mean \"size\"?)");
    check_error("{\"size\":1,\"anys\":[1,2,3]}", "option anys: must have 0 to 2 items (given 3)");
    check_error("{}", "option size: is required (a whole number)");
    check_error("{\"size\":1,\"flag\":1}", "option flag: must be true or false (given 1)");
    check_error("{\"size\":1,\"text\":\"t\",\"p\":\"x\"}",
                "option p: must be a number (given \"x\")");
    check_error("{\"size\":1,\"mode\":\"bilinaer\"}",
                "option mode: must be one of \"nearest\", \"bilinear\", \"bicubic\"; did you mean "
                "\"bilinear\"? (given \"bilinaer\")");
    check_error("{\"size\":1,\"text\":\"t\",\"shape\":[1,100]}",
                "option shape[1]: must be at most 99 (given 100)");
    check_error("{\"size\":1,\"shape\":[1,2,3]}", "option shape: must have 1 to 2 items (given 3)");
    check_error("{\"size\":1,\"pattern\":[\"a\",2]}",
                "option pattern[1]: must be a string (given 2)");
    check_error("{\"size\":1,\"pattern\":{}}",
                "option pattern: must be a string or a list of them (given {})");
    check_error(
        "{\"size\":1,\"memory\":\"much\"}",
        "option memory: must be a size (a number, or text like \"64MiB\") (given \"much\")");
    check_error("{\"size\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25]}",
                "option size: must be a whole number (given "
                "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22...)");
}

static void no_options_at_all(void **state)
{
    static const struct cw_opt one[] = {{.name = "p", .type = CW_OPT_F64, .offset = 0, .def = "2"},
                                        {.name = NULL}};
    struct cw_value object = {0}, number = {0};
    CW_STR_AUTO out = {0};
    double p = 0;

    (void)state;
    cw_value_set_object(&object);
    cw_value_set_i64(&number, 1);
    assert_int_equal(cw_opt_parse(one, NULL, &p, NULL), CW_OK);
    assert_true(p > 1.9);
    assert_int_equal(cw_opt_parse(NULL, &object, NULL, NULL), CW_OK);
    assert_int_equal(cw_opt_parse(one, &number, &p, NULL), CW_E_INVALID);
    cw_opt_canon(NULL, NULL, &out);
    assert_string_equal(cw_str_text(&out), "{}");
}

/* An option that came later is not said where it is the default. */
static void canon_lacks_newer_defaults(void **state)
{
    struct newer {
        int64_t size;
        struct cw_value later;
    } given = {0};
    static const struct cw_opt newer[] = {
        {.name = "later",
         .type = CW_OPT_VALUE,
         .offset = offsetof(struct newer, later),
         .def = "false",
         .flags = CW_OPT_NEWER},
        {.name = "size", .type = CW_OPT_I64, .offset = offsetof(struct newer, size), .def = "3"},
        {0},
    };
    CW_STR_AUTO out = {0};

    (void)state;
    assert_int_equal(cw_opt_parse(newer, NULL, &given, NULL), CW_OK);
    cw_opt_canon(newer, &given, &out);
    assert_string_equal(cw_str_text(&out), "{\"size\":3}");
    cw_value_set_bool(&given.later, true);
    cw_str_clear(&out);
    cw_opt_canon(newer, &given, &out);
    assert_string_equal(cw_str_text(&out), "{\"later\":true,\"size\":3}");
    cw_opt_fini(newer, &given);
}

struct later_opts {
    int64_t first;
    int later;
    struct cw_f64_list late_list;
};

static void check_canon_of_later(const char *text, const char *canonical)
{
    const struct cw_opt rows[] = {
        {.name = "first", .help = "h", .type = CW_OPT_I64, .offset = 0, .def = "1"},
        {.name = "later",
         .help = "h",
         .type = CW_OPT_ENUM,
         .offset = offsetof(struct later_opts, later),
         .def = "\"bilinear\"",
         .flags = CW_OPT_NEWER,
         .names = modes},
        {.name = "late_list",
         .help = "h",
         .type = CW_OPT_F64_LIST,
         .offset = offsetof(struct later_opts, late_list),
         .def = "[0.0, 1.5]",
         .flags = CW_OPT_NEWER},
        {0},
    };
    struct later_opts late = {0};
    struct cw_value object = {0};
    CW_STR_AUTO out = {0};

    assert_int_equal(cw_value_parse(text, strlen(text), "later", &object, NULL), CW_OK);
    assert_int_equal(cw_opt_parse(rows, &object, &late, NULL), CW_OK);
    cw_opt_canon(rows, &late, &out);
    assert_string_equal(cw_str_text(&out), canonical);
    cw_opt_fini(rows, &late);
    cw_value_fini(&object);
}

/* An option that was added later is no part of the text while it has its default. */
static void canon_leaves_out_later_defaults(void **state)
{
    (void)state;
    check_canon_of_later("{}", "{\"first\":1}");
    check_canon_of_later("{\"later\":\"bilinear\",\"late_list\":[0,1.5]}", "{\"first\":1}");
    check_canon_of_later("{\"later\":\"nearest\",\"late_list\":[0,1]}",
                         "{\"first\":1,\"late_list\":[0.0,1.0],\"later\":\"nearest\"}");
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(reads_all_types),
                                          cmocka_unit_test(one_of_any_kind_is_a_list),
                                          cmocka_unit_test(canon_has_defaults_sorted),
                                          cmocka_unit_test(canon_lacks_newer_defaults),
                                          cmocka_unit_test(canon_leaves_out_later_defaults),
                                          cmocka_unit_test(explains_what_is_wrong),
                                          cmocka_unit_test(no_options_at_all)};
CW_TESTS_MAIN(tests)
