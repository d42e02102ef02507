/* SPDX-License-Identifier: Apache-2.0 */
/* What is likely to go wrong with a pipeline although it is correct as far as can be seen without
 * its data. */
#ifndef CW_CLIENT_TOOL_VIEW_CHECK_NOTES_H
#define CW_CLIENT_TOOL_VIEW_CHECK_NOTES_H

#include "graph/check.h"

/* Called once for each note: the name of the node, and a sentence that says what to do. */
typedef void tool_check_note_fn(void *arg, const char *node, const char *text);
void tool_check_notes(const struct cw_checked *checked, tool_check_note_fn *fn, void *arg);

#endif
