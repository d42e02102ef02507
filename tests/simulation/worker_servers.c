/* SPDX-License-Identifier: Apache-2.0 */
/* No pipeline of the simulation reads from servers, so its workers know no schemes of servers, and have no
 * loop thread for their requests. */
#include "http/http_client.h"
#include "io/remote/remote.h"

void cw_io_remote_start(void)
{
}

void cw_io_remote_stop(void)
{
}

int cw_http_client_new(struct cw_loop *loop, const char *user_agent,
                       const struct cw_http_identity *identity, struct cw_http_client **ret_client,
                       struct cw_err *err)
{
    (void)loop;
    (void)user_agent;
    (void)identity;
    (void)ret_client;
    return cw_err_set(err, CW_E_UNSUPPORTED, "a world has no collector of traces");
}

void cw_http_client_free(struct cw_http_client *client)
{
    (void)client;
}

struct cw_http_call *cw_http_call_new(struct cw_http_client *client,
                                      const struct cw_http_request *request,
                                      const struct cw_http_events *events)
{
    (void)client;
    (void)request;
    (void)events;
    return NULL;
}

void cw_http_call_cancel(struct cw_http_call *call)
{
    (void)call;
}
