/* SPDX-License-Identifier: Apache-2.0 */
/* Who a caller is by the names in its certificate (auth/roles.h), which TLS has verified. */
#include "dispatcher/access/access.h"

#include <stdio.h>

#include "base/str.h"

void cw_access_by_certificate(const struct cw_role_rules *rules,
                              const struct cw_gate_question *question, struct cw_caller *ret_caller)
{
    struct cw_peer_roles peer;
    cw_roles_of(rules, question->names, question->names_n, &peer);
    cw_access_by_roles(&peer, question->method, ret_caller);
}

/* As worker/serve/fetch_gate.c does it: an admin may fetch all. */
void cw_access_note_certificate(const struct cw_role_rules *rules,
                                const struct cw_gate_question *question, struct cw_caller *caller)
{
    struct cw_peer_roles peer;
    cw_roles_of(rules, question->names, question->names_n, &peer);
    if (peer.has[CW_ROLE_CLIENT] && !peer.has[CW_ROLE_ADMIN])
        snprintf(caller->certificate_tenant, sizeof(caller->certificate_tenant), "%s", peer.tenant);
}

void cw_access_explain(const struct cw_role_rules *rules, const struct cw_gate_question *question,
                       char ret_why[CW_ACCESS_WHY_BYTES])
{
    struct cw_peer_roles peer;
    char names[CW_NAMES_TEXT_BYTES];
    CW_STR_AUTO missing = {0};
    enum cw_role one = cw_access_add_roles(question->method, &missing);
    cw_roles_of(rules, question->names, question->names_n, &peer);
    cw_names_text(question->names, question->names_n, names);
    if (peer.ambiguous)
        snprintf(
            ret_why, CW_ACCESS_WHY_BYTES,
            "the certificate that was shown names clients of several tenants (%s): it must name "
            "one",
            names);
    else if (one == CW_ROLES)
        snprintf(ret_why, CW_ACCESS_WHY_BYTES,
                 "the certificate that was shown names %s, and nobody may call this", names);
    else
        snprintf(ret_why, CW_ACCESS_WHY_BYTES,
                 "the certificate that was shown names %s, and the role %s is missing (%s, or "
                 "--tls-role NAME=ROLE of the dispatcher)",
                 names, cw_str_text(&missing), cw_role_example(one));
}
