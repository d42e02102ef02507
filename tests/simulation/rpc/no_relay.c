/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing forks in the simulation, so nothing goes by way of a relay. */
#include "rpc/relay.h"

#include "base/compiler.h"

#define NEVER() cw_assert_failed("there is no relay in the simulation", __FILE__, __LINE__)

struct cw_relay *cw_relay_new(struct cw_loop *loop)
{
    (void)loop;
    NEVER();
    return NULL;
}

void cw_relay_free(struct cw_relay *relay)
{
    (void)relay;
    NEVER();
}

void cw_relay_tls(struct cw_relay *relay, const struct cw_tls_options *options)
{
    (void)relay;
    (void)options;
    NEVER();
}

uint64_t cw_relay_channel(struct cw_relay *relay, const char *address, enum cw_role role)
{
    (void)relay;
    (void)role;
    (void)address;
    NEVER();
    return 0;
}

void cw_relay_token(struct cw_relay *relay, uint64_t channel, const char *text, const char *file)
{
    (void)relay;
    (void)channel;
    (void)text;
    (void)file;
    NEVER();
}

void cw_relay_channel_close(struct cw_relay *relay, uint64_t channel)
{
    (void)relay;
    (void)channel;
    NEVER();
}

void cw_relay_unary(struct cw_relay *relay, uint64_t channel, const char *method,
                    struct cw_buf *request, int64_t timeout_ms, cw_unary_fn *fn, void *arg)
{
    (void)relay;
    (void)channel;
    (void)method;
    (void)request;
    (void)timeout_ms;
    (void)fn;
    (void)arg;
    NEVER();
}

uint64_t cw_relay_stream(struct cw_relay *relay, uint64_t channel, const char *method,
                         const struct cw_stream_cb *cb, void *arg)
{
    (void)relay;
    (void)channel;
    (void)method;
    (void)cb;
    (void)arg;
    NEVER();
    return 0;
}

void cw_relay_send(struct cw_relay *relay, uint64_t stream, struct cw_buf *const *bufs, size_t n)
{
    (void)relay;
    (void)stream;
    (void)bufs;
    (void)n;
    NEVER();
}

void cw_relay_pause(struct cw_relay *relay, uint64_t stream, bool paused)
{
    (void)relay;
    (void)stream;
    (void)paused;
    NEVER();
}

void cw_relay_finish(struct cw_relay *relay, uint64_t stream, int code, const char *msg)
{
    (void)relay;
    (void)stream;
    (void)code;
    (void)msg;
    NEVER();
}

void cw_relay_stream_free(struct cw_relay *relay, uint64_t stream)
{
    (void)relay;
    (void)stream;
    NEVER();
}
