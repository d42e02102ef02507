/* SPDX-License-Identifier: Apache-2.0 */
/* Paths that are no resources: versions, health, and what there is. */
#include "kubernetes/fk_int.h"
#include <string.h>
#include "base/mem.h"

static json_t *verbs_of_sub(void)
{
    return json_pack("[s,s,s]", "get", "patch", "update");
}

static void add_resource(json_t *resources, const struct fk_kind *kind)
{
    json_t *one = json_pack("{s:s, s:s, s:b, s:s, s:[s,s,s,s,s,s,s,s]}", "name", kind->plural,
                            "singularName", kind->singular, "namespaced", kind->namespaced, "kind",
                            kind->kind, "verbs", "delete", "deletecollection", "get", "list",
                            "patch", "create", "update", "watch");
    if (fk_at(kind->names, "shortNames"))
        json_object_set(one, "shortNames", fk_at(kind->names, "shortNames"));
    if (fk_at(kind->names, "categories"))
        json_object_set(one, "categories", fk_at(kind->names, "categories"));
    json_array_append_new(resources, one);
    static const char *const SUBS[] = {"status", "scale"};
    for (size_t i = 0; i < 2; i++) {
        if (!(i == 0 ? kind->has_status : kind->has_scale))
            continue;
        cw_autofree char *name = cw_mem_printf("%s/%s", kind->plural, SUBS[i]);
        json_t *sub =
            json_pack("{s:s, s:s, s:b, s:s, s:o}", "name", name, "singularName", "", "namespaced",
                      kind->namespaced, "kind", i ? "Scale" : kind->kind, "verbs", verbs_of_sub());
        if (i) {
            fk_put_text(sub, "group", "autoscaling");
            fk_put_text(sub, "version", "v1");
        }
        json_array_append_new(resources, sub);
    }
}

/* /api/v1 or /apis/GROUP/VERSION; false: there is none. */
static bool answer_resources(struct fk_call *call, const char *group_version)
{
    json_t *resources = json_array();
    for (size_t i = 0; i < call->server->kinds_n; i++) {
        cw_autofree char *own = fk_kind_api_version(call->server->kinds[i]);
        if (cw_str_eq(own, group_version))
            add_resource(resources, call->server->kinds[i]);
    }
    bool any = json_array_size(resources) > 0;
    json_auto_t *list = json_pack("{s:s, s:s, s:s, s:o}", "kind", "APIResourceList", "apiVersion",
                                  "v1", "groupVersion", group_version, "resources", resources);
    if (any)
        fk_answer_json(call, 200, list);
    return any;
}

static bool has_group(const json_t *groups, const char *name)
{
    size_t i;
    json_t *group;
    json_array_foreach ((json_t *)groups, i, group)
        if (cw_str_eq(fk_text(group, "name"), name))
            return true;
    return false;
}

static void answer_groups(struct fk_call *call)
{
    json_t *groups = json_array();
    for (size_t i = 0; i < call->server->kinds_n; i++) {
        const struct fk_kind *kind = call->server->kinds[i];
        cw_autofree char *own = fk_kind_api_version(kind);
        if (!*kind->group || has_group(groups, kind->group))
            continue;
        json_auto_t *version =
            json_pack("{s:s, s:s}", "groupVersion", own, "version", kind->version);
        json_array_append_new(groups, json_pack("{s:s, s:[O], s:O}", "name", kind->group,
                                                "versions", version, "preferredVersion", version));
    }
    json_auto_t *list =
        json_pack("{s:s, s:s, s:o}", "kind", "APIGroupList", "apiVersion", "v1", "groups", groups);
    fk_answer_json(call, 200, list);
}

static void answer_text(struct fk_call *call, const char *text)
{
    call->answer->status = 200;
    call->answer->body = cw_mem_strdup(text);
    call->answer->body_n = strlen(text);
}

static void answer_version(struct fk_call *call)
{
    json_auto_t *version = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "major", "1", "minor", "34", "gitVersion",
        "v1.34.0-fake", "gitCommit", "", "gitTreeState", "clean", "buildDate",
        "1970-01-01T00:00:00Z", "goVersion", "none", "compiler", "none", "platform", "linux/amd64");
    fk_answer_json(call, 200, version);
}

static bool answer_core(struct fk_call *call)
{
    json_auto_t *versions = json_pack("{s:s, s:[s], s:[]}", "kind", "APIVersions", "versions", "v1",
                                      "serverAddressByClientCIDRs");
    fk_answer_json(call, 200, versions);
    return true;
}

static bool refuse_anonymous(struct fk_call *call)
{
    return fk_fail(call, 403, "Forbidden", json_object(),
                   "forbidden: User \"%s\" cannot get path \"%s\"", call->user.name,
                   call->request->path);
}

bool fk_handle_discovery(struct fk_call *call)
{
    const char *path = call->request->path;
    if (cw_str_eq(path, "/healthz") || cw_str_eq(path, "/livez") || cw_str_eq(path, "/readyz")) {
        answer_text(call, "ok");
        return true;
    }
    if (cw_str_eq(path, "/version") || cw_str_eq(path, "/version/")) {
        answer_version(call);
        return true;
    }
    if (!cw_str_starts(path, "/api"))
        return false;
    if (call->user.anonymous) {
        refuse_anonymous(call);
        return true;
    }
    if (cw_str_eq(path, "/api"))
        return answer_core(call);
    if (cw_str_eq(path, "/apis")) {
        answer_groups(call);
        return true;
    }
    size_t skip = cw_str_starts(path, "/apis/") ? 6 : cw_str_starts(path, "/api/") ? 5 : 0;
    return skip && answer_resources(call, path + skip);
}
