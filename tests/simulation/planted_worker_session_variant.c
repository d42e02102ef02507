/* SPDX-License-Identifier: Apache-2.0 */
/* dispatcher/session/worker_session.c with SIM_PLANTED_GONE: what a lost worker held is not freed. */
#include "dispatcher/lease/lease.h"
#include "planted.h"

#define cw_lease_free_all(share, tell)                                                             \
    (sim_planted() == SIM_PLANTED_GONE ? (void)0 : cw_lease_free_all(share, tell))
#include "dispatcher/session/worker_session.c"
