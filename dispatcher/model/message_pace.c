/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/model/message_pace.h"

#include "base/fault.h"
#include "dispatcher/model/model.h"

/* The number of reports and of heartbeats a second that all workers together may send, and of
 * acknowledgements that all clients together may. */
#define REPORTS_A_S 4000
#define BEATS_A_S 4000
#define ACKS_A_S 1000
#define REPORT_MIN_MS 250
#define REPORT_MAX_MS 2500
#define ACK_MIN_MS 200
#define ACK_MAX_MS 1000
#define BEAT_MIN_MS 50
#define BEAT_MAX_MS 2500
/* For each 2,000 peers messages gather for one ms more: what is done at the end of an iteration of the loop
 * is done once for all of them. */
#define GATHER_PEERS 2000000
#define GATHER_MAX_MS 5
#define BEATS 4   /* in the time after which a silent worker counts as lost */
#define REPORTS 3 /* in the time that the leases of a worker in a large fleet last */

/* In the simulation a fleet may seem large. */
static int64_t share_of_a_second(size_t peers, int64_t a_s)
{
    return (int64_t)(cw_fault_rare("pace.large_fleet") ? 20000 : peers) * 1000 / a_s;
}

uint32_t cw_report_interval_ms(const struct cw_dispatcher *d)
{
    int64_t fair_ms = share_of_a_second(d->workers_n, REPORTS_A_S);
    int64_t most_ms = CW_MIN(d->options.lease_ms / 4 * 5, REPORT_MAX_MS);
    return (uint32_t)CW_MAX(CW_MIN(fair_ms, most_ms), REPORT_MIN_MS);
}

int64_t cw_lease_work_ms(const struct cw_dispatcher *d)
{
    int64_t report_ms = cw_report_interval_ms(d);
    return report_ms > REPORT_MIN_MS ? CW_MAX(d->options.lease_ms, REPORTS * report_ms)
                                     : d->options.lease_ms;
}

uint32_t cw_ack_interval_ms(const struct cw_dispatcher *d)
{
    int64_t fair_ms = share_of_a_second(d->clients_n, ACKS_A_S);
    return (uint32_t)CW_MAX(CW_MIN(fair_ms, ACK_MAX_MS), ACK_MIN_MS);
}

int64_t cw_pace_longer_ms(const struct cw_dispatcher *d)
{
    return cw_lease_work_ms(d) - d->options.lease_ms + cw_ack_interval_ms(d) - ACK_MIN_MS;
}

int64_t cw_pace_gather_ms(const struct cw_dispatcher *d)
{
    return CW_MIN(share_of_a_second(d->workers_n + d->clients_n, GATHER_PEERS), GATHER_MAX_MS);
}

uint32_t cw_heartbeat_ms(const struct cw_dispatcher *d, uint32_t told_ms)
{
    int64_t usual_ms = CW_MAX(d->options.silence_ms / BEATS, BEAT_MIN_MS);
    int64_t fair_ms = CW_MIN(share_of_a_second(d->workers_n, BEATS_A_S), BEAT_MAX_MS);
    return (uint32_t)CW_MAX(CW_MAX(usual_ms, fair_ms), (int64_t)told_ms / 2);
}

int64_t cw_silence_ms(const struct cw_worker *worker)
{
    return CW_MAX(worker->d->options.silence_ms, BEATS * (int64_t)worker->heartbeat_ms);
}
