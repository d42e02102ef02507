/* SPDX-License-Identifier: Apache-2.0 */
/* Reads CacheBackends. */
#include "controller/cachebackend.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/source_url.h"
#include "kube/field.h"
#include "kube/kube_time.h"
#include "kube/quantity.h"

#define DURATION_MAX_MS ((int64_t)100 * 366 * 86400 * 1000)
#define DEFAULT_HIGH 95
#define DEFAULT_LOW 85

int cw_duration_parse(const char *text, int64_t *ret_ms, struct cw_err *err)
{
    int64_t sum = 0;
    const char *p = text;
    do {
        int64_t n = 0;
        const char *digits = p;
        while (*p >= '0' && *p <= '9' && n < DURATION_MAX_MS)
            n = n * 10 + (*p++ - '0');
        int64_t unit = *p == 'h' ? 3600000 : *p == 'm' ? 60000 : *p == 's' ? 1000 : 0;
        if (p == digits || (unit == 0 && n < DURATION_MAX_MS))
            return cw_err_set(err, CW_E_INVALID, "\"%.100s\" is no time such as 1h30m", text);
        if (n > DURATION_MAX_MS / CW_MAX(unit, 1) || sum > DURATION_MAX_MS - n * unit)
            return cw_err_set(err, CW_E_LIMIT, "\"%.100s\" is more than 100 years", text);
        sum += n * unit;
        p++;
    } while (*p);
    *ret_ms = sum;
    return 0;
}

static void problem(struct cw_cachebackend *b, const char *word, const char *field,
                    const char *text)
{
    if (b->problem[0] != '\0')
        return;
    snprintf(b->problem, sizeof(b->problem), "%s", word);
    snprintf(b->problem_text, sizeof(b->problem_text), "%s: %.400s", field, text);
}

/* ---- fields ---- */

static bool is_true(const struct cw_value *value)
{
    return value && value->type == CW_VALUE_BOOL && value->b;
}

static int64_t percent_of(const struct cw_value *spec, const char *path, int64_t def)
{
    int64_t value = def;
    (void)cw_kube_i64(spec, path, &value);
    return CW_MIN(CW_MAX(value, 0), 100);
}

/* A quantity, which may be a number or a text. */
static int64_t read_quota(struct cw_cachebackend *b, const char *path)
{
    const struct cw_value *value = cw_kube_field(&b->spec, path);
    cw_autofree char *field = cw_mem_printf("spec.%s", path);
    struct cw_err err = {0};
    int64_t bytes = 0;
    if (!value || value->type == CW_VALUE_NULL)
        return 0;
    if (value->type == CW_VALUE_I64 && value->i >= 0)
        return value->i;
    if (value->type != CW_VALUE_STR)
        problem(b, "QuotaInvalid", field, "it is no quantity such as 100Gi");
    else if (cw_kube_quantity(value->s, &bytes, &err) != 0)
        problem(b, "QuotaInvalid", field, err.msg);
    return bytes;
}

static void read_capacity(struct cw_cachebackend *b)
{
    b->quota = read_quota(b, "capacity.quota");
    b->source_quota = read_quota(b, "capacity.sourceQuota");
    b->high_percent = percent_of(&b->spec, "capacity.highWatermarkPercent", DEFAULT_HIGH);
    /* To the dispatcher 0 means its default. */
    b->low_percent = CW_MAX(percent_of(&b->spec, "capacity.lowWatermarkPercent", DEFAULT_LOW), 1);
    if (b->low_percent >= b->high_percent)
        problem(b, "WatermarksInvalid", "spec.capacity",
                "lowWatermarkPercent must be below highWatermarkPercent");
}

static void read_engine(struct cw_cachebackend *b)
{
    const struct cw_value *engine = cw_kube_field(&b->spec, "cacheEngine");
    b->engine = "";
    if (!engine || engine->type != CW_VALUE_OBJECT || engine->n != 1) {
        problem(b, "EngineUnknown", "spec.cacheEngine", "name exactly one engine");
        return;
    }
    b->engine = engine->keys[0];
    b->engine_options = &engine->items[0];
}

