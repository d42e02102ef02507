/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the fields of a serialized protobuf message one after the other, without a schema. */
#ifndef CW_RPC_PB_H
#define CW_RPC_PB_H

#include <stdbool.h>
#include "base/compiler.h"

enum cw_pb_type { CW_PB_VARINT = 0, CW_PB_FIXED64 = 1, CW_PB_BYTES = 2, CW_PB_FIXED32 = 5 };

struct cw_pb_field {
    uint32_t number;
    enum cw_pb_type type;
    uint64_t value;      /* value of a varint, or number of bytes of a field with a length */
    const uint8_t *data; /* the first of these bytes, or of a value of fixed size */
};
#define CW_PB_HEAD_MAX 20 /* the most bytes of a tag followed by a length or a varint */

/* Reads a varint at the start of [p, end). Returns the bytes read, or 0 if it is malformed. */
size_t cw_pb_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret);
/* Writes a varint and returns its bytes, 10 at most. */
size_t cw_pb_put_varint(uint8_t *p, uint64_t value);
/* Reads the head of a field: the tag, and the varint after it if the type has one. Returns the
 * bytes read, or 0 if they are malformed. */
size_t cw_pb_head(const uint8_t *p, const uint8_t *end, struct cw_pb_field *ret_field);
/* Reads the next field and moves *p behind it. Returns false at the end of the message, and also if
 * the message is malformed; then *p is not `end`. */
bool cw_pb_next(const uint8_t **p, const uint8_t *end, struct cw_pb_field *ret_field);

#endif
