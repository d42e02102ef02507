/* SPDX-License-Identifier: Apache-2.0 */
/* A data message from a worker, in slices of a length that its first byte says: parsed, and
 * every output that has a valid header is filled from the payload and validated. */
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_output(struct cw_rpc_msg *msg, size_t at, const Cachew__V1__Output *output)
{
    struct cw_batch *batch;
    struct cw_err err = {0};
    if (cw_wire_output_from(output, &batch, &err) != 0) {
        CW_ASSERT(err.msg[0] != '\0');
        return;
    }
    batch->buf = cw_buf_new((size_t)output->payload_bytes);
    int code = cw_rpc_msg_copy(msg, at, batch->buf->data, batch->buf->len);
    CW_ASSERT(code == 0);
    if (cw_batch_validate(batch, &err) == 0) {
        struct cw_hasher *hasher = cw_hasher_new();
        cw_batch_hash(batch, hasher);
        cw_hasher_free(hasher);
    }
    cw_batch_unref(batch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct cw_rpc_msg *msg = cw_rpc_msg_from(data + 1, size - 1, data[0] ? data[0] : 1000);
    struct cw_wire_data parsed;
    struct cw_err err = {0};
    if (cw_wire_data_parse(msg, &parsed, &err) == 0) {
        size_t at = parsed.payload_offset;
        for (size_t i = 0; i < parsed.head->n_outputs; i++) {
            const Cachew__V1__Output *output = parsed.head->outputs[i];
            if (output->slot)
                continue;
            take_output(msg, at, output);
            at += (size_t)output->payload_bytes;
        }
        CW_ASSERT(at == parsed.payload_offset + parsed.payload_len);
        cw_wire_data_fini(&parsed);
    } else {
        CW_ASSERT(err.msg[0] != '\0');
    }
    cw_rpc_msg_unref(msg);
    return 0;
}
