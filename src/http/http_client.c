/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and frees clients. */
#include <string.h>

#include "base/mem.h"
#include "http/http_int.h"

int cw_http_client_new(struct cw_loop *loop, const char *user_agent,
                       const struct cw_http_identity *identity, struct cw_http_client **ret_client,
                       struct cw_err *err)
{
    static const struct cw_http_identity nobody;
    const struct cw_http_identity *who = identity ? identity : &nobody;

    if (!who->cert != !who->key)
        return cw_err_set(err, CW_E_INVALID,
                          "a certificate needs its key, and a key its certificate");
    struct cw_http_client *client = CW_NEW(struct cw_http_client);
    client->loop = loop;
    client->user_agent = cw_mem_strdup(user_agent);
    client->ca = cw_mem_strdup(who->ca);
    client->cert = cw_mem_strdup(who->cert);
    client->key = cw_mem_strdup(who->key);
    client->end_call = cw_http_call_end;
    client->free_call = cw_http_call_free;
    cw_http_multi_start(client);
    *ret_client = client;
    return CW_OK;
}

/* Frees a text that holds a key. */
static void forget(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    cw_mem_free(text);
}

void cw_http_client_free(struct cw_http_client *client)
{
    if (!client)
        return;
    CW_ASSERT(!client->in_curl);
    while (client->calls)
        cw_http_call_free(client->calls);
    cw_mem_free(client->user_agent);
    cw_mem_free(client->ca);
    cw_mem_free(client->cert);
    forget(client->key);
    cw_http_multi_stop(client);
}
