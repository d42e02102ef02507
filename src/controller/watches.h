/* SPDX-License-Identifier: Apache-2.0 */
/* What the controller sees of the cluster: CacheBackends, and of ConfigMaps, jobs and pods those with
 * the label alone. */
#ifndef CW_CONTROLLER_WATCHES_H
#define CW_CONTROLLER_WATCHES_H

#include "controller/jobs.h"
#include "controller/writes.h"

void cw_watches_start(struct cw_controller *c);
/* Lists all anew; nothing is done until the lists are in (is_fresh). */
void cw_watches_relist(struct cw_controller *c);
void cw_watches_stop(struct cw_controller *c);
const struct cw_map_facts *cw_watches_map(const struct cw_item *item);
const struct cw_claim_facts *cw_watches_claim(const struct cw_item *item);
/* Whether jobs of a kind are watched, and one of them by its name; NULL: it is not seen. */
bool cw_watches_kind(const struct cw_controller *c, const struct cw_job_kind *kind);
struct cw_job_facts *cw_watches_job_named(const struct cw_controller *c,
                                          const struct cw_job_kind *kind, const char *name_space,
                                          const char *name);
const struct cw_pod_facts *cw_watches_pod_named(const struct cw_controller *c,
                                                const char *name_space, const char *name);
/* The job of the item's jobRef; NULL: it is not seen. */
const struct cw_job_facts *cw_watches_job(const struct cw_item *item);
/* How many pods have the item's claim among their volumes and have not ended; the names of the first ones,
 * valid until the next event. */
size_t cw_watches_pod_users(const struct cw_item *item, const char **names, size_t cap);
/* Pods that wait for the item, and whose gate's removal was asked for, or not:
 * `for (size_t i = 0; (pod = cw_watches_pod(item, false, &i));)`. */
struct cw_pod_facts *cw_watches_pod(const struct cw_item *item, bool asked, size_t *i);

#endif
