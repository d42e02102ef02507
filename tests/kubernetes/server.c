/* SPDX-License-Identifier: Apache-2.0 */
/* The server as a whole: its life, its users, what it is loaded with, and its time. */
#include "kubernetes/fk_int.h"
#include <string.h>
#include "base/mem.h"

enum { FIRST_VERSION = 100 };

static void make_namespace(struct fk_server *server, const char *name)
{
    struct fk_kind *kind = fk_kind_find(server, "", "namespaces");
    fk_make(server, kind,
            json_pack("{s:{s:s, s:{s:s}}, s:{s:[s]}, s:{s:s}}", "metadata", "name", name, "labels",
                      "kubernetes.io/metadata.name", name, "spec", "finalizers", "kubernetes",
                      "status", "phase", "Active"),
            "kube-apiserver");
}

static void make_first_objects(struct fk_server *server)
{
    make_namespace(server, "default");
    make_namespace(server, "kube-system");
    for (size_t i = 0; i < server->kinds_n; i++)
        server->kinds[i]->forgotten = FIRST_VERSION;
}

struct fk_server *fk_server_new(const struct fk_options *options)
{
    struct fk_server *server = CW_NEW(struct fk_server);
    server->options = *options;
    server->options.bookmark_ms =
        options->bookmark_ms ? options->bookmark_ms : (int64_t)FK_BOOKMARK_MS;
    server->version = FIRST_VERSION;
    server->work_ms = INT64_MAX;
    fk_kinds_init(server);
    make_first_objects(server);
    return server;
}

void fk_server_free(struct fk_server *server)
{
    if (!server)
        return;
    fk_watches_forget_server(server);
    fk_kinds_fini(server);
    fk_faults_fini(server);
    for (size_t i = 0; i < server->tokens_n; i++) {
        cw_mem_free(server->tokens[i].token);
        cw_mem_free(server->tokens[i].user);
        cw_mem_free(server->tokens[i].group);
        cw_mem_free(server->tokens[i].audience);
    }
    cw_mem_free(server->tokens);
    cw_str_fini(&server->unchecked);
    cw_mem_free(server);
}

void fk_server_set_token(struct fk_server *server, const char *token, const char *user,
                         const char *group)
{
    size_t i = 0;
    while (i < server->tokens_n && !cw_str_eq(server->tokens[i].token, token))
        i++;
    if (i < server->tokens_n) {
        cw_mem_free(server->tokens[i].token);
        cw_mem_free(server->tokens[i].user);
        cw_mem_free(server->tokens[i].group);
        cw_mem_free(server->tokens[i].audience);
        server->tokens[i] = server->tokens[--server->tokens_n];
    }
    if (!user)
        return;
    CW_GROW(server->tokens, server->tokens_n, server->tokens_cap);
    server->tokens[server->tokens_n++] =
        (struct fk_token){.token = cw_mem_strdup(token),
                          .user = cw_mem_strdup(user),
                          .group = cw_mem_strdup(group ? group : "")};
}

void fk_server_set_audience(struct fk_server *server, const char *token, const char *audience)
{
    for (size_t i = 0; i < server->tokens_n; i++) {
        if (!cw_str_eq(server->tokens[i].token, token))
            continue;
        cw_mem_free(server->tokens[i].audience);
        server->tokens[i].audience = cw_mem_strdup(audience);
    }
}

void fk_server_open_to_all(struct fk_server *server)
{
    server->open_to_all = true;
}

/* ---- loading ---- */
static int load_object(struct fk_server *server, json_t *object, struct cw_err *err)
{
    const char *api = fk_text_or(object, "apiVersion", ""), *name = fk_text_or(object, "kind", "");
    struct fk_kind *kind = fk_kind_of_object(server, api, name);
    if (!kind || !fk_text(object, "metadata.name"))
        return cw_err_set(err, CW_E_INVALID, "a document of kind \"%s\" in \"%s\": %s", name, api,
                          kind ? "it has no name" : "this server has no such kind");
    const char *ns = kind->namespaced ? fk_text_or(object, "metadata.namespace", "default") : NULL;
    cw_autofree char *group_path =
        cw_mem_printf("%s%s/%s%s%s", *kind->group ? "/apis/" : "/api", kind->group, kind->version,
                      ns ? "/namespaces/" : "", ns ? ns : "");
    cw_autofree char *path = cw_mem_printf("%s/%s", group_path, kind->plural);
    cw_autofree char *body = fk_dump(object, false, NULL);
    struct fk_answer answer;
    bool was_open = server->open_to_all;
    server->open_to_all = true;
    if (ns && !fk_store_get(fk_kind_find(server, "", "namespaces"), NULL, ns))
        make_namespace(server, ns);
    struct fk_request request = {.method = "POST",
                                 .path = path,
                                 .body = body,
                                 .body_n = strlen(body),
                                 .user_agent = "kubectl/v1.34",
                                 .content_type = "application/json"};
    fk_server_handle(server, server->now_ms, &request, &answer);
    server->open_to_all = was_open;
    int rc = answer.status == 201
                 ? 0
                 : cw_err_set(err, CW_E_INVALID, "%s: %s", path, answer.body ? answer.body : "");
    fk_answer_fini(&answer);
    return rc;
}

