/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting: preconditions, finalizers, grace periods, and what becomes of dependents. */
#include "kubernetes/fk_int.h"
#include <stdio.h>
#include <string.h>
#include "base/mem.h"

static bool is_pod(const struct fk_kind *kind)
{
    return cw_str_eq(kind->plural, "pods") && !*kind->group;
}

/* A pod that no kubelet has ends at once; another within its grace period. */
static json_int_t grace_of(const struct fk_kind *kind, const json_t *object, json_int_t wanted)
{
    const char *phase = fk_text_or(object, "status.phase", "Pending");
    if (!is_pod(kind) || !fk_text(object, "spec.nodeName") || cw_str_eq(phase, "Succeeded") ||
        cw_str_eq(phase, "Failed"))
        return 0;
    json_int_t own = fk_int(object, "spec.terminationGracePeriodSeconds", 30);
    json_int_t grace = wanted >= 0 ? wanted : own;
    json_int_t present = fk_int(object, "metadata.deletionGracePeriodSeconds", -1);
    return present >= 0 && present < grace ? present : grace;
}

static void add_finalizer(json_t *object, const char *name)
{
    if (!fk_at(object, "metadata.finalizers"))
        fk_put(object, "metadata.finalizers", json_array());
    json_array_append_new(fk_at(object, "metadata.finalizers"), json_string(name));
}

/* The object marked as deleted; new reference. */
static json_t *marked(struct fk_server *server, const struct fk_kind *kind, const json_t *object,
                      json_int_t grace_s, const char *propagation)
{
    json_t *after = json_deep_copy(object);
    json_int_t grace = grace_of(kind, object, grace_s);
    char when[32];
    fk_time_text(server, grace * 1000, when);
    if (!fk_at(object, "metadata.deletionTimestamp")) {
        fk_put_text(after, "metadata.deletionTimestamp", when);
        if (kind->has_generation)
            fk_put_int(after, "metadata.generation", fk_int(object, "metadata.generation", 0) + 1);
        if (cw_str_eq(propagation, "Foreground"))
            add_finalizer(after, "foregroundDeletion");
        if (cw_str_eq(propagation, "Orphan"))
            add_finalizer(after, "orphan");
    } else if (grace < fk_int(object, "metadata.deletionGracePeriodSeconds", 0)) {
        fk_put_text(after, "metadata.deletionTimestamp", when);
    }
    fk_put_int(after, "metadata.deletionGracePeriodSeconds", grace);
    return after;
}

static void forget_definition(struct fk_server *server, const struct fk_kind *kind,
                              const json_t *object)
{
    struct fk_kind *defined = fk_kind_find(server, fk_text_or(object, "spec.group", ""),
                                           fk_text_or(object, "spec.names.plural", ""));
    if (cw_str_eq(kind->plural, "customresourcedefinitions") && defined)
        fk_kind_forget(server, defined);
}

/* Removes an object; returns it as it was marked, under the version of its deletion. */
static json_t *remove_now(struct fk_server *server, struct fk_kind *kind, json_t *after)
{
    char version[32];
    json_t *shown = json_deep_copy(after);
    forget_definition(server, kind, after);
    json_decref(fk_commit(server, kind, after));
    snprintf(version, sizeof(version), "%llu", (unsigned long long)server->version);
    fk_put_text(shown, "metadata.resourceVersion", version);
    return shown;
}

/* Deletes or marks. Returns what is to be shown, a new reference; *ret_gone: nothing is left. */
static json_t *do_delete(struct fk_server *server, struct fk_kind *kind, const json_t *object,
                         json_int_t grace_s, const char *propagation, bool *ret_gone)
{
    json_t *after = marked(server, kind, object, grace_s, propagation);
    bool is_namespace = cw_str_eq(kind->plural, "namespaces");
    if (is_namespace)
        fk_put_text(after, "status.phase", "Terminating");
    *ret_gone = fk_is_released(kind, after) && !is_namespace;
    if (*ret_gone)
        return remove_now(server, kind, after);
    if (fk_is_same(object, after)) {
        json_decref(after);
        return json_incref((json_t *)object);
    }
    return json_incref(fk_store_put(server, kind, after));
}

void fk_delete(struct fk_server *server, struct fk_kind *kind, const json_t *object,
               json_int_t grace_s, const char *propagation)
{
    json_auto_t *held = json_incref((json_t *)object);
    bool gone;
    json_decref(do_delete(server, kind, held, grace_s, propagation, &gone));
}

/* ---- requests ---- */
static bool fail_precondition(struct fk_call *call, const char *what, const char *wanted,
                              const char *found)
{
    struct cw_str CW_CLEANUP(cw_str_fini) title = {0};
    fk_kind_title(call->kind, &title);
    json_t *details = json_pack("{s:s}", "name", call->name);
    if (*call->group)
        fk_put_text(details, "group", call->group);
    fk_put_text(details, "kind", call->kind->kind);
    return fk_fail(call, 409, "Conflict", details,
                   "Operation cannot be fulfilled on %s \"%s\": the %s in the precondition (%s) "
                   "does not match the %s in record (%s). The object might have been %s",
                   cw_str_text(&title), call->name, what, wanted, what, found,
                   *what == 'U' ? "deleted and then recreated" : "modified");
}

