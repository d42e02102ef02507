/* SPDX-License-Identifier: Apache-2.0 */
/* managedFields: who wrote which field last. A set of fields is kept in the form that the wire has
 * (fieldsV1): {"f:spec": {"f:replicas": {}}}; "." stands for the value itself, "k:{...}" for an entry
 * of a list with keys, "v:..." for a value of a set. */
#include "kubernetes/fk_int.h"
#include <string.h>
#include "base/mem.h"

/* Lists whose entries have keys, by the name of the field; all others are one value. */
static const char *key_of_list(const char *field)
{
    static const char *const KEYS[][2] = {
        {"conditions", "type"},
        {"dataSources", "subDirName"},
        {"containers", "name"},
        {"volumes", "name"},
        {"ownerReferences", "uid"},
        {"env", "name"},
        {"imagePullSecrets", "name"},
        {"schedulingGates", "name"},
        {"volumeMounts", "mountPath"},
        {"initContainers", "name"},
        {"podIPs", "ip"},
    };
    for (size_t i = 0; i < sizeof(KEYS) / sizeof(*KEYS); i++)
        if (cw_str_eq(KEYS[i][0], field))
            return KEYS[i][1];
    return NULL;
}

static bool is_hidden(const char *field) /* of metadata: never in a set */
{
    static const char *const HIDDEN[] = {"name",
                                         "namespace",
                                         "uid",
                                         "resourceVersion",
                                         "generation",
                                         "creationTimestamp",
                                         "managedFields",
                                         "deletionTimestamp",
                                         "deletionGracePeriodSeconds",
                                         "selfLink"};
    for (size_t i = 0; i < sizeof(HIDDEN) / sizeof(*HIDDEN); i++)
        if (cw_str_eq(HIDDEN[i], field))
            return true;
    return false;
}

/* A list as an object: entries by "k:{...}" or "v:..."; NULL: it is one value. New reference. */
static json_t *entries_of(const char *field, const json_t *list)
{
    const char *key = key_of_list(field);
    bool is_set = cw_str_eq(field, "finalizers");
    if (!json_is_array(list) || (!key && !is_set))
        return NULL;
    json_t *entries = json_object();
    size_t i;
    json_t *one;
    json_array_foreach ((json_t *)list, i, one) {
        json_auto_t *name =
            is_set ? json_incref(one) : json_pack("{s:O?}", key, json_object_get(one, key));
        cw_autofree char *text = fk_dump(name, false, NULL);
        cw_autofree char *path = cw_mem_printf("%s:%s", is_set ? "v" : "k", text);
        json_object_set(entries, path, one);
    }
    return entries;
}

/* The members of a value by their path elements; NULL: a leaf. New reference. */
static json_t *members_of(const char *field, const json_t *value)
{
    if (!json_is_object(value))
        return entries_of(field, value);
    json_t *members = json_object();
    const char *name;
    json_t *member;
    json_object_foreach ((json_t *)value, name, member) {
        cw_autofree char *path = cw_mem_printf("f:%s", name);
        json_object_set(members, path, member);
    }
    return members;
}

static bool is_empty_set(const json_t *set)
{
    return json_object_size(set) == 0;
}

/* What `after` has that `before` has not, or otherwise; NULL: nothing. `dots`: values that are new and
 * have members are members themselves. */
static json_t *changed(const char *field, const json_t *before, const json_t *after, bool dots)
{
    json_auto_t *members = members_of(field, after);
    if (!members || is_empty_set(members))
        return before && json_equal(before, after) ? NULL : json_object();
    json_auto_t *old = before ? members_of(field, before) : NULL;
    json_t *set = json_object();
    const char *path;
    json_t *member;
    json_object_foreach (members, path, member) {
        json_t *inner = changed(path + 2, json_object_get(old, path), member, dots);
        if (inner)
            json_object_set_new(set, path, inner);
    }
    if (!before && (dots || *field == '{'))
        json_object_set_new(set, ".", json_object());
    if (!is_empty_set(set))
        return set;
    json_decref(set);
    return NULL;
}

/* Removes from `set` what `other` names, and what the object has not any more. */
static void subtract(json_t *set, const json_t *other)
{
    const char *path;
    json_t *inner;
    void *next;
    json_object_foreach_safe (set, next, path, inner) {
        const json_t *in_other = json_object_get(other, path);
        if (!in_other)
            continue;
        bool is_leaf = is_empty_set(inner);
        if (!is_leaf)
            subtract(inner, in_other);
        if (is_leaf || is_empty_set(inner))
            json_object_del(set, path);
    }
}

