/* SPDX-License-Identifier: Apache-2.0 */
/* Reads jobs and pods. */
#include "controller/jobs.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/cachebackend.h"
#include "kube/field.h"
#include "kube/kube_time.h"

#define QUEUE_LABEL "kueue.x-k8s.io/queue-name"

const struct cw_job_kind cw_job_kinds[] = {
    {"Job", {"batch", "v1", "jobs"}, "kubernetes.io/job-controller"},
    {"JobSet", {"jobset.x-k8s.io", "v1alpha2", "jobsets"}, "jobset.sigs.k8s.io/jobset-controller"},
    {"TrainJob",
     {"trainer.kubeflow.org", "v1alpha1", "trainjobs"},
     "trainer.kubeflow.org/trainjob-controller"},
    {"RayJob", {"ray.io", "v1", "rayjobs"}, "ray.io/kuberay-operator"},
};
const size_t cw_job_kinds_n = CW_ARRAY_LEN(cw_job_kinds);

const struct cw_job_kind *cw_job_kind_find(const char *name)
{
    for (size_t i = 0; i < cw_job_kinds_n; i++)
        if (cw_str_eq(cw_job_kinds[i].name, name))
            return &cw_job_kinds[i];
    return NULL;
}

/* A member of metadata.labels or metadata.annotations, whose names have points in them; "": none. */
static const char *mark(const struct cw_value *object, const char *where, const char *name)
{
    const struct cw_value *marks = cw_kube_field(object, where);
    const struct cw_value *value = marks ? cw_value_get(marks, name) : NULL;
    return value && value->type == CW_VALUE_STR ? value->s : "";
}

static bool has_owner(const struct cw_value *object)
{
    size_t n = 0;
    const struct cw_value *owners = cw_kube_list(object, "metadata.ownerReferences", &n);
    for (size_t i = 0; i < n; i++) {
        const struct cw_value *controls = cw_kube_field(&owners[i], "controller");
        if (controls && controls->type == CW_VALUE_BOOL && controls->b)
            return true;
    }
    return false;
}

static bool ends_it(const char *type)
{
    return cw_str_eq(type, "Complete") || cw_str_eq(type, "Completed") ||
           cw_str_eq(type, "Succeeded") || cw_str_eq(type, "Failed");
}

static void read_end(const struct cw_value *object, struct cw_job_facts *job)
{
    size_t n = 0;
    int64_t us = 0;
    const struct cw_value *conditions = cw_kube_list(object, "status.conditions", &n);
    job->finished = ends_it(cw_kube_text(object, "status.jobDeploymentStatus"));
    for (size_t i = 0; i < n; i++) {
        const char *when = cw_kube_text(&conditions[i], "lastTransitionTime");
        if (!ends_it(cw_kube_text(&conditions[i], "type")) ||
            !cw_str_eq(cw_kube_text(&conditions[i], "status"), "True"))
            continue;
        job->finished = true;
        if (when && cw_kube_time_parse(when, &us, NULL) == 0)
            job->finished_ms = us / 1000;
    }
}

static char *copy(const struct cw_value *object, const char *path)
{
    const char *text = cw_kube_text(object, path);
    return cw_mem_strdup(text ? text : "");
}

struct cw_job_facts *cw_job_facts_read(const struct cw_job_kind *kind,
                                       const struct cw_value *object)
{
    const struct cw_value *suspend = cw_kube_field(object, "spec.suspend");
    const char *managed_by = cw_kube_text(object, "spec.managedBy");
    if (!cw_kube_text(object, "metadata.name"))
        return NULL;
    if (!managed_by || strcmp(managed_by, kind->controller) == 0)
        managed_by = "";
    struct cw_job_facts *job = CW_NEW(struct cw_job_facts);
    job->kind = kind->name;
    job->name_space = copy(object, "metadata.namespace");
    job->name = copy(object, "metadata.name");
    job->uid = copy(object, "metadata.uid");
    job->version = copy(object, "metadata.resourceVersion");
    job->wants = cw_mem_strdup(mark(object, "metadata.annotations", CW_BACKEND_ANNOTATION));
    job->spec = cw_mem_strdup(mark(object, "metadata.annotations", CW_BACKEND_SPEC));
    job->managed_by = cw_mem_strdup(managed_by);
    job->suspended = suspend && suspend->type == CW_VALUE_BOOL && suspend->b;
    job->is_queued = mark(object, "metadata.labels", QUEUE_LABEL)[0] != '\0';
    job->is_owned = has_owner(object);
    read_end(object, job);
    return job;
}

