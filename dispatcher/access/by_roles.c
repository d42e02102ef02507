/* SPDX-License-Identifier: Apache-2.0 */
/* From roles (auth/roles.h) to kinds of callers. */
#include <stdio.h>

#include "base/str.h"
#include "dispatcher/access/access.h"

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

void cw_access_by_roles(const struct cw_peer_roles *peer, const char *method,
                        struct cw_caller *ret_caller)
{
    *ret_caller = (struct cw_caller){.kind = CW_CALLER_NOBODY};
    for (size_t i = 0; i < CW_ARRAY_LEN(kinds) && ret_caller->kind == CW_CALLER_NOBODY; i++)
        if (is_role(peer, i, method))
            ret_caller->kind = kinds[i].kind;
    /* A job is of the tenant that is named, whatever is named besides. */
    if (ret_caller->kind == CW_CALLER_OPERATOR && peer->has[CW_ROLE_CLIENT] &&
        cw_str_starts(method, JOBS))
        ret_caller->kind = CW_CALLER_CLIENT;
    if (ret_caller->kind == CW_CALLER_CLIENT)
        snprintf(ret_caller->name, sizeof(ret_caller->name), "%s", peer->tenant);
}

enum cw_role cw_access_add_roles(const char *method, struct cw_str *out)
{
    enum cw_role one = CW_ROLES;
    for (size_t i = 0; i < CW_ARRAY_LEN(kinds); i++) {
        if (!cw_access_allows(kinds[i].kind, method))
            continue;
        cw_str_addf(out, "%s%s", one != CW_ROLES ? " or " : "", cw_role_name(kinds[i].role));
        one = kinds[i].role;
    }
    return one;
}
