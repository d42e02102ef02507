/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between protobuf-c's structs and ours. The programs use the generated structs of
 * control messages directly ("cachew/v1/fleet.pb-c.h" and so on); conversions that several of them
 * need are declared here. */
#ifndef CW_WIRE_WIRE_H
#define CW_WIRE_WIRE_H

#include <protobuf-c/protobuf-c.h>
#include "base/buf.h"
#include "base/hash.h"
#include "base/interval.h"
#include "cachew/v1/bad.pb-c.h"
#include "cachew/v1/data.pb-c.h"
#include "cachew/v1/fleet.pb-c.h"
#include "cachew/v1/graph.pb-c.h"
#include "data/batch.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "rpc/rpc.h"

/* Packs a message into a new buffer (never NULL). */
struct cw_buf *cw_wire_pack(const ProtobufCMessage *message) CW_MUST_CHECK;
/* Unpacks a received control message; returns NULL with CORRUPT in err. The result is freed with
 * protobuf_c_message_free_unpacked(m, NULL). */
ProtobufCMessage *cw_wire_unpack(const ProtobufCMessageDescriptor *type, struct cw_rpc_msg *msg,
                                 struct cw_err *err) CW_MUST_CHECK;
/* Sends one packed message on a stream. */
void cw_wire_send(struct cw_stream *stream, const ProtobufCMessage *message);

/* A field that is packed already: bytes, or a message. buf NULL: it is absent. */
struct cw_wire_part {
    const char *field;
    struct cw_buf *buf;
};
#define CW_WIRE_PARTS_MAX 2
#define CW_WIRE_PART_BUFS_MAX (1 + 2 * CW_WIRE_PARTS_MAX)
/* Packs `outer` with the message `inner` as its field of that number, and in this the parts, which
 * `inner` itself must not have. The parts are not copied: the result are n new references to
 * buffers, which make the message when they are put together. outer NULL: `inner` is the message. */
size_t cw_wire_pack_parts(const ProtobufCMessage *outer, uint32_t field,
                          const ProtobufCMessage *inner, const struct cw_wire_part *parts, size_t n,
                          struct cw_buf **ret_bufs) CW_MUST_CHECK;
void cw_wire_send_parts(struct cw_stream *stream, const ProtobufCMessage *outer, uint32_t field,
                        const ProtobufCMessage *inner, const struct cw_wire_part *parts, size_t n);

/* A hash as 16 bytes, in the order of cw_hash_text. cw_wire_hash_from returns false unless there
 * are 16. */
#define CW_WIRE_HASH_BYTES 16
void cw_wire_hash_to(struct cw_hash hash, uint8_t ret_bytes[CW_WIRE_HASH_BYTES]);
bool cw_wire_hash_from(ProtobufCBinaryData bytes, struct cw_hash *ret_hash);

/* Conversion of graphs. The packed form is hashed into fingerprints and stored in state.db. Depth,
 * number of nodes and sizes are limited; a malformed graph is an error. */
struct cw_buf *cw_wire_graph_pack(const struct cw_graph *graph) CW_MUST_CHECK;
int cw_wire_graph_unpack(const void *p, size_t n, struct cw_graph **ret_graph, struct cw_err *err);
/* Make a graph for use as a member of another message (freed with cw_wire_graph_free), and read
 * one. */
Cachew__V1__Graph *cw_wire_graph_to(const struct cw_graph *graph) CW_MUST_CHECK;
void cw_wire_graph_free(Cachew__V1__Graph *message);
int cw_wire_graph_from(const Cachew__V1__Graph *message, struct cw_graph **ret_graph,
                       struct cw_err *err);
/* Frees the options of all nodes of a message that was unpacked; the rest stays. */
void cw_wire_graph_strip(Cachew__V1__Graph *message);

/* Conversion of specs. cw_wire_spec_from adds the fields to *spec; a message that is NULL has
 * none. */
Cachew__V1__Spec *cw_wire_spec_to(const struct cw_spec *spec) CW_MUST_CHECK;
void cw_wire_spec_free(Cachew__V1__Spec *message);
int cw_wire_spec_from(const Cachew__V1__Spec *message, struct cw_spec *spec, struct cw_err *err);
Cachew__V1__PlanInfo *cw_wire_info_to(const struct cw_plan_info *info) CW_MUST_CHECK;
void cw_wire_info_free(Cachew__V1__PlanInfo *message);
/* The caller frees what it owns with cw_wire_info_fini. */
int cw_wire_info_from(const Cachew__V1__PlanInfo *message, struct cw_plan_info *ret_info,
                      struct cw_err *err);
/* Frees the spec and how rows are filled up. */
void cw_wire_info_fini(struct cw_plan_info *info);

/* Adds to a PlanInfo which nodes may be cached: one entry for each node of the graph. The entries
 * are freed with the PlanInfo. */
void cw_wire_cacheable_to(const struct cw_graph *graph, const struct cw_plan_cacheable *nodes,
                          Cachew__V1__PlanInfo *message);
