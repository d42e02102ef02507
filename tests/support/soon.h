/* SPDX-License-Identifier: Apache-2.0 */
/* soon(CONDITION): waits until it holds, and fails after two minutes. The one place where unit tests
 * poll, for what tells nobody when it changes: a counter that another thread keeps. */
#ifndef CW_TEST_SOON_H
#define CW_TEST_SOON_H

#include <unistd.h>
#include "base/clock.h"
#include "support/cm.h"

#define soon(condition)                                                                            \
    do {                                                                                           \
        for (int64_t deadline = cw_clock_ms() + 120000; !(condition); usleep(2000))                \
            assert_true(cw_clock_ms() < deadline);                                                 \
    } while (0)

#endif
