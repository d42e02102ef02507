/* SPDX-License-Identifier: Apache-2.0 */
/* Makes CacheBackends for jobs. What is wrong in an annotation is told by an Event of the job, once for
 * each version of it. */
#include "controller/job_specs.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "conf/value_yaml.h"
#include "controller/watches.h"

static const struct cw_kube_kind backends = {CW_CACHEBACKEND_GROUP, CW_CACHEBACKEND_VERSION,
                                             "cachebackends"};

/* The job that is the object's is named by the controller, whatever the annotation says. */
static void set_job(struct cw_value *spec, const struct cw_job_facts *job)
{
    struct cw_value *ref = cw_value_member(spec, "jobRef");
    cw_value_set_object(ref);
    cw_value_set_str(cw_value_member(ref, "kind"), job->kind);
    cw_value_set_str(cw_value_member(ref, "name"), job->name);
}

static void print_object(const struct cw_job_facts *job, const struct cw_value *spec,
                         struct cw_str *out)
{
    const struct cw_job_kind *kind = cw_job_kind_find(job->kind);
    cw_str_add(out, "{\"apiVersion\":\"" CW_CACHEBACKEND_GROUP "/" CW_CACHEBACKEND_VERSION
                    "\",\"kind\":\"CacheBackend\",\"metadata\":{\"name\":");
    cw_str_add_json(out, job->wants, strlen(job->wants));
    cw_str_addf(out,
                ",\"ownerReferences\":[{\"apiVersion\":\"%s/%s\",\"kind\":\"%s\",\"name\":\"%s\","
                "\"uid\":\"%s\"}]},\"spec\":",
                kind->kind.group, kind->kind.version, kind->name, job->name, job->uid);
    cw_value_print(spec, out);
    cw_str_add(out, "}");
}

int cw_job_spec_print(const struct cw_job_facts *job, struct cw_str *out, struct cw_err *err)
{
    struct cw_value spec = {0};
    int rc = cw_value_parse_yaml(job->spec, strlen(job->spec), CW_BACKEND_SPEC, &spec, err);
    if (rc != 0)
        return rc;
    if (spec.type == CW_VALUE_OBJECT) {
        set_job(&spec, job);
        print_object(job, &spec, out);
    } else {
        rc = cw_err_set(err, CW_E_INVALID, CW_BACKEND_SPEC ": it is no object, but %s",
                        cw_value_type_name(spec.type));
    }
    cw_value_fini(&spec);
    return rc;
}

/* ---- making ---- */

static void tell(struct cw_controller *c, const struct cw_job_facts *job, const char *note)
{
    const struct cw_job_kind *kind = cw_job_kind_find(job->kind);
    cw_autofree char *version = cw_mem_printf("%s/%s", kind->kind.group, kind->kind.version);
    const struct cw_kube_event event = {
        .regarding = {version, kind->name, job->name_space, job->name, job->uid},
        .warning = true,
        .reason = "CacheBackendInvalid",
        .action = "Create",
        .note = note};
    cw_kube_events_tell(c->events, &event);
    cw_log_warn(CW_CONTROLLER, "%s %s/%s: %s", job->kind, job->name_space, job->name, note);
}

/* A creation under way. */
struct cw_job_spec {
    struct cw_controller *c;
    char *kind, *name_space, *name;
    struct cw_job_spec *prev, *next;
};

static void free_spec(struct cw_job_spec *spec)
{
    if (spec->prev)
        spec->prev->next = spec->next;
    else
        spec->c->specs = spec->next;
    if (spec->next)
        spec->next->prev = spec->prev;
    cw_mem_free(spec->kind);
    cw_mem_free(spec->name_space);
    cw_mem_free(spec->name);
    cw_mem_free(spec);
}

static struct cw_job_facts *find(const struct cw_job_spec *spec)
{
    return cw_watches_job_named(spec->c, cw_job_kind_find(spec->kind), spec->name_space,
                                spec->name);
}

static void on_made(void *arg, struct cw_kube_answer *answer)
{
    struct cw_job_spec *spec = arg;
    struct cw_job_facts *job = find(spec);
    bool made = answer->code == CW_OK || answer->status.reason == CW_KUBE_AlreadyExists;
    bool final = answer->status.reason == CW_KUBE_Invalid ||
                 answer->status.reason == CW_KUBE_BadRequest ||
                 answer->status.reason == CW_KUBE_Forbidden;
    if (job && !made && final)
        tell(spec->c, job, answer->err->msg);
    else if (job && !made)
        job->asked = false; /* it is tried again at the next change, or tick */
    free_spec(spec);
}

static void make(struct cw_controller *c, struct cw_job_facts *job)
{
    const struct cw_kube_target all = {&backends, job->name_space, NULL, NULL};
    CW_STR_AUTO body = {0};
    struct cw_err err = {0};
    job->asked = true;
    if (cw_job_spec_print(job, &body, &err) != 0) {
        tell(c, job, err.msg);
        return;
    }
    struct cw_job_spec *spec = CW_NEW(struct cw_job_spec);
    *spec = (struct cw_job_spec){.c = c,
                                 .kind = cw_mem_strdup(job->kind),
                                 .name_space = cw_mem_strdup(job->name_space),
                                 .name = cw_mem_strdup(job->name),
                                 .next = c->specs};
    if (c->specs)
        c->specs->prev = spec;
    c->specs = spec;
    c->other_writes++;
    struct cw_kube_call *call = cw_kube_create(c->kube, &all, cw_str_text(&body), on_made, spec);
    (void)call;
}

static void make_of(struct cw_controller *c, const struct cw_kube_objects *objects)
{
    const struct cw_kube_object *object;
    for (size_t i = 0; (object = cw_kube_objects_next(objects, &i)) != NULL;) {
        struct cw_job_facts *job = object->kept;
        if (!job || job->spec[0] == '\0' || job->asked || job->finished)
            continue;
        cw_autofree char *key = cw_mem_printf("%s/%s", job->name_space, job->wants);
        if (!cw_item_find(c, key))
            make(c, job);
    }
}

void cw_job_specs_make(struct cw_controller *c)
{
    for (size_t i = 0; c->options.job_annotations && i < CW_JOB_KINDS; i++)
        if (c->jobs[i].watch)
            make_of(c, cw_kube_watch_objects(c->jobs[i].watch));
}

void cw_job_specs_free(struct cw_controller *c)
{
    while (c->specs)
        free_spec(c->specs);
}
