/* SPDX-License-Identifier: Apache-2.0 */
/* How decisions of a dispatcher are fetched and printed: shared by `cachew explain`,
 * `cachew decisions` and `cachew top`. */
#ifndef CW_CLIENT_TOOL_VIEW_DECISION_H
#define CW_CLIENT_TOOL_VIEW_DECISION_H

#include "base/err.h"
#include "base/str.h"
#include "cachew/v1/admin.pb-c.h"

/* Freed with tool_explain_free. */
int tool_explain_get(const char *dispatcher, const char *job, Cachew__V1__ExplainReply **ret_reply,
                     struct cw_err *err);
void tool_explain_free(Cachew__V1__ExplainReply *reply); /* accepts NULL */
/* One JSON object, as `cachew decisions --json` prints it. */
void tool_decision_json(const Cachew__V1__Decision *decision, struct cw_str *out);
/* One line: when, which job, who decided what, and why. */
void tool_decision_text(const Cachew__V1__Decision *decision, struct cw_str *out);
/* "2026-11-22 21:40:03", local time. */
void tool_print_moment(int64_t wall_ms, struct cw_str *out);

#endif
