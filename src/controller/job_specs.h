/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that carry the spec of their CacheBackend in an annotation (--job-annotations): an object is made
 * for each, which the job owns. */
#ifndef CW_CONTROLLER_JOB_SPECS_H
#define CW_CONTROLLER_JOB_SPECS_H

#include "controller/controller.h"
#include "controller/jobs.h"

/* Prints the CacheBackend of a job's annotation, which is YAML or JSON. INVALID: it is no object, or
 * not to be parsed; the message names the annotation. */
int cw_job_spec_print(const struct cw_job_facts *job, struct cw_str *out, struct cw_err *err);
/* Makes what is missing. */
void cw_job_specs_make(struct cw_controller *c);
/* Forgets what is under way. */
void cw_job_specs_free(struct cw_controller *c);

#endif
