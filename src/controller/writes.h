/* SPDX-License-Identifier: Apache-2.0 */
/* What the controller writes to the API server: its own finalizer, status, ConfigMaps, one field of a
 * job, one gate of a pod. Each write carries the version that was read. */
#ifndef CW_CONTROLLER_WRITES_H
#define CW_CONTROLLER_WRITES_H

#include "controller/controller.h"
#include "controller/claims.h"
#include "controller/jobs.h"
#include "controller/map_facts.h"

/* The end of any write. Returns the item if it has succeeded. */
struct cw_item *cw_write_finish(struct cw_ref *ref, struct cw_kube_answer *answer);
/* Appends the ownerReferences of what belongs to a CacheBackend, as a member of JSON. */
void cw_write_owner(struct cw_str *json, const struct cw_cachebackend *b);
void cw_write_finalizer(struct cw_item *item, bool adds);
void cw_write_status(struct cw_item *item, const char *body, bool only_figures);
void cw_write_map(struct cw_item *item, const struct cw_map_facts *before);
void cw_delete_map(struct cw_item *item);
void cw_make_claim(struct cw_item *item);   /* its volume before */
void cw_delete_claim(struct cw_item *item); /* and its volume */
void cw_release_job(struct cw_item *item, const struct cw_job_facts *job);
void cw_release_pod(struct cw_item *item, const struct cw_pod_facts *pod);
/* Deletes the CacheBackend if it still has the version that was read. failed, which may be NULL, is
 * called if it does not. */
void cw_delete_backend(struct cw_item *item, void (*failed)(struct cw_item *item));

#endif
