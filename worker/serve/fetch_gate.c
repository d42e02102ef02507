/* SPDX-License-Identifier: Apache-2.0 */
/* With TLS: who may fetch from this worker, by its certificate. That it belongs to the job is shown by the
 * job's secret (client_streams.c), and by the tenant that the certificate names. */
#include "worker/serve/fetch_gate.h"

#include <stdio.h>

#include "auth/roles.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/name.h"
#include "base/str.h"

#define HEALTH "/grpc.health.v1.Health/"

struct caller {
    char tenant[CW_TENANT_NAME_MAX + 1]; /* "": an admin, who may see all */
};

enum cw_gate cw_wclients_gate(void *arg, const struct cw_gate_question *question, void **ret_caller,
                              const char **ret_why)
{
    static char why[2 * CW_NAMES_TEXT_BYTES]; /* The gate is asked on one thread. */
    struct cw_worker_state *w = arg;
    struct cw_peer_roles peer;
    char names[CW_NAMES_TEXT_BYTES];
    if (!question->tls) /* at a unix socket */
        return CW_GATE_PASS;
    cw_roles_of(cw_rpc_tls_rules(w->rpc), question->names, question->names_n, &peer);
    bool client = peer.has[CW_ROLE_CLIENT] || peer.has[CW_ROLE_ADMIN];
    if (client || cw_str_starts(question->method, HEALTH)) {
        struct caller *caller = CW_NEW(struct caller);
        if (!peer.has[CW_ROLE_ADMIN])
            snprintf(caller->tenant, sizeof(caller->tenant), "%s", peer.tenant);
        *ret_caller = caller;
        return CW_GATE_PASS;
    }
    cw_names_text(question->names, question->names_n, names);
    snprintf(why, sizeof(why),
             "the certificate that was shown names %s, and the role client is missing (%s, or "
             "--tls-role NAME=client:TENANT of the worker)",
             names, cw_role_example(CW_ROLE_CLIENT));
    cw_log_warn("worker", "%s is refused %.80s: %s", question->peer, question->method, why);
    *ret_why = why;
    return CW_GATE_DENY;
}

bool cw_wclients_is_of_tenant(const void *caller, const char *tenant)
{
    const struct caller *known = caller;
    const char *of_job = tenant && tenant[0] ? tenant : CW_TENANT_DEFAULT;
    return !known || known->tenant[0] == '\0' || cw_str_eq(known->tenant, of_job);
}
