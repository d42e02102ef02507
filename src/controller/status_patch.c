/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the status that the plan wants, and finds what differs. Lists are replaced as a whole by a
 * merge patch, and members that are wanted no more are set to null. */
#include "controller/status_patch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/field.h"
#include "kube/kube_time.h"

#define USERS_MAX 100

static void put_text(struct cw_value *object, const char *key, const char *text)
{
    if (text && *text)
        cw_value_set_str(cw_value_member(object, key), text);
}

static void put_time(struct cw_value *object, const char *key, int64_t wall_ms)
{
    char text[CW_KUBE_TIME_BYTES];
    if (wall_ms <= 0)
        return;
    cw_kube_time_print_s(wall_ms * 1000, text);
    put_text(object, key, text);
}

static void put_number(struct cw_value *object, const char *key, int64_t number)
{
    cw_value_set_i64(cw_value_member(object, key), number);
}

/* ---- conditions ---- */

static const char *status_text(const struct cw_condition *c)
{
    return c->status == CW_TRUE ? "True" : c->status == CW_FALSE ? "False" : "Unknown";
}

static void put_condition(const struct cw_sight *s, const struct cw_condition *c,
                          struct cw_value *ret)
{
    const struct cw_value *before = cw_status_condition(&s->b->status, c->type);
    bool flips = !cw_str_eq(cw_kube_text(before, "status"), status_text(c));
    cw_value_set_object(ret);
    put_text(ret, "type", c->type);
    put_text(ret, "status", status_text(c));
    put_text(ret, "reason", c->reason);
    cw_value_set_str(cw_value_member(ret, "message"), c->message);
    put_number(ret, "observedGeneration", s->b->generation);
    if (flips || !cw_kube_text(before, "lastTransitionTime"))
        put_time(ret, "lastTransitionTime", s->now_ms);
    else
        put_text(ret, "lastTransitionTime", cw_kube_text(before, "lastTransitionTime"));
}

static void put_conditions(const struct cw_sight *s, const struct cw_decision *plan,
                           struct cw_value *status)
{
    struct cw_value *list =
        cw_value_set_list(cw_value_member(status, "conditions"), plan->conditions_n);
    for (size_t i = 0; i < plan->conditions_n; i++)
        put_condition(s, &plan->conditions[i], &list[i]);
}

/* ---- users ---- */

static void put_users(const struct cw_sight *s, const struct cw_decision *plan,
                      struct cw_value *status)
{
    size_t from_cache = s->cache ? s->cache->users_n : 0, n = from_cache;
    bool named = false; /* the job of jobRef is among them by its name */
    for (size_t i = 0; plan->job_is_user && i < from_cache; i++)
        named = named || strcmp(s->cache->users[i], s->b->job_name) == 0;
    bool adds = plan->job_is_user && !named;
    n += adds + s->pods_n;
    put_number(status, "usedNum", (int64_t)n);
    size_t shown = CW_MIN(n, USERS_MAX);
    struct cw_value *list = cw_value_set_list(cw_value_member(status, "usedBy"), shown);
    if (adds)
        cw_value_set_str(&list[0], s->b->job_name);
    for (size_t i = adds; i < shown; i++)
        cw_value_set_str(&list[i], i - adds < from_cache ? s->cache->users[i - adds]
                                                         : s->pods[i - adds - from_cache]);
}

/* ---- figures ---- */

void cw_status_size(uint64_t bytes, struct cw_str *out)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t i = 0;
    for (; value >= 999.5 && i + 1 < CW_ARRAY_LEN(units); i++)
        value /= 1024;
    if (i == 0 || value >= 99.95)
        cw_str_addf(out, "%.0f%s", value, units[i]);
    else
        cw_str_addf(out, value >= 9.995 ? "%.1f%s" : "%.2f%s", value, units[i]);
}

