/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a liar's program: each says something to a peer whose hello has come. In its actor. */
#ifndef SIM_LIAR_H
#define SIM_LIAR_H

#include "cachew/v1/fleet.pb-c.h"
#include "cachew/v1/job.pb-c.h"
#include "sim.h"
#include "wire/wire.h"

#define SIM_LIAR_HOST "liar"
#define SIM_LIAR_ADDRESS "liar:7171"

void sim_lie_bytes(struct cw_stream *stream); /* that are no message */
/* As a dispatcher to a client. hello: the client's; first: nothing was said on this stream before. */
void sim_lie_to_client(struct cw_stream *stream, const Cachew__V1__ClientHello *hello, bool first);
/* As a dispatcher to a worker. */
void sim_lie_to_worker(struct cw_stream *stream, bool first);
/* As a worker to a client, to which so much was said on this stream before. */
void sim_lie_as_worker(struct cw_stream *stream, uint64_t said);

#endif
