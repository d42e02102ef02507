/* SPDX-License-Identifier: Apache-2.0 */
/* http/http_client.h for programs of actors, which speak to nobody by HTTP. (kube/fake_http.c has it
 * with a fake API server behind it.) */
#include "http/http_client.h"

int cw_http_client_new(struct cw_loop *loop, const char *user_agent,
                       const struct cw_http_identity *identity, struct cw_http_client **ret_client,
                       struct cw_err *err)
{
    (void)loop;
    (void)user_agent;
    (void)identity;
    (void)ret_client;
    return cw_err_set(err, CW_E_UNSUPPORTED, "there is no HTTP in this world");
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

bool cw_http_header(const struct cw_http_response *response, const char *name, size_t nth,
                    char *ret_value, size_t cap)
{
    (void)response;
    (void)name;
    (void)nth;
    (void)ret_value;
    (void)cap;
    return false;
}
