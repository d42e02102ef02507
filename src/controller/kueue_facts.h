/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads and AdmissionChecks of Kueue: what is read of them, and the patches of their status. Pure
 * functions. */
#ifndef CW_CONTROLLER_KUEUE_FACTS_H
#define CW_CONTROLLER_KUEUE_FACTS_H

#include "base/str.h"
#include "conf/value.h"

/* spec.controllerName of the AdmissionChecks that this controller answers. */
#define CW_KUEUE_CONTROLLER "cachew.dev/cache"

struct cw_admission_check {
    char *name, *version;
    int64_t generation;
    bool is_ours, is_active;
    struct cw_value conditions; /* the list as it is; null: there is none */
};
struct cw_admission_check *cw_admission_check_read(const struct cw_value *object) CW_MUST_CHECK;
void cw_admission_check_free(struct cw_admission_check *check); /* accepts NULL */
/* Appends a patch of its status that makes it active, without which its queues admit nothing. */
void cw_admission_check_activate(const struct cw_admission_check *check, int64_t now_us,
                                 struct cw_str *out);

struct cw_workload {
    char *name_space, *name, *uid, *version;
    char *kind, *owner, *owner_uid; /* of the job or pod that it stands for; "": none */
    struct cw_value checks;         /* status.admissionChecks as it is; null: there are none */
    /* What was begun for this version: an answer, and the question whether the job has the label. */
    bool answered, asked;
    bool waits_for_nothing; /* the job has no label */
};
struct cw_workload *cw_workload_read(const struct cw_value *object) CW_MUST_CHECK;
void cw_workload_free(struct cw_workload *workload); /* accepts NULL */
/* Whether a check of this name is not answered yet. */
bool cw_workload_waits(const struct cw_workload *workload, const char *check);
/* Appends a patch of its status that sets one check to Ready and leaves the others as they are. */
void cw_workload_answer(const struct cw_workload *workload, const char *check, const char *message,
                        int64_t now_us, struct cw_str *out);

#endif
