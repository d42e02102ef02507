/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of the dispatcher to tools, as JSON. It is the same in `cachew jobs`, `cachew workers`,
 * `cachew explain`, `cachew decisions`, `cachew top`, `cachew cache` with --json, and in the page for
 * browsers. Those whose names end in _members append members of an object that is open; the others
 * append a whole object. The functions are pure; any thread. */
#ifndef CW_WIRE_REPLY_JSON_H
#define CW_WIRE_REPLY_JSON_H

#include "base/str.h"
#include "cachew/v1/admin.pb-c.h"

void cw_wire_job_members(struct cw_str *out, const Cachew__V1__JobRow *job);
void cw_wire_worker_members(struct cw_str *out, const Cachew__V1__WorkerRow *worker);
void cw_wire_window_members(struct cw_str *out, const Cachew__V1__TrainerWindow *window);
void cw_wire_node_members(struct cw_str *out, const Cachew__V1__NodeRow *node);
void cw_wire_bad_members(struct cw_str *out, const Cachew__V1__BadElement *bad);
/* What was used, with a comma before each member. usage NULL: nothing was. */
void cw_wire_usage_members(struct cw_str *out, const Cachew__V1__Usage *usage);
/* Appends a comma and the member "fleet": all workers together. */
void cw_wire_fleet_member(struct cw_str *out, const Cachew__V1__ListWorkersReply *workers);
void cw_wire_decision_json(const Cachew__V1__Decision *decision, struct cw_str *out);
void cw_wire_explain_json(const Cachew__V1__ExplainReply *reply, struct cw_str *out);
void cw_wire_elements_json(const Cachew__V1__ShowElementsReply *reply, struct cw_str *out);
void cw_wire_cache_json(struct cw_str *out, const Cachew__V1__CacheState *cache);
/* `chunks`: with the chunks of each key. */
void cw_wire_cache_list_json(const Cachew__V1__CacheListReply *reply, bool chunks,
                             struct cw_str *out);

#endif