static void keep_existing(json_t *set, const char *field, const json_t *value)
{
    json_auto_t *members = members_of(field, value);
    const char *path;
    json_t *inner;
    void *next;
    json_object_foreach_safe (set, next, path, inner) {
        if (cw_str_eq(path, "."))
            continue;
        const json_t *member = json_object_get(members, path);
        bool was_leaf = is_empty_set(inner);
        if (member)
            keep_existing(inner, path + 2, member);
        if (!member || (!was_leaf && is_empty_set(inner)))
            json_object_del(set, path);
    }
}

static void unite(json_t *set, const json_t *other)
{
    const char *path;
    json_t *inner;
    json_object_foreach ((json_t *)other, path, inner) {
        json_t *mine = json_object_get(set, path);
        if (mine)
            unite(mine, inner);
        else
            json_object_set_new(set, path, json_deep_copy(inner));
    }
}

/* The object without what is never in a set, or only the part that a subresource is about. */
static json_t *visible(const json_t *object, const char *sub)
{
    json_t *ret = json_object();
    const char *name;
    json_t *value;
    if (cw_str_eq(sub, "status")) {
        json_object_set(ret, "status", json_object_get(object, "status"));
        return ret;
    }
    json_object_foreach ((json_t *)object, name, value)
        if (!cw_str_eq(name, "metadata") && !cw_str_eq(name, "kind") &&
            !cw_str_eq(name, "apiVersion"))
            json_object_set(ret, name, value);
    json_t *metadata = json_object();
    json_object_foreach (json_object_get(object, "metadata"), name, value)
        if (!is_hidden(name))
            json_object_set(metadata, name, value);
    if (json_object_size(metadata))
        json_object_set(ret, "metadata", metadata);
    json_decref(metadata);
    return ret;
}

/* "." at the top, and at f:metadata, is never there. */
static void drop_top_dots(json_t *set, bool of_custom)
{
    json_object_del(set, ".");
    json_object_del(json_object_get(set, "f:metadata"), ".");
    if (!of_custom) {
        json_object_del(json_object_get(set, "f:spec"), ".");
        json_object_del(json_object_get(set, "f:status"), ".");
    }
}

static json_t *find_entry(json_t *managed, const char *manager, const char *operation,
                          const char *sub)
{
    size_t i;
    json_t *entry;
    json_array_foreach (managed, i, entry)
        if (cw_str_eq(fk_text(entry, "manager"), manager) &&
            cw_str_eq(fk_text(entry, "operation"), operation) &&
            cw_str_eq(fk_text_or(entry, "subresource", ""), sub ? sub : ""))
            return entry;
    return NULL;
}

/* Removes a set from the entries of all others, and entries that have nothing left. */
static void take_from_others(json_t *managed, const json_t *mine, const json_t *set,
                             const json_t *object)
{
    json_auto_t *whole = visible(object, NULL);
    for (size_t i = json_array_size(managed); i-- > 0;) {
        json_t *entry = json_array_get(managed, i);
        json_t *fields = json_object_get(entry, "fieldsV1");
        if (entry != mine && set)
            subtract(fields, set);
        keep_existing(fields, "", whole);
        if (is_empty_set(fields))
            json_array_remove(managed, i);
    }
}

/* Puts a set into the manager's entry, which moves to the end with the present time. */
static void give(const struct fk_server *server, const struct fk_kind *kind, json_t *managed,
                 json_t *set, const char *manager, const char *operation, const char *sub)
{
    char now[32];
    fk_time_text(server, 0, now);
    cw_autofree char *api_version = fk_kind_api_version(kind);
    json_t *entry = find_entry(managed, manager, operation, sub);
    json_t *fresh =
        json_pack("{s:s, s:s, s:O, s:s, s:s}", "apiVersion", api_version, "fieldsType", "FieldsV1",
                  "fieldsV1", set, "manager", manager, "operation", operation);
    if (sub)
        fk_put_text(fresh, "subresource", sub);
    fk_put_text(fresh, "time", now);
    for (size_t i = 0; entry && i < json_array_size(managed); i++)
        if (json_array_get(managed, i) == entry) {
            json_array_remove(managed, i);
            break;
        }
    json_array_append_new(managed, fresh);
}