static void put_size(struct cw_value *object, const char *key, uint64_t bytes)
{
    CW_STR_AUTO text = {0};
    cw_status_size(bytes, &text);
    put_text(object, key, cw_str_text(&text));
}

static void put_percent(struct cw_value *object, const char *key, uint64_t part, uint64_t whole)
{
    char text[16];
    if (whole == 0)
        return;
    snprintf(text, sizeof(text), "%.0f%%", 100 * (double)part / (double)whole);
    put_text(object, key, text);
}

static void put_figures(const struct cw_cache_facts *c, struct cw_value *status)
{
    struct cw_value *cache = cw_value_member(status, "cache");
    cw_value_set_object(cache);
    put_size(cache, "cached", c->bytes + c->source_bytes);
    if (c->capacity > 0)
        put_size(cache, "capacity", c->capacity);
    put_percent(cache, "hitRatio", c->hits, c->hits + c->misses);
    if (c->warmed_files == 0)
        return;
    put_size(cache, "sourceSize", c->warmed_bytes);
    put_number(cache, "sourceFiles", (int64_t)c->warmed_files);
    put_percent(cache, "cachedPercentage", c->warmed_cached, c->warmed_bytes);
}

static void put_fluid_figures(const struct cw_fluid_object *dataset, struct cw_value *status)
{
    struct cw_value *cache = cw_value_member(status, "cache");
    uint64_t files;
    cw_value_set_object(cache);
    put_text(cache, "sourceSize", dataset->total);
    put_text(cache, "cached", dataset->cached);
    put_text(cache, "capacity", dataset->capacity);
    put_text(cache, "cachedPercentage", dataset->percent);
    put_text(cache, "hitRatio", dataset->hits);
    if (cw_str_to_u64(dataset->files, &files) && files <= INT64_MAX)
        put_number(cache, "sourceFiles", (int64_t)files);
}

static void keep_member(const struct cw_value *before, const char *key, struct cw_value *status)
{
    const struct cw_value *value = cw_value_get(before, key);
    if (value)
        cw_value_copy(cw_value_member(status, key), value);
}

/* ---- all ---- */

static void put_prefetch(const struct cw_sight *s, struct cw_value *status)
{
    const struct cw_value *before = cw_kube_field(&s->b->status, "prefetch");
    const char *phase = cw_kube_text(before, "phase");
    static const char *const phases[] = {"Pending", "Executing", "Complete", "Pending", "Failed"};
    if (!s->b->prefetch || (!phase && s->prefetch.state == CW_STEP_NONE))
        return;
    bool was_complete = cw_str_eq(phase, "Complete"), is_warm = cw_sight_is_warm(s);
    enum cw_step_state state =
        is_warm || s->prefetch.state != CW_STEP_DONE ? s->prefetch.state : CW_STEP_NONE;
    if (was_complete ? is_warm : state == CW_STEP_NONE) {
        keep_member(&s->b->status, "prefetch", status);
        return;
    }
    struct cw_value *out = cw_value_member(status, "prefetch");
    cw_value_set_object(out);
    put_text(out, "phase", phases[state]);
    int64_t start = before && !was_complete ? cw_status_time(before, "startTime") : 0;
    put_time(out, "startTime", start > 0 ? start : s->now_ms);
    if (state != CW_STEP_DONE)
        return;
    put_time(out, "completionTime", s->now_ms);
    put_text(out, "warmed", s->b->to_warm);
}

static void build(const struct cw_sight *s, const struct cw_decision *plan, struct cw_value *status)
{
    cw_value_set_object(status);
    put_number(status, "observedGeneration", s->b->generation);
    put_text(status, "cacheStatus", plan->word);
    put_text(status, "cacheEngine", s->engine ? s->engine->name : NULL);
    if (s->cache && !s->cache->leaving)
        put_text(status, "cacheName", s->cache->name);
    if (s->map == CW_MAP_RIGHT)
        put_text(status, "configMapName", s->b->name);
    if (s->b->mount_path && (s->claim == CW_CLAIM_BOUND || s->claim == CW_CLAIM_PENDING))
        put_text(status, "claimName", s->b->name);
    put_text(status, "message", plan->message);
    put_text(status, "releasedJob", plan->released_job);
    put_conditions(s, plan, status);
    put_users(s, plan, status);
    put_time(status, "lastUsedTime", plan->last_used_ms);
    put_time(status, "expireTime", plan->expire_ms);
    put_prefetch(s, status);
}

