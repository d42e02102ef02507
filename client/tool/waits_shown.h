/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a user what a command waits for, in words on standard error: once for each reason, and
 * again after a minute. */
#ifndef CW_CLIENT_TOOL_WAITS_SHOWN_H
#define CW_CLIENT_TOOL_WAITS_SHOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "cachew/cachew.h"

#define TOOL_WAITS_TELL_MS 5000 /* Nothing is said of shorter waits. */

struct tool_waits {
    struct cachew_waiting last; /* What was told last. */
    int64_t told_ns;            /* When it was told; 0 if the present wait was not told. */
};
/* Tells what is waited for, if that is due. */
void tool_waits_tell(struct tool_waits *waits, const struct cachew_waiting *waiting);
/* The wait is over: says so, if it was told. */
void tool_waits_end(struct tool_waits *waits);
/* The same as tool_waits_tell, for on_waiting of struct cachew_job_options. */
void tool_waits_on_waiting(void *waits, const struct cachew_waiting *waiting);

#endif
