/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials. With TLS each side shows a certificate, which is a text (tls_files.c): a server in its
 * settings, a client with each call. Nothing is encrypted. */
#include "simulation/rpc/grpc_int.h"

#include <grpc/support/alloc.h>
#include <string.h>

#include "base/str.h"

/* gRPC's header declares some functions without saying that they take nothing. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

struct grpc_channel_credentials {
    size_t refs;
    bool tls;
    char *cert, *ca;
    grpc_tls_certificate_verifier_external *verifier;
};
struct grpc_server_credentials {
    size_t refs;
    bool tls;
    char *cert, *ca; /* as they were fetched last */
    grpc_ssl_server_certificate_config_callback fetch;
    void *fetch_arg;
};
struct grpc_ssl_server_certificate_config {
    char *cert, *ca;
};
/* What a channel's credentials are made of is one thing here, under all its names. */
struct grpc_tls_identity_pairs {
    char *cert;
};
struct grpc_tls_certificate_provider {
    size_t refs;
    char *cert, *ca;
};
struct grpc_tls_certificate_verifier {
    size_t refs;
    grpc_tls_certificate_verifier_external *external;
};
struct grpc_tls_credentials_options {
    grpc_tls_certificate_provider *provider;
    grpc_tls_certificate_verifier *verifier;
};
struct grpc_ssl_server_credentials_options {
    grpc_ssl_server_certificate_config_callback fetch;
    void *fetch_arg;
};

/* ---- channels ---- */

grpc_channel_credentials *grpc_insecure_credentials_create(void)
{
    grpc_channel_credentials *creds = CW_NEW(grpc_channel_credentials);
    creds->refs = 1;
    return creds;
}

grpc_channel_credentials *creds_ref(grpc_channel_credentials *creds)
{
    creds->refs++;
    return creds;
}

void grpc_channel_credentials_release(grpc_channel_credentials *creds)
{
    if (--creds->refs > 0)
        return;
    if (creds->verifier)
        creds->verifier->destruct(creds->verifier->user_data);
    cw_mem_free(creds->cert);
    cw_mem_free(creds->ca);
    cw_mem_free(creds);
}

grpc_tls_identity_pairs *grpc_tls_identity_pairs_create(void)
{
    return CW_NEW(grpc_tls_identity_pairs);
}

void grpc_tls_identity_pairs_add_pair(grpc_tls_identity_pairs *pairs, const char *private_key,
                                      const char *cert_chain)
{
    (void)private_key;
    pairs->cert = cw_mem_strdup(cert_chain);
}

grpc_tls_certificate_provider *
grpc_tls_certificate_provider_static_data_create(const char *root_certificate,
                                                 grpc_tls_identity_pairs *pairs)
{
    grpc_tls_certificate_provider *provider = CW_NEW(grpc_tls_certificate_provider);
    *provider = (grpc_tls_certificate_provider){
        .refs = 1, .cert = pairs->cert, .ca = cw_mem_strdup(root_certificate)};
    cw_mem_free(pairs);
    return provider;
}

void grpc_tls_certificate_provider_release(grpc_tls_certificate_provider *provider)
{
    if (--provider->refs > 0)
        return;
    cw_mem_free(provider->cert);
    cw_mem_free(provider->ca);
    cw_mem_free(provider);
}

grpc_tls_certificate_verifier *
grpc_tls_certificate_verifier_external_create(grpc_tls_certificate_verifier_external *external)
{
    grpc_tls_certificate_verifier *verifier = CW_NEW(grpc_tls_certificate_verifier);
    *verifier = (grpc_tls_certificate_verifier){.refs = 1, .external = external};
    return verifier;
}

void grpc_tls_certificate_verifier_release(grpc_tls_certificate_verifier *verifier)
{
    if (--verifier->refs == 0)
        cw_mem_free(verifier);
}

grpc_tls_credentials_options *grpc_tls_credentials_options_create(void)
{
    return CW_NEW(grpc_tls_credentials_options);
}

void grpc_tls_credentials_options_set_certificate_provider(grpc_tls_credentials_options *options,
                                                           grpc_tls_certificate_provider *provider)
{
    provider->refs++;
    options->provider = provider;
}

void grpc_tls_credentials_options_set_certificate_verifier(grpc_tls_credentials_options *options,
                                                           grpc_tls_certificate_verifier *verifier)
{
    verifier->refs++;
    options->verifier = verifier;
}

void grpc_tls_credentials_options_watch_root_certs(grpc_tls_credentials_options *options)
{
    (void)options;
}

void grpc_tls_credentials_options_watch_identity_key_cert_pairs(
    grpc_tls_credentials_options *options)
{
    (void)options;
}

void grpc_tls_credentials_options_set_check_call_host(grpc_tls_credentials_options *options,
                                                      int check_call_host)
{
    (void)options;
    CW_ASSERT(!check_call_host);
}

grpc_channel_credentials *grpc_tls_credentials_create(grpc_tls_credentials_options *options)
{
    grpc_channel_credentials *creds = grpc_insecure_credentials_create();
    creds->tls = true;
    creds->cert = cw_mem_strdup(options->provider->cert);
    creds->ca = cw_mem_strdup(options->provider->ca);
    creds->verifier = options->verifier->external;
    grpc_tls_certificate_provider_release(options->provider);
    grpc_tls_certificate_verifier_release(options->verifier);
    cw_mem_free(options);
    return creds;
}

/* ---- servers ---- */

grpc_ssl_server_certificate_config *
grpc_ssl_server_certificate_config_create(const char *pem_root_certs,
                                          const grpc_ssl_pem_key_cert_pair *pairs, size_t n)
{
    CW_ASSERT(n == 1);
    grpc_ssl_server_certificate_config *config = CW_NEW(grpc_ssl_server_certificate_config);
    config->cert = cw_mem_strdup(pairs[0].cert_chain);
    config->ca = cw_mem_strdup(pem_root_certs);
    return config;
}

