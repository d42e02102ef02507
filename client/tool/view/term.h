/* SPDX-License-Identifier: Apache-2.0 */
/* The whole terminal for a live view: the alternate screen, and keys without Enter. Both are
 * restored at the end. There is one per process. */
#ifndef CW_CLIENT_TOOL_VIEW_TERM_H
#define CW_CLIENT_TOOL_VIEW_TERM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* Returns whether stdout is a terminal that can do this. */
bool tool_term_is_there(void);
/* Returns a new non-blocking descriptor from which keys are read; -1 if they cannot be read. */
int tool_term_open(void);
void tool_term_close(void); /* Restores the terminal if it is open. It is async-signal-safe. */
void tool_term_size(size_t *ret_columns, size_t *ret_rows);
/* Rewrites the screen. Lines that begin with `head` are shown as heads. */
void tool_term_show(const char *lines, char head);

#endif
