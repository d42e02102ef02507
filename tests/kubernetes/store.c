/* SPDX-License-Identifier: Apache-2.0 */
/* Objects and the events that led to them. */
#include "kubernetes/fk_int.h"
#include <stdio.h>
#include <string.h>
#include "base/mem.h"

static char *key_of(const char *ns, const char *name)
{
    return cw_mem_printf("%s%s%s", ns ? ns : "", ns ? "/" : "", name);
}

/* The place of a key, or where it would stand. */
static size_t place_of(const struct fk_kind *kind, const char *key, bool *ret_there)
{
    size_t lo = 0, hi = kind->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int order = strcmp(kind->objects[mid].key, key);
        if (order == 0) {
            *ret_there = true;
            return mid;
        }
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *ret_there = false;
    return lo;
}

const struct fk_object *fk_store_find(const struct fk_kind *kind, const char *ns, const char *name)
{
    cw_autofree char *key = key_of(kind->namespaced ? ns : NULL, name);
    bool there;
    size_t at = place_of(kind, key, &there);
    return there ? &kind->objects[at] : NULL;
}

json_t *fk_store_get(const struct fk_kind *kind, const char *ns, const char *name)
{
    const struct fk_object *object = fk_store_find(kind, ns, name);
    return object ? object->json : NULL;
}

static void forget_event(struct fk_kind *kind)
{
    json_decref(kind->events[0].before);
    json_decref(kind->events[0].after);
    kind->forgotten = kind->events[0].version;
    kind->events_n--;
    memmove(kind->events, kind->events + 1, kind->events_n * sizeof(*kind->events));
}

/* Keeps an event, and tells the watches. The references are borrowed. */
static void add_event(struct fk_server *server, struct fk_kind *kind, json_t *before, json_t *after)
{
    size_t window = server->options.window ? server->options.window : FK_WINDOW;
    while (kind->events_n >= window)
        forget_event(kind);
    CW_GROW(kind->events, kind->events_n, kind->events_cap);
    kind->events[kind->events_n++] = (struct fk_event){
        .version = server->version, .before = json_incref(before), .after = json_incref(after)};
    fk_watches_tell(server, kind, &kind->events[kind->events_n - 1]);
    server->work_ms = server->work_ms == INT64_MAX ? server->now_ms + FK_STEP_MS : server->work_ms;
}

static void insert_at(struct fk_kind *kind, size_t at, char *key)
{
    CW_GROW(kind->objects, kind->n, kind->cap);
    memmove(kind->objects + at + 1, kind->objects + at, (kind->n - at) * sizeof(*kind->objects));
    kind->objects[at] = (struct fk_object){.key = key};
    kind->n++;
}

json_t *fk_store_put(struct fk_server *server, struct fk_kind *kind, json_t *object)
{
    cw_autofree char *key = key_of(kind->namespaced ? fk_text(object, "metadata.namespace") : NULL,
                                   fk_text(object, "metadata.name"));
    bool there;
    size_t at = place_of(kind, key, &there);
    if (!there)
        insert_at(kind, at, cw_steal(&key));
    struct fk_object *slot = &kind->objects[at];
    json_auto_t *before = slot->json;
    char version[32];
    snprintf(version, sizeof(version), "%llu", (unsigned long long)++server->version);
    fk_put_text(object, "metadata.resourceVersion", version);
    slot->json = object;
    slot->version = server->version;
    add_event(server, kind, before, object);
    return object;
}

void fk_store_place(struct fk_kind *kind, json_t *object)
{
    cw_autofree char *key = key_of(kind->namespaced ? fk_text(object, "metadata.namespace") : NULL,
                                   fk_text(object, "metadata.name"));
    bool there;
    size_t at = place_of(kind, key, &there);
    if (!there)
        insert_at(kind, at, cw_steal(&key));
    json_decref(kind->objects[at].json);
    kind->objects[at].json = json_incref(object);
    (void)cw_str_to_u64(fk_text_or(object, "metadata.resourceVersion", "0"),
                        &kind->objects[at].version);
}

void fk_store_remove(struct fk_server *server, struct fk_kind *kind, const char *ns,
                     const char *name)
{
    cw_autofree char *key = key_of(kind->namespaced ? ns : NULL, name);
    bool there;
    size_t at = place_of(kind, key, &there);
    if (!there)
        return;
    struct fk_object gone = kind->objects[at];
    kind->n--;
    memmove(kind->objects + at, kind->objects + at + 1, (kind->n - at) * sizeof(*kind->objects));
    server->version++;
    add_event(server, kind, gone.json, NULL);
    json_decref(gone.json);
    cw_mem_free(gone.key);
}

void fk_store_clear(struct fk_kind *kind)
{
    for (size_t i = 0; i < kind->n; i++) {
        json_decref(kind->objects[i].json);
        cw_mem_free(kind->objects[i].key);
    }
    kind->n = 0;
    while (kind->events_n > 0)
        forget_event(kind);
}

/* Undoes an event on an object that maps keys to objects. */
static void undo(json_t *objects, const struct fk_kind *kind, const struct fk_event *event)
{
    const json_t *object = event->before ? event->before : event->after;
    cw_autofree char *key = key_of(kind->namespaced ? fk_text(object, "metadata.namespace") : NULL,
                                   fk_text(object, "metadata.name"));
    if (event->before)
        json_object_set(objects, key, event->before);
    else
        json_object_del(objects, key);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *values_by_key(const json_t *objects)
{
    size_t n = json_object_size(objects), at = 0;
    cw_autofree const char **keys = CW_NEW_ARRAY(const char *, n + 1);
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)objects, key, value)
        keys[at++] = key;
    qsort(keys, n, sizeof(*keys), compare_keys);
    json_t *values = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append(values, json_object_get(objects, keys[i]));
    return values;
}

json_t *fk_store_at(const struct fk_kind *kind, uint64_t version)
{
    if (version < kind->forgotten)
        return NULL;
    if (!kind->events_n || kind->events[kind->events_n - 1].version <= version) {
        json_t *objects = json_array();
        for (size_t i = 0; i < kind->n; i++)
            json_array_append(objects, kind->objects[i].json);
        return objects;
    }
    json_auto_t *objects = json_object();
    for (size_t i = 0; i < kind->n; i++)
        json_object_set(objects, kind->objects[i].key, kind->objects[i].json);
    for (size_t i = kind->events_n; i-- > 0 && kind->events[i].version > version;)
        undo(objects, kind, &kind->events[i]);
    return values_by_key(objects);
}

void fk_store_forget(const struct fk_server *server, struct fk_kind *kind)
{
    while (kind->events_n > 0)
        forget_event(kind);
    kind->forgotten = server->version;
}