static int load_document(struct fk_server *server, json_t *document, struct cw_err *err)
{
    bool is_list = json_is_array(json_object_get(document, "items"));
    size_t i;
    json_t *item;
    if (!is_list)
        return load_object(server, document, err);
    json_array_foreach (json_object_get(document, "items"), i, item) {
        int rc = load_object(server, item, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int fk_server_load(struct fk_server *server, int64_t now_ms, const char *text, size_t n,
                   struct cw_err *err)
{
    struct cw_err own = {0};
    server->now_ms = now_ms > server->now_ms ? now_ms : server->now_ms;
    for (size_t i = 0;; i++) {
        json_auto_t *document = fk_yaml_document(text, n, i, &own);
        if (!document)
            return own.code ? cw_err_set(err, own.code, "%s", own.msg) : 0;
        int rc = json_is_object(document) ? load_document(server, document, err) : 0;
        if (rc < 0)
            return rc;
    }
}

/* ---- time ---- */
void fk_server_advance(struct fk_server *server, int64_t now_ms)
{
    server->now_ms = now_ms > server->now_ms ? now_ms : server->now_ms;
    if (server->work_ms <= server->now_ms) {
        server->work_ms = INT64_MAX;
        fk_controllers_run(server);
    }
    fk_watches_advance(server);
}

int64_t fk_server_next_ms(const struct fk_server *server)
{
    int64_t watches = fk_watches_next_ms(server);
    return server->work_ms < watches ? server->work_ms : watches;
}

/* ---- looking in, and breaking ---- */
const char *fk_server_unchecked(const struct fk_server *server)
{
    return cw_str_text(&server->unchecked);
}

json_t *fk_server_objects(struct fk_server *server, const char *group, const char *plural)
{
    const struct fk_kind *kind = fk_kind_find(server, group, plural);
    return kind ? fk_store_at(kind, server->version) : json_array();
}

uint64_t fk_server_version(const struct fk_server *server)
{
    return server->version;
}

struct fk_counts fk_server_counts(const struct fk_server *server)
{
    return server->counts;
}

static bool survives(const struct fk_kind *kind)
{
    return cw_str_eq(kind->group, "rbac.authorization.k8s.io") ||
           cw_str_eq(kind->group, "apiextensions.k8s.io");
}

void fk_server_wipe(struct fk_server *server, int64_t now_ms)
{
    server->now_ms = now_ms > server->now_ms ? now_ms : server->now_ms;
    fk_watches_end(server, FK_WATCH_RESET);
    server->version += 1000;
    for (size_t i = 0; i < server->kinds_n; i++)
        if (!survives(server->kinds[i]))
            fk_store_clear(server->kinds[i]);
    make_namespace(server, "default");
    make_namespace(server, "kube-system");
    fk_server_compact(server);
}

/* Kinds are told apart by "PLURAL.GROUP". */
static json_t *saved_kind(const struct fk_kind *kind)
{
    json_t *objects = json_array();
    for (size_t i = 0; i < kind->n; i++)
        json_array_append(objects, kind->objects[i].json);
    return objects;
}

json_t *fk_server_save(const struct fk_server *server)
{
    json_t *objects = json_object();
    for (size_t i = 0; i < server->kinds_n; i++) {
        struct cw_str CW_CLEANUP(cw_str_fini) name = {0};
        fk_kind_name(server->kinds[i], &name);
        json_object_set_new(objects, cw_str_text(&name), saved_kind(server->kinds[i]));
    }
    return json_pack("{s:I, s:o}", "version", (json_int_t)server->version, "objects", objects);
}

static void restore_kind(struct fk_kind *kind, const json_t *saved)
{
    struct cw_str CW_CLEANUP(cw_str_fini) name = {0};
    size_t i;
    json_t *object;
    fk_kind_name(kind, &name);
    fk_store_clear(kind);
    json_array_foreach (json_object_get(saved, cw_str_text(&name)), i, object)
        fk_store_place(kind, object);
}

void fk_server_restore(struct fk_server *server, int64_t now_ms, const json_t *saved)
{
    server->now_ms = now_ms > server->now_ms ? now_ms : server->now_ms;
    fk_watches_end(server, FK_WATCH_RESET);
    for (size_t i = 0; i < server->kinds_n; i++)
        restore_kind(server->kinds[i], json_object_get(saved, "objects"));
    server->version = (uint64_t)fk_int(saved, "version", 0);
    server->work_ms = server->now_ms + FK_STEP_MS;
    fk_server_compact(server);
}

void fk_server_compact(struct fk_server *server)
{
    server->version++;
    for (size_t i = 0; i < server->kinds_n; i++)
        fk_store_forget(server, server->kinds[i]);
}

void fk_server_jump_clock(struct fk_server *server, int64_t ms)
{
    server->jumped_ms += ms;
}
