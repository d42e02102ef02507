/* SPDX-License-Identifier: Apache-2.0 */
/* Reads objects of Fluid, and makes their specs. */
#include "controller/fluid_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/field.h"

/* ---- what is there ---- */

static char *copy(const struct cw_value *object, const char *path)
{
    const char *text = cw_kube_text(object, path);
    return cw_mem_strdup(text ? text : "");
}

static char *owner_of(const struct cw_value *object)
{
    size_t n = 0;
    const struct cw_value *owners = cw_kube_list(object, "metadata.ownerReferences", &n);
    for (size_t i = 0; i < n; i++)
        if (cw_str_eq(cw_kube_text(&owners[i], "kind"), "CacheBackend"))
            return copy(&owners[i], "uid");
    return cw_mem_strdup("");
}

static char *mark_of(const struct cw_value *object)
{
    const struct cw_value *marks = cw_kube_field(object, "metadata.annotations");
    const struct cw_value *mark = marks ? cw_value_get(marks, CW_FLUID_SPEC) : NULL;
    return cw_mem_strdup(mark && mark->type == CW_VALUE_STR ? mark->s : "");
}

static char *phases_of(const struct cw_value *object)
{
    static const char *const parts[][2] = {{"status.masterPhase", "master"},
                                           {"status.workerPhase", "workers"},
                                           {"status.fusePhase", "fuse"}};
    CW_STR_AUTO text = {0};
    for (size_t i = 0; i < CW_ARRAY_LEN(parts); i++) {
        const char *phase = cw_kube_text(object, parts[i][0]);
        cw_str_addf(&text, "%s%s %.60s", i ? ", " : "", parts[i][1],
                    phase && *phase ? phase : "not begun");
    }
    return cw_str_take(&text);
}

struct cw_fluid_object *cw_fluid_object_read(const struct cw_value *object)
{
    struct cw_fluid_object *o = CW_NEW(struct cw_fluid_object);
    o->uid = copy(object, "metadata.uid");
    o->version = copy(object, "metadata.resourceVersion");
    o->owner = owner_of(object);
    o->spec = mark_of(object);
    o->deleting = cw_kube_text(object, "metadata.deletionTimestamp") != NULL;
    o->phase = copy(object, "status.phase");
    o->phases = phases_of(object);
    o->total = copy(object, "status.ufsTotal");
    o->files = copy(object, "status.fileNum");
    o->cached = copy(object, "status.cacheStates.cached");
    o->capacity = copy(object, "status.cacheStates.cacheCapacity");
    o->percent = copy(object, "status.cacheStates.cachedPercentage");
    o->hits = copy(object, "status.cacheStates.cacheHitRatio");
    return o;
}

void cw_fluid_object_free(struct cw_fluid_object *o)
{
    if (!o)
        return;
    char *const texts[] = {o->uid,   o->version, o->owner,  o->spec,     o->phase,   o->phases,
                           o->total, o->files,   o->cached, o->capacity, o->percent, o->hits};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++)
        cw_mem_free(texts[i]);
    cw_mem_free(o);
}

int64_t cw_fluid_percent(const struct cw_fluid_object *dataset)
{
    char *end = NULL;
    double percent = dataset ? strtod(dataset->percent, &end) : -1;
    if (!dataset || end == dataset->percent || *end != '%' || !(percent >= 0 && percent <= 100))
        return -1;
    return (int64_t)percent;
}

/* ---- what is wanted ---- */

static void put_text(struct cw_value *object, const char *key, const char *text)
{
    if (text)
        cw_value_set_str(cw_value_member(object, key), text);
}

static void put_copy(struct cw_value *object, const char *key, const struct cw_value *value)
{
    if (value)
        cw_value_copy(cw_value_member(object, key), value);
}

void cw_fluid_dataset_spec(const struct cw_cachebackend *b, struct cw_value *ret_spec)
{
    cw_value_set_object(ret_spec);
    struct cw_value *mounts = cw_value_set_list(cw_value_member(ret_spec, "mounts"), b->sources_n);
    for (size_t i = 0; i < b->sources_n; i++) {
        cw_value_set_object(&mounts[i]);
        put_text(&mounts[i], "mountPoint", cw_kube_text(&b->sources[i], "location"));
        put_text(&mounts[i], "name", cw_kube_text(&b->sources[i], "subDirName"));
        put_copy(&mounts[i], "readOnly", cw_kube_field(&b->sources[i], "readOnly"));
    }
}

void cw_fluid_runtime_spec(const struct cw_cachebackend *b, struct cw_value *ret_spec)
{
    static const char *const keys[][2] = {
        {"mediumType", "mediumtype"}, {"cachePath", "path"}, {"quota", "quota"}};
    size_t n = 0;
    const struct cw_value *from =
        cw_kube_list(b->engine_options, "alluxioRuntime.tieredStorage", &n);
    int64_t replicas = 1;
    (void)cw_kube_i64(b->engine_options, "alluxioRuntime.replicas", &replicas);
    cw_value_set_object(ret_spec);
    cw_value_set_i64(cw_value_member(ret_spec, "replicas"), replicas);
    struct cw_value *store = cw_value_member(ret_spec, "tieredstore");
    cw_value_set_object(store);
    struct cw_value *levels = cw_value_set_list(cw_value_member(store, "levels"), n);
    for (size_t i = 0; i < n; i++) {
        cw_value_set_object(&levels[i]);
        for (size_t k = 0; k < CW_ARRAY_LEN(keys); k++)
            put_copy(&levels[i], keys[k][1], cw_kube_field(&from[i], keys[k][0]));
    }
}

void cw_fluid_spec_mark(const struct cw_value *spec, char ret_mark[CW_HASH_TEXT_BYTES])
{
    CW_STR_AUTO text = {0};
    cw_value_print(spec, &text);
    cw_hash_text(cw_hash_bytes(cw_str_text(&text), text.len), ret_mark);
}
