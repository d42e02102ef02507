/* SPDX-License-Identifier: Apache-2.0 */
/* Between protobuf-c's structs and ours. Control messages are protobuf-c structs in the code
 * that speaks them (generated headers: "cachew/v1/fleet.pb-c.h" and so on); here is what they
 * share. */
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

/* Hashes as 16 bytes, so that their hex is cw_hash_text's. from: false when there are not 16. */
#define CW_WIRE_HASH_BYTES 16
void cw_wire_hash_to(struct cw_hash hash, uint8_t ret_bytes[CW_WIRE_HASH_BYTES]);
bool cw_wire_hash_from(ProtobufCBinaryData bytes, struct cw_hash *ret_hash);

/* Graphs. The packed form is what fingerprints and state.db hold. Depth, nodes and sizes are
 * limited; a lying peer gets an error. */
struct cw_buf *cw_wire_graph_pack(const struct cw_graph *graph) CW_MUST_CHECK;
int cw_wire_graph_unpack(const void *p, size_t n, struct cw_graph **ret_graph, struct cw_err *err);
/* A message inside another one: make (free with cw_wire_graph_free) and read. */
Cachew__V1__Graph *cw_wire_graph_to(const struct cw_graph *graph) CW_MUST_CHECK;
void cw_wire_graph_free(Cachew__V1__Graph *message);
int cw_wire_graph_from(const Cachew__V1__Graph *message, struct cw_graph **ret_graph,
                       struct cw_err *err);

Cachew__V1__PlanInfo *cw_wire_info_to(const struct cw_plan_info *info) CW_MUST_CHECK;
void cw_wire_info_free(Cachew__V1__PlanInfo *message);
int cw_wire_info_from(const Cachew__V1__PlanInfo *message, struct cw_plan_info *ret_info,
                      struct cw_err *err);

/* What may be cached: one entry a node of the graph, put into facts of a pipeline (which are
 * freed with it). */
void cw_wire_cacheable_to(const struct cw_graph *graph, const struct cw_plan_cacheable *nodes,
                          Cachew__V1__PlanInfo *message);
/* One entry back; its texts are the message's. cw_wire_info_from has checked them all. */
int cw_wire_cacheable_from(const Cachew__V1__Cacheable *message, struct cw_plan_cacheable *ret_node,
                           struct cw_err *err);

/* Sets of numbers: the array of pointers and the intervals in one allocation, freed with
 * cw_mem_free. */
Cachew__V1__Interval **cw_wire_set_to(const struct cw_set *set, size_t *ret_n) CW_MUST_CHECK;
int cw_wire_set_from(Cachew__V1__Interval *const *intervals, size_t n,
                     struct cw_set *set /* added to */, struct cw_err *err);

/* Manifests: canonical JSON, compressed. */
struct cw_buf *cw_wire_manifest_pack(const struct cw_value *manifest) CW_MUST_CHECK;
int cw_wire_manifest_unpack(const void *p, size_t n, struct cw_value *ret_manifest,
                            struct cw_err *err);

/* ---- batches (output.c): the payload is neither packed nor unpacked by protobuf-c ---- */
/* An output as bytes, in one piece of memory, for those of which very many wait: its entry in
 * the message's head, then its payload. */
struct cw_wire_size {
    uint32_t head, payload;
};
/* Of an output that is not in a slot; its bytes are fewer than 4 GiB. */
struct cw_wire_size cw_wire_output_size(const struct cw_batch *batch);
void cw_wire_output_pack(const struct cw_batch *batch, struct cw_wire_size size,
                         uint8_t *dst /* head + payload bytes */);

/* One DataMessage of several outputs, put together: [protobuf head | payload of each batch
 * without a slot]. */
struct cw_wire_outbox;
struct cw_wire_outbox *cw_wire_outbox_new(void) CW_MUST_CHECK;
void cw_wire_outbox_add(struct cw_wire_outbox *box, const struct cw_batch *batch,
                        uint64_t slot /* 0 = its bytes go too: a ref is taken */);
void cw_wire_outbox_add_packed(struct cw_wire_outbox *box, struct cw_wire_size size,
                               const uint8_t *packed /* copied */);
void cw_wire_outbox_send(struct cw_wire_outbox *box /* taken */, struct cw_stream *stream);
/* The same at once. */
void cw_wire_send_outputs(struct cw_stream *stream, struct cw_batch *const *batches,
                          const uint64_t *slots /* NULL = none */, size_t n);
struct cw_wire_data {
    Cachew__V1__DataMessage *head;      /* without payload; owned */
    size_t payload_offset, payload_len; /* in the received message */
};
int cw_wire_data_parse(struct cw_rpc_msg *msg, struct cw_wire_data *ret_data, struct cw_err *err);
void cw_wire_data_fini(struct cw_wire_data *data);
/* Header of output i -> batch without buffer, validated as far as it can be. */
int cw_wire_output_from(const Cachew__V1__Output *output, struct cw_batch **ret_batch,
                        struct cw_err *err);

#endif
