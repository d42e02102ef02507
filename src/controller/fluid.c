/* SPDX-License-Identifier: Apache-2.0 */
/* Watches of Fluid's kinds, and of the one claim that Fluid makes for each Dataset, which has none of the
 * controller's labels. */
#include "controller/fluid.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/claims.h"
#include "kube/field.h"

static const struct cw_kube_kind datasets = {"data.fluid.io", "v1alpha1", "datasets"};
static const struct cw_kube_kind runtimes = {"data.fluid.io", "v1alpha1", "alluxioruntimes"};
static const struct cw_kube_kind claims = {"", "v1", "persistentvolumeclaims"};

/* One of the two kinds. */
struct kind {
    struct cw_controller *c;
    struct cw_kube_watch *watch;
    const char *name;
    char reason[32], why[400]; /* it cannot be watched; "": it can, or it is not known yet */
};
struct cw_fluid {
    struct kind dataset, runtime;
};

/* ---- watches ---- */

static void *digest(void *arg, struct cw_value *object)
{
    (void)arg;
    return cw_fluid_object_read(object);
}

static void drop(void *arg, void *kept)
{
    (void)arg;
    cw_fluid_object_free(kept);
}

static void on_change(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                      void *before)
{
    const struct kind *kind = arg;
    struct cw_item *item = cw_item_find(kind->c, object->key);
    (void)change;
    (void)before;
    if (item)
        item->fluid_settles_ms = item->fluid_taken_ms = 0;
    cw_item_touch(item);
}

static void on_listed(void *arg)
{
    struct kind *kind = arg;
    kind->why[0] = '\0';
    cw_items_touch_all(kind->c);
}

/* What is tried again and may pass is no reason yet; that there is no such kind, or no right, is one. */
static void on_failed(void *arg, const struct cw_err *err, int64_t retry_ms)
{
    struct kind *kind = arg;
    bool is_news = kind->why[0] == '\0';
    (void)retry_ms;
    if (err->code != CW_E_NOT_FOUND && err->code != CW_E_DENIED)
        return;
    bool missing = err->code == CW_E_NOT_FOUND;
    snprintf(kind->reason, sizeof(kind->reason), "%s", missing ? "FluidMissing" : "FluidForbidden");
    snprintf(kind->why, sizeof(kind->why),
             missing ? "spec.cacheEngine.fluid: the API server has no kind %s of "
                       "data.fluid.io/v1alpha1: install Fluid; it is looked for again"
                     : "spec.cacheEngine.fluid: the controller may not watch %s of "
                       "data.fluid.io: the component fluid of its manifests grants it",
             kind->name);
    if (is_news)
        cw_log_warn(CW_CONTROLLER, "%s: %s", kind->why, err->msg);
    cw_items_touch_all(kind->c);
}

static void begin(struct cw_controller *c, struct kind *kind, const struct cw_kube_kind *which)
{
    const struct cw_kube_watch_options options = {
        .target = {which, c->options.name_space, NULL, NULL},
        .labels = CW_BACKEND_LABEL "=true",
        .without = cw_kube_without_managers};
    const struct cw_kube_watch_events events = {
        {digest, drop, on_change, kind}, on_listed, on_failed, kind};
    *kind = (struct kind){.c = c, .name = which->plural};
    kind->watch = cw_kube_watch_new(c->kube, &options, &events);
}

static const struct cw_fluid_object *find(const struct kind *kind, const struct cw_item *item)
{
    const struct cw_kube_object *object = cw_kube_objects_find(cw_kube_watch_objects(kind->watch),
                                                               item->b->name_space, item->b->name);
    return object ? object->kept : NULL;
}

static bool is_listed(const struct kind *kind)
{
    return cw_kube_watch_objects(kind->watch)->position != NULL;
}

/* ---- the claim ---- */

/* Fluid marks what it makes. */
static void *digest_claim(void *arg, struct cw_value *object)
{
    struct cw_claim_facts *claim = cw_claim_facts_read(object);
    const struct cw_value *marks = cw_kube_field(object, "metadata.annotations");
    (void)arg;
    claim->is_ours = cw_str_eq(cw_kube_text(marks, "CreatedBy"), "fluid");
    return claim;
}

static void drop_claim(void *arg, void *kept)
{
    (void)arg;
    cw_claim_facts_free(kept);
}

