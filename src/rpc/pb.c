/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the protobuf wire format: developers.google.com/protocol-buffers/docs/encoding.
 * Groups are refused. */
#include "rpc/pb.h"

size_t cw_pb_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret)
{
    uint64_t value = 0;
    for (size_t i = 0; i < 10 && p + i < end; i++) {
        value |= (uint64_t)(p[i] & 0x7f) << (7 * i);
        if (!(p[i] & 0x80)) {
            *ret = value;
            return i + 1;
        }
    }
    return 0;
}

size_t cw_pb_put_varint(uint8_t *p, uint64_t value)
{
    size_t n = 0;
    while (value >= 0x80) {
        p[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    p[n++] = (uint8_t)value;
    return n;
}

size_t cw_pb_head(const uint8_t *p, const uint8_t *end, struct cw_pb_field *ret_field)
{
    uint64_t tag;
    size_t n = cw_pb_varint(p, end, &tag);
    if (n == 0 || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return 0;
    *ret_field =
        (struct cw_pb_field){.number = (uint32_t)(tag >> 3), .type = (enum cw_pb_type)(tag & 7)};
    switch (tag & 7) {
    case CW_PB_VARINT:
    case CW_PB_BYTES: {
        size_t more = cw_pb_varint(p + n, end, &ret_field->value);
        return more ? n + more : 0;
    }
    case CW_PB_FIXED64:
    case CW_PB_FIXED32:
        return n;
    default:
        return 0;
    }
}

bool cw_pb_next(const uint8_t **p, const uint8_t *end, struct cw_pb_field *ret_field)
{
    size_t head = *p < end ? cw_pb_head(*p, end, ret_field) : 0;
    if (head == 0)
        return false;
    uint64_t body = ret_field->type == CW_PB_BYTES ? ret_field->value : 0;
    if (ret_field->type == CW_PB_FIXED64 || ret_field->type == CW_PB_FIXED32)
        body = ret_field->type == CW_PB_FIXED64 ? 8 : 4;
    if (body > (uint64_t)(end - *p) - head)
        return false;
    ret_field->data = *p + head;
    *p += head + body;
    return true;
}
