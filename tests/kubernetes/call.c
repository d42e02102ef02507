/* SPDX-License-Identifier: Apache-2.0 */
/* A request on its way: who asks, for what, whether they may, and who answers. */
#include "kubernetes/fk_int.h"
#include <stdio.h>
#include <string.h>
#include "base/mem.h"

void fk_answer_fini(struct fk_answer *answer)
{
    cw_mem_free(answer->body);
    cw_mem_free(answer->warning);
    *answer = (struct fk_answer){0};
}

/* ---- the query and the path ---- */
static json_t *parsed_query(const char *query)
{
    json_t *ret = json_object();
    while (query && *query) {
        size_t n = strcspn(query, "&"), eq = strcspn(query, "=&");
        cw_autofree char *name = fk_decoded(query, eq);
        cw_autofree char *value =
            eq < n ? fk_decoded(query + eq + 1, n - eq - 1) : cw_mem_strdup("");
        json_object_set_new(ret, name, json_string(value));
        query += n + (query[n] == '&');
    }
    return ret;
}

enum { MAX_PARTS = 8 };

static size_t split(const char *path, char *parts[MAX_PARTS])
{
    size_t n = 0;
    while (*path && n < MAX_PARTS) {
        path += strspn(path, "/");
        size_t len = strcspn(path, "/");
        if (len)
            parts[n++] = fk_decoded(path, len);
        path += len;
    }
    return n;
}

/* Takes parts from `at` on: [namespaces/NS/]RESOURCE[/NAME[/SUB]]. */
static bool take_parts(struct fk_call *call, char *parts[MAX_PARTS], size_t at, size_t n)
{
    bool in_namespace = n > at + 2 && cw_str_eq(parts[at], "namespaces") &&
                        !cw_str_eq(parts[at + 2], "status") &&
                        !cw_str_eq(parts[at + 2], "finalize");
    if (in_namespace) {
        call->ns = cw_steal(&parts[at + 1]);
        at += 2;
    }
    call->resource = n > at ? cw_steal(&parts[at]) : NULL;
    call->name = n > at + 1 ? cw_steal(&parts[at + 1]) : NULL;
    call->sub = n > at + 2 ? cw_steal(&parts[at + 2]) : NULL;
    return call->resource && n <= at + 3;
}

/* Whether the path is that of a resource. */
static bool parse_path(struct fk_call *call)
{
    char *parts[MAX_PARTS] = {0};
    size_t n = split(call->request->path, parts);
    bool is_core = n > 2 && cw_str_eq(parts[0], "api");
    bool is_group = n > 3 && cw_str_eq(parts[0], "apis");
    bool ok = false;
    if (is_core || is_group) {
        call->group = is_core ? cw_mem_strdup("") : cw_steal(&parts[1]);
        call->version = cw_steal(&parts[is_core ? 1 : 2]);
        ok = take_parts(call, parts, is_core ? 2 : 3, n);
    }
    for (size_t i = 0; i < MAX_PARTS; i++)
        cw_mem_free(parts[i]);
    return ok;
}

static bool is_watch(const struct fk_call *call)
{
    const char *watch = fk_text_or(call->query, "watch", "");
    return cw_str_eq(watch, "1") || cw_str_eq(watch, "true");
}

static const char *verb_of(const struct fk_call *call)
{
    const char *method = call->request->method;
    if (cw_str_eq(method, "GET") || cw_str_eq(method, "HEAD"))
        return call->name ? "get" : is_watch(call) ? "watch" : "list";
    if (cw_str_eq(method, "POST"))
        return "create";
    if (cw_str_eq(method, "PUT"))
        return "update";
    if (cw_str_eq(method, "PATCH"))
        return "patch";
    if (cw_str_eq(method, "DELETE"))
        return call->name ? "delete" : "deletecollection";
    return "";
}

/* ---- who and whether ---- */
static bool authenticate(struct fk_call *call)
{
    const struct fk_server *server = call->server;
    const char *token = call->request->token;
    call->user = (struct fk_user){.name = "system:anonymous",
                                  .group = server->open_to_all ? "system:masters" : "",
                                  .anonymous = !server->open_to_all};
    for (size_t i = 0; token && i < server->tokens_n; i++)
        if (cw_str_eq(server->tokens[i].token, token)) {
            call->user =
                (struct fk_user){.name = server->tokens[i].user, .group = server->tokens[i].group};
            return true;
        }
    if (!token)
        return true;
    json_auto_t *status = fk_status("Unauthorized", "Unauthorized", 401, NULL);
    fk_answer_json(call, 401, status);
    return false;
}

/* A list or watch of one name is allowed by a rule with that name. */
static char *name_asked_for(const struct fk_call *call)
{
    static const char FIELD[] = "metadata.name=";
    const char *fields = fk_text_or(call->query, "fieldSelector", "");
    if (call->name)
        return cw_mem_strdup(call->name);
    if (!cw_str_starts(fields, FIELD))
        return NULL;
    const char *name = fields + sizeof(FIELD) - 1;
    name += *name == '=';
    return cw_mem_strndup(name, strcspn(name, ","));
}

static bool fail_forbidden(struct fk_call *call, const char *resource, const char *name)
{
    struct cw_str CW_CLEANUP(cw_str_fini) where = {0};
    cw_autofree char *quoted = name ? cw_mem_printf(" \"%s\"", name) : cw_mem_strdup("");
    if (call->ns)
        cw_str_addf(&where, "in the namespace \"%s\"", call->ns);
    else
        cw_str_add(&where, "at the cluster scope");
    return fk_fail_named(call, 403, "Forbidden", name,
                         "%s%s%s%s is forbidden: User \"%s\" cannot %s resource \"%s\" in API "
                         "group \"%s\" %s",
                         call->resource, *call->group ? "." : "", call->group, quoted,
                         call->user.name, call->verb, resource, call->group, cw_str_text(&where));
}

