/* SPDX-License-Identifier: Apache-2.0 */
/* The probe of the store tells how fast it is, and leaves nothing behind. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dispatcher/autocache/autocache.h"
#include "support/cm.h"
#include "support/soon.h"

static const struct cw_store_benchmark_result *wait_for(const struct cw_store_benchmark *probe)
{
    const struct cw_store_benchmark_result *result = NULL;
    soon((result = cw_store_benchmark_result(probe)) != NULL);
    if (!result)
        abort(); /* (not cmocka's: the compiler must see that it does not return) */
    return result;
}

static size_t entries_in(const char *path)
{
    size_t n = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL; n++)
        ;
    closedir(dir);
    return n - 2; /* . and .. */
}

static void nothing_is_left(void **state)
{
    char path[] = "/tmp/cachew-probe-XXXXXX", url[64];
    (void)state;
    assert_non_null(mkdtemp(path));
    snprintf(url, sizeof(url), "dir:%s", path);
    struct cw_store_benchmark *probe = cw_store_benchmark_start(url);
    const struct cw_store_benchmark_result *result = wait_for(probe);
    assert_int_equal(result->points_n, CW_BENCHMARK_POINTS);
    for (size_t i = 0; i < CW_BENCHMARK_POINTS; i++)
        assert_true(result->points[i].bytes > 0 && result->points[i].ns > 0);
    assert_true(result->read_bytes_s > 0);
    cw_store_benchmark_free(probe);
    assert_int_equal(entries_in(path), 0);
    assert_int_equal(rmdir(path), 0);
}

static void a_store_that_is_not_there(void **state)
{
    (void)state;
    struct cw_store_benchmark *probe = cw_store_benchmark_start("dir:/proc/no/such");
    const struct cw_store_benchmark_result *result = wait_for(probe);
    assert_int_equal(result->points_n, 0);
    assert_true(result->err.msg[0] != '\0');
    cw_store_benchmark_free(probe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(a_store_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
