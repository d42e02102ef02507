/* SPDX-License-Identifier: Apache-2.0 */
/* What `cachew top` shows, made from replies of a dispatcher: lines of text for a screen of any
 * size, or a JSON object. The functions are pure. */
#ifndef CW_CLIENT_TOOL_VIEW_TOP_H
#define CW_CLIENT_TOOL_VIEW_TOP_H

#include "base/str.h"
#include "cachew/v1/admin.pb-c.h"

#define TOOL_TOP_DECISIONS 10
#define TOOL_TOP_WIDE 200 /* The number of columns if there is no screen. */

struct tool_top {
    const char *address;
    /* The four replies of the last round: either all are set, or none is. */
    const Cachew__V1__InfoReply *info;
    const Cachew__V1__ListJobsReply *jobs;
    const Cachew__V1__ListWorkersReply *workers;
    const Cachew__V1__ListDecisionsReply *decisions;
    int64_t time_ms;  /* The wall time at which the replies were received. */
    const char *lost; /* Why no reply has come since time_ms; NULL if one has. */
};
/* Prints lines, each ended by '\n' and at most `columns` wide. With `heads`, heads begin with
 * TOOL_TOP_HEAD. There are at most `rows` lines; 0 means as many as needed. */
#define TOOL_TOP_HEAD '\x01'
void tool_top_text(const struct tool_top *top, size_t columns, size_t rows, bool heads,
                   struct cw_str *out);
void tool_top_json(const struct tool_top *top, struct cw_str *out);

#endif