static bool meets_preconditions(struct fk_call *call, const json_t *options, const json_t *object)
{
    const char *uid = fk_text(options, "preconditions.uid");
    const char *version = fk_text(options, "preconditions.resourceVersion");
    const char *own_uid = fk_text(object, "metadata.uid");
    const char *own_version = fk_text(object, "metadata.resourceVersion");
    if (uid && !cw_str_eq(uid, own_uid))
        return fail_precondition(call, "UID", uid, own_uid);
    return !version || cw_str_eq(version, own_version) ||
           fail_precondition(call, "ResourceVersion", version, own_version);
}

/* DeleteOptions of the body, completed by the query's parameters. NULL: failed. */
static json_t *options_of(struct fk_call *call)
{
    json_t *options = call->request->body_n ? fk_body(call) : json_object();
    int64_t grace;
    const char *text = fk_text(call->query, "gracePeriodSeconds");
    const char *propagation = fk_text(call->query, "propagationPolicy");
    if (options && text && cw_str_to_i64(text, &grace))
        fk_put_int(options, "gracePeriodSeconds", grace);
    if (options && propagation)
        fk_put_text(options, "propagationPolicy", propagation);
    return options;
}

static void answer_gone(struct fk_call *call, const json_t *object)
{
    if (call->kind->has_orphans) {
        fk_answer_object(call, 200, object);
        return;
    }
    json_auto_t *status =
        json_pack("{s:s, s:s, s:{}, s:s, s:{s:s}}", "kind", "Status", "apiVersion", "v1",
                  "metadata", "status", "Success", "details", "name", call->name);
    if (*call->group)
        fk_put_text(status, "details.group", call->group);
    fk_put_text(status, "details.kind", call->resource);
    fk_put_text(status, "details.uid", fk_text(object, "metadata.uid"));
    call->kind = NULL;
    fk_answer_json(call, 200, status);
}

static bool is_dry_delete(const struct fk_call *call, const json_t *options)
{
    return fk_is_dry(call) || fk_len(options, "dryRun") > 0;
}

void fk_handle_delete(struct fk_call *call)
{
    json_auto_t *object = json_incref(fk_store_get(call->kind, call->ns, call->name));
    json_auto_t *options = options_of(call);
    if (!options)
        return;
    if (!object) {
        fk_fail_not_found(call);
        return;
    }
    if (!meets_preconditions(call, options, object))
        return;
    call->server->counts.writes++;
    if (is_dry_delete(call, options)) {
        answer_gone(call, object);
        return;
    }
    bool gone;
    json_auto_t *shown =
        do_delete(call->server, call->kind, object, fk_int(options, "gracePeriodSeconds", -1),
                  fk_text_or(options, "propagationPolicy", "Background"), &gone);
    if (gone)
        answer_gone(call, shown);
    else
        fk_answer_object(call, 200, shown);
}

/* Deletes what the selector knows; the objects as they were. */
static json_t *delete_matching(struct fk_call *call, const json_t *options,
                               const struct fk_selector *selector)
{
    json_auto_t *all = fk_store_at(call->kind, call->server->version);
    json_t *items = json_array();
    size_t i;
    json_t *object;
    json_array_foreach (all, i, object) {
        if ((call->ns && !cw_str_eq(fk_text(object, "metadata.namespace"), call->ns)) ||
            !fk_selector_matches(selector, object))
            continue;
        json_array_append_new(items, call->kind->custom ? fk_with_kind(call->kind, object)
                                                        : json_incref(object));
        fk_delete(call->server, call->kind, object, fk_int(options, "gracePeriodSeconds", -1),
                  fk_text_or(options, "propagationPolicy", "Background"));
    }
    return items;
}

void fk_handle_delete_all(struct fk_call *call)
{
    struct fk_selector selector = {0};
    json_auto_t *options = options_of(call);
    char version[32];
    snprintf(version, sizeof(version), "%llu", (unsigned long long)call->server->version);
    if (options && fk_selector_init(call, &selector)) {
        call->server->counts.writes++;
        cw_autofree char *api_version = fk_kind_api_version(call->kind);
        cw_autofree char *kind = cw_mem_printf("%sList", call->kind->kind);
        json_auto_t *list = json_pack("{s:s, s:s, s:{s:s}, s:o}", "kind", kind, "apiVersion",
                                      api_version, "metadata", "resourceVersion", version, "items",
                                      delete_matching(call, options, &selector));
        fk_answer_json(call, 200, list);
    }
    fk_selector_fini(&selector);
}
