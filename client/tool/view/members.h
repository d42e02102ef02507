/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and workers as members of JSON objects. They are the same in `cachew jobs`, `cachew
 * workers`, `cachew explain` and `cachew top`. */
#ifndef CW_CLIENT_TOOL_VIEW_MEMBERS_H
#define CW_CLIENT_TOOL_VIEW_MEMBERS_H

#include "base/str.h"
#include "cachew/v1/admin.pb-c.h"

void tool_job_members(struct cw_str *out, const Cachew__V1__JobRow *job);
void tool_worker_members(struct cw_str *out, const Cachew__V1__WorkerRow *worker);
void tool_window_members(struct cw_str *out, const Cachew__V1__TrainerWindow *window);
void tool_node_members(struct cw_str *out, const Cachew__V1__NodeRow *node);
void tool_bad_members(struct cw_str *out, const Cachew__V1__BadElement *bad);

#endif