void cw_job_name_spec(struct cw_job_facts *job)
{
    if (job->spec[0] == '\0' || job->wants[0] != '\0')
        return;
    cw_mem_free(job->wants);
    job->wants = cw_mem_printf("cache-%s-%.5s", job->name, job->uid);
}

void cw_job_facts_free(struct cw_job_facts *job)
{
    if (!job)
        return;
    cw_mem_free(job->name_space);
    cw_mem_free(job->name);
    cw_mem_free(job->uid);
    cw_mem_free(job->version);
    cw_mem_free(job->wants);
    cw_mem_free(job->spec);
    cw_mem_free(job->managed_by);
    cw_mem_free(job);
}

/* ---- pods ---- */

static void read_gates(const struct cw_value *object, struct cw_pod_facts *pod)
{
    CW_STR_AUTO others = {0};
    size_t n = 0;
    const struct cw_value *gates = cw_kube_list(object, "spec.schedulingGates", &n);
    cw_str_add(&others, "[");
    for (size_t i = 0; i < n; i++) {
        if (cw_str_eq(cw_kube_text(&gates[i], "name"), CW_BACKEND_GATE)) {
            pod->gated = true;
            continue;
        }
        cw_str_add(&others, others.len > 1 ? "," : "");
        cw_value_print(&gates[i], &others);
    }
    cw_str_add(&others, "]");
    pod->other_gates = cw_str_take(&others);
}

static void read_claims(const struct cw_value *object, struct cw_pod_facts *pod)
{
    size_t n = 0;
    const struct cw_value *volumes = cw_kube_list(object, "spec.volumes", &n);
    pod->claims = CW_NEW_ARRAY(char *, n);
    for (size_t i = 0; i < n; i++) {
        const char *claim = cw_kube_text(&volumes[i], "persistentVolumeClaim.claimName");
        if (claim)
            pod->claims[pod->claims_n++] = cw_mem_strdup(claim);
    }
}

bool cw_pod_uses(const struct cw_pod_facts *pod, const char *claim)
{
    for (size_t i = 0; i < pod->claims_n && !pod->finished; i++)
        if (strcmp(pod->claims[i], claim) == 0)
            return true;
    return false;
}

struct cw_pod_facts *cw_pod_facts_read(const struct cw_value *object)
{
    if (!cw_kube_text(object, "metadata.name"))
        return NULL;
    struct cw_pod_facts *pod = CW_NEW(struct cw_pod_facts);
    pod->name_space = copy(object, "metadata.namespace");
    pod->name = copy(object, "metadata.name");
    pod->uid = copy(object, "metadata.uid");
    pod->version = copy(object, "metadata.resourceVersion");
    pod->wants = cw_mem_strdup(mark(object, "metadata.annotations", CW_BACKEND_ANNOTATION));
    pod->is_queued = mark(object, "metadata.labels", QUEUE_LABEL)[0] != '\0';
    const char *phase = cw_kube_text(object, "status.phase");
    pod->finished = cw_str_eq(phase, "Succeeded") || cw_str_eq(phase, "Failed");
    read_gates(object, pod);
    read_claims(object, pod);
    return pod;
}

void cw_pod_facts_free(struct cw_pod_facts *pod)
{
    if (!pod)
        return;
    cw_mem_free(pod->name_space);
    cw_mem_free(pod->name);
    cw_mem_free(pod->uid);
    cw_mem_free(pod->version);
    cw_mem_free(pod->wants);
    cw_mem_free(pod->other_gates);
    for (size_t i = 0; i < pod->claims_n; i++)
        cw_mem_free(pod->claims[i]);
    cw_mem_free(pod->claims);
    cw_mem_free(pod);
}
