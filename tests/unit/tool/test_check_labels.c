/* SPDX-License-Identifier: Apache-2.0 */
/* What `cachew check` lists of the classes of image_folder. */
#include "support/cm.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/tool/view/check_labels.h"

static char folder[] = "/tmp/cachew-labels-XXXXXX";

static void make(const char *class)
{
    cw_autofree char *dir = cw_mem_printf("%s/%s", folder, class);
    cw_autofree char *file = cw_mem_printf("%s/1.jpg", dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    int fd = open(file, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void remove_class(const char *class)
{
    cw_autofree char *dir = cw_mem_printf("%s/%s", folder, class);
    cw_autofree char *file = cw_mem_printf("%s/1.jpg", dir);
    unlink(file);
    rmdir(dir);
}

/* pattern: below the folder. */
static void labels_of(const char *pattern, const char *more, struct cw_str *text,
                      struct cw_str *json)
{
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_err err = {0};
    cw_autofree char *nodes =
        cw_mem_printf("{\"pipeline\":[{\"op\":\"range\",\"name\":\"n\",\"stop\":3},{\"op\":"
                      "\"image_folder\",\"name\":\"i\",\"pattern\":\"%s/%s\"%s},{\"op\":\"zip\","
                      "\"inputs\":[\"n\",\"i\"]}]}",
                      folder, pattern, more);
    if (cw_graph_parse(nodes, strlen(nodes), "", &graph, &err) != 0 ||
        cw_graph_check(graph, &checked, &err) != 0)
        fail_msg("%s", err.msg);
    cw_str_clear(text);
    cw_str_clear(json);
    tool_check_labels(checked, text);
    tool_check_labels_json(checked, json);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
}

static void classes_are_listed(void **state)
{
    CW_STR_AUTO text = {0}, json = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    make("dog");
    make("cat");
    make("a \"b\"");
    labels_of("*/*.jpg", "", &text, &json);
    assert_string_equal(cw_str_text(&text), "\"i\" numbers 3 names: 0 a \"b\", 1 cat, 2 dog\n");
    assert_string_equal(cw_str_text(&json),
                        "{\"node\":\"i\",\"names\":[\"a \\\"b\\\"\",\"cat\",\"dog\"]}");
    labels_of("[cd]*/*.jpg", ",\"classes\":[\"dog\",\"bird\",\"cat\"]", &text, &json);
    assert_string_equal(cw_str_text(&text), "\"i\" numbers 3 names: 0 dog, 1 bird, 2 cat\n");
    labels_of("nothing/*.jpg", "", &text, &json);
    assert_non_null(strstr(cw_str_text(&text), "\"i\" numbers what it finds where the files are"));
    assert_string_equal(cw_str_text(&json), "");
    remove_class("a \"b\"");
    remove_class("cat");
    remove_class("dog");
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(classes_are_listed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
