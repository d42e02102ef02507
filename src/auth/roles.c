/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/roles.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"

#define CLIENT_SUFFIX ".cachew-client"
#define CLIENT_PREFIX "client:"
#define NAME_MAX_BYTES 253 /* of a DNS name */
#define SHOWN_MAX 4        /* names in a message */

static const struct {
    const char *word, *name;
} roles[CW_ROLES] = {[CW_ROLE_DISPATCHER] = {"dispatcher", "cachew-dispatcher"},
                     [CW_ROLE_WORKER] = {"worker", "cachew-worker"},
                     [CW_ROLE_CLIENT] = {"client", "TENANT" CLIENT_SUFFIX},
                     [CW_ROLE_ADMIN] = {"admin", "cachew-admin"}};

const char *cw_role_name(enum cw_role role)
{
    return roles[role].word;
}

const char *cw_role_example(enum cw_role role)
{
    return roles[role].name;
}

/* ---- rules ---- */

static int bad_rule(const char *text, struct cw_err *err)
{
    return cw_err_set(err, CW_E_INVALID,
                      "\"%s\": a rule is NAME=ROLE, where NAME is a DNS name in a certificate, and "
                      "ROLE is dispatcher, worker, admin or client:TENANT",
                      text);
}

static bool find_role(const char *word, struct cw_role_rule *rule)
{
    size_t n = strlen(CLIENT_PREFIX);
    if (strncmp(word, CLIENT_PREFIX, n) == 0 && cw_name_is_tenant(&word[n], strlen(&word[n]))) {
        rule->role = CW_ROLE_CLIENT;
        rule->tenant = cw_mem_strdup(&word[n]);
        return true;
    }
    for (int i = 0; i < CW_ROLES; i++) {
        rule->role = (enum cw_role)i;
        if (i != CW_ROLE_CLIENT && cw_str_eq(word, roles[i].word))
            return true;
    }
    return false;
}

static int add_rule(struct cw_role_rules *rules, const char *text, struct cw_err *err)
{
    struct cw_role_rule rule = {0};
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    if (n == 0 || n > NAME_MAX_BYTES || strcspn(text, " \t/") < n || !find_role(equals + 1, &rule))
        return bad_rule(text, err);
    rule.name = cw_mem_strndup(text, n);
    CW_GROW(rules->v, rules->n, rules->cap);
    rules->v[rules->n++] = rule;
    return 0;
}

int cw_role_rules_add(struct cw_role_rules *rules, const char *text, struct cw_err *err)
{
    int rc = 0;
    for (const char *at = text; rc == 0 && at && *at;) {
        size_t n = strcspn(at, ",");
        cw_autofree char *one = cw_mem_strndup(at, n);
        rc = add_rule(rules, one, err);
        at += n + (at[n] == ',');
    }
    return rc;
}

struct cw_role_rules cw_role_rules_copy(const struct cw_role_rules *rules)
{
    struct cw_role_rules copy = {0};
    for (size_t i = 0; i < rules->n; i++) {
        CW_GROW(copy.v, copy.n, copy.cap);
        copy.v[copy.n++] = (struct cw_role_rule){cw_mem_strdup(rules->v[i].name), rules->v[i].role,
                                                 cw_mem_strdup(rules->v[i].tenant)};
    }
    return copy;
}

void cw_role_rules_fini(struct cw_role_rules *rules)
{
    for (size_t i = 0; i < rules->n; i++) {
        cw_mem_free(rules->v[i].name);
        cw_mem_free(rules->v[i].tenant);
    }
    cw_mem_free(rules->v);
    *rules = (struct cw_role_rules){0};
}

/* ---- names ---- */

static void add_client(struct cw_peer_roles *peer, const char *tenant, size_t n)
{
    bool other = peer->tenant[0] != '\0' &&
                 (strlen(peer->tenant) != n || strncmp(peer->tenant, tenant, n) != 0);
    peer->ambiguous |= other;
    snprintf(peer->tenant, sizeof(peer->tenant), "%.*s", (int)n, tenant);
    peer->has[CW_ROLE_CLIENT] = !peer->ambiguous;
}

static void add_name(const struct cw_role_rules *rules, const char *name,
                     struct cw_peer_roles *peer)
{
    size_t n = strlen(name), suffix = strlen(CLIENT_SUFFIX);
    if (n > suffix && strcasecmp(&name[n - suffix], CLIENT_SUFFIX) == 0 &&
        cw_name_is_tenant(name, n - suffix))
        add_client(peer, name, n - suffix);
    for (int i = 0; i < CW_ROLES; i++)
        if (i != CW_ROLE_CLIENT && strcasecmp(name, roles[i].name) == 0)
            peer->has[i] = true;
    for (size_t i = 0; rules && i < rules->n; i++) {
        const struct cw_role_rule *rule = &rules->v[i];
        if (strcasecmp(name, rule->name) != 0)
            continue;
        if (rule->role == CW_ROLE_CLIENT)
            add_client(peer, rule->tenant, strlen(rule->tenant));
        else
            peer->has[rule->role] = true;
    }
}

void cw_roles_of(const struct cw_role_rules *rules, const char *const *names, size_t n,
                 struct cw_peer_roles *ret_roles)
{
    *ret_roles = (struct cw_peer_roles){0};
    for (size_t i = 0; i < n; i++)
        add_name(rules, names[i], ret_roles);
}

void cw_names_text(const char *const *names, size_t n, char ret_text[CW_NAMES_TEXT_BYTES])
{
    CW_STR_AUTO text = {0};
    for (size_t i = 0; i < n && i < SHOWN_MAX; i++)
        cw_str_addf(&text, "%s%.64s", i > 0 ? ", " : "", names[i]);
    if (n > SHOWN_MAX)
        cw_str_addf(&text, " and %zu more", n - SHOWN_MAX);
    snprintf(ret_text, CW_NAMES_TEXT_BYTES, "%s", n == 0 ? "no DNS name" : cw_str_text(&text));
}
