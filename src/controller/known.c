/* SPDX-License-Identifier: Apache-2.0 */
/* CacheBackends that are known, and what is under way for each. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/controller.h"

#define RETRY_FIRST_MS 1000
#define RETRY_MAX_MS 300000

struct cw_item *cw_item_find(const struct cw_controller *c, const char *key)
{
    return cw_strmap_get(&c->items, key);
}

static void free_item(struct cw_item *item)
{
    cw_kube_watch_free(item->claim_watch);
    cw_cachebackend_unref(item->b);
    cw_mem_free(item->options);
    cw_mem_free(item);
}

/* Whether what is known is later. Versions are decimal numbers on every server that there is; where they
 * are not, what came last counts. */
static bool is_older(const char *version, const char *known)
{
    uint64_t a, b;
    return cw_str_to_u64(version, &a) && cw_str_to_u64(known, &b) && a < b;
}

/* A change of the spec gives what has failed another try. */
static void forget_failures(struct cw_item *item)
{
    struct cw_step *const steps[] = {&item->prepare, &item->owns,   &item->erase,
                                     &item->attach,  &item->detach, &item->prefetch};
    for (size_t i = 0; i < CW_ARRAY_LEN(steps); i++)
        if (steps[i]->state == CW_STEP_RETRY || steps[i]->state == CW_STEP_REFUSED)
            *steps[i] = (struct cw_step){0};
}

struct cw_item *cw_item_put(struct cw_controller *c, struct cw_cachebackend *b)
{
    cw_autofree char *key = cw_mem_printf("%s/%s", b->name_space, b->name);
    struct cw_item *item = cw_item_find(c, key);
    if (item && strcmp(item->b->uid, b->uid) != 0) {
        cw_item_remove(c, key);
        item = NULL;
    }
    if (!item) {
        item = CW_NEW(struct cw_item);
        item->c = c;
        item->prefetch_percent = -1;
        item->figures_ms =
            cw_clock_wall_ms(); /* another controller may have written some just now */
        (void)cw_strmap_set(&c->items, key, item);
    } else if (is_older(b->version, item->b->version)) {
        return item;
    } else if (item->b->generation != b->generation) {
        forget_failures(item);
    }
    cw_cachebackend_unref(item->b);
    item->b = cw_cachebackend_ref(b);
    item->placed = false;
    item->write_after_ms = 0; /* what made a write fail, or was to be seen first, is seen */
    cw_item_touch(item);
    return item;
}

void cw_item_remove(struct cw_controller *c, const char *key)
{
    struct cw_item *item = cw_strmap_remove(&c->items, key);
    if (!item)
        return;
    if (item->cancel_prefetch)
        item->cancel_prefetch(item);
    free_item(item);
}

void cw_items_free(struct cw_controller *c)
{
    const char *key;
    void *item;
    for (size_t i = 0; cw_strmap_next(&c->items, &i, &key, &item);)
        free_item(item);
    cw_strmap_fini(&c->items);
    while (c->refs)
        (void)cw_item_end(c->refs);
}

void cw_item_touch(struct cw_item *item)
{
    if (!item)
        return;
    item->due = true;
    if (!cw_timer_is_active(item->c->run))
        cw_timer_start(item->c->run, 0, 0);
}

void cw_items_touch_all(struct cw_controller *c)
{
    const char *key;
    void *item;
    for (size_t i = 0; cw_strmap_next(&c->items, &i, &key, &item);)
        cw_item_touch(item);
}

void cw_workloads_touch(struct cw_controller *c)
{
    c->workloads_due = true;
    if (c->kueue && !cw_timer_is_active(c->run))
        cw_timer_start(c->run, 0, 0);
}

/* ---- what is under way ---- */

struct cw_ref *cw_item_begin(struct cw_item *item, unsigned what)
{
    struct cw_ref *ref = CW_NEW(struct cw_ref);
    struct cw_controller *c = item->c;
    *ref = (struct cw_ref){.c = c,
                           .key = cw_cachebackend_cache_name(item->b),
                           .uid = cw_mem_strdup(item->b->uid),
                           .what = what,
                           .next = c->refs};
    if (c->refs)
        c->refs->prev = ref;
    c->refs = ref;
    item->busy |= what;
    return ref;
}

struct cw_item *cw_item_end(struct cw_ref *ref)
{
    struct cw_item *item = cw_item_find(ref->c, ref->key);
    if (item && strcmp(item->b->uid, ref->uid) != 0)
        item = NULL;
    if (item)
        item->busy &= ~ref->what;
    if (ref->prev)
        ref->prev->next = ref->next;
    else
        ref->c->refs = ref->next;
    if (ref->next)
        ref->next->prev = ref->prev;
    cw_mem_free(ref->key);
    cw_mem_free(ref->uid);
    cw_mem_free(ref);
    return item;
}

/* ---- steps ---- */

void cw_step_set(struct cw_step *step, enum cw_step_state state)
{
    unsigned tries = state == CW_STEP_DONE ? 0 : step->tries;
    *step = (struct cw_step){.state = state, .tries = tries};
}

void cw_step_retry(struct cw_step *step, const char *reason, const char *message)
{
    unsigned tries = step->tries + 1;
    int64_t wait_ms = CW_MIN(RETRY_FIRST_MS << CW_MIN(tries - 1, 10u), RETRY_MAX_MS);
    *step = (struct cw_step){.state = CW_STEP_RETRY, .tries = tries};
    /* Up to a quarter more, so that many that failed together do not come together. */
    step->retry_ms = cw_clock_wall_ms() + wait_ms + (int64_t)(cw_clock_ns() & 255) * wait_ms / 1024;
    snprintf(step->reason, sizeof(step->reason), "%s", reason[0] != '\0' ? reason : "Failed");
    snprintf(step->message, sizeof(step->message), "%s", message);
}

/* ---- place ---- */

void cw_item_place(struct cw_item *item)
{
    struct cw_cachebackend *b = item->b;
    const struct cw_value *options = NULL;
    struct cw_err err = {0};
    CW_STR_AUTO json = {0};
    if (item->placed)
        return;
    item->placed = true;
    item->engine = NULL;
    item->place = CACHEW_ENGINE_REFUSED;
    item->place_answer = (struct cachew_engine_answer){0};
    item->engine_why[0] = '\0';
    int rc = cw_engine_find(&item->c->engines, b->engine, b->engine_options, &item->engine,
                            &options, &err);
    if (rc == CW_E_AGAIN) {
        item->placed = false; /* it is touched when it is loaded */
        return;
    }
    if (rc != 0) {
        snprintf(item->engine_why, sizeof(item->engine_why), "%.500s", err.msg);
        return;
    }
    if (options)
        cw_value_print(options, &json);
    else
        cw_str_add(&json, "{}");
    cw_mem_free(item->options);
    item->options = cw_str_take(&json);
    const struct cachew_engine_request request = {sizeof(request),
                                                  b->name_space,
                                                  b->name,
                                                  b->uid,
                                                  item->options,
                                                  item->c->engines.root ? item->c->engines.root
                                                                        : "",
                                                  ""};
    item->place = cw_engine_place(&item->c->engines, item->engine, &request, &item->place_answer);
}
