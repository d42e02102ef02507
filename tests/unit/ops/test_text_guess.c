/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas that are made of the first records of files of text. */
#include "support/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "ops/source/text_guess.h"

static char path[] = "/tmp/cachew-guess-XXXXXX";
static struct cw_err error;

static void write_file(const char *bytes, size_t n)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void check_said(int rc, const struct cw_value *said, const char *schema)
{
    CW_STR_AUTO text = {0};
    if (rc < 0)
        fail_msg("%s", error.msg);
    cw_value_print(said, &text);
    assert_string_equal(cw_str_text(&text), schema);
}

static void json_is(const char *bytes, const char *schema)
{
    struct cw_value said = {0};
    write_file(bytes, strlen(bytes));
    cw_value_set_object(&said);
    check_said(cw_text_guess_json(path, &said, &error), &said, schema);
    cw_value_fini(&said);
}

/* What is left of a schema if something reads these fields. */
static void left_is(const char *bytes, const char *const *reads, const char *missing,
                    const char *schema)
{
    struct cw_value said = {0}, value = {0};
    struct cw_op_names names = {.ends = true};
    const struct cw_value *const absent[] = {&value};
    write_file(bytes, strlen(bytes));
    cw_value_set_object(&said);
    assert_int_equal(cw_value_parse(missing, strlen(missing), "option", &value, &error), 0);
    for (; *reads; reads++)
        cw_op_names_add(&names, *reads);
    assert_int_equal(cw_text_guess_json(path, &said, &error), 0);
    cw_text_guess_leave_out(&names, absent, 1, &said);
    check_said(0, &said, schema);
    cw_text_guess_leave_out(NULL, absent, 1, &said);
    check_said(0, &said, schema);
    cw_op_names_fini(&names);
    cw_value_fini(&value);
    cw_value_fini(&said);
}

static void fields_that_nobody_reads_are_left_out(void **state)
{
    static const char record[] = "{\"a\": 1, \"b c\": \"x\", \"d\": true}";
    (void)state;
    left_is(record, (const char *const[]){"d", "other", NULL}, "null",
            "{\"schema\":[\"d: bool\"]}");
    left_is(record, (const char *const[]){"b_c", NULL}, "\"fail\"",
            "{\"schema\":[\"b_c = b c: str\"]}");
    left_is(record, (const char *const[]){NULL}, "-1", "{\"schema\":[\"a: i64\"]}");
    left_is(record, (const char *const[]){"d", NULL}, "{\"a\": \"skip\"}",
            "{\"schema\":[\"a: i64\",\"d: bool\"]}");
    left_is(record, (const char *const[]){"d", NULL}, "\"skip\"",
            "{\"schema\":[\"a: i64\",\"b_c = b c: str\",\"d: bool\"]}");
}

static void json_fails(const char *bytes, const char *why)
{
    struct cw_value said = {0};
    write_file(bytes, strlen(bytes));
    cw_value_set_object(&said);
    assert_true(cw_text_guess_json(path, &said, &error) < 0);
    if (!strstr(error.msg, why) || !strstr(error.msg, path))
        fail_msg("\"%s\" does not say \"%s\"", error.msg, why);
    cw_value_fini(&said);
}

static void json_schemas(void **state)
{
    (void)state;
    json_is(
        "{\"b\": 1, \"a\": \"x\", \"c\": true, \"v\": [1, 2.5], \"w\": [], \"o\": {\"x\": 1}}\n\n"
        "{\"b\": 2, \"a\": null, \"late\": 0.5, \"w\": [3]}",
        "{\"schema\":[\"b: i64\",\"a: str\",\"c: bool\",\"v: f64[?]\",\"w: i64[?]\",\"o: "
        "json\",\"late: "
        "f64\"]}");
    json_is("{\"x\": 1, \"y\": 1, \"z\": [1, \"a\"]}\n{\"x\": 1.5, \"y\": \"one\", \"z\": []}\n",
            "{\"schema\":[\"x: f64\",\"y: json\",\"z: json\"]}");
    json_is("\xef\xbb\xbf{\"my key\": 1, \"2nd\": null}\n",
            "{\"schema\":[\"my_key = my key: i64\",\"_2nd = 2nd: str\"]}");
}

static void json_errors(void **state)
{
    (void)state;
    json_fails("", "no record");
    json_fails("\n\n", "no record");
    json_fails("[1]\n", "no object");
    json_fails("{\"a\": 1}\n{\"a\": \n", "");
    json_fails("{\"a.b\": 1}\n", "reads like a member");
    CW_STR_AUTO many = {0};
    for (int i = 0; i <= CW_FIELDS_MAX; i++)
        cw_str_addf(&many, "%s\"k%d\":1", i ? "," : "{", i);
    cw_str_add(&many, "}\n");
    json_fails(cw_str_text(&many), "more than 512 keys");
}

/* What comes behind the first records does not count, nor does one of which only a part was read. */
static void only_the_beginning_counts(void **state)
{
    CW_STR_AUTO text = {0};
    (void)state;
    for (int i = 0; i < CW_TEXT_GUESS_RECORDS; i++)
        cw_str_add(&text, "{\"x\": 1}\n");
    cw_str_add(&text, "{\"x\": \"a\"}\n");
    json_is(cw_str_text(&text), "{\"schema\":[\"x: i64\"]}");
    cw_str_clear(&text);
    cw_str_add(&text, "{\"x\": 1}\n{\"y\": \"");
    for (int i = 0; i < 5 << 16; i++)
        cw_str_add(&text, "0123456789abcdef");
    cw_str_add(&text, "\"}\n");
    json_is(cw_str_text(&text), "{\"schema\":[\"x: i64\"]}");
}

static void csv_is(const char *bytes, bool header, const char *schema)
{
    static char na[] = "NA";
    char *words[] = {na};
    const struct cw_str_list empty = {words, 1};
    const struct cw_csv_guess how = {
        .rules = {.separator = ',', .quote = '"'}, .has_header = header, .empty = &empty};
    struct cw_value said = {0};
    write_file(bytes, strlen(bytes));
    cw_value_set_object(&said);
    check_said(cw_text_guess_csv(path, &how, &said, &error), &said, schema);
    cw_value_fini(&said);
}

static void csv_schemas(void **state)
{
    (void)state;
    csv_is("id,\"a \"\"b\"\"\",x,name,none\n1,2,3,\"a,\n1\",\n-2,NA,.5,7,NA\n", true,
           "{\"schema\":[\"id: i64\",\"a__b_ = a \\\"b\\\": i64\",\"x: f64\",\"name: str\",\"none: "
           "str\"]}");
    csv_is("1,2.5\r\n3,x\r\n", false, "{\"schema\":[\"_0 = 0: i64\",\"_1 = 1: str\"]}");
    csv_is("only,a header\n", true, "{\"schema\":[\"only: str\",\"a_header = a header: str\"]}");
    csv_is("big\n9223372036854775808\n1\n", true, "{\"schema\":[\"big: f64\"]}");
}

static int begin(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int end(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_schemas), cmocka_unit_test(fields_that_nobody_reads_are_left_out),
        cmocka_unit_test(json_errors), cmocka_unit_test(only_the_beginning_counts),
        cmocka_unit_test(csv_schemas)};
    return cmocka_run_group_tests(tests, begin, end);
}
