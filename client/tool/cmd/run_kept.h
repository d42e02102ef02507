/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CW_CLIENT_TOOL_CMD_RUN_KEPT_H
#define CW_CLIENT_TOOL_CMD_RUN_KEPT_H

struct cachew_client;
struct cachew_job;
/* Says on stderr what the cache of a private service was good for. */
void tool_run_tell_kept(const struct cachew_client *client, const struct cachew_job *job);

#endif
