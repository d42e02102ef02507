/* SPDX-License-Identifier: Apache-2.0 */
/* Who may do what: Roles and ClusterRoles, and the bindings that give them. */
#include "kubernetes/fk_int.h"
#include <stdio.h>
#include <string.h>
#include "base/mem.h"

static bool is_in(const json_t *array, const char *text)
{
    size_t i;
    json_t *one;
    json_array_foreach ((json_t *)array, i, one)
        if (cw_str_eq(json_string_value(one), text) || cw_str_eq(json_string_value(one), "*"))
            return true;
    return false;
}

struct wish {
    const char *verb, *group, *resource, *name;
};

static bool rule_allows(const json_t *rule, const struct wish *wish)
{
    const json_t *names = json_object_get(rule, "resourceNames");
    const char *slash = strchr(wish->resource, '/');
    char any[96];
    snprintf(any, sizeof(any), "*%s", slash ? slash : "");
    return is_in(json_object_get(rule, "verbs"), wish->verb) &&
           is_in(json_object_get(rule, "apiGroups"), wish->group) &&
           (is_in(json_object_get(rule, "resources"), wish->resource) ||
            (slash && is_in(json_object_get(rule, "resources"), any))) &&
           (!json_array_size(names) || (wish->name && is_in(names, wish->name)));
}

static bool role_allows(const json_t *role, const struct wish *wish)
{
    size_t i;
    json_t *rule;
    json_array_foreach (fk_at(role, "rules"), i, rule)
        if (rule_allows(rule, wish))
            return true;
    return false;
}

static bool is_of_group(const struct fk_user *user, const char *group)
{
    if (cw_str_eq(user->group, group))
        return true;
    if (user->anonymous)
        return cw_str_eq(group, "system:unauthenticated");
    if (cw_str_eq(group, "system:authenticated"))
        return true;
    static const char ACCOUNT[] = "system:serviceaccount:", ALL[] = "system:serviceaccounts";
    if (!cw_str_starts(user->name, ACCOUNT) || !cw_str_starts(group, ALL))
        return false;
    const char *ns = user->name + sizeof(ACCOUNT) - 1, *of = group + sizeof(ALL) - 1;
    size_t n = strcspn(ns, ":");
    return !*of || (*of == ':' && strlen(of + 1) == n && strncmp(of + 1, ns, n) == 0);
}

static bool is_subject(const json_t *subject, const struct fk_user *user)
{
    const char *kind = fk_text_or(subject, "kind", ""), *name = fk_text_or(subject, "name", "");
    if (cw_str_eq(kind, "User"))
        return cw_str_eq(name, user->name);
    if (cw_str_eq(kind, "Group"))
        return is_of_group(user, name);
    cw_autofree char *account =
        cw_mem_printf("system:serviceaccount:%s:%s", fk_text_or(subject, "namespace", ""), name);
    return cw_str_eq(kind, "ServiceAccount") && cw_str_eq(account, user->name);
}

static bool names_user(const json_t *binding, const struct fk_user *user)
{
    size_t i;
    json_t *subject;
    json_array_foreach (fk_at(binding, "subjects"), i, subject)
        if (is_subject(subject, user))
            return true;
    return false;
}

static const struct fk_kind *rbac_kind(const struct fk_server *server, const char *plural)
{
    return fk_kind_find((struct fk_server *)server, "rbac.authorization.k8s.io", plural);
}

static bool binding_allows(const struct fk_server *server, const json_t *binding,
                           const struct wish *wish)
{
    bool is_cluster = cw_str_eq(fk_text(binding, "roleRef.kind"), "ClusterRole");
    const json_t *role = fk_store_get(rbac_kind(server, is_cluster ? "clusterroles" : "roles"),
                                      fk_text(binding, "metadata.namespace"),
                                      fk_text_or(binding, "roleRef.name", ""));
    return role && role_allows(role, wish);
}

static bool bindings_allow(const struct fk_server *server, const struct fk_user *user,
                           const char *plural, const char *ns, const struct wish *wish)
{
    const struct fk_kind *bindings = rbac_kind(server, plural);
    for (size_t i = 0; i < bindings->n; i++) {
        const json_t *binding = bindings->objects[i].json;
        if ((!ns || cw_str_eq(fk_text(binding, "metadata.namespace"), ns)) &&
            names_user(binding, user) && binding_allows(server, binding, wish))
            return true;
    }
    return false;
}

bool fk_rbac_allows(const struct fk_server *server, const struct fk_user *user, const char *verb,
                    const char *group, const char *resource, const char *ns, const char *name)
{
    struct wish wish = {.verb = verb, .group = group, .resource = resource, .name = name};
    return is_of_group(user, "system:masters") ||
           bindings_allow(server, user, "clusterrolebindings", NULL, &wish) ||
           (ns && bindings_allow(server, user, "rolebindings", ns, &wish));
}