/* Reads one entry, whose texts belong to the message. cw_wire_info_from has checked all entries
 * before. */
int cw_wire_cacheable_from(const Cachew__V1__Cacheable *message, struct cw_plan_cacheable *ret_node,
                           struct cw_err *err);

/* Conversion of sets of numbers. In the result of cw_wire_set_to, the array of pointers and the
 * intervals are one allocation, freed with cw_mem_free. */
Cachew__V1__Interval **cw_wire_set_to(const struct cw_set *set, size_t *ret_n) CW_MUST_CHECK;
/* Adds the intervals to *set. */
int cw_wire_set_from(Cachew__V1__Interval *const *intervals, size_t n, struct cw_set *set,
                     struct cw_err *err);

/* Conversion of manifests to compressed canonical JSON, and back. LIMIT: text and values would take
 * more than max_bytes of memory. */
struct cw_buf *cw_wire_manifest_pack(const struct cw_value *manifest) CW_MUST_CHECK;
int cw_wire_manifest_unpack(const void *p, size_t n, size_t max_bytes,
                            struct cw_value *ret_manifest, struct cw_err *err);

/* Conversion of descriptions of bad elements (wire_bad.c). In the result of cw_wire_bad_to, which is
 * freed with cw_mem_free, the array of pointers and the messages are one allocation; their texts
 * belong to the list. */
Cachew__V1__BadElement **cw_wire_bad_to(const struct cw_bad_list *list) CW_MUST_CHECK;
/* Fills in one message; its texts belong to the element. */
void cw_wire_bad_element_to(const struct cw_bad_element *element,
                            Cachew__V1__BadElement *ret_message);
/* Makes a message of the first elements of a batch, at most `most` of them, for people to look at. It has
 * no id of a job. Freed with cw_wire_shown_free. */
Cachew__V1__ElementsShown *cw_wire_shown_new(const struct cw_batch *batch,
                                             uint32_t most) CW_MUST_CHECK;
void cw_wire_shown_free(Cachew__V1__ElementsShown *shown);
/* Reads one; the texts belong to the message. */
struct cw_bad_element cw_wire_bad_element_from(const Cachew__V1__BadElement *message);
/* Makes a list; NULL if there are none. LIMIT: there are more than an output may have. */
int cw_wire_bad_from(Cachew__V1__BadElement *const *messages, size_t n,
                     struct cw_bad_list **ret_list, struct cw_err *err);

/* ---- messages with batches to be sent (outbox.c), whose payload protobuf-c does not pack ---- */
/* The sizes of a small output in its wire form, which is one piece of memory: its entry in the head
 * of the message, then its payload. This form is used where very many outputs wait to be sent. */
struct cw_wire_size {
    uint32_t head, payload;
};
/* For an output of less than 4 GiB that is not in a shared-memory slot. */
struct cw_wire_size cw_wire_output_size(const struct cw_batch *batch);
/* Writes the output's wire form to dst, which has room for head + payload bytes. */
void cw_wire_output_pack(const struct cw_batch *batch, struct cw_wire_size size, uint8_t *dst);

/* Collects several outputs into one DataMessage: [protobuf head | payload of each batch without a
 * slot]. */
struct cw_wire_outbox;
struct cw_wire_outbox *cw_wire_outbox_new(void) CW_MUST_CHECK;
/* Adds a batch. slot 0: its bytes are sent too, and the outbox holds a reference. */
void cw_wire_outbox_add(struct cw_wire_outbox *box, const struct cw_batch *batch, uint64_t slot);
/* Adds an output in its wire form, which is copied. */
void cw_wire_outbox_add_packed(struct cw_wire_outbox *box, struct cw_wire_size size,
                               const uint8_t *packed);
/* Sends the message and frees the outbox. */
void cw_wire_outbox_send(struct cw_wire_outbox *box, struct cw_stream *stream);
/* Returns the message, if it has no payload, to be sent by other means; NULL if it has. */
const void *cw_wire_outbox_message(const struct cw_wire_outbox *box, size_t *ret_n);
/* Frees the outbox without sending it. */
void cw_wire_outbox_free(struct cw_wire_outbox *box);
/* Sends one message with these outputs. slots NULL: none of them is in a slot. */
void cw_wire_send_outputs(struct cw_stream *stream, struct cw_batch *const *batches,
                          const uint64_t *slots, size_t n);

/* ---- received messages with batches (wire_output.c) ---- */
struct cw_wire_data {
    Cachew__V1__DataMessage *head;      /* the message without its payload; owned */
    size_t payload_offset, payload_len; /* position of the payload in the received message */
};
int cw_wire_data_parse(struct cw_rpc_msg *msg, struct cw_wire_data *ret_data, struct cw_err *err);
void cw_wire_data_fini(struct cw_wire_data *data);
/* Makes a batch without a buffer from the head of an output, and validates it. */
int cw_wire_output_from(const Cachew__V1__Output *output, struct cw_batch **ret_batch,
                        struct cw_err *err);

#endif
