/* SPDX-License-Identifier: Apache-2.0 */
/* Received messages with batches. The payload is the last field of a DataMessage (outbox.c). The
 * tags of the top-level fields are read until the payload is found; protobuf-c unpacks everything
 * before it; and the payload is copied (once) to where it is needed. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "data/ragged.h"
#include "rpc/pb.h"
#include "wire/wire_int.h"

typedef Cachew__V1__Output output_pb;
typedef Cachew__V1__TensorHeader tensor_pb;
typedef Cachew__V1__DataMessage message_pb;

#define HEAD_MAX ((size_t)16 << 20)
#define OUTPUT_BYTES_MAX ((uint64_t)1 << 40)

/* Reads a field's tag and length, without going beyond the message. */
static size_t read_field(struct cw_rpc_reader *reader, struct cw_pb_field *ret_field)
{
    struct cw_rpc_reader ahead = *reader;
    uint8_t bytes[CW_PB_HEAD_MAX];
    size_t got = cw_rpc_reader_read(&ahead, bytes, sizeof bytes);
    size_t n = cw_pb_head(bytes, bytes + got, ret_field);
    cw_rpc_reader_skip(reader, n);
    return n;
}

static uint64_t body_bytes(const struct cw_pb_field *field)
{
    switch (field->type) {
    case CW_PB_BYTES:
        return field->value;
    case CW_PB_FIXED64:
        return 8;
    case CW_PB_FIXED32:
        return 4;
    case CW_PB_VARINT:
        break;
    }
    return 0;
}

/* Finds the payload, which must be the last field; the head is everything before it. */
static int find_payload(const struct cw_rpc_msg *msg, size_t *ret_head, struct cw_wire_data *data,
                        struct cw_err *err)
{
    struct cw_rpc_reader reader = {.msg = msg};
    size_t len = cw_rpc_msg_len(msg);
    while (reader.pos < len) {
        size_t at = reader.pos;
        struct cw_pb_field field;
        if (at > HEAD_MAX)
            return cw_err_set(err, CW_E_LIMIT, "data message: the head is larger than %zu bytes",
                              HEAD_MAX);
        if (read_field(&reader, &field) == 0 || body_bytes(&field) > len - reader.pos)
            return cw_err_set(err, CW_E_CORRUPT, "data message: cut or broken at byte %zu", at);
        if (field.number == CW_WIRE_PAYLOAD_FIELD) {
            if (field.type != CW_PB_BYTES || field.value != len - reader.pos)
                return cw_err_set(err, CW_E_CORRUPT,
                                  "data message: the payload is not its last field");
            data->payload_offset = reader.pos;
            data->payload_len = (size_t)field.value;
            *ret_head = at;
            return 0;
        }
        cw_rpc_reader_skip(&reader, (size_t)body_bytes(&field));
    }
    if (len > HEAD_MAX)
        return cw_err_set(err, CW_E_LIMIT, "data message: the head is larger than %zu bytes",
                          HEAD_MAX);
    data->payload_offset = len;
    data->payload_len = 0;
    *ret_head = len;
    return 0;
}

/* Gives each output without a slot its part of the payload. */
static int check_shares(const message_pb *head, size_t payload_len, struct cw_err *err)
{
    uint64_t left = payload_len;
    for (size_t i = 0; i < head->n_outputs; i++) {
        const output_pb *output = head->outputs[i];
        if (output->slot)
            continue;
        if (output->payload_bytes > left)
            return cw_err_set(err, CW_E_CORRUPT,
                              "data message: item %" PRIu64 " says %" PRIu64 " bytes, %" PRIu64
                              " are left",
                              output->item, output->payload_bytes, left);
        left -= output->payload_bytes;
    }
    if (left)
        return cw_err_set(err, CW_E_CORRUPT,
                          "data message: %" PRIu64 " bytes of the payload belong to no output",
                          left);
    return 0;
}

int cw_wire_data_parse(struct cw_rpc_msg *msg, struct cw_wire_data *ret_data, struct cw_err *err)
{
    struct cw_wire_data data = {0};
    struct cw_err own = {0};
    size_t head_n = 0;
    int code = find_payload(msg, &head_n, &data, err);
    if (code)
        return code;
    const void *flat = cw_rpc_msg_flat(msg, head_n);
    if (!flat)
        return cw_err_set(err, CW_E_NOMEM, "data message: no memory for its head");
    data.head = (message_pb *)cw_wire_unpack_bytes(&cachew__v1__data_message__descriptor, flat,
                                                   head_n, &own);
    if (!data.head)
        return cw_err_set(err, own.code, "%s", own.msg);
    code = check_shares(data.head, data.payload_len, err);
    if (code)
        cw_wire_data_fini(&data);
    else
        *ret_data = data;
    return code;
}

