/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bare_stream.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static int any; /* all tags are equal: one operation at a time */

static bool wait_one(grpc_completion_queue *queue)
{
    grpc_event event = grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    return event.type == GRPC_OP_COMPLETE && event.success;
}

static bool run(grpc_call *call, grpc_completion_queue *queue, const grpc_op *ops, size_t n)
{
    return grpc_call_start_batch(call, ops, n, &any, NULL) == GRPC_CALL_OK && wait_one(queue);
}

static void send_all(grpc_call *call, grpc_completion_queue *queue, const struct cw_buf *buf,
                     size_t n)
{
    grpc_op ops[2] = {{.op = GRPC_OP_SEND_INITIAL_METADATA}};
    bool ok = run(call, queue, ops, 1);
    for (size_t i = 0; i < n && ok; i++) {
        grpc_slice slice = grpc_slice_from_static_buffer(buf->data, buf->len);
        grpc_byte_buffer *message = grpc_raw_byte_buffer_create(&slice, 1);
        ops[0] = (grpc_op){.op = GRPC_OP_SEND_MESSAGE};
        ops[0].data.send_message.send_message = message;
        ok = run(call, queue, ops, 1);
        grpc_byte_buffer_destroy(message);
    }
    int cancelled;
    ops[0] = (grpc_op){.op = GRPC_OP_SEND_STATUS_FROM_SERVER};
    ops[1] = (grpc_op){.op = GRPC_OP_RECV_CLOSE_ON_SERVER};
    ops[1].data.recv_close_on_server.cancelled = &cancelled;
    run(call, queue, ops, 2);
}

int bare_serve(size_t bytes, size_t n)
{
    grpc_init();
    struct cw_buf *buf = cw_buf_new(bytes);
    memset(buf->data, 7, bytes);
    grpc_completion_queue *queue = grpc_completion_queue_create_for_next(NULL);
    grpc_server *server = grpc_server_create(NULL, NULL);
    grpc_server_register_completion_queue(server, queue, NULL);
    int port = grpc_server_add_http2_port(server, "127.0.0.1:0",
                                          grpc_insecure_server_credentials_create());
    grpc_server_start(server);
    printf("127.0.0.1:%d\n", port);
    fflush(stdout);
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array md;
    grpc_call_details_init(&details);
    grpc_metadata_array_init(&md);
    grpc_server_request_call(server, &call, &details, &md, queue, queue, &any);
    if (!wait_one(queue))
        return 1;
    send_all(call, queue, buf, n);
    for (;;)
        wait_one(queue);
}

static size_t take(grpc_byte_buffer *message, struct cw_buf *into)
{
    const grpc_slice_buffer *slices = &message->data.raw.slice_buffer;
    size_t at = 0;
    CW_ASSERT(slices->length <= into->cap);
    for (size_t i = 0; i < slices->count; i++) {
        size_t n = GRPC_SLICE_LENGTH(slices->slices[i]);
        memcpy((char *)into->data + at, GRPC_SLICE_START_PTR(slices->slices[i]), n);
        at += n;
    }
    grpc_byte_buffer_destroy(message);
    return at;
}

static size_t receive_all(grpc_call *call, grpc_completion_queue *queue, struct cw_buf *into)
{
    size_t bytes = 0;
    grpc_byte_buffer *message = NULL;
    for (;;) {
        grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};
        op.data.recv_message.recv_message = &message;
        if (!run(call, queue, &op, 1) || !message)
            return bytes;
        bytes += take(message, into);
    }
}

size_t bare_receive(const char *address, struct cw_buf *into)
{
    grpc_init();
    grpc_arg arg = {.type = GRPC_ARG_INTEGER, .value.integer = INT_MAX};
    char key[] = GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH;
    arg.key = key;
    grpc_channel_args args = {1, &arg};
    grpc_channel_credentials *creds = grpc_insecure_credentials_create();
    grpc_channel *channel = grpc_channel_create(address, creds, &args);
    grpc_channel_credentials_release(creds);
    grpc_completion_queue *queue = grpc_completion_queue_create_for_next(NULL);
    grpc_slice method = grpc_slice_from_static_string(BARE_METHOD);
    grpc_call *call =
        grpc_channel_create_call(channel, NULL, GRPC_PROPAGATE_DEFAULTS, queue, method, NULL,
                                 gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    grpc_metadata_array initial, trailing;
    grpc_metadata_array_init(&initial);
    grpc_metadata_array_init(&trailing);
    grpc_op ops[3] = {{.op = GRPC_OP_SEND_INITIAL_METADATA},
                      {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
                      {.op = GRPC_OP_RECV_INITIAL_METADATA}};
    ops[2].data.recv_initial_metadata.recv_initial_metadata = &initial;
    size_t bytes = run(call, queue, ops, 3) ? receive_all(call, queue, into) : 0;
    grpc_status_code status;
    grpc_slice text;
    grpc_op end = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT};
    end.data.recv_status_on_client.trailing_metadata = &trailing;
    end.data.recv_status_on_client.status = &status;
    end.data.recv_status_on_client.status_details = &text;
    run(call, queue, &end, 1);
    grpc_slice_unref(text);
    grpc_metadata_array_destroy(&initial);
    grpc_metadata_array_destroy(&trailing);
    grpc_call_unref(call);
    grpc_channel_destroy(channel);
    grpc_completion_queue_shutdown(queue);
    while (grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type !=
           GRPC_QUEUE_SHUTDOWN)
        ;
    grpc_completion_queue_destroy(queue);
    grpc_shutdown();
    return bytes;
}
