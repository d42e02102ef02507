/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of what `cachew explain` prints. */
#ifndef CW_CLIENT_TOOL_VIEW_EXPLAIN_H
#define CW_CLIENT_TOOL_VIEW_EXPLAIN_H

#include "cachew/v1/admin.pb-c.h"

void tool_explain_standing(const Cachew__V1__ExplainReply *reply);
/* Prints which elements were left out since they are bad. */
void tool_explain_bad(const Cachew__V1__ExplainReply *reply);
void tool_explain_operators(const Cachew__V1__ExplainReply *reply);

#endif