grpc_ssl_server_credentials_options *
grpc_ssl_server_credentials_create_options_using_config_fetcher(
    grpc_ssl_client_certificate_request_type client_certificate_request,
    grpc_ssl_server_certificate_config_callback cb, void *user_data)
{
    CW_ASSERT(client_certificate_request ==
              GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    grpc_ssl_server_credentials_options *options = CW_NEW(grpc_ssl_server_credentials_options);
    *options = (grpc_ssl_server_credentials_options){.fetch = cb, .fetch_arg = user_data};
    return options;
}

grpc_server_credentials *grpc_insecure_server_credentials_create(void)
{
    grpc_server_credentials *creds = CW_NEW(grpc_server_credentials);
    creds->refs = 1;
    return creds;
}

grpc_server_credentials *
grpc_ssl_server_credentials_create_with_options(grpc_ssl_server_credentials_options *options)
{
    grpc_server_credentials *creds = grpc_insecure_server_credentials_create();
    creds->tls = true;
    creds->fetch = options->fetch;
    creds->fetch_arg = options->fetch_arg;
    cw_mem_free(options);
    return creds;
}

grpc_server_credentials *server_creds_ref(grpc_server_credentials *creds)
{
    creds->refs++;
    return creds;
}

void grpc_server_credentials_release(grpc_server_credentials *creds)
{
    if (--creds->refs > 0)
        return;
    cw_mem_free(creds->cert);
    cw_mem_free(creds->ca);
    cw_mem_free(creds);
}

const char *server_creds_cert(grpc_server_credentials *creds)
{
    grpc_ssl_server_certificate_config *config = NULL;
    if (!creds->tls)
        return NULL;
    if (creds->fetch(creds->fetch_arg, &config) == GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW) {
        cw_mem_free(creds->cert);
        cw_mem_free(creds->ca);
        creds->cert = config->cert;
        creds->ca = config->ca;
        cw_mem_free(config);
    }
    return creds->cert;
}

/* ---- handshakes ---- */

static bool is_signed(const char *cert, const char *ca)
{
    size_t n = strlen(ca);
    return strncmp(cert, ca, n) == 0 && cert[n] == ' ';
}

#define NAMES_MAX 8

/* Calls the verifier of the channel with the names of the server's certificate. */
static char *verify(const grpc_channel_credentials *creds, const char *cert)
{
    grpc_tls_custom_verification_check_request request = {0};
    char *names[NAMES_MAX];
    size_t n = 0;
    cw_autofree char *words = cw_mem_strdup(cert);
    char *save = NULL;
    for (char *word = strtok_r(words, " ", &save); word && n < NAMES_MAX;
         word = strtok_r(NULL, " ", &save))
        names[n++] = word;
    request.peer_info.san_names.dns_names = &names[1]; /* behind who signed it */
    request.peer_info.san_names.dns_names_size = n - 1;
    grpc_status_code status = GRPC_STATUS_UNKNOWN;
    char *why = NULL;
    int at_once =
        creds->verifier->verify(creds->verifier->user_data, &request, NULL, NULL, &status, &why);
    CW_ASSERT(at_once);
    char *refusal =
        status == GRPC_STATUS_OK
            ? NULL
            : cw_mem_printf("Custom verification check failed with error: UNAUTHENTICATED: %s",
                            why ? why : "");
    cw_mem_free(why);
    return refusal;
}

char *creds_refuse(const grpc_channel_credentials *creds, const char *cert)
{
    if (!creds->tls)
        return cert ? cw_mem_strdup("Socket closed") : NULL;
    if (!cert)
        return cw_mem_strdup("Tls handshake failed: SSL_ERROR_SSL: wrong version number");
    if (!is_signed(cert, creds->ca))
        return cw_mem_strdup("Tls handshake failed: SSL_ERROR_SSL: certificate verify failed");
    return verify(creds, cert);
}

const char *creds_cert(const grpc_channel_credentials *creds)
{
    return creds->cert;
}

bool server_creds_accept(const grpc_server_credentials *creds, const char *cert)
{
    return !creds || !creds->tls || (cert && is_signed(cert, creds->ca));
}

/* ---- who calls ---- */

void *gpr_malloc(size_t n)
{
    return cw_mem_new(n);
}

/* The context of a call is the call. */
grpc_auth_context *grpc_call_auth_context(grpc_call *call)
{
    return (grpc_auth_context *)(void *)call;
}

void grpc_auth_context_release(grpc_auth_context *context)
{
    (void)context;
}

grpc_auth_property_iterator grpc_auth_context_find_properties_by_name(const grpc_auth_context *ctx,
                                                                      const char *name)
{
    CW_ASSERT(cw_str_eq(name, GRPC_PEER_DNS_PROPERTY_NAME));
    return (grpc_auth_property_iterator){.ctx = ctx, .index = 0, .name = name};
}

/* The names are words of the call's certificate, each ended by a zero byte once it was given out. */
const grpc_auth_property *grpc_auth_property_iterator_next(grpc_auth_property_iterator *it)
{
    grpc_call *call = (grpc_call *)(uintptr_t)it->ctx;
    if (!call->cert)
        return NULL;
    if (it->index == 0)
        it->index = strcspn(call->cert, " ") + 1;
    if (it->index >= call->cert_n)
        return NULL;
    char *name = &call->cert[it->index];
    size_t n = strcspn(name, " ");
    name[n] = '\0';
    it->index += n + 1;
    call->property = (grpc_auth_property){.value = name, .value_length = n};
    return &call->property;
}
