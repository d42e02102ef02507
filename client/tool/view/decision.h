/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches and prints decisions of a dispatcher. `cachew explain`, `cachew decisions` and `cachew
 * top` share this. */
#ifndef CW_CLIENT_TOOL_VIEW_DECISION_H
#define CW_CLIENT_TOOL_VIEW_DECISION_H

#include "base/err.h"
#include "base/str.h"
#include "cachew/v1/admin.pb-c.h"
#include "wire/reply_json.h"

/* The reply is freed with tool_explain_free. */
int tool_explain_get(const char *dispatcher, const char *job, Cachew__V1__ExplainReply **ret_reply,
                     struct cw_err *err);
void tool_explain_free(Cachew__V1__ExplainReply *reply); /* Frees the reply. NULL is accepted. */
/* Prints a decision as one line: the time, the job, the policy, the choice and the reason. */
void tool_decision_text(const Cachew__V1__Decision *decision, struct cw_str *out);
/* Prints local time, for example "2026-11-22 21:40:03". */
void tool_print_moment(int64_t wall_ms, struct cw_str *out);

#endif
