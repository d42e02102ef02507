/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: columns are aligned, and those that matter least are left out where there is no room. */
#include "support/cm.h"

#include <stdlib.h>
#include "client/tool/tool.h"

static void prints(const char *const *drop, size_t width, const char *want)
{
    static const char *const heads[] = {"JOB", "NAME", "BYTES", "ERROR"};
    struct tool_table table;
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    tool_table_init(&table, 4, heads);
    tool_table_add(&table, "j1");
    tool_table_add(&table, "night");
    tool_table_add(&table, "%d kB", 77);
    tool_table_add(&table, "-");
    if (drop)
        tool_table_fit(&table, drop, width);
    tool_table_print(&table, out);
    fclose(out);
    assert_string_equal(text, want);
    tool_table_fini(&table);
    free(text);
}

static void columns_are_left_out(void **state)
{
    static const char *const drop[] = {"BYTES", "ERROR", NULL};
    static const char whole[] = "JOB  NAME   BYTES  ERROR\nj1   night  77 kB  -\n";
    (void)state;
    prints(NULL, 0, whole);
    prints(drop, 24, whole);
    prints(drop, 23, "JOB  NAME   ERROR\nj1   night  -\n");
    prints(drop, 16, "JOB  NAME\nj1   night\n");
    prints(drop, 1, "JOB  NAME\nj1   night\n"); /* the others stay */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_are_left_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
