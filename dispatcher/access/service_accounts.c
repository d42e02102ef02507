/* SPDX-License-Identifier: Apache-2.0 */
/* Option --token-review: who shows a token that is in no token file may be a service account of
 * Kubernetes. The API server says which one (kube/token_reviews.h), and this file what it is here: a
 * client of the tenant with the name of its namespace, or what --token-role says. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "dispatcher/access/access.h"
#include "kube/account_token.h"

#define TIMEOUT_MS 10000 /* of one question; callers wait for it */

struct cw_service_accounts {
    struct cw_dispatcher *d;
    struct cw_kube *kube;
    struct cw_token_reviews *reviews;
    struct cw_role_rules roles;
    char why[CW_ACCESS_WHY_BYTES + CW_ACCOUNT_BYTES];
};

/* ---- options ---- */

static int check_role(const struct cw_role_rule *rule, struct cw_err *err)
{
    char account[CW_ACCOUNT_BYTES];
    cw_autofree char *user = cw_mem_printf("system:serviceaccount:%s", rule->name);
    if (cw_account_of_user(user, account) && rule->role != CW_ROLE_DISPATCHER)
        return CW_OK;
    return cw_err_set(err, CW_E_INVALID,
                      "\"%s=%s\": a rule is NAMESPACE:NAME=ROLE, of a service account, and ROLE is "
                      "worker, admin or client:TENANT",
                      rule->name, cw_role_name(rule->role));
}

static int read_roles(const struct cw_options *o, struct cw_role_rules *ret_roles,
                      struct cw_err *err)
{
    struct cw_role_rules roles = {0};
    int rc = CW_OK;
    for (size_t i = 0; i < o->token_roles.n && rc == CW_OK; i++)
        rc = cw_role_rules_add(&roles, o->token_roles.v[i], err);
    for (size_t i = 0; i < roles.n && rc == CW_OK; i++)
        rc = check_role(&roles.v[i], err);
    if (rc == CW_OK) {
        *ret_roles = roles;
        return CW_OK;
    }
    cw_role_rules_fini(&roles);
    return cw_err_wrap(err, "--token-role");
}

int cw_service_accounts_check(const struct cw_options *o, struct cw_err *err)
{
    struct cw_role_rules roles = {0};
    if (!o->token_review && o->token_roles.n > 0)
        return cw_err_set(err, CW_E_INVALID, "--token-role needs --token-review AUDIENCE");
    if (o->token_review && o->token_review[0] == '\0')
        return cw_err_set(err, CW_E_INVALID, "--token-review: an audience is missing");
    int rc = read_roles(o, &roles, err);
    cw_role_rules_fini(&roles);
    return rc;
}

/* ---- opening ---- */

static void on_known(void *arg, const char *token)
{
    const struct cw_service_accounts *accounts = arg;
    if (accounts->d->server)
        cw_server_ask_gate_again(accounts->d->server, token);
}

static int open_kube(struct cw_service_accounts *accounts, struct cw_err *err)
{
    const struct cw_options *o = &accounts->d->options;
    const struct cw_kube_options options = {.program = "dispatcher", .timeout_ms = TIMEOUT_MS};
    struct cw_kube_config config = {0};
    int rc = cw_kube_config_find(o->kubeconfig, &config, err);
    if (rc == CW_OK)
        rc = cw_kube_new(accounts->d->loop, &config, &options, &accounts->kube, err);
    if (rc == CW_OK)
        cw_log_info(CW_LOG_MOD,
                    "tokens of service accounts for the audience %s are reviewed by %s (%s)",
                    o->token_review, config.server, config.origin);
    cw_kube_config_fini(&config);
    return rc == CW_OK ? CW_OK : cw_err_wrap(err, "--token-review");
}

int cw_service_accounts_open(struct cw_dispatcher *d, struct cw_service_accounts **ret_accounts,
                             struct cw_err *err)
{
    *ret_accounts = NULL;
    if (!d->options.token_review)
        return CW_OK;
    struct cw_service_accounts *accounts = CW_NEW(struct cw_service_accounts);
    const struct cw_token_reviews_options options = {
        .audience = d->options.token_review, .known = on_known, .arg = accounts};
    accounts->d = d;
    int rc = read_roles(&d->options, &accounts->roles, err);
    if (rc == CW_OK)
        rc = open_kube(accounts, err);
    if (rc != CW_OK) {
        cw_service_accounts_close(accounts);
        return rc;
    }
    accounts->reviews = cw_token_reviews_new(accounts->kube, &options);
    *ret_accounts = accounts;
    return CW_OK;
}