static bool authorize(struct fk_call *call)
{
    cw_autofree char *name = name_asked_for(call);
    cw_autofree char *resource =
        cw_mem_printf("%s%s%s", call->resource, call->sub ? "/" : "", call->sub ? call->sub : "");
    if (fk_rbac_allows(call->server, &call->user, call->verb, call->group, resource, call->ns,
                       name))
        return true;
    call->server->counts.refused++;
    return fail_forbidden(call, resource, name);
}

/* ---- to whom ---- */
static bool fail_no_resource(struct fk_call *call)
{
    return fk_fail(call, 404, "NotFound", json_object(),
                   "the server could not find the requested resource");
}

static bool fail_method(struct fk_call *call)
{
    return fk_fail(call, 405, "MethodNotAllowed", json_object(),
                   "the server does not allow this method on the requested resource");
}

static void handle_sub(struct fk_call *call)
{
    const struct fk_kind *kind = call->kind;
    if (cw_str_eq(call->sub, "scale") && kind->has_scale)
        fk_handle_scale(call);
    else if (cw_str_eq(call->sub, "eviction") && cw_str_eq(kind->plural, "pods"))
        fk_handle_eviction(call);
    else if (cw_str_eq(call->sub, "binding") && cw_str_eq(kind->plural, "pods"))
        fk_handle_binding(call);
    else if (cw_str_eq(call->sub, "token") && cw_str_eq(kind->plural, "serviceaccounts"))
        fk_handle_token_request(call);
    else if (kind->custom && !cw_str_eq(call->sub, "status"))
        fk_fail_not_found(call);
    else if (!cw_str_eq(call->sub, "status") || !kind->has_status)
        fail_no_resource(call);
    else if (cw_str_eq(call->verb, "get"))
        fk_handle_get(call);
    else if (cw_str_eq(call->verb, "update"))
        fk_handle_update(call);
    else if (cw_str_eq(call->verb, "patch"))
        fk_handle_patch(call);
    else
        fail_method(call);
}

static void handle_resource(struct fk_call *call)
{
    static const struct {
        const char *verb;
        bool needs_name;
        void (*handle)(struct fk_call *call);
    } VERBS[] = {
        {"get", true, fk_handle_get},       {"list", false, fk_handle_list},
        {"watch", false, fk_handle_watch},  {"create", false, fk_handle_create},
        {"update", true, fk_handle_update}, {"patch", true, fk_handle_patch},
        {"delete", true, fk_handle_delete}, {"deletecollection", false, fk_handle_delete_all},
    };
    bool needs_ns = call->kind->namespaced && !call->ns && !cw_str_eq(call->verb, "list") &&
                    !cw_str_eq(call->verb, "watch");
    for (size_t i = 0; !needs_ns && i < sizeof(VERBS) / sizeof(*VERBS); i++)
        if (cw_str_eq(VERBS[i].verb, call->verb) && VERBS[i].needs_name == (call->name != NULL)) {
            VERBS[i].handle(call);
            return;
        }
    fail_method(call);
}

static bool is_group(struct fk_server *server, const char *group, const char *version)
{
    for (size_t i = 0; i < server->kinds_n; i++)
        if (cw_str_eq(server->kinds[i]->group, group) &&
            cw_str_eq(server->kinds[i]->version, version))
            return true;
    return false;
}

static void answer_no_page(struct fk_call *call)
{
    call->answer->status = 404;
    call->answer->body = cw_mem_strdup("404 page not found\n");
    call->answer->body_n = strlen(call->answer->body);
}

static void handle_kind(struct fk_call *call)
{
    call->kind = fk_kind_find(call->server, call->group, call->resource);
    if (!call->kind || !cw_str_eq(call->kind->version, call->version)) {
        fail_no_resource(call);
        return;
    }
    if (!authorize(call) || fk_fault_strikes(call))
        return;
    if (cw_str_eq(call->kind->plural, "tokenreviews"))
        fk_handle_token_review(call);
    else if (call->sub)
        handle_sub(call);
    else
        handle_resource(call);
}

static void set_manager(struct fk_call *call)
{
    const char *given = fk_text(call->query, "fieldManager");
    const char *agent = call->request->user_agent ? call->request->user_agent : "unknown";
    if (given)
        snprintf(call->manager, sizeof(call->manager), "%s", given);
    else
        snprintf(call->manager, sizeof(call->manager), "%.*s", (int)strcspn(agent, "/"), agent);
}

static void handle(struct fk_call *call)
{
    bool is_resource = parse_path(call);
    call->verb = verb_of(call);
    set_manager(call);
    if (!authenticate(call))
        return;
    if (is_resource && !is_group(call->server, call->group, call->version)) {
        answer_no_page(call);
    } else if (is_resource) {
        handle_kind(call);
    } else if (!fk_handle_discovery(call)) {
        answer_no_page(call);
    }
}

void fk_server_handle(struct fk_server *server, int64_t now_ms, const struct fk_request *request,
                      struct fk_answer *ret_answer)
{
    *ret_answer = (struct fk_answer){0};
    server->now_ms = now_ms > server->now_ms ? now_ms : server->now_ms;
    struct fk_call call = {.server = server, .request = request, .answer = ret_answer};
    call.query = parsed_query(request->query);
    fk_uid(server, ret_answer->audit_id);
    handle(&call);
    json_decref(call.query);
    cw_mem_free(call.group);
    cw_mem_free(call.version);
    cw_mem_free(call.ns);
    cw_mem_free(call.resource);
    cw_mem_free(call.name);
    cw_mem_free(call.sub);
    fk_watches_flush(server);
}
