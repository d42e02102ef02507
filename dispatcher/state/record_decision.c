/* SPDX-License-Identifier: Apache-2.0 */
/* Records a decision: it is logged, written to state.db, and counted by its kind. */
#include "dispatcher/state/state.h"

#include <string.h>

const char *const cw_decision_kinds[CW_DECISION_KINDS] = {
    "autocache", "autoscale", "autoplace", "optimize", "share", "provision", "evict"};

struct cw_state_decision cw_decision_row(const char *kind, const char *policy, const char *choice,
                                         const struct cw_policy_decision *decided,
                                         const char *inputs)
{
    return (struct cw_state_decision){.kind = kind,
                                      .policy = policy,
                                      .choice = choice,
                                      .reason = cw_str_text(&decided->reason),
                                      .candidates = cw_str_text(&decided->candidates),
                                      .inputs = inputs,
                                      .predicted_ns = decided->epoch_ns,
                                      .remote = decided->remote,
                                      .local = decided->local};
}

void cw_decision_record(struct cw_dispatcher *d, const struct cw_job *job,
                        const struct cw_state_decision *decision)
{
    struct cw_state_decision row = *decision;
    const char *choice = row.choice && row.choice[0] != '\0' ? row.choice : "nothing";
    row.time_ms = cw_clock_wall_ms();
    row.job = job ? job->id : "";
    row.name = job ? job->name : "";
    row.epoch = job ? job->first_epoch : 0;
    for (size_t i = 0; i < CW_DECISION_KINDS; i++)
        d->counts.decisions[i] += strcmp(row.kind, cw_decision_kinds[i]) == 0;
    if (job)
        cw_log_info(CW_LOG_MOD, "job=%s name=%s %s %s: %s: %s", row.job, row.name, row.kind,
                    row.policy, choice, row.reason);
    else
        cw_log_info(CW_LOG_MOD, "%s %s: %s: %s", row.kind, row.policy, choice, row.reason);
    if (d->state) /* There is no state where a test uses parts of a dispatcher. */
        cw_state_put_decision(d->state, &row, CW_DECISIONS_KEPT, CW_DECISIONS_IN_ALL);
}
