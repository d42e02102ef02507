/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a Dataset and its runtime; Fluid does everything else. */
#include "controller/writes_fluid.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "controller/writes.h"

#define TAKEN_MS 30000

static const struct cw_kube_kind datasets = {"data.fluid.io", "v1alpha1", "datasets"};
static const struct cw_kube_kind runtimes = {"data.fluid.io", "v1alpha1", "alluxioruntimes"};

static void begun(const struct cw_kube_call *call)
{
    (void)call;
}

/* It is tried again, as all that fails is; meanwhile the condition says why. */
static bool is_refusal(enum cw_kube_reason reason)
{
    return reason == CW_KUBE_Invalid || reason == CW_KUBE_BadRequest || reason == CW_KUBE_Forbidden;
}

static void on_done(void *arg, struct cw_kube_answer *answer)
{
    struct cw_ref *ref = arg;
    struct cw_item *item = cw_item_find(ref->c, ref->key);
    /* The watch sees what has the label; what is there and not seen is somebody else's. */
    if (item && answer->status.reason == CW_KUBE_AlreadyExists)
        item->fluid_taken_ms = cw_clock_wall_ms() + TAKEN_MS;
    if (item && answer->code != CW_OK)
        item->fluid_settles_ms = 0;
    if (item)
        snprintf(item->fluid_refused, sizeof(item->fluid_refused), "%.500s",
                 is_refusal(answer->status.reason) ? answer->err->msg : "");
    (void)cw_write_finish(ref, answer);
}

static void add_text(struct cw_str *json, const char *key, const char *text)
{
    cw_str_addf(json, "\"%s\":", key);
    cw_str_add_json(json, text, strlen(text));
    cw_str_add(json, ",");
}

static void print(const struct cw_item *item, const struct cw_fluid_object *before,
                  const char *kind, const struct cw_value *spec, struct cw_str *out)
{
    char mark[CW_HASH_TEXT_BYTES];
    cw_fluid_spec_mark(spec, mark);
    cw_str_addf(out, "{\"apiVersion\":\"data.fluid.io/v1alpha1\",\"kind\":\"%s\",\"metadata\":{",
                kind);
    add_text(out, "name", item->b->name);
    if (before)
        add_text(out, "resourceVersion", before->version);
    cw_str_addf(out,
                "\"labels\":{\"" CW_BACKEND_LABEL
                "\":\"true\",\"app.kubernetes.io/managed-by\":\"cachew-controller\"},"
                "\"annotations\":{\"" CW_FLUID_SPEC "\":\"%s\"}",
                mark);
    if (!before) {
        cw_str_add(out, ",");
        cw_write_owner(out, item->b);
    }
    cw_str_add(out, "},\"spec\":");
    cw_value_print(spec, out);
    cw_str_add(out, "}");
}

static void write(struct cw_item *item, const struct cw_kube_kind *kind, const char *kind_name,
                  const struct cw_fluid_object *before, unsigned what)
{
    const struct cw_kube_target all = {kind, item->b->name_space, NULL, NULL};
    const struct cw_kube_target one = {kind, item->b->name_space, item->b->name, NULL};
    struct cw_value spec = {0};
    CW_STR_AUTO body = {0};
    if (what == CW_DO_WRITE_DATASET)
        cw_fluid_dataset_spec(item->b, &spec);
    else
        cw_fluid_runtime_spec(item->b, &spec);
    print(item, before, kind_name, &spec, &body);
    cw_value_fini(&spec);
    struct cw_ref *ref = cw_item_begin(item, what);
    begun(before ? cw_kube_patch(item->c->kube, &one, cw_str_text(&body), on_done, ref)
                 : cw_kube_create(item->c->kube, &all, cw_str_text(&body), on_done, ref));
}

static void erase(struct cw_item *item, const struct cw_kube_kind *kind,
                  const struct cw_fluid_object *object, unsigned what)
{
    const struct cw_kube_target one = {kind, item->b->name_space, item->b->name, NULL};
    begun(cw_kube_delete(item->c->kube, &one, object->uid, NULL, "Background", on_done,
                         cw_item_begin(item, what)));
}

void cw_write_fluid(struct cw_item *item, const struct cw_fluid_sight *sight, unsigned todo)
{
    unsigned known = todo & CW_DO_FLUID;
    if (!known)
        return;
    item->fluid_settles_ms = cw_clock_wall_ms() + CW_SETTLE_MS;
    item->c->other_writes++;
    if (todo & CW_DO_WRITE_DATASET)
        write(item, &datasets, "Dataset", sight->dataset, CW_DO_WRITE_DATASET);
    if (todo & CW_DO_WRITE_RUNTIME)
        write(item, &runtimes, "AlluxioRuntime", sight->runtime, CW_DO_WRITE_RUNTIME);
    if (todo & CW_DO_DELETE_DATASET)
        erase(item, &datasets, sight->dataset, CW_DO_DELETE_DATASET);
    if (todo & CW_DO_DELETE_RUNTIME)
        erase(item, &runtimes, sight->runtime, CW_DO_DELETE_RUNTIME);
}