void cw_service_accounts_close(struct cw_service_accounts *accounts)
{
    if (!accounts)
        return;
    cw_token_reviews_free(accounts->reviews);
    cw_kube_free(accounts->kube);
    cw_role_rules_fini(&accounts->roles);
    cw_mem_free(accounts);
}

struct cw_token_review_counts cw_service_accounts_counts(const struct cw_service_accounts *accounts)
{
    return cw_token_reviews_counts(accounts->reviews);
}

/* ---- who somebody is ---- */

/* An account that rules name has their roles alone. */
static void roles_of(const struct cw_service_accounts *accounts, const char *account,
                     struct cw_peer_roles *ret_roles)
{
    bool has_rule = false;
    size_t n = strcspn(account, ":");
    *ret_roles = (struct cw_peer_roles){0};
    for (size_t i = 0; i < accounts->roles.n; i++) {
        const struct cw_role_rule *rule = &accounts->roles.v[i];
        if (!cw_str_eq(rule->name, account))
            continue;
        has_rule = true;
        ret_roles->has[rule->role] = true;
        if (rule->tenant)
            snprintf(ret_roles->tenant, sizeof(ret_roles->tenant), "%s", rule->tenant);
    }
    if (has_rule || !cw_name_is_tenant(account, n))
        return;
    ret_roles->has[CW_ROLE_CLIENT] = true;
    snprintf(ret_roles->tenant, sizeof(ret_roles->tenant), "%.*s", (int)n, account);
}

enum cw_caller_kind cw_service_accounts_kind(struct cw_service_accounts *accounts,
                                             const char *token, const char **ret_account)
{
    struct cw_peer_roles peer;
    const char *account;
    if (cw_token_reviews_look(accounts->reviews, token, &account) != CW_TOKEN_GOOD)
        return CW_CALLER_NOBODY;
    roles_of(accounts, account, &peer);
    *ret_account = account;
    return peer.has[CW_ROLE_ADMIN]    ? CW_CALLER_OPERATOR
           : peer.has[CW_ROLE_CLIENT] ? CW_CALLER_CLIENT
           : peer.has[CW_ROLE_WORKER] ? CW_CALLER_WORKER
                                      : CW_CALLER_NOBODY;
}

static const char *explain(struct cw_service_accounts *accounts, const char *account,
                           const char *method)
{
    CW_STR_AUTO missing = {0};
    if (cw_access_add_roles(method, &missing) == CW_ROLES)
        snprintf(accounts->why, sizeof(accounts->why),
                 "the token that was shown is of the service account %s, and nobody may call this",
                 account);
    else
        snprintf(
            accounts->why, sizeof(accounts->why),
            "the token that was shown is of the service account %s, and the role %s is missing "
            "(--token-role %s=ROLE of the dispatcher)",
            account, cw_str_text(&missing), account);
    return accounts->why;
}

static enum cw_gate by_name(struct cw_service_accounts *accounts, const char *account,
                            const char *method, struct cw_caller *ret_caller, const char **ret_why)
{
    struct cw_peer_roles peer;
    roles_of(accounts, account, &peer);
    cw_access_by_roles(&peer, method, ret_caller);
    ret_caller->by_account = true;
    if (ret_caller->kind != CW_CALLER_NOBODY)
        return CW_GATE_PASS;
    *ret_why = explain(accounts, account, method);
    return CW_GATE_DENY;
}

enum cw_gate cw_access_by_account(struct cw_service_accounts *accounts,
                                  const struct cw_gate_question *question,
                                  struct cw_caller *ret_caller, const char **ret_why)
{
    const char *text;
    enum cw_token_state state = cw_token_reviews_look(accounts->reviews, question->token, &text);
    if (state == CW_TOKEN_GOOD)
        return by_name(accounts, text, question->method, ret_caller, ret_why);
    *ret_why = accounts->why;
    if (state == CW_TOKEN_NEW)
        snprintf(accounts->why, sizeof(accounts->why),
                 "the API server is being asked who shows this token: try again");
    else if (state == CW_TOKEN_AWAY)
        snprintf(accounts->why, sizeof(accounts->why),
                 "it is not known now who shows this token, since the API server cannot be asked: "
                 "%.300s",
                 text);
    else
        snprintf(
            accounts->why, sizeof(accounts->why),
            "the token that was shown is not known here (--token-file, CACHEW_TOKEN_FILE): %.500s",
            text);
    return state == CW_TOKEN_NEW    ? CW_GATE_LATER
           : state == CW_TOKEN_AWAY ? CW_GATE_AWAY
                                    : CW_GATE_ASK;
}