void cw_wire_data_fini(struct cw_wire_data *data)
{
    if (data->head)
        cachew__v1__data_message__free_unpacked(data->head, NULL);
    *data = (struct cw_wire_data){0};
}

/* ---- making a batch from the head ---- */

/* Checks that a tensor has as many bytes as its dims take, or may take. */
static int check_bytes(const struct cw_field *field, uint64_t bytes, struct cw_err *err)
{
    int64_t count = cw_field_count(field);
    struct cw_ragged ragged;
    struct cw_err why = {0};
    if (cw_field_is_ragged(field)) {
        if (cw_ragged_init(&ragged, field, &why) == 0 && bytes >= ragged.values_at)
            return 0;
        return cw_err_set(err, CW_E_CORRUPT,
                          "tensor \"%.47s\": %" PRIu64 " bytes for where its rows begin: %s",
                          field->name, bytes, why.code ? why.msg : "too short");
    }
    if (count < 0)
        return cw_err_set(err, CW_E_CORRUPT, "tensor \"%.47s\": its size is not known",
                          field->name);
    if (field->dtype != CW_DTYPE_STR && cw_field_bytes(field) != (int64_t)bytes)
        return cw_err_set(err, CW_E_CORRUPT,
                          "tensor \"%.47s\": %" PRIu64 " bytes do not fit its shape", field->name,
                          bytes);
    if (field->dtype == CW_DTYPE_STR && bytes / sizeof(int64_t) < (uint64_t)count + 1)
        return cw_err_set(err, CW_E_CORRUPT, "tensor \"%.47s\": too short for %" PRId64 " strings",
                          field->name, count);
    return 0;
}

/* one: an empty spec whose memory is used again. */
static int tensor_from(const tensor_pb *message, uint64_t end, struct cw_spec *one,
                       struct cw_tensor *tensor, struct cw_err *err)
{
    if (message->dtype >= CW_DTYPE_N || message->n_dims > CW_RANK_MAX)
        return cw_err_set(err, CW_E_CORRUPT, "tensor \"%.47s\": dtype %u, rank %zu", message->name,
                          message->dtype, message->n_dims);
    int code = cw_spec_add(one, message->name, (enum cw_dtype)message->dtype, (int)message->n_dims,
                           message->dims, err);
    if (code)
        return code;
    tensor->field = one->fields[0];
    one->n = 0;
    code = check_bytes(&tensor->field, message->bytes, err);
    if (code)
        return code;
    if (message->offset % CW_BUF_ALIGN || message->bytes > end ||
        message->offset > end - message->bytes)
        return cw_err_set(err, CW_E_CORRUPT, "tensor \"%.47s\": lies outside of its buffer",
                          message->name);
    tensor->offset = (size_t)message->offset;
    tensor->bytes = (size_t)message->bytes;
    return 0;
}

int cw_wire_output_from(const output_pb *output, struct cw_batch **ret_batch, struct cw_err *err)
{
    CW_SPEC_AUTO one = {0};
    struct cw_batch *batch = cw_batch_new(CW_MIN(output->n_tensors, (size_t)CW_FIELDS_MAX));
    int code = 0;
    batch->epoch = output->epoch;
    batch->item = output->item;
    batch->elements = output->elements;
    batch->skipped = output->skipped;
    if (output->n_tensors > CW_FIELDS_MAX)
        code = cw_err_set(err, CW_E_CORRUPT, "%zu tensors", output->n_tensors);
    else if (output->payload_bytes > OUTPUT_BYTES_MAX)
        code = cw_err_set(err, CW_E_LIMIT, "%" PRIu64 " bytes", output->payload_bytes);
    for (size_t i = 0; i < output->n_tensors && code == 0; i++)
        code =
            tensor_from(output->tensors[i], output->payload_bytes, &one, &batch->tensors[i], err);
    if (code == 0)
        code = cw_batch_check_names(batch, err);
    if (code == 0)
        code = cw_wire_bad_from(output->bad, output->n_bad, &batch->bad, err);
    if (code) {
        cw_batch_unref(batch);
        return cw_err_wrap(err, "output of epoch %" PRIu64 ", item %" PRIu64, output->epoch,
                           output->item);
    }
    *ret_batch = batch;
    return 0;
}
