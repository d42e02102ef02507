/* SPDX-License-Identifier: Apache-2.0 */
/* Who a caller is by the names in its certificate (auth/roles.h), which TLS has verified. */
#include "dispatcher/access/access.h"

#include <stdio.h>

#include "base/str.h"

#define JOBS "/cachew.v1.Jobs/"

/* The widest first: of several roles that may call a method this one counts. */
static const struct {
    enum cw_role role;
    enum cw_caller_kind kind;
} kinds[] = {{CW_ROLE_ADMIN, CW_CALLER_OPERATOR},
             {CW_ROLE_WORKER, CW_CALLER_WORKER},
             {CW_ROLE_CLIENT, CW_CALLER_CLIENT}};

static bool is_role(const struct cw_peer_roles *peer, size_t i, const char *method)
{
    return peer->has[kinds[i].role] && cw_access_allows(kinds[i].kind, method);
}

void cw_access_by_certificate(const struct cw_role_rules *rules,
                              const struct cw_gate_question *question, struct cw_caller *ret_caller)
{
    struct cw_peer_roles peer;
    *ret_caller = (struct cw_caller){.kind = CW_CALLER_NOBODY};
    cw_roles_of(rules, question->names, question->names_n, &peer);
    for (size_t i = 0; i < CW_ARRAY_LEN(kinds) && ret_caller->kind == CW_CALLER_NOBODY; i++)
        if (is_role(&peer, i, question->method))
            ret_caller->kind = kinds[i].kind;
    /* A job is of the tenant that a certificate names, whatever it names besides. */
    if (ret_caller->kind == CW_CALLER_OPERATOR && peer.has[CW_ROLE_CLIENT] &&
        cw_str_starts(question->method, JOBS))
        ret_caller->kind = CW_CALLER_CLIENT;
    if (ret_caller->kind == CW_CALLER_CLIENT)
        snprintf(ret_caller->name, sizeof(ret_caller->name), "%s", peer.tenant);
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
    size_t last = CW_ARRAY_LEN(kinds);
    CW_STR_AUTO missing = {0};
    cw_roles_of(rules, question->names, question->names_n, &peer);
    cw_names_text(question->names, question->names_n, names);
    for (size_t i = 0; i < CW_ARRAY_LEN(kinds); i++) {
        if (!cw_access_allows(kinds[i].kind, question->method))
            continue;
        cw_str_addf(&missing, "%s%s", missing.len > 0 ? " or " : "", cw_role_name(kinds[i].role));
        last = i;
    }
    if (peer.ambiguous)
        snprintf(
            ret_why, CW_ACCESS_WHY_BYTES,
            "the certificate that was shown names clients of several tenants (%s): it must name "
            "one",
            names);
    else if (last == CW_ARRAY_LEN(kinds))
        snprintf(ret_why, CW_ACCESS_WHY_BYTES,
                 "the certificate that was shown names %s, and nobody may call this", names);
    else
        snprintf(ret_why, CW_ACCESS_WHY_BYTES,
                 "the certificate that was shown names %s, and the role %s is missing (%s, or "
                 "--tls-role NAME=ROLE of the dispatcher)",
                 names, cw_str_text(&missing), cw_role_example(kinds[last].role));
}
