/* SPDX-License-Identifier: Apache-2.0 */
/* The server's side of TLS: both sides show certificates, TLS 1.2 and up (which is gRPC's own floor). */
#include "rpc/tls.h"

#include <string.h>

static void make_config(const struct cw_tls_files *files, void *arg)
{
    grpc_ssl_server_certificate_config **ret_config = arg;
    const grpc_ssl_pem_key_cert_pair pair = {files->key, files->cert};
    *ret_config = grpc_ssl_server_certificate_config_create(files->ca, &pair, 1);
}

/* Called by a thread of gRPC before each handshake. */
static grpc_ssl_certificate_config_reload_status
on_fetch(void *reader, grpc_ssl_server_certificate_config **ret_config)
{
    switch (cw_tls_read((uint64_t)(uintptr_t)reader, make_config, ret_config)) {
    case CW_TLS_NEW:
        return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
    case CW_TLS_SAME:
        return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    case CW_TLS_GONE:
        break;
    }
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_FAIL;
}

grpc_server_credentials *cw_tls_server_creds(struct cw_tls *tls)
{
    void *reader = (void *)(uintptr_t)cw_tls_reader_new(tls);
    cw_rpc_serves_tls();
    return grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, on_fetch, reader));
}

void cw_tls_names_init(struct cw_tls_names *names, grpc_call *call)
{
    *names = (struct cw_tls_names){.context = grpc_call_auth_context(call)};
    grpc_auth_property_iterator at =
        grpc_auth_context_find_properties_by_name(names->context, GRPC_PEER_DNS_PROPERTY_NAME);
    const grpc_auth_property *one;
    while (names->n < CW_TLS_NAMES_MAX && (one = grpc_auth_property_iterator_next(&at)) != NULL)
        /* A name with a zero byte in it is none. */
        if (strlen(one->value) == one->value_length)
            names->v[names->n++] = one->value;
}

void cw_tls_names_fini(struct cw_tls_names *names)
{
    grpc_auth_context_release(names->context);
    *names = (struct cw_tls_names){0};
}
