/* SPDX-License-Identifier: Apache-2.0 */
/* The pace of a fleet: how often workers and clients speak, and how much work a worker holds
 * meanwhile. In a small fleet everything is told soon. From some thousand peers on each speaks less
 * often, so that the number of messages grows more slowly than the fleet; workers then hold work
 * for longer, so that none waits. */
#ifndef CW_DISPATCHER_MODEL_MESSAGE_PACE_H
#define CW_DISPATCHER_MODEL_MESSAGE_PACE_H

#include <stdint.h>

struct cw_dispatcher;
struct cw_worker;

/* Returns how long a worker may gather completed items before it reports them, in ms. */
uint32_t cw_report_interval_ms(const struct cw_dispatcher *d);
/* Returns for how many ms of work a worker is leased items: --lease-ms, or in a large fleet what
 * lasts for three reports. */
int64_t cw_lease_work_ms(const struct cw_dispatcher *d);
/* Returns how long a client may gather what it acknowledges, in ms, while its window is not
 * reached. */
uint32_t cw_ack_interval_ms(const struct cw_dispatcher *d);
/* Returns by how much later than in a small fleet a leased item is acknowledged, in ms. */
int64_t cw_pace_longer_ms(const struct cw_dispatcher *d);
/* Returns for how long messages gather before the dispatcher looks at them together, in ms. */
int64_t cw_pace_gather_ms(const struct cw_dispatcher *d);
/* Returns how often a worker should be heard of, in ms: four times within --heartbeat, or less often
 * in a large fleet. `told_ms`: what the worker was told before, 0 if nothing. The result is not below
 * half of that, so that a worker that has not heard the news yet is not taken for lost. */
uint32_t cw_heartbeat_ms(const struct cw_dispatcher *d, uint32_t told_ms);
/* Returns for how many ms the worker may be silent before it counts as lost. */
int64_t cw_silence_ms(const struct cw_worker *worker);

#endif
