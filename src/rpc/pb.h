/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the fields of a serialized protobuf message one by one, without a schema. */
#ifndef CW_RPC_PB_H
#define CW_RPC_PB_H

#include <stdbool.h>
#include "base/compiler.h"

enum cw_pb_type { CW_PB_VARINT = 0, CW_PB_FIXED64 = 1, CW_PB_BYTES = 2, CW_PB_FIXED32 = 5 };

struct cw_pb_field {
    uint32_t number;
    enum cw_pb_type type;
    uint64_t value;      /* varint; of bytes: their length */
    const uint8_t *data; /* bytes; fixed: where they lie */
};
#define CW_PB_HEAD_MAX 20 /* tag and length, or tag and varint */

/* A varint at the start of [p, end): bytes used, 0 when it is broken. */
size_t cw_pb_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret);
size_t cw_pb_put_varint(uint8_t *p, uint64_t value); /* at most 10 bytes */
/* The head of a field: the tag, and the varint after it if the type has one. Bytes used, 0 when
 * broken. */
size_t cw_pb_head(const uint8_t *p, const uint8_t *end, struct cw_pb_field *ret_field);
/* The next field; moves *p. false at the end, and (with *p != end) when the message is broken. */
bool cw_pb_next(const uint8_t **p, const uint8_t *end, struct cw_pb_field *ret_field);

#endif
