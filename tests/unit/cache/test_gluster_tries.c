/* SPDX-License-Identifier: Apache-2.0 */
/* How often a call of a GlusterFS volume that may succeed in a moment is tried again. */
#include "support/cm.h"

#include <errno.h>
#include "base/clock.h"
#include "cache/store/gluster_path.h"

#define LONG_AGO_NS ((int64_t)3600 * 1000000000)

static void other_failures_are_not_tried_again(void **state)
{
    struct cw_gluster_tries tries = {.begin_ns = cw_clock_ns()};
    (void)state;
    assert_false(cw_gluster_may_retry(EACCES, &tries));
    assert_int_equal(tries.n, 0);
}

/* Where one try takes longer than all may take, there are others, and an end. */
static void slow_calls_are_tried_again_some_times(void **state)
{
    struct cw_gluster_tries tries = {.begin_ns = cw_clock_ns() - LONG_AGO_NS};
    int n = 0;
    (void)state;
    while (n < 100 && cw_gluster_may_retry(ENOENT, &tries))
        n++;
    assert_in_range(n, 2, 10);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(other_failures_are_not_tried_again),
                                          cmocka_unit_test(slow_calls_are_tried_again_some_times)};
CW_TESTS_MAIN(tests)
