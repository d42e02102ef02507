/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of objects. */
#include "kube/objects.h"

#include <string.h>

#include "base/mem.h"
#include "kube/field.h"

/* What tells one object from another, and its state from others. Borrowed from the object. */
struct identity {
    const char *uid, *version;
    char *key;
};

void cw_kube_objects_init(struct cw_kube_objects *objects,
                          const struct cw_kube_objects_events *events)
{
    *objects = (struct cw_kube_objects){.events = *events};
}

static void dispose(struct cw_kube_objects *objects, void *kept)
{
    if (kept && objects->events.dispose)
        objects->events.dispose(objects->events.arg, kept);
}

static void free_object(struct cw_kube_objects *objects, struct cw_kube_object *object)
{
    dispose(objects, object->kept);
    cw_mem_free(object->key);
    cw_mem_free(object->uid);
    cw_mem_free(object->version);
    cw_mem_free(object);
}

void cw_kube_objects_fini(struct cw_kube_objects *objects)
{
    const char *key;
    void *value;

    for (size_t i = 0; cw_strmap_next(&objects->map, &i, &key, &value);)
        free_object(objects, value);
    cw_strmap_fini(&objects->map);
    cw_mem_free(objects->position);
    *objects = (struct cw_kube_objects){0};
}

static char *key_of(const char *name_space, const char *name)
{
    return cw_mem_printf("%s/%s", name_space ? name_space : "", name);
}

const struct cw_kube_object *cw_kube_objects_find(const struct cw_kube_objects *objects,
                                                  const char *name_space, const char *name)
{
    cw_autofree char *key = key_of(name_space, name);

    return cw_strmap_get(&objects->map, key);
}

size_t cw_kube_objects_n(const struct cw_kube_objects *objects)
{
    return objects->map.n;
}

const struct cw_kube_object *cw_kube_objects_next(const struct cw_kube_objects *objects, size_t *i)
{
    const char *key;
    void *value;

    return cw_strmap_next(&objects->map, i, &key, &value) ? value : NULL;
}

/* Whether version a is known to be older than b. */
static bool is_older(const char *a, const char *b)
{
    size_t n = a ? strlen(a) : 0, m = b ? strlen(b) : 0;

    if (n == 0 || m == 0 || strspn(a, "0123456789") != n || strspn(b, "0123456789") != m ||
        a[0] == '0' || b[0] == '0')
        return false;
    return n != m ? n < m : strcmp(a, b) < 0;
}

static void move_to(struct cw_kube_objects *objects, const char *version)
{
    if (is_older(version, objects->position) || cw_str_eq(version, objects->position))
        return;
    cw_mem_free(objects->position);
    objects->position = cw_mem_strdup(version);
}

static int identify(const struct cw_value *object, struct identity *ret, struct cw_err *err)
{
    const char *name = cw_kube_text(object, "metadata.name");
    const char *name_space = cw_kube_text(object, "metadata.namespace");

    ret->uid = cw_kube_text(object, "metadata.uid");
    ret->version = cw_kube_text(object, "metadata.resourceVersion");
    if (!name || !*name || !ret->uid || !*ret->uid || !ret->version || !*ret->version)
        return cw_err_set(err, CW_E_INVALID, "an object \"%.200s\" without metadata.%s",
                          name ? name : "",
                          !name || !*name           ? "name"
                          : !ret->uid || !*ret->uid ? "uid"
                                                    : "resourceVersion");
    ret->key = key_of(name_space, name);
    return CW_OK;
}

static void tell(struct cw_kube_objects *objects, enum cw_kube_change change,
                 const struct cw_kube_object *object, void *before)
{
    if (objects->events.changed)
        objects->events.changed(objects->events.arg, change, object, before);
}

static void *digest(struct cw_kube_objects *objects, struct cw_value *object)
{
    return objects->events.digest ? objects->events.digest(objects->events.arg, object) : NULL;
}

static void add(struct cw_kube_objects *objects, const struct identity *id, struct cw_value *value)
{
    struct cw_kube_object *object = CW_NEW(struct cw_kube_object);

    object->key = cw_mem_strdup(id->key);
    object->uid = cw_mem_strdup(id->uid);
    object->version = cw_mem_strdup(id->version);
    object->listed = objects->list;
    object->kept = digest(objects, value);
    cw_strmap_set(&objects->map, object->key, object);
    tell(objects, CW_KUBE_ADDED, object, NULL);
}

