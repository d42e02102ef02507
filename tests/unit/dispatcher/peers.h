/* SPDX-License-Identifier: Apache-2.0 */
/* Tools, workers and trainers of a made-up dispatcher, without gRPC: what src/rpc would do is done
 * here, in this thread (with --wrap: CMakeLists.txt). State is real, in a directory of its own. */
#ifndef CW_TESTS_UNIT_DISPATCHER_PEERS_H
#define CW_TESTS_UNIT_DISPATCHER_PEERS_H

#include "cachew/v1/admin.pb-c.h"
#include "unit/dispatcher/made_up.h"

struct cw_caller;
/* Who calls, and opens streams, from now on (dispatcher/access/access.h); NULL: there are no tokens.
 * It must live as long as the streams. */
extern const struct cw_caller *peers_caller;

/* For cmocka: a dispatcher with a state directory, whose methods are added. */
int peers_begin(void **state);
int peers_end(void **state);
/* With the cache's store in the memory of this process. */
#define PEERS_STORE "mem:peers"
int peers_begin_caching(void **state);

/* The dispatcher dies and is started again, with what it had stored. */
void peers_restart(void);

/* Ends turns of the dispatcher's loop until all that was written is stored, and told. */
void peers_turn(void);

/* Ends one turn, whatever is not stored yet. */
void peers_one_turn(void);

/* ---- tools ---- */
/* Calls "/cachew.v1.Admin/METHOD" and waits for the answer, which stays until the next call. */
struct peers_answer {
    int code;
    char msg[1024];
    ProtobufCMessage *reply; /* NULL: it failed */
};
const struct peers_answer *peers_ask(const char *method, const ProtobufCMessage *request,
                                     const ProtobufCMessageDescriptor *reply);
/* In how many further turns of the loop the last call was worked on before it was answered. */
size_t peers_slices_n(void);
/* The most CPU time of one of these turns, or of the first. For benchmarks. */
int64_t peers_longest_ns(void);
/* With bytes that are no message. */
const struct peers_answer *peers_ask_bytes(const char *method, const char *bytes);
/* It fails with this code, and says this. */
void peers_refused(const char *method, const ProtobufCMessage *request, int code, const char *says);

/* ---- streams ---- */
struct cw_stream *peers_attach(const char *method); /* "Jobs/Attach" */
void peers_say(struct cw_stream *stream, const ProtobufCMessage *message);
void peers_say_bytes(struct cw_stream *stream, const char *bytes);
void peers_break(struct cw_stream *stream, int code, const char *msg); /* the stream is over */
/* How the dispatcher has ended it. */
bool peers_is_ended(const struct cw_stream *stream);
int peers_end_code(const struct cw_stream *stream);
const char *peers_end_msg(const struct cw_stream *stream);
/* Whether it is not being read, and how often the dispatcher has said what later work has cost. */
bool peers_is_paused(const struct cw_stream *stream);
size_t peers_noted_n(const struct cw_stream *stream);
/* The last message of a kind (0: of any) that was sent on it since peers_forget; NULL: none. */
const Cachew__V1__ClientCommand *peers_to_client(const struct cw_stream *stream,
                                                 Cachew__V1__ClientCommand__KindCase kind);
const Cachew__V1__WorkerCommand *peers_to_worker(const struct cw_stream *stream,
                                                 Cachew__V1__WorkerCommand__KindCase kind);
/* Message i of those since peers_forget; NULL behind the last. Of a backup. */
const Cachew__V1__BackupPart *peers_part(const struct cw_stream *stream, size_t i);
void peers_forget(struct cw_stream *stream);

/* ---- who says what ---- */
/* "range" of so many elements, one an item. */
Cachew__V1__Graph *peers_graph(unsigned elements);
/* A worker that said hello, with so many threads. */
struct cw_stream *peers_worker(uint64_t id, uint32_t threads);
struct cw_worker *peers_worker_of(uint64_t id); /* NULL: the dispatcher has none with this id */
/* A trainer says hello for a job; options->graph NULL: peers_graph(10). */
struct cw_stream *peers_trainer(uint64_t id, Cachew__V1__JobOptions *options);
/* The same process comes back to a job. */
struct cw_stream *peers_back(uint64_t id, const char *job_id);
/* The trainer of a job has received, and consumed, items [0, n) of an epoch. */
void peers_ack(struct cw_stream *trainer, uint64_t epoch, uint64_t received, uint64_t consumed);
void peers_bye(struct cw_stream *trainer);
/* The worker answers the Prepare that it was sent last; or it says why it cannot. */
void peers_prepared(struct cw_stream *worker, uint64_t items);
void peers_not_prepared(struct cw_stream *worker, int code, const char *error);
/* A running job of this name with a trainer (id 100), prepared by a worker (id 1, if there is none). */
struct cw_job *peers_running(const char *name, struct cw_stream **ret_trainer);

#endif
