/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between protobuf-c's structs and ours. The programs use the generated structs of
 * control messages directly ("cachew/v1/fleet.pb-c.h" and so on); what several of them need is
 * declared here. */
#ifndef CW_WIRE_WIRE_H
#define CW_WIRE_WIRE_H

#include <protobuf-c/protobuf-c.h>
#include "base/buf.h"
#include "base/hash.h"
#include "base/interval.h"
#include "cachew/v1/data.pb-c.h"
#include "cachew/v1/graph.pb-c.h"
#include "data/batch.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "rpc/rpc.h"

/* Packs a message into a new buffer (never NULL). */
struct cw_buf *cw_wire_pack(const ProtobufCMessage *message) CW_MUST_CHECK;
/* Unpacks a received control message; NULL with CORRUPT in err. Free with
 * protobuf_c_message_free_unpacked(m, NULL). */
ProtobufCMessage *cw_wire_unpack(const ProtobufCMessageDescriptor *type, struct cw_rpc_msg *msg,
                                 struct cw_err *err) CW_MUST_CHECK;
/* Sends one packed message on a stream. */
void cw_wire_send(struct cw_stream *stream, const ProtobufCMessage *message);

/* A hash as 16 bytes, in the order of cw_hash_text. from: returns false unless there are 16. */
#define CW_WIRE_HASH_BYTES 16
void cw_wire_hash_to(struct cw_hash hash, uint8_t ret_bytes[CW_WIRE_HASH_BYTES]);
bool cw_wire_hash_from(ProtobufCBinaryData bytes, struct cw_hash *ret_hash);

/* Graphs. The packed form is hashed into fingerprints and stored in state.db. Depth, number of
 * nodes and sizes are limited; a malformed graph is an error. */
struct cw_buf *cw_wire_graph_pack(const struct cw_graph *graph) CW_MUST_CHECK;
int cw_wire_graph_unpack(const void *p, size_t n, struct cw_graph **ret_graph, struct cw_err *err);
/* A graph as a message within another one: make it (free with cw_wire_graph_free), and read it. */
Cachew__V1__Graph *cw_wire_graph_to(const struct cw_graph *graph) CW_MUST_CHECK;
void cw_wire_graph_free(Cachew__V1__Graph *message);
int cw_wire_graph_from(const Cachew__V1__Graph *message, struct cw_graph **ret_graph,
                       struct cw_err *err);

Cachew__V1__PlanInfo *cw_wire_info_to(const struct cw_plan_info *info) CW_MUST_CHECK;
void cw_wire_info_free(Cachew__V1__PlanInfo *message);
int cw_wire_info_from(const Cachew__V1__PlanInfo *message, struct cw_plan_info *ret_info,
                      struct cw_err *err);

/* Adds to a PlanInfo what may be cached: one entry per node of the graph. Freed with the
 * PlanInfo. */
void cw_wire_cacheable_to(const struct cw_graph *graph, const struct cw_plan_cacheable *nodes,
                          Cachew__V1__PlanInfo *message);
/* Reads one entry; its texts belong to the message. cw_wire_info_from has checked all entries. */
int cw_wire_cacheable_from(const Cachew__V1__Cacheable *message, struct cw_plan_cacheable *ret_node,
                           struct cw_err *err);

/* Sets of numbers. to: the array of pointers and the intervals are one allocation, freed with
 * cw_mem_free. */
Cachew__V1__Interval **cw_wire_set_to(const struct cw_set *set, size_t *ret_n) CW_MUST_CHECK;
int cw_wire_set_from(Cachew__V1__Interval *const *intervals, size_t n,
                     struct cw_set *set /* added to */, struct cw_err *err);

/* Manifests: canonical JSON, compressed. */
struct cw_buf *cw_wire_manifest_pack(const struct cw_value *manifest) CW_MUST_CHECK;
int cw_wire_manifest_unpack(const void *p, size_t n, struct cw_value *ret_manifest,
                            struct cw_err *err);

/* ---- batches to be sent (outbox.c): protobuf-c neither packs nor unpacks the payload ---- */
/* A small output in its wire form, in one piece of memory: its entry in the head of the message,
 * then its payload. Used where very many outputs wait to be sent. */
struct cw_wire_size {
    uint32_t head, payload;
};
/* For an output that is not in a shared-memory slot, of less than 4 GiB. */
struct cw_wire_size cw_wire_output_size(const struct cw_batch *batch);
void cw_wire_output_pack(const struct cw_batch *batch, struct cw_wire_size size,
                         uint8_t *dst /* head + payload bytes */);

/* Collects several outputs into one DataMessage: [protobuf head | payload of each batch without a
 * slot]. */
struct cw_wire_outbox;
struct cw_wire_outbox *cw_wire_outbox_new(void) CW_MUST_CHECK;
void cw_wire_outbox_add(struct cw_wire_outbox *box, const struct cw_batch *batch,
                        uint64_t slot /* 0 = its bytes go too: a ref is taken */);
void cw_wire_outbox_add_packed(struct cw_wire_outbox *box, struct cw_wire_size size,
                               const uint8_t *packed /* copied */);
void cw_wire_outbox_send(struct cw_wire_outbox *box /* taken */, struct cw_stream *stream);
/* Sends one message with these outputs. */
void cw_wire_send_outputs(struct cw_stream *stream, struct cw_batch *const *batches,
                          const uint64_t *slots /* NULL = none */, size_t n);

/* ---- batches received (wire_output.c) ---- */
struct cw_wire_data {
    Cachew__V1__DataMessage *head;      /* without payload; owned */
    size_t payload_offset, payload_len; /* in the received message */
};
int cw_wire_data_parse(struct cw_rpc_msg *msg, struct cw_wire_data *ret_data, struct cw_err *err);
void cw_wire_data_fini(struct cw_wire_data *data);
/* Makes a batch without a buffer from the head of an output, and validates it. */
int cw_wire_output_from(const Cachew__V1__Output *output, struct cw_batch **ret_batch,
                        struct cw_err *err);

#endif
