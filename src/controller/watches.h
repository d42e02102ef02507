/* SPDX-License-Identifier: Apache-2.0 */
/* What the controller sees of the cluster: CacheBackends, and of ConfigMaps, jobs and pods those with
 * the label alone. */
#ifndef CW_CONTROLLER_WATCHES_H
#define CW_CONTROLLER_WATCHES_H

#include "controller/jobs.h"
#include "controller/writes.h"

void cw_watches_start(struct cw_controller *c);
void cw_watches_stop(struct cw_controller *c);
const struct cw_map_facts *cw_watches_map(const struct cw_item *item);
const struct cw_claim_facts *cw_watches_claim(const struct cw_item *item);
/* The job of the item's jobRef; NULL: it is not seen. */
const struct cw_job_facts *cw_watches_job(const struct cw_item *item);
/* Pods that wait for the item, and whose gate's removal was asked for, or not:
 * `for (size_t i = 0; (pod = cw_watches_pod(item, false, &i));)`. */
struct cw_pod_facts *cw_watches_pod(const struct cw_item *item, bool asked, size_t *i);

#endif
