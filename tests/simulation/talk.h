/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of a stranger: what it says is written by hand, message by message. In an actor. */
#ifndef SIM_TALK_H
#define SIM_TALK_H

#include "cachew/v1/fleet.pb-c.h"
#include "cachew/v1/job.pb-c.h"
#include "sim.h"
#include "wire/wire.h"

/* What the stranger knows of a job of its own, from the last welcome. */
struct sim_known {
    char job_id[64];
    struct cw_hash fingerprint;
    uint64_t pipeline_sum, files_sum, worker_id;
    uint32_t identity;
    unsigned kind; /* stranger_client.c */
};

struct sim_talk {
    struct cw_loop *loop;
    struct cw_rpc *rpc;
    struct cw_channel *channel;
    struct cw_stream *stream; /* NULL: it is over */
    struct cw_timer *end;
    struct sim_known *known; /* NULL: a client's welcome is not looked at */
    const char *token_file;  /* whose token is shown; NULL: nobody asks for one */
};

/* Opens a stream of that method; the caller says something, and calls sim_talk_wait. */
void sim_talk_begin(struct sim_talk *talk, const char *address, const char *method);
void sim_say(struct sim_talk *talk, const ProtobufCMessage *message);
/* Bytes that are no message. */
void sim_say_garbage(struct sim_talk *talk);
/* Runs until the stream is over, or for so long. */
void sim_talk_wait(struct sim_talk *talk, int64_t ms);
/* Ends it: in order, or as by a process that dies. */
void sim_talk_end(struct sim_talk *talk);
/* One unary call, whose answer nobody reads. */
void sim_talk_call(const char *address, const char *method, const ProtobufCMessage *request);

#endif
