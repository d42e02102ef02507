/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this folder. */
#ifndef CW_WIRE_WIRE_INT_H
#define CW_WIRE_WIRE_INT_H

#include "wire/wire.h"

/* protobuf-c structs that we allocate with mem.h are freed by protobuf-c with this allocator. */
extern ProtobufCAllocator cw_wire_allocator;

#define CW_WIRE_PAYLOAD_FIELD 15 /* number of the last field of DataMessage */

/* The deepest nesting of messages. Options of a pipeline (JSON depth 32) need 70. */
#define CW_WIRE_DEPTH_MAX 100
#define CW_WIRE_MESSAGES_MAX 2000000 /* in one message */
/* Unpacks after checking depth and number of messages: protobuf-c unpacks nested messages by
 * recursion, without a limit. */
ProtobufCMessage *cw_wire_unpack_bytes(const ProtobufCMessageDescriptor *type, const void *p,
                                       size_t n, struct cw_err *err) CW_MUST_CHECK;

/* ---- strings (message_text.c) ---- */
enum cw_wire_text {
    CW_WIRE_NAME,  /* valid UTF-8 without control characters */
    CW_WIRE_VALUE, /* valid UTF-8 */
    CW_WIRE_TEXT   /* whatever is not valid is replaced */
};
/* Returns what a string field of a message is. */
enum cw_wire_text cw_wire_text_kind(const ProtobufCMessageDescriptor *type, const char *field);
bool cw_wire_text_ok(enum cw_wire_text kind, const uint8_t *p, size_t n);
/* Replaces each byte that a text must not have by '?'. */
void cw_wire_text_clean(uint8_t *p, size_t n);

/* ---- how rows are filled up (pads.c) ---- */
/* Adds what `info` says of it to a message. */
void cw_wire_pads_to(const struct cw_plan_info *info, Cachew__V1__PlanInfo *message);
/* Makes what a message says of it, of a batch with the spec `out`. *ret_pads stays if it says nothing. */
int cw_wire_pads_from(const Cachew__V1__PlanInfo *message, const struct cw_spec *out,
                      struct cw_pads **ret_pads, struct cw_err *err);

#endif
