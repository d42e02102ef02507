/* SPDX-License-Identifier: Apache-2.0 */
/* The whole terminal for a live view: the alternate screen, and keys without Enter. Both are given
 * back at the end. One a process. */
#ifndef CW_CLIENT_TOOL_VIEW_TERM_H
#define CW_CLIENT_TOOL_VIEW_TERM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* Whether stdout is one that can do this. */
bool tool_term_is_there(void);
/* Returns a descriptor to read keys from, non-blocking and its own; -1: keys cannot be read. */
int tool_term_open(void);
void tool_term_close(void); /* restores the terminal, if it is open; async-signal-safe */
void tool_term_size(size_t *ret_columns, size_t *ret_rows);
/* Rewrites the screen: lines, of which those that begin with `head` are shown as heads. */
void tool_term_show(const char *lines, char head);

#endif