static void read_job(struct cw_cachebackend *b)
{
    const char *kind = cw_kube_text(&b->spec, "jobRef.kind");
    b->job_name = cw_kube_text(&b->spec, "jobRef.name");
    b->job_kind = b->job_name ? (kind ? kind : "Job") : NULL;
}

static void check_location(struct cw_cachebackend *b, const char *field, const char *location)
{
    CW_STR_AUTO known = {0};
    struct cw_err err = {0};
    if (location && cw_url_remote_scheme(location)) {
        if (cw_url_check(location, &err) != 0)
            problem(b, "LocationInvalid", field, err.msg);
    } else if (!location ||
               (!cw_str_starts(location, "file:///") && !cw_str_starts(location, "local:///"))) {
        cw_url_add_schemes(&known);
        cw_autofree char *message = cw_mem_printf(
            "this build reads file:///PATH, local:///PATH and URLs of %s", cw_str_text(&known));
        problem(b, "SchemeUnknown", field, message);
    }
}

/* What this build can read. Fluid reads what its runtime can. */
static void check_sources(struct cw_cachebackend *b)
{
    b->sources = cw_kube_list(&b->spec, "dataset.dataSources", &b->sources_n);
    for (size_t i = 0; i < b->sources_n && strcmp(b->engine, "fluid") != 0; i++) {
        const char *location = cw_kube_text(&b->sources[i], "location");
        cw_autofree char *field = cw_mem_printf("spec.dataset.dataSources[%zu].location", i);
        check_location(b, field, location);
    }
}

/* A Dataset has at least one mount, and Fluid frees what it has cached when the Dataset goes. */
static void check_fluid(struct cw_cachebackend *b)
{
    if (strcmp(b->engine, "fluid") != 0)
        return;
    if (b->sources_n == 0)
        problem(b, "SourcesMissing", "spec.dataset.dataSources",
                "with spec.cacheEngine.fluid give at least one, which Fluid mounts");
    if (b->keep)
        problem(b, "RetainUnsupported", "spec.options.deletionPolicy",
                "Fluid keeps nothing of a Dataset that is deleted; leave it out");
}

static void read_options(struct cw_cachebackend *b)
{
    const char *idle = cw_kube_text(&b->spec, "options.idleTime");
    struct cw_err err = {0};
    b->idle_ms = -1;
    if (idle && cw_duration_parse(idle, &b->idle_ms, &err) != 0)
        problem(b, "IdleTimeInvalid", "spec.options.idleTime", err.msg);
    b->keep = cw_str_eq(cw_kube_text(&b->spec, "options.deletionPolicy"), "Retain");
    b->prefetch = is_true(cw_kube_field(&b->spec, "prefetch.enabled"));
    b->ready_percent = b->prefetch ? percent_of(&b->spec, "prefetch.readyPercent", 0) : 0;
    b->suspend = is_true(cw_kube_field(&b->spec, "suspend"));
    b->mount_path = cw_kube_text(&b->spec, "mountPath");
}

static void mark_to_warm(struct cw_cachebackend *b)
{
    static const char *const fields[] = {"dataset.dataSources", "prefetch.paths"};
    CW_STR_AUTO text = {0};
    if (!b->prefetch)
        return;
    for (size_t i = 0; i < CW_ARRAY_LEN(fields); i++) {
        const struct cw_value *value = cw_kube_field(&b->spec, fields[i]);
        if (value)
            cw_value_print(value, &text);
        cw_str_add_char(&text, '\n');
    }
    cw_str_addf(&text, "%" PRId64, b->source_quota);
    cw_hash_text(cw_hash_bytes(cw_str_text(&text), text.len), b->to_warm);
}

static void read_finalizers(struct cw_cachebackend *b, const struct cw_value *object)
{
    const struct cw_value *list = cw_kube_field(object, "metadata.finalizers");
    if (!list || list->type != CW_VALUE_LIST)
        return;
    cw_value_copy(&b->finalizers, list);
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].type == CW_VALUE_STR &&
            strcmp(list->items[i].s, CW_BACKEND_FINALIZER) == 0)
            b->has_finalizer = true;
}

