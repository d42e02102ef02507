/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a stranger's program. In its actor. */
#ifndef SIM_STRANGER_H
#define SIM_STRANGER_H

#include "strangers.h"
#include "talk.h"

/* No dispatcher has had it, and any might. */
#define SIM_HIGH_GENERATION ((uint64_t)1 << 61)

/* The file of the token that it shows where it should show that of `own`; NULL: nobody asks. */
const char *sim_stranger_token(const struct sim_stranger *stranger, const char *own);
/* One talk with a dispatcher, which the stranger begins as a client would, or almost. It leaves in
 * *known what it has heard of its job. */
void sim_as_client(const struct sim_stranger *stranger, struct sim_known *known);
/* The same as a worker. */
void sim_as_worker(const struct sim_stranger *stranger, const struct sim_known *known);
/* A job with the client library, with options that other trainers do not have. */
void sim_as_trainer(const struct sim_stranger *stranger);

#endif