static void update(struct cw_kube_objects *objects, struct cw_kube_object *object,
                   const struct identity *id, struct cw_value *value)
{
    void *before = object->kept;

    cw_mem_free(object->version);
    object->version = cw_mem_strdup(id->version);
    object->kept = digest(objects, value);
    tell(objects, CW_KUBE_UPDATED, object, before);
    dispose(objects, before);
}

static void remove_object(struct cw_kube_objects *objects, struct cw_kube_object *object)
{
    cw_strmap_remove(&objects->map, object->key);
    tell(objects, CW_KUBE_DELETED, object, NULL);
    free_object(objects, object);
}

void cw_kube_objects_list_begin(struct cw_kube_objects *objects)
{
    objects->list++;
}

int cw_kube_objects_list_item(struct cw_kube_objects *objects, struct cw_value *value,
                              struct cw_err *err)
{
    struct identity id = {0};
    int rc = identify(value, &id, err);

    if (rc != CW_OK)
        return rc;
    struct cw_kube_object *object = cw_strmap_get(&objects->map, id.key);
    if (object && !cw_str_eq(object->uid, id.uid)) {
        remove_object(objects, object);
        object = NULL;
    }
    if (object)
        object->listed = objects->list;
    if (!object)
        add(objects, &id, value);
    else if (!cw_str_eq(object->version, id.version))
        update(objects, object, &id, value);
    cw_mem_free(id.key);
    return CW_OK;
}

void cw_kube_objects_list_end(struct cw_kube_objects *objects, const char *version)
{
    const char *key;
    void *value;

    for (size_t i = 0; cw_strmap_next(&objects->map, &i, &key, &value);) {
        struct cw_kube_object *object = value;

        if (object->listed != objects->list)
            remove_object(objects, object);
    }
    cw_mem_free(objects->position);
    objects->position = cw_mem_strdup(version);
}

static int unbelievable(struct cw_err *err, const struct identity *id)
{
    return cw_err_set(err, CW_E_AGAIN, "an event of %.200s goes back to version %.40s", id->key,
                      id->version);
}

/* An object is there. */
static int take_state(struct cw_kube_objects *objects, const struct identity *id,
                      struct cw_value *value, struct cw_err *err)
{
    struct cw_kube_object *object = cw_strmap_get(&objects->map, id->key);
    bool same = object && cw_str_eq(object->uid, id->uid);

    if (same && (cw_str_eq(object->version, id->version) || is_older(id->version, object->version)))
        return CW_OK;
    if (same) {
        update(objects, object, id, value);
        return CW_OK;
    }
    if (is_older(id->version, object ? object->version : objects->position))
        return unbelievable(err, id);
    if (object)
        remove_object(objects, object);
    add(objects, id, value);
    return CW_OK;
}

/* An object is gone. */
static int take_deletion(struct cw_kube_objects *objects, const struct identity *id,
                         struct cw_err *err)
{
    struct cw_kube_object *object = cw_strmap_get(&objects->map, id->key);

    if (!object || is_older(id->version, object->version))
        return CW_OK;
    if (!cw_str_eq(object->uid, id->uid))
        return unbelievable(err, id);
    remove_object(objects, object);
    return CW_OK;
}

static int take_bookmark(struct cw_kube_objects *objects, const struct cw_value *value,
                         struct cw_err *err)
{
    const char *version = cw_kube_text(value, "metadata.resourceVersion");

    if (!version || !*version)
        return cw_err_set(err, CW_E_INVALID, "a bookmark without metadata.resourceVersion");
    if (is_older(version, objects->position))
        return cw_err_set(err, CW_E_AGAIN, "a bookmark goes back to version %.40s", version);
    move_to(objects, version);
    return CW_OK;
}

int cw_kube_objects_event(struct cw_kube_objects *objects, const char *type, struct cw_value *value,
                          struct cw_err *err)
{
    bool deleted = cw_str_eq(type, "DELETED");
    struct identity id = {0};
    int rc;

    if (cw_str_eq(type, "BOOKMARK"))
        return take_bookmark(objects, value, err);
    if (!deleted && !cw_str_eq(type, "ADDED") && !cw_str_eq(type, "MODIFIED"))
        return cw_err_set(err, CW_E_INVALID, "an event of the type \"%.40s\"", type);
    rc = identify(value, &id, err);
    if (rc != CW_OK)
        return rc;
    cw_autofree char *version = cw_mem_strdup(id.version); /* digest may empty the object */
    rc = deleted ? take_deletion(objects, &id, err) : take_state(objects, &id, value, err);
    if (rc == CW_OK)
        move_to(objects, version);
    cw_mem_free(id.key);
    return rc;
}
