/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kinds: what a server has by itself, and what definitions add. */
#include "kubernetes/fk_int.h"
#include <string.h>
#include "base/mem.h"

enum {
    NS = 1,       /* namespaced */
    STATUS = 2,   /* has the subresource */
    SCALE = 4,    /* has the subresource */
    GEN = 8,      /* spec changes move metadata.generation */
    ORPHANS = 16, /* DELETE answers with the object */
    BY_PUT = 64,  /* PUT creates */
    VERSION = 32, /* PUT needs a resourceVersion */
};

static const struct {
    const char *group, *version, *plural, *singular, *kind;
    unsigned flags;
} BUILT_IN[] = {
    {"", "v1", "pods", "pod", "Pod", NS | STATUS | GEN | ORPHANS},
    {"", "v1", "configmaps", "configmap", "ConfigMap", NS},
    {"", "v1", "secrets", "secret", "Secret", NS},
    {"", "v1", "services", "service", "Service", NS | STATUS | ORPHANS},
    {"", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount", NS | ORPHANS},
    {"", "v1", "persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim",
     NS | STATUS | ORPHANS},
    {"", "v1", "persistentvolumes", "persistentvolume", "PersistentVolume", STATUS | ORPHANS},
    {"", "v1", "nodes", "node", "Node", STATUS},
    {"", "v1", "namespaces", "namespace", "Namespace", STATUS | ORPHANS},
    {"", "v1", "events", "event", "Event", NS},
    {"", "v1", "resourcequotas", "resourcequota", "ResourceQuota", NS | STATUS | ORPHANS},
    {"apps", "v1", "deployments", "deployment", "Deployment", NS | STATUS | SCALE | GEN},
    {"apps", "v1", "replicasets", "replicaset", "ReplicaSet", NS | STATUS | SCALE | GEN},
    {"apps", "v1", "statefulsets", "statefulset", "StatefulSet", NS | STATUS | SCALE | GEN},
    {"batch", "v1", "jobs", "job", "Job", NS | STATUS | GEN},
    {"coordination.k8s.io", "v1", "leases", "lease", "Lease", NS | VERSION | BY_PUT},
    {"events.k8s.io", "v1", "events", "event", "Event", NS | BY_PUT},
    {"policy", "v1", "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget",
     NS | STATUS | GEN | VERSION},
    {"rbac.authorization.k8s.io", "v1", "roles", "role", "Role", NS},
    {"rbac.authorization.k8s.io", "v1", "rolebindings", "rolebinding", "RoleBinding", NS},
    {"rbac.authorization.k8s.io", "v1", "clusterroles", "clusterrole", "ClusterRole", 0},
    {"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "clusterrolebinding",
     "ClusterRoleBinding", 0},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "customresourcedefinition",
     "CustomResourceDefinition", STATUS | GEN | VERSION},
    {"authentication.k8s.io", "v1", "tokenreviews", "tokenreview", "TokenReview", 0},
};

static struct fk_kind *add_kind(struct fk_server *server, const char *group, const char *version,
                                const char *plural, const char *kind)
{
    struct fk_kind *ret = CW_NEW(struct fk_kind);
    ret->group = cw_mem_strdup(group);
    ret->version = cw_mem_strdup(version);
    ret->plural = cw_mem_strdup(plural);
    ret->kind = cw_mem_strdup(kind);
    ret->forgotten = server->version;
    CW_GROW(server->kinds, server->kinds_n, server->kinds_cap);
    server->kinds[server->kinds_n++] = ret;
    return ret;
}

void fk_kinds_init(struct fk_server *server)
{
    for (size_t i = 0; i < sizeof(BUILT_IN) / sizeof(BUILT_IN[0]); i++) {
        struct fk_kind *kind = add_kind(server, BUILT_IN[i].group, BUILT_IN[i].version,
                                        BUILT_IN[i].plural, BUILT_IN[i].kind);
        kind->singular = cw_mem_strdup(BUILT_IN[i].singular);
        kind->namespaced = BUILT_IN[i].flags & NS;
        kind->has_status = BUILT_IN[i].flags & STATUS;
        kind->has_scale = BUILT_IN[i].flags & SCALE;
        kind->has_generation = BUILT_IN[i].flags & GEN;
        kind->has_orphans = BUILT_IN[i].flags & ORPHANS;
        kind->makes_by_put = BUILT_IN[i].flags & BY_PUT;
        kind->needs_version = BUILT_IN[i].flags & VERSION;
    }
}

