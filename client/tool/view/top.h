/* SPDX-License-Identifier: Apache-2.0 */
/* What `cachew top` shows, made from replies of a dispatcher: lines of text for a screen of any
 * size, or a JSON object. Pure functions. */
#ifndef CW_CLIENT_TOOL_VIEW_TOP_H
#define CW_CLIENT_TOOL_VIEW_TOP_H

#include "base/str.h"
#include "cachew/v1/admin.pb-c.h"

#define TOOL_TOP_DECISIONS 10
#define TOOL_TOP_WIDE 200 /* columns where there is no screen */

struct tool_top {
    const char *address;
    const Cachew__V1__InfoReply *info; /* these four are there together, or none is */
    const Cachew__V1__ListJobsReply *jobs;
    const Cachew__V1__ListWorkersReply *workers;
    const Cachew__V1__ListDecisionsReply *decisions;
    int64_t time_ms;  /* wall clock: when they were received */
    const char *lost; /* why no reply has come since; NULL = one has */
};
/* Lines, each ended by '\n', at most `columns` wide; heads begin with TOOL_TOP_HEAD if `heads`.
 * At most `rows` of them; 0 = as many as it takes. */
#define TOOL_TOP_HEAD '\x01'
void tool_top_text(const struct tool_top *top, size_t columns, size_t rows, bool heads,
                   struct cw_str *out);
void tool_top_json(const struct tool_top *top, struct cw_str *out);

#endif
