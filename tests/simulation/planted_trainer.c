/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes of a trainer's library (planted.h): calls that the linker leads here. */
#include "planted.h"

#include "cachew/cachew.h"
#include "client/delivery/ack_sets.h"
#include "client/delivery/ledger.h"
#include "client/session/session_int.h"
#include "client/transport/credit.h"

/* SIM_PLANTED_AHEAD, SIM_PLANTED_LATE: a token counts the batch that was given out last, or does not
 * count it, whatever it was asked. */
__typeof__(cachew_job_token) __real_cachew_job_token, __wrap_cachew_job_token;
int __wrap_cachew_job_token(struct cachew_job *job, int with_last, void *ret_token, size_t cap,
                            size_t *ret_bytes, struct cachew_error *error)
{
    if (sim_planted() == SIM_PLANTED_AHEAD)
        with_last = 1;
    if (sim_planted() == SIM_PLANTED_LATE)
        with_last = 0;
    return __real_cachew_job_token(job, with_last, ret_token, cap, ret_bytes, error);
}

/* SIM_PLANTED_BROKEN */
__typeof__(cw_session_send_worker_lost) __real_cw_session_send_worker_lost,
    __wrap_cw_session_send_worker_lost;
bool __wrap_cw_session_send_worker_lost(struct cw_session *session, uint64_t worker_id,
                                        const char *why)
{
    return sim_planted() == SIM_PLANTED_BROKEN ||
           __real_cw_session_send_worker_lost(session, worker_id, why);
}

/* SIM_PLANTED_RETURN */
__typeof__(cw_ack_sets_all) __real_cw_ack_sets_all, __wrap_cw_ack_sets_all;
void __wrap_cw_ack_sets_all(struct cw_ack_sets *sets, struct cw_ledger *ledger)
{
    __real_cw_ack_sets_all(sets, ledger);
    if (sim_planted() == SIM_PLANTED_RETURN)
        cw_ack_sets_fini(sets);
}

/* SIM_PLANTED_ACK: one in twenty. */
__typeof__(cw_ack_sets_take_new) __real_cw_ack_sets_take_new, __wrap_cw_ack_sets_take_new;
void __wrap_cw_ack_sets_take_new(struct cw_ack_sets *sets, struct cw_ledger *ledger)
{
    __real_cw_ack_sets_take_new(sets, ledger);
    if (sim_planted() == SIM_PLANTED_ACK && sim_one_in(20))
        cw_ack_sets_fini(sets);
}

/* SIM_PLANTED_ROOM: for a new connection, and later. */
__typeof__(cw_credit_begin) __real_cw_credit_begin, __wrap_cw_credit_begin;
uint64_t __wrap_cw_credit_begin(struct cw_credit *credit, uint64_t room)
{
    return __real_cw_credit_begin(credit, sim_planted() == SIM_PLANTED_ROOM ? UINT64_MAX : room);
}

__typeof__(cw_credit_grant) __real_cw_credit_grant, __wrap_cw_credit_grant;
uint64_t __wrap_cw_credit_grant(struct cw_credit *credit, uint64_t room, bool all)
{
    return __real_cw_credit_grant(credit, sim_planted() == SIM_PLANTED_ROOM ? UINT64_MAX : room,
                                  all);
}

/* SIM_PLANTED_UNCOUNTED: as if another consumer had the item. */
__typeof__(cw_ledger_skip) __real_cw_ledger_skip, __wrap_cw_ledger_skip;
void __wrap_cw_ledger_skip(struct cw_ledger *ledger, uint64_t epoch, const struct cw_set *items,
                           bool lost)
{
    __real_cw_ledger_skip(ledger, epoch, items, lost && sim_planted() != SIM_PLANTED_UNCOUNTED);
}