static void free_kind(struct fk_kind *kind)
{
    fk_store_clear(kind);
    json_decref(kind->definition);
    json_decref(kind->names);
    cw_mem_free(kind->group);
    cw_mem_free(kind->version);
    cw_mem_free(kind->plural);
    cw_mem_free(kind->singular);
    cw_mem_free(kind->kind);
    cw_mem_free(kind->objects);
    cw_mem_free(kind->events);
    cw_mem_free(kind);
}

void fk_kinds_fini(struct fk_server *server)
{
    for (size_t i = 0; i < server->kinds_n; i++)
        free_kind(server->kinds[i]);
    cw_mem_free(server->kinds);
}

struct fk_kind *fk_kind_find(struct fk_server *server, const char *group, const char *plural)
{
    for (size_t i = 0; i < server->kinds_n; i++)
        if (cw_str_eq(server->kinds[i]->group, group) &&
            cw_str_eq(server->kinds[i]->plural, plural))
            return server->kinds[i];
    return NULL;
}

struct fk_kind *fk_kind_of_object(struct fk_server *server, const char *api_version,
                                  const char *kind)
{
    for (size_t i = 0; i < server->kinds_n; i++) {
        cw_autofree char *text = fk_kind_api_version(server->kinds[i]);
        if (cw_str_eq(text, api_version) && cw_str_eq(server->kinds[i]->kind, kind))
            return server->kinds[i];
    }
    return NULL;
}

void fk_kind_forget(struct fk_server *server, struct fk_kind *kind)
{
    fk_store_clear(kind);
    kind->forgotten = server->version;
    cw_mem_free(kind->group);
    kind->group = cw_mem_strdup("gone"); /* watches still point to it */
}

static const json_t *served_version(const json_t *crd)
{
    size_t i;
    json_t *version;
    json_array_foreach (fk_at(crd, "spec.versions"), i, version)
        if (fk_true(version, "storage"))
            return version;
    return NULL;
}

int fk_kind_define(struct fk_server *server, const json_t *crd, struct cw_err *err)
{
    const json_t *version = served_version(crd);
    const char *group = fk_text(crd, "spec.group"), *plural = fk_text(crd, "spec.names.plural"),
               *name = fk_text(crd, "spec.names.kind");
    if (!version || !group || !plural || !name || !fk_text(version, "name"))
        return cw_err_set(err, CW_E_INVALID,
                          "a CustomResourceDefinition without group, names or stored version");
    struct fk_kind *kind = fk_kind_find(server, group, plural);
    if (!kind)
        kind = add_kind(server, group, fk_text(version, "name"), plural, name);
    json_decref(kind->definition);
    json_decref(kind->names);
    cw_mem_free(kind->singular);
    kind->definition = json_deep_copy(version);
    kind->names = json_deep_copy(fk_at(crd, "spec.names"));
    kind->singular = cw_mem_strdup(fk_text_or(crd, "spec.names.singular", plural));
    kind->custom = kind->has_generation = kind->needs_version = true;
    kind->namespaced = cw_str_eq(fk_text(crd, "spec.scope"), "Namespaced");
    kind->has_status = fk_at(version, "subresources.status");
    kind->has_scale = fk_at(version, "subresources.scale");
    fk_schema_note_rules(server, kind);
    return 0;
}

void fk_kind_name(const struct fk_kind *kind, struct cw_str *str)
{
    cw_str_addf(str, "%s%s%s", kind->plural, *kind->group ? "." : "", kind->group);
}

void fk_kind_title(const struct fk_kind *kind, struct cw_str *str)
{
    cw_str_addf(str, "%s%s%s", kind->kind, *kind->group ? "." : "", kind->group);
}

char *fk_kind_api_version(const struct fk_kind *kind)
{
    return cw_mem_printf("%s%s%s", kind->group, *kind->group ? "/" : "", kind->version);
}