static json_t *managed_of(json_t *object)
{
    json_t *managed = json_deep_copy(fk_at(object, "metadata.managedFields"));
    return json_is_array(managed) ? managed : (json_decref(managed), json_array());
}

void fk_managed_update(const struct fk_server *server, const struct fk_kind *kind,
                       const json_t *before, json_t *after, const char *manager, const char *sub)
{
    if (server->options.no_managed_fields)
        return;
    json_auto_t *old = before ? visible(before, sub) : json_object();
    json_auto_t *new = visible(after, sub);
    json_auto_t *set = changed("", old, new, true);
    json_t *managed = managed_of(after);
    if (set)
        drop_top_dots(set, kind->custom);
    json_t *entry = find_entry(managed, manager, "Update", sub);
    json_auto_t *all = entry ? json_deep_copy(json_object_get(entry, "fieldsV1")) : json_object();
    take_from_others(managed, entry, set, after);
    if (set && !is_empty_set(set)) {
        unite(all, set);
        json_auto_t *whole = visible(after, NULL);
        keep_existing(all, "", whole);
        give(server, kind, managed, all, manager, "Update", sub);
    }
    fk_put(after, "metadata.managedFields", managed);
    if (!json_array_size(managed))
        fk_put(after, "metadata.managedFields", NULL);
}

json_t *fk_managed_fields_of(const json_t *object)
{
    json_auto_t *config = visible(object, NULL);
    json_t *set = changed("", NULL, config, false);
    json_object_del(set, ".");
    return set;
}

/* ---- server-side apply ---- */
/* Adds a cause for each leaf of `set` that `theirs` owns and whose value differs. */
static void add_conflicts(json_t *causes, const char *who, const char *where, const char *field,
                          const json_t *set, const json_t *theirs, const json_t *object,
                          const json_t *config)
{
    const char *path;
    json_t *inner;
    json_auto_t *now = members_of(field, object);
    json_auto_t *wanted = members_of(field, config);
    json_object_foreach ((json_t *)set, path, inner) {
        const json_t *other = json_object_get(theirs, path);
        json_t *value = json_object_get(now, path), *wish = json_object_get(wanted, path);
        if (!other || cw_str_eq(path, ".") || json_equal(value, wish))
            continue;
        cw_autofree char *at = cw_mem_printf(*path == 'f' ? "%s.%s" : "%s[%s]", where, path + 2);
        if (!is_empty_set(inner)) {
            add_conflicts(causes, who, at, path + 2, inner, other, value, wish);
            continue;
        }
        cw_autofree char *message = cw_mem_printf("conflict with %s", who);
        fk_cause(causes, "FieldManagerConflict", at, "%s", message);
    }
}

json_t *fk_managed_conflicts(const json_t *object, const json_t *config, const char *manager)
{
    json_auto_t *set = fk_managed_fields_of(config);
    json_t *causes = json_array();
    size_t i;
    json_t *entry;
    json_array_foreach (fk_at(object, "metadata.managedFields"), i, entry) {
        if (cw_str_eq(fk_text(entry, "manager"), manager) &&
            cw_str_eq(fk_text(entry, "operation"), "Apply"))
            continue;
        const char *sub = fk_text(entry, "subresource");
        bool applied = cw_str_eq(fk_text(entry, "operation"), "Apply");
        cw_autofree char *who =
            cw_mem_printf("\"%s\"%s%s%s%s%s", fk_text(entry, "manager"),
                          sub ? " with subresource \"" : "", sub ? sub : "", sub ? "\"" : "",
                          applied ? "" : " using ", applied ? "" : fk_text(entry, "apiVersion"));
        add_conflicts(causes, who, "", "", set, json_object_get(entry, "fieldsV1"), object, config);
    }
    if (json_array_size(causes))
        return causes;
    json_decref(causes);
    return NULL;
}

void fk_managed_apply(const struct fk_server *server, const struct fk_kind *kind, json_t *object,
                      json_t *fields, const char *manager, bool force)
{
    json_t *managed = managed_of(object);
    if (force)
        take_from_others(managed, find_entry(managed, manager, "Apply", NULL), fields, object);
    give(server, kind, managed, fields, manager, "Apply", NULL);
    fk_put(object, "metadata.managedFields", managed);
}
