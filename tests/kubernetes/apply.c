/* SPDX-License-Identifier: Apache-2.0 */
/* Server-side apply: a configuration sets the fields that it names, owns them, and gives up those that
 * it named before. Lists are one value here, but for those with keys that managed.c knows. */
#include "kubernetes/fk_int.h"
#include <string.h>
#include "base/mem.h"

/* Sets what the configuration has; lists with the key are merged by it. */
static void overlay(json_t *target, const json_t *config)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)config, name, value) {
        json_t *inner = json_object_get(target, name);
        if (json_is_object(value) && json_is_object(inner))
            overlay(inner, value);
        else
            json_object_set_new(target, name, json_deep_copy(value));
    }
}

/* Removes the leaves that `dropped` names ("f:" paths; entries of lists stay). */
static void remove_fields(json_t *object, const json_t *dropped)
{
    const char *path;
    json_t *inner;
    json_object_foreach ((json_t *)dropped, path, inner) {
        if (!cw_str_starts(path, "f:"))
            continue;
        if (!json_object_size(inner))
            json_object_del(object, path + 2);
        else
            remove_fields(json_object_get(object, path + 2), inner);
    }
}

/* What `old` has and `now` has not. */
static json_t *minus(const json_t *old, const json_t *now)
{
    json_t *ret = json_object();
    const char *path;
    json_t *inner;
    json_object_foreach ((json_t *)old, path, inner) {
        const json_t *other = json_object_get(now, path);
        if (!other) {
            json_object_set(ret, path, inner);
        } else if (json_object_size(inner)) {
            json_auto_t *rest = minus(inner, other);
            if (json_object_size(rest))
                json_object_set(ret, path, rest);
        }
    }
    return ret;
}

static json_t *owned_before(const json_t *object, const char *manager)
{
    size_t i;
    json_t *entry;
    json_array_foreach (fk_at(object, "metadata.managedFields"), i, entry)
        if (cw_str_eq(fk_text(entry, "manager"), manager) &&
            cw_str_eq(fk_text(entry, "operation"), "Apply"))
            return json_object_get(entry, "fieldsV1");
    return NULL;
}

/* One conflict in a line, several under who they are with. */
static char *conflict_list(const json_t *causes)
{
    struct cw_str str = {0};
    const char *who = "";
    size_t n = json_array_size(causes);
    for (size_t i = 0; i < n; i++) {
        const json_t *cause = json_array_get(causes, i);
        const char *message = fk_text(cause, "message");
        if (n == 1)
            cw_str_addf(&str, "%s: %s", message, fk_text(cause, "field"));
        else if (!cw_str_eq(who, message))
            cw_str_addf(&str, "%sconflicts%s:", i ? "\n" : "", message + strlen("conflict"));
        if (n > 1)
            cw_str_addf(&str, "\n- %s", fk_text(cause, "field"));
        who = message;
    }
    return cw_str_take(&str);
}

/* The entries of managedFields without their times; new reference. */
static json_t *without_times(const json_t *managed)
{
    json_t *ret = json_deep_copy(managed);
    size_t i;
    json_t *entry;
    json_array_foreach (ret, i, entry)
        json_object_del(entry, "time");
    return ret;
}

/* Whether only the time at which the fields were written differs: that alone is no change, as in the
 * server's own admission of apply patches. */
static bool is_managed_alike(const json_t *a, const json_t *b)
{
    json_auto_t *x = without_times(a), *y = without_times(b);
    return json_equal(x, y);
}

static void apply_to(struct fk_call *call, const json_t *before, const json_t *config,
                     json_t *fields)
{
    bool force = cw_str_eq(fk_text(call->query, "force"), "true");
    json_t *causes = fk_managed_conflicts(before, config, call->manager);
    if (causes && !force) {
        size_t n = json_array_size(causes);
        cw_autofree char *list = conflict_list(causes);
        cw_autofree char *text =
            cw_mem_printf("Apply failed with %zu conflict%s: %s", n, n > 1 ? "s" : "", list);
        fk_fail(call, 409, "Conflict", json_pack("{s:o}", "causes", causes), "%s", text);
        return;
    }
    json_decref(causes);
    json_t *after = json_deep_copy(before);
    json_auto_t *dropped = minus(owned_before(before, call->manager), fields);
    remove_fields(after, dropped);
    overlay(after, config);
    call->verb = "apply";
    json_auto_t *held = json_deep_copy(before);
    fk_managed_apply(call->server, call->kind, held, fields, call->manager, true);
    json_auto_t *managed = json_incref(fk_at(held, "metadata.managedFields"));
    if (is_managed_alike(fk_at(before, "metadata.managedFields"), managed) &&
        fk_is_same(before, after)) {
        json_decref(after);
        fk_answer_object(call, 200, before);
        return;
    }
    json_auto_t *base = json_deep_copy(before);
    fk_put(base, "metadata.managedFields", json_incref(managed));
    fk_change(call, base, after, call->sub);
}

static bool fail_manager(struct fk_call *call)
{
    json_t *causes = json_array();
    fk_cause(causes, "FieldValueRequired", "fieldManager",
             "Required value: is required for apply patch");
    return fk_fail(call, 422, "Invalid",
                   json_pack("{s:s, s:s, s:o}", "group", "meta.k8s.io", "kind", "PatchOptions",
                             "causes", causes),
                   "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is "
                   "required for apply patch");
}

void fk_handle_apply(struct fk_call *call)
{
    if (!fk_text(call->query, "fieldManager")) {
        fail_manager(call);
        return;
    }
    json_auto_t *config = fk_body(call);
    if (!config)
        return;
    json_auto_t *fields = fk_managed_fields_of(config);
    const json_t *before = fk_store_get(call->kind, call->ns, call->name);
    if (!before) {
        fk_put_text(config, "metadata.name", call->name);
        fk_create(call, json_incref(config), fields);
        return;
    }
    json_object_del(config, "kind");
    json_object_del(config, "apiVersion");
    json_auto_t *held = json_incref((json_t *)before);
    apply_to(call, held, config, fields);
}
