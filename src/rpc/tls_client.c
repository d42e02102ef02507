/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of TLS. gRPC verifies who signed the peer's certificate, and when it is valid; who
 * the peer is, is decided here by the names in it, whatever its address. */
#include <grpc/support/alloc.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "rpc/channel_int.h"
#include "rpc/tls.h"

#define REFUSED "its certificate names "

/* Who the peer of a channel must be. gRPC owns it, and asks on threads of its own. */
struct expected {
    grpc_tls_certificate_verifier_external verifier;
    struct cw_role_rules rules;
    enum cw_role role;
    char tenant[CW_TENANT_NAME_MAX + 1]; /* of the own certificate; "": it names none */
};

/* A worker beside a trainer has the trainer's certificate: it serves consumers of the same tenant. */
static bool is_expected(const struct expected *expected, const struct cw_peer_roles *peer)
{
    bool own = expected->tenant[0] != '\0' && peer->has[CW_ROLE_CLIENT] &&
               cw_str_eq(peer->tenant, expected->tenant);
    return peer->has[expected->role] || (expected->role == CW_ROLE_WORKER && own);
}

static int on_verify(void *arg, grpc_tls_custom_verification_check_request *request,
                     grpc_tls_on_custom_verification_check_done_cb callback, void *callback_arg,
                     grpc_status_code *ret_status, char **ret_why)
{
    const struct expected *expected = arg;
    const char *const *names = (const char *const *)request->peer_info.san_names.dns_names;
    size_t n = request->peer_info.san_names.dns_names_size;
    struct cw_peer_roles peer;
    char text[CW_NAMES_TEXT_BYTES], why[2 * CW_NAMES_TEXT_BYTES];
    (void)callback;
    (void)callback_arg;
    cw_roles_of(&expected->rules, names, n, &peer);
    *ret_status = GRPC_STATUS_OK;
    if (is_expected(expected, &peer))
        return 1; /* decided at once */
    cw_names_text(names, n, text);
    int length = snprintf(why, sizeof(why),
                          REFUSED "%s, and the role %s is missing (%s, or --tls-role NAME=%s here)",
                          text, cw_role_name(expected->role), cw_role_example(expected->role),
                          cw_role_name(expected->role));
    *ret_status = GRPC_STATUS_UNAUTHENTICATED;
    *ret_why = gpr_malloc((size_t)length + 1);
    memcpy(*ret_why, why, (size_t)length + 1);
    return 1;
}

static void on_cancel(void *arg, grpc_tls_custom_verification_check_request *request)
{
    (void)arg;
    (void)request;
}

static void on_destruct(void *arg)
{
    struct expected *expected = arg;
    cw_role_rules_fini(&expected->rules);
    cw_mem_free(expected);
}

static grpc_tls_certificate_verifier *verifier_new(const struct cw_tls *tls, enum cw_role role)
{
    struct expected *expected = CW_NEW(struct expected);
    struct cw_peer_roles own;
    expected->role = role;
    expected->rules = cw_role_rules_copy(&tls->rules);
    cw_roles_of(&tls->rules, (const char *const *)tls->now.names, tls->now.names_n, &own);
    if (own.has[CW_ROLE_CLIENT])
        snprintf(expected->tenant, sizeof(expected->tenant), "%s", own.tenant);
    expected->verifier =
        (grpc_tls_certificate_verifier_external){expected, on_verify, on_cancel, on_destruct};
    return grpc_tls_certificate_verifier_external_create(&expected->verifier);
}

grpc_channel_credentials *cw_tls_channel_creds(struct cw_tls *tls, enum cw_role role)
{
    grpc_tls_identity_pairs *pairs = grpc_tls_identity_pairs_create();
    grpc_tls_identity_pairs_add_pair(pairs, tls->now.key, tls->now.cert);
    grpc_tls_certificate_provider *provider =
        grpc_tls_certificate_provider_static_data_create(tls->now.ca, pairs);
    grpc_tls_certificate_verifier *verifier = verifier_new(tls, role);
    grpc_tls_credentials_options *options = grpc_tls_credentials_options_create();
    grpc_tls_credentials_options_set_certificate_provider(options, provider);
    grpc_tls_credentials_options_watch_root_certs(options);
    grpc_tls_credentials_options_watch_identity_key_cert_pairs(options);
    grpc_tls_credentials_options_set_certificate_verifier(options, verifier);
    grpc_tls_credentials_options_set_check_call_host(options, 0);
    grpc_tls_certificate_provider_release(provider);
    grpc_tls_certificate_verifier_release(verifier);
    return grpc_tls_credentials_create(options);
}

/* ---- what went wrong ---- */

static void explain_tls(const struct cw_channel *channel, char *msg, size_t cap)
{
    struct cw_tls *tls = channel->rpc->tls;
    const char *refused = strstr(msg, REFUSED);
    cw_autofree char *said = cw_mem_strdup(refused ? refused : msg);
    if (refused)
        snprintf(msg, cap, "%s: %s", channel->address, said);
    else if (strstr(said, "certificate verify failed"))
        snprintf(msg, cap,
                 "%s: its certificate is not signed by --tls-ca %s, or is not valid at this time",
                 channel->address, tls->paths[2]);
    else if (strstr(said, "wrong version number"))
        snprintf(msg, cap, "%s: it speaks no TLS (give it --tls-cert, or leave that out here)",
                 channel->address);
    else if (strstr(said, "Socket closed") || strstr(said, "onnection reset") ||
             strstr(said, "nwrap failed") || strstr(said, "alert"))
        snprintf(msg, cap,
                 "%s: the connection was closed (it may speak no TLS, or refuse the certificate in "
                 "--tls-cert %s; its log says which)",
                 channel->address, tls->paths[0]);
}

void cw_tls_explain(const struct cw_channel *channel, char *msg, size_t cap)
{
    if (channel->tls_generation > 0)
        explain_tls(channel, msg, cap);
    else if (!cw_rpc_address_is_unix(channel->address) && strstr(msg, "failed to connect") &&
             strstr(msg, "Socket closed"))
        snprintf(
            msg, cap,
            "%s: the connection was closed (does it want TLS? --tls-cert, --tls-key, --tls-ca)",
            channel->address);
}