static void on_claim(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                     void *before)
{
    (void)change;
    (void)before;
    cw_item_touch(cw_item_find(arg, object->key));
}

static void on_claim_failed(void *arg, const struct cw_err *err, int64_t retry_ms)
{
    (void)arg;
    cw_log_warn(CW_CONTROLLER, "%s; again in %lld ms", err->msg, (long long)retry_ms);
}

static void begin_claim(struct cw_item *item)
{
    cw_autofree char *field = cw_mem_printf("metadata.name=%s", item->b->name);
    const struct cw_kube_watch_options options = {
        .target = {&claims, item->b->name_space, NULL, NULL},
        .fields = field,
        .without = cw_kube_without_managers};
    const struct cw_kube_watch_events events = {
        {digest_claim, drop_claim, on_claim, item->c}, NULL, on_claim_failed, item->c};
    item->claim_watch = cw_kube_watch_new(item->c->kube, &options, &events);
}

enum cw_claim_state cw_fluid_claim(struct cw_item *item)
{
    const struct cw_fluid_object *dataset = find(&item->c->fluid->dataset, item);
    if (!item->b->mount_path)
        return CW_CLAIM_UNSUPPORTED;
    if (!item->claim_watch && dataset && strcmp(dataset->phase, "Bound") == 0)
        begin_claim(item);
    const struct cw_kube_object *object =
        item->claim_watch ? cw_kube_objects_find(cw_kube_watch_objects(item->claim_watch),
                                                 item->b->name_space, item->b->name)
                          : NULL;
    return object ? cw_claim_state_read(object->kept) : CW_CLAIM_NONE;
}

/* ---- sight ---- */

static void look_at_specs(const struct cw_item *item, struct cw_fluid_sight *sight)
{
    struct cw_value spec = {0};
    cw_fluid_dataset_spec(item->b, &spec);
    cw_fluid_spec_mark(&spec, sight->dataset_spec);
    cw_value_fini(&spec);
    cw_fluid_runtime_spec(item->b, &spec);
    cw_fluid_spec_mark(&spec, sight->runtime_spec);
    cw_value_fini(&spec);
}

void cw_fluid_look(struct cw_item *item, struct cw_fluid_sight *ret_sight)
{
    struct cw_controller *c = item->c;
    if (!c->fluid) {
        c->fluid = CW_NEW(struct cw_fluid);
        begin(c, &c->fluid->dataset, &datasets);
        begin(c, &c->fluid->runtime, &runtimes);
    }
    const struct cw_fluid *f = c->fluid;
    const struct kind *bad = f->dataset.why[0] != '\0' ? &f->dataset : &f->runtime;
    *ret_sight = (struct cw_fluid_sight){
        .known = is_listed(&f->dataset) && is_listed(&f->runtime),
        .reason = bad->reason,
        .why = bad->why,
        .taken = cw_clock_wall_ms() < item->fluid_taken_ms,
        .refused = item->fluid_refused,
        .dataset = find(&f->dataset, item),
        .runtime = find(&f->runtime, item),
    };
    look_at_specs(item, ret_sight);
}

void cw_fluid_stop(struct cw_controller *c)
{
    const char *key;
    void *value;
    for (size_t i = 0; cw_strmap_next(&c->items, &i, &key, &value);) {
        struct cw_item *item = value;
        cw_kube_watch_free(item->claim_watch);
        item->claim_watch = NULL;
    }
    if (!c->fluid)
        return;
    cw_kube_watch_free(c->fluid->dataset.watch);
    cw_kube_watch_free(c->fluid->runtime.watch);
    cw_mem_free(c->fluid);
    c->fluid = NULL;
}

void cw_fluid_counts(const struct cw_controller *c, struct cw_kube_watch_counts *sum)
{
    if (!c->fluid)
        return;
    const struct cw_kube_watch *const watches[] = {c->fluid->dataset.watch,
                                                   c->fluid->runtime.watch};
    for (size_t i = 0; i < CW_ARRAY_LEN(watches); i++) {
        const struct cw_kube_watch_counts one = cw_kube_watch_counts(watches[i]);
        sum->lists += one.lists;
        sum->watches += one.watches;
        sum->failures += one.failures;
        sum->events += one.events;
    }
}
