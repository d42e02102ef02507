/* SPDX-License-Identifier: Apache-2.0 */
/* Who a peer is by the DNS names in its certificate (docs/security.md). What a name stands for is
 * told, and does not depend on the peer's address:
 *
 *   cachew-dispatcher     a dispatcher
 *   cachew-worker         a worker
 *   TENANT.cachew-client  a client of that tenant
 *   cachew-admin          whoever changes things
 *
 * Rules (--tls-role NAME=ROLE) add names. Names are compared without regard to case. Any thread. */
#ifndef CW_AUTH_ROLES_H
#define CW_AUTH_ROLES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/name.h"

enum cw_role { CW_ROLE_DISPATCHER, CW_ROLE_WORKER, CW_ROLE_CLIENT, CW_ROLE_ADMIN, CW_ROLES };

struct cw_role_rule {
    char *name;
    enum cw_role role;
    char *tenant; /* of a client; otherwise NULL */
};
struct cw_role_rules {
    struct cw_role_rule *v;
    size_t n, cap;
};
/* Adds the rules of a text: NAME=ROLE, with commas between several; ROLE is dispatcher, worker, admin,
 * or client:TENANT. NULL and "" add none. */
int cw_role_rules_add(struct cw_role_rules *rules, const char *text, struct cw_err *err);
/* Makes a copy, which cw_role_rules_fini frees. */
struct cw_role_rules cw_role_rules_copy(const struct cw_role_rules *rules);
void cw_role_rules_fini(struct cw_role_rules *rules);

/* What all names of a certificate together say. */
struct cw_peer_roles {
    bool has[CW_ROLES];
    char tenant[CW_TENANT_NAME_MAX + 1]; /* of a client */
    /* The names are of clients of several tenants, so nobody knows whose jobs they are: then it is no
     * client. */
    bool ambiguous;
};
void cw_roles_of(const struct cw_role_rules *rules, const char *const *names, size_t n,
                 struct cw_peer_roles *ret_roles);
const char *cw_role_name(enum cw_role role); /* "worker" */
/* A name that has the role, for messages: "cachew-worker", "TENANT.cachew-client". */
const char *cw_role_example(enum cw_role role);
/* Prints names for messages: "a, b and 3 more", or "no DNS name". */
#define CW_NAMES_TEXT_BYTES 320
void cw_names_text(const char *const *names, size_t n, char ret_text[CW_NAMES_TEXT_BYTES]);

#endif
