/* SPDX-License-Identifier: Apache-2.0 */
/* Control messages: packs, sends, checks and unpacks them. */
#include "base/mem.h"
#include "rpc/pb.h"
#include "wire/wire_int.h"

static void *on_alloc(void *data, size_t bytes)
{
    (void)data;
    return cw_mem_try(bytes);
}

static void on_free(void *data, void *p)
{
    (void)data;
    cw_mem_free(p);
}

ProtobufCAllocator cw_wire_allocator = {.alloc = on_alloc, .free = on_free};

struct cw_buf *cw_wire_pack(const ProtobufCMessage *message)
{
    struct cw_buf *buf = cw_buf_new(protobuf_c_message_get_packed_size(message));
    CW_ASSERT(buf);
    protobuf_c_message_pack(message, buf->data);
    return buf;
}

void cw_wire_send(struct cw_stream *stream, const ProtobufCMessage *message)
{
    struct cw_buf *buf = cw_wire_pack(message);
    cw_stream_send(stream, &buf, 1);
    cw_buf_unref(buf);
}

/* One of the nested messages that are being walked; the outermost is first. */
struct frame {
    const ProtobufCMessageDescriptor *type;
    const uint8_t *p, *end;
};

/* What is done with the strings of a message. */
struct strings {
    const uint8_t *p;
    uint8_t *copy; /* A copy of the message at p, in which texts are cleaned; NULL: they are not. */
    bool dirty;    /* There is a text that must be cleaned. */
};

static int check_string(const ProtobufCMessageDescriptor *type,
                        const ProtobufCFieldDescriptor *known, const struct cw_pb_field *field,
                        struct strings *strings, struct cw_err *err)
{
    enum cw_wire_text kind = cw_wire_text_kind(type, known->name);
    size_t n = (size_t)field->value;
    if (cw_wire_text_ok(kind, field->data, n))
        return 0;
    if (kind != CW_WIRE_TEXT)
        return cw_err_set(err, CW_E_INVALID, "message %s: %s is no valid UTF-8%s", type->name,
                          known->name, kind == CW_WIRE_NAME ? ", or has control characters" : "");
    strings->dirty = true;
    if (strings->copy)
        cw_wire_text_clean(strings->copy + (field->data - strings->p), n);
    return 0;
}

/* Returns the type of the message that the field holds, or NULL if it holds none. */
static const ProtobufCMessageDescriptor *child_type(const ProtobufCMessageDescriptor *type,
                                                    const struct cw_pb_field *field,
                                                    struct strings *strings, int *ret_rc,
                                                    struct cw_err *err)
{
    if (field->type != CW_PB_BYTES)
        return NULL;
    const ProtobufCFieldDescriptor *known =
        protobuf_c_message_descriptor_get_field(type, field->number);
    if (known && known->type == PROTOBUF_C_TYPE_STRING)
        *ret_rc = check_string(type, known, field, strings, err);
    return known && known->type == PROTOBUF_C_TYPE_MESSAGE ? known->descriptor : NULL;
}

static int check_packed(const ProtobufCMessageDescriptor *type, const void *p, size_t n,
                        struct strings *strings, struct cw_err *err)
{
    int rc = 0;
    struct frame frames[CW_WIRE_DEPTH_MAX];
    size_t depth = 0, count = 1;
    frames[depth++] = (struct frame){type, p, (const uint8_t *)p + n};
    while (depth > 0) {
        struct frame *top = &frames[depth - 1];
        struct cw_pb_field field;
        if (!cw_pb_next(&top->p, top->end, &field)) {
            if (top->p != top->end)
                return cw_err_set(err, CW_E_CORRUPT, "message %s: cut or broken", type->name);
            depth--;
            continue;
        }
        const ProtobufCMessageDescriptor *child = child_type(top->type, &field, strings, &rc, err);
        if (rc != 0)
            return rc;
        if (!child)
            continue;
        if (depth == CW_WIRE_DEPTH_MAX)
            return cw_err_set(err, CW_E_LIMIT, "message %s: nested deeper than %d", type->name,
                              CW_WIRE_DEPTH_MAX);
        if (++count > CW_WIRE_MESSAGES_MAX)
            return cw_err_set(err, CW_E_LIMIT, "message %s: more than %d parts", type->name,
                              CW_WIRE_MESSAGES_MAX);
        frames[depth++] = (struct frame){child, field.data, field.data + field.value};
    }
    return 0;
}

ProtobufCMessage *cw_wire_unpack_bytes(const ProtobufCMessageDescriptor *type, const void *p,
                                       size_t n, struct cw_err *err)
{
    struct strings strings = {.p = p};
    if (check_packed(type, p, n, &strings, err) != 0)
        return NULL;
    cw_autofree uint8_t *copy = strings.dirty ? cw_mem_dup(p, n) : NULL;
    strings.copy = copy;
    if (copy && check_packed(type, p, n, &strings, err) != 0)
        return NULL;
    ProtobufCMessage *message = protobuf_c_message_unpack(type, NULL, n, copy ? copy : p);
    if (!message)
        cw_err_set(err, CW_E_CORRUPT, "message %s: cannot be read", type->name);
    return message;
}

ProtobufCMessage *cw_wire_unpack(const ProtobufCMessageDescriptor *type, struct cw_rpc_msg *msg,
                                 struct cw_err *err)
{
    size_t n = cw_rpc_msg_len(msg);
    if (n > CW_RPC_CONTROL_MAX) {
        cw_err_set(err, CW_E_LIMIT, "message %s: %zu bytes, the limit is %u", type->name, n,
                   CW_RPC_CONTROL_MAX);
        return NULL;
    }
    const void *flat = cw_rpc_msg_flat(msg, n);
    if (!flat) {
        cw_err_set(err, CW_E_NOMEM, "message %s: no memory for %zu bytes", type->name, n);
        return NULL;
    }
    return cw_wire_unpack_bytes(type, flat, n, err);
}

void cw_wire_hash_to(struct cw_hash hash, uint8_t ret_bytes[CW_WIRE_HASH_BYTES])
{
    for (int i = 0; i < 8; i++) {
        ret_bytes[i] = (uint8_t)(hash.hi >> (56 - 8 * i));
        ret_bytes[8 + i] = (uint8_t)(hash.lo >> (56 - 8 * i));
    }
}

bool cw_wire_hash_from(ProtobufCBinaryData bytes, struct cw_hash *ret_hash)
{
    if (bytes.len != CW_WIRE_HASH_BYTES)
        return false;
    struct cw_hash hash = {0};
    for (int i = 0; i < 8; i++) {
        hash.hi = hash.hi << 8 | bytes.data[i];
        hash.lo = hash.lo << 8 | bytes.data[8 + i];
    }
    *ret_hash = hash;
    return true;
}
