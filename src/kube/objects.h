/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of one kind by namespace and name: what lists and events of a watch make of them, with one
 * callback a change. No network is in here.
 *
 * A server, or one of several behind one address, may send an event twice or send an older one. An
 * event with the version that is known is a duplicate. Versions are texts that are only compared for
 * being equal, with one exception: where both are decimal numbers (as they are on every server, and by
 * contract from 1.35 on), a lower one of the same object is an older event, which is left out. What
 * would make an object appear, or replace one by another, although its version is older than what was
 * seen, is never believed: the caller lists again. */
#ifndef CW_KUBE_OBJECTS_H
#define CW_KUBE_OBJECTS_H

#include "base/map.h"
#include "conf/value.h"

struct cw_kube_object {
    char *key; /* "namespace/name", or "/name" */
    char *uid, *version;
    void *kept;      /* what digest made of it */
    uint64_t listed; /* the last list in which it was */
};
enum cw_kube_change { CW_KUBE_ADDED, CW_KUBE_UPDATED, CW_KUBE_DELETED };
struct cw_kube_objects_events {
    /* Makes of an object what is kept of it; it may empty the object. NULL: nothing is kept. */
    void *(*digest)(void *arg, struct cw_value *object);
    void (*dispose)(void *arg, void *kept); /* frees that; NULL if digest is */
    /* Tells a change. before: what was kept of an updated object, valid during the call. The objects
     * may be looked at, and not be changed. An object that was replaced by one of the same name is
     * deleted, then added. */
    void (*changed)(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                    void *before);
    void *arg;
};
struct cw_kube_objects {
    struct cw_strmap map;
    struct cw_kube_objects_events events;
    char *position; /* the version up to which changes are known; NULL: none */
    uint64_t list;  /* the number of the present or last list */
};
void cw_kube_objects_init(struct cw_kube_objects *objects,
                          const struct cw_kube_objects_events *events);
/* Frees everything, and tells nothing. */
void cw_kube_objects_fini(struct cw_kube_objects *objects);
const struct cw_kube_object *cw_kube_objects_find(const struct cw_kube_objects *objects,
                                                  const char *name_space, const char *name);
size_t cw_kube_objects_n(const struct cw_kube_objects *objects);
/* `for (size_t i = 0; (object = cw_kube_objects_next(objects, &i));)` */
const struct cw_kube_object *cw_kube_objects_next(const struct cw_kube_objects *objects, size_t *i);

/* A list begins, or begins again. */
void cw_kube_objects_list_begin(struct cw_kube_objects *objects);
/* Takes an object of a list. INVALID: it has no name, uid or version. */
int cw_kube_objects_list_item(struct cw_kube_objects *objects, struct cw_value *object,
                              struct cw_err *err);
/* The list is whole: what was not in it is deleted, and changes are known up to its version. */
void cw_kube_objects_list_end(struct cw_kube_objects *objects, const char *version);

/* Takes an event of a watch: its type, "ADDED", "MODIFIED", "DELETED" or "BOOKMARK", and its object.
 * CW_OK: it was applied or left out. AGAIN: it cannot be believed, and only a list tells the truth.
 * INVALID: it is no event; nothing was changed. */
int cw_kube_objects_event(struct cw_kube_objects *objects, const char *type,
                          struct cw_value *object, struct cw_err *err);

#endif
