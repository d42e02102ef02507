/* SPDX-License-Identifier: Apache-2.0 */
/* Kueue: the AdmissionCheck by which a job in a queue waits for its cache. The state of the check in the
 * status of the job's Workload is all that is written; suspend and gates of what is under Kueue stay
 * Kueue's. */
#ifndef CW_CONTROLLER_KUEUE_H
#define CW_CONTROLLER_KUEUE_H

#include "controller/controller.h"

/* Begins its watches. Nothing else waits for them. */
void cw_kueue_start(struct cw_controller *c);
void cw_kueue_relist(struct cw_kueue *kueue); /* as cw_watches_relist */
void cw_kueue_stop(struct cw_controller *c);
/* Answers what can be answered, if something has changed. */
void cw_kueue_turn(struct cw_controller *c);
/* Once a second: what has failed is tried again. */
void cw_kueue_tick(struct cw_controller *c);
void cw_kueue_counts(const struct cw_controller *c, struct cw_kube_watch_counts *sum);

#endif
