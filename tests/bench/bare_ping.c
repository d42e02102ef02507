/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bare_ping.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

#define PING_BYTES 100 /* as many as the message has that hands a batch over */

struct bare_ping {
    grpc_channel *channel;
    grpc_completion_queue *queue;
    grpc_call *call;
    grpc_metadata_array initial;
};
static int any; /* all tags are equal: one batch of operations at a time */

static bool run(grpc_call *call, grpc_completion_queue *queue, const grpc_op *ops, size_t n)
{
    if (grpc_call_start_batch(call, ops, n, &any, NULL) != GRPC_CALL_OK)
        return false;
    grpc_event event = grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    return event.type == GRPC_OP_COMPLETE && event.success;
}

static grpc_byte_buffer *new_message(void)
{
    static char bytes[PING_BYTES];
    grpc_slice slice = grpc_slice_from_static_buffer(bytes, sizeof(bytes));
    return grpc_raw_byte_buffer_create(&slice, 1);
}

static void answer_all(grpc_call *call, grpc_completion_queue *queue)
{
    grpc_op op = {.op = GRPC_OP_SEND_INITIAL_METADATA};
    bool ok = run(call, queue, &op, 1);
    while (ok) {
        grpc_byte_buffer *message = NULL;
        op = (grpc_op){.op = GRPC_OP_RECV_MESSAGE};
        op.data.recv_message.recv_message = &message;
        if (!run(call, queue, &op, 1) || !message)
            return;
        op = (grpc_op){.op = GRPC_OP_SEND_MESSAGE};
        op.data.send_message.send_message = message;
        ok = run(call, queue, &op, 1);
        grpc_byte_buffer_destroy(message);
    }
}

int bare_ping_serve(void)
{
    grpc_init();
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
    grpc_event event = grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    if (event.type != GRPC_OP_COMPLETE || !event.success)
        return 1;
    answer_all(call, queue);
    return 0;
}

struct bare_ping *bare_ping_open(const char *address)
{
    grpc_init();
    struct bare_ping *ping = CW_NEW(struct bare_ping);
    grpc_channel_credentials *creds = grpc_insecure_credentials_create();
    ping->channel = grpc_channel_create(address, creds, NULL);
    grpc_channel_credentials_release(creds);
    ping->queue = grpc_completion_queue_create_for_next(NULL);
    ping->call = grpc_channel_create_call(ping->channel, NULL, GRPC_PROPAGATE_DEFAULTS, ping->queue,
                                          grpc_slice_from_static_string("/bench/Ping"), NULL,
                                          gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    grpc_metadata_array_init(&ping->initial);
    grpc_op ops[2] = {{.op = GRPC_OP_SEND_INITIAL_METADATA}, {.op = GRPC_OP_RECV_INITIAL_METADATA}};
    ops[1].data.recv_initial_metadata.recv_initial_metadata = &ping->initial;
    if (run(ping->call, ping->queue, ops, 2))
        return ping;
    bare_ping_close(ping);
    return NULL;
}

int64_t bare_ping_once(struct bare_ping *ping)
{
    int64_t begin = cw_clock_ns();
    grpc_byte_buffer *message = new_message(), *back = NULL;
    grpc_op ops[2] = {{.op = GRPC_OP_SEND_MESSAGE}, {.op = GRPC_OP_RECV_MESSAGE}};
    ops[0].data.send_message.send_message = message;
    ops[1].data.recv_message.recv_message = &back;
    bool ok = run(ping->call, ping->queue, ops, 2) && back;
    grpc_byte_buffer_destroy(message);
    if (back)
        grpc_byte_buffer_destroy(back);
    return ok ? cw_clock_ns() - begin : -1;
}

void bare_ping_close(struct bare_ping *ping)
{
    grpc_call_unref(ping->call); /* which cancels it */
    grpc_channel_destroy(ping->channel);
    grpc_completion_queue_shutdown(ping->queue);
    while (
        grpc_completion_queue_next(ping->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type !=
        GRPC_QUEUE_SHUTDOWN) {
    }
    grpc_completion_queue_destroy(ping->queue);
    grpc_metadata_array_destroy(&ping->initial);
    cw_mem_free(ping);
    grpc_shutdown();
}
