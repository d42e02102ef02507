/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka with what it needs included before it. */
#ifndef CW_TESTS_CM_H
#define CW_TESTS_CM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define CW_TESTS_MAIN(tests)                                                                       \
    int main(void)                                                                                 \
    {                                                                                              \
        return cmocka_run_group_tests(tests, NULL, NULL);                                          \
    }

#endif
