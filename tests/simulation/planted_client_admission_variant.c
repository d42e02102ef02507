/* SPDX-License-Identifier: Apache-2.0 */
/* dispatcher/session/client_admission.c with SIM_PLANTED_LEASED: when a client comes back, what is
 * leased and was not received stays leased. */
#include "dispatcher/lease/lease.h"
#include "planted.h"

#define cw_lease_free_all(share, tell)                                                             \
    (sim_planted() == SIM_PLANTED_LEASED ? (void)0 : cw_lease_free_all(share, tell))
#include "dispatcher/session/client_admission.c"