static struct cw_value *find_member(struct cw_value *object, const char *key)
{
    for (size_t i = 0; i < object->n; i++)
        if (strcmp(object->keys[i], key) == 0)
            return &object->items[i];
    return NULL;
}

static void drop_members(const struct cw_value *before, struct cw_value *wanted)
{
    for (size_t i = 0; i < before->n; i++)
        if (!find_member(wanted, before->keys[i]))
            (void)cw_value_member(wanted, before->keys[i]);
}

/* Adds null for each member of `before` that is not wanted, inside of its objects as well. */
static void drop_others(const struct cw_value *before, struct cw_value *wanted)
{
    for (size_t i = 0; i < before->n; i++) {
        struct cw_value *now = find_member(wanted, before->keys[i]);
        if (now && now->type == CW_VALUE_OBJECT && before->items[i].type == CW_VALUE_OBJECT)
            drop_members(&before->items[i], now);
    }
    drop_members(before, wanted);
}

static void print_patch(const struct cw_cachebackend *b, struct cw_value *wanted,
                        struct cw_str *out)
{
    drop_others(&b->status, wanted);
    cw_str_add(out, "{\"metadata\":{\"resourceVersion\":");
    cw_str_add_json(out, b->version, strlen(b->version));
    cw_str_add(out, "},\"status\":");
    cw_value_print(wanted, out);
    cw_str_add(out, "}");
}

/* A message that counts is as it was, where its condition has the reason that it had. */
static void take_counts(const struct cw_value *before, const struct cw_decision *plan,
                        struct cw_value *status)
{
    struct cw_value *list = find_member(status, "conditions");
    for (size_t i = 0; i < plan->conditions_n; i++) {
        const struct cw_condition *c = &plan->conditions[i];
        const struct cw_value *was = cw_status_condition(before, c->type);
        if (!c->counts || !cw_str_eq(cw_kube_text(was, "reason"), c->reason))
            continue;
        keep_member(was, "message", &list->items[i]);
        if (plan->message == c->message)
            keep_member(before, "message", status);
    }
}

/* Whether two statuses say the same but for the figures. */
static bool same_state(const struct cw_value *before, const struct cw_decision *plan,
                       const struct cw_value *wanted)
{
    struct cw_value copy = {0};
    cw_value_copy(&copy, wanted);
    keep_member(before, "cache", &copy);
    take_counts(before, plan, &copy);
    bool same = cw_value_eq(before, &copy);
    cw_value_fini(&copy);
    return same;
}

enum cw_status_change cw_status_patch(const struct cw_sight *sight, const struct cw_decision *plan,
                                      struct cw_str *out)
{
    struct cw_value wanted = {0};
    enum cw_status_change change = CW_STATUS_SAME;
    if (plan->word[0] == '\0')
        return CW_STATUS_SAME;
    build(sight, plan, &wanted);
    if (!same_state(&sight->b->status, plan, &wanted))
        change = CW_STATUS_STATE;
    if (sight->cache && !sight->cache->leaving)
        put_figures(sight->cache, &wanted);
    if (sight->fluid && sight->fluid->dataset)
        put_fluid_figures(sight->fluid->dataset, &wanted);
    if (change == CW_STATUS_SAME && !cw_value_eq(&sight->b->status, &wanted))
        change = CW_STATUS_FIGURES;
    if (change != CW_STATUS_SAME)
        print_patch(sight->b, &wanted, out);
    cw_value_fini(&wanted);
    return change;
}