static void read_metadata(struct cw_cachebackend *b, const struct cw_value *object)
{
    const struct cw_value *annotations = cw_kube_field(object, "metadata.annotations");
    const char *created = cw_kube_text(object, "metadata.creationTimestamp");
    const struct cw_value *force = annotations && annotations->type == CW_VALUE_OBJECT
                                       ? cw_value_get(annotations, CW_BACKEND_FORCE)
                                       : NULL;
    int64_t us = 0;
    (void)cw_kube_i64(object, "metadata.generation", &b->generation);
    b->deleting = cw_kube_text(object, "metadata.deletionTimestamp") != NULL;
    b->force = force && force->type == CW_VALUE_STR && strcmp(force->s, "true") == 0;
    if (created && cw_kube_time_parse(created, &us, NULL) == 0)
        b->created_ms = us / 1000;
    read_finalizers(b, object);
}

static void copy_part(struct cw_value *ret, const struct cw_value *object, const char *name)
{
    const struct cw_value *part = cw_kube_field(object, name);
    if (part && part->type == CW_VALUE_OBJECT)
        cw_value_copy(ret, part);
    else
        cw_value_set_object(ret);
}

struct cw_cachebackend *cw_cachebackend_read(const struct cw_value *object)
{
    const char *name_space = cw_kube_text(object, "metadata.namespace");
    const char *name = cw_kube_text(object, "metadata.name");
    const char *uid = cw_kube_text(object, "metadata.uid");
    const char *version = cw_kube_text(object, "metadata.resourceVersion");
    if (!name_space || !name || !uid || !version)
        return NULL;
    struct cw_cachebackend *b = CW_NEW(struct cw_cachebackend);
    b->refs = 1;
    b->name_space = cw_mem_strdup(name_space);
    b->name = cw_mem_strdup(name);
    b->uid = cw_mem_strdup(uid);
    b->version = cw_mem_strdup(version);
    copy_part(&b->spec, object, "spec");
    copy_part(&b->status, object, "status");
    read_metadata(b, object);
    read_engine(b);
    read_job(b);
    read_capacity(b);
    read_options(b);
    mark_to_warm(b);
    check_sources(b);
    check_fluid(b);
    return b;
}

struct cw_cachebackend *cw_cachebackend_ref(struct cw_cachebackend *backend)
{
    backend->refs++;
    return backend;
}

void cw_cachebackend_unref(struct cw_cachebackend *backend)
{
    if (!backend || --backend->refs > 0)
        return;
    cw_mem_free(backend->name_space);
    cw_mem_free(backend->name);
    cw_mem_free(backend->uid);
    cw_mem_free(backend->version);
    cw_value_fini(&backend->finalizers);
    cw_value_fini(&backend->spec);
    cw_value_fini(&backend->status);
    cw_mem_free(backend);
}

char *cw_cachebackend_cache_name(const struct cw_cachebackend *backend)
{
    return cw_mem_printf("%s/%s", backend->name_space, backend->name);
}

/* ---- status ---- */

const struct cw_value *cw_status_condition(const struct cw_value *status, const char *type)
{
    size_t n = 0;
    const struct cw_value *list = cw_kube_list(status, "conditions", &n);
    for (size_t i = 0; i < n; i++)
        if (cw_str_eq(cw_kube_text(&list[i], "type"), type))
            return &list[i];
    return NULL;
}

bool cw_status_is_true(const struct cw_value *status, const char *type)
{
    return cw_str_eq(cw_kube_text(cw_status_condition(status, type), "status"), "True");
}

int64_t cw_status_time(const struct cw_value *status, const char *field)
{
    const char *text = cw_kube_text(status, field);
    int64_t us = 0;
    return text && cw_kube_time_parse(text, &us, NULL) == 0 ? us / 1000 : 0;
}

int64_t cw_status_since(const struct cw_value *status, const char *type)
{
    const struct cw_value *condition = cw_status_condition(status, type);
    return condition ? cw_status_time(condition, "lastTransitionTime") : 0;
}
