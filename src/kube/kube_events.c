/* SPDX-License-Identifier: Apache-2.0 */
/* Writes events: a create for the first, a merge patch of its series for the following ones. While one
 * of a kind is being written, further ones of it gather. */
#include "kube/kube_events.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kube/kube_time.h"

#define SERIES_MS 600000 /* an event that comes later than this after the last begins anew */
#define REFILL_MS 10000
#define NOTE_MAX 1000
#define NAME_MAX_BYTES 200 /* of the object's name in the event's */

static const struct cw_kube_kind kind_of_events = {"events.k8s.io", "v1", "events"};

/* One object on the server, or to be. */
struct series {
    struct cw_kube_events *events;
    char *key, *name_space, *name, *body; /* body: of the create */
    uint64_t count, written;              /* events; those that the server knows of */
    int64_t last_ms, last_us;             /* the last event; wall time, for people */
    struct cw_kube_call *call;
};
struct cw_kube_events {
    struct cw_kube *kube;
    char *instance;
    void (*failed)(void *arg, const struct cw_err *err);
    void *arg;
    struct cw_strmap all; /* series by key */
    int tokens;           /* so many may be written */
    int64_t refilled_ms;
    uint64_t id; /* of the next object */
    bool is_failing;
    struct cw_kube_events_counts counts;
};

struct cw_kube_events *cw_kube_events_new(struct cw_kube *kube, const char *instance,
                                          void (*failed)(void *arg, const struct cw_err *err),
                                          void *arg)
{
    struct cw_kube_events *events = CW_NEW(struct cw_kube_events);

    events->kube = kube;
    events->instance = cw_mem_strdup(instance);
    events->failed = failed;
    events->arg = arg;
    events->tokens = CW_KUBE_EVENTS_BURST;
    events->refilled_ms = cw_clock_ms();
    events->id = cw_rng_process_id();
    return events;
}

static void free_series(struct series *series)
{
    cw_kube_call_cancel(series->call);
    cw_mem_free(series->key);
    cw_mem_free(series->name_space);
    cw_mem_free(series->name);
    cw_mem_free(series->body);
    cw_mem_free(series);
}

void cw_kube_events_free(struct cw_kube_events *events)
{
    const char *key;
    void *value;

    if (!events)
        return;
    for (size_t i = 0; cw_strmap_next(&events->all, &i, &key, &value);)
        free_series(value);
    cw_strmap_fini(&events->all);
    cw_mem_free(events->instance);
    cw_mem_free(events);
}

/* Takes one token, if there is one. */
static bool may_write(struct cw_kube_events *events, int64_t now_ms)
{
    int64_t new_tokens = (now_ms - events->refilled_ms) / REFILL_MS;

    events->refilled_ms += new_tokens * REFILL_MS;
    events->tokens = (int)CW_MIN(events->tokens + new_tokens, (int64_t)CW_KUBE_EVENTS_BURST);
    if (events->tokens == 0)
        return false;
    events->tokens--;
    return true;
}

static void add_text(struct cw_str *json, const char *key, const char *text)
{
    if (!text)
        return;
    cw_str_addf(json, "%s\"%s\":", json->s[json->len - 1] == '{' ? "" : ",", key);
    cw_str_add_json(json, text, strlen(text));
}

static void add_regarding(struct cw_str *json, const struct cw_kube_regarding *regarding)
{
    cw_str_add(json, ",\"regarding\":{");
    add_text(json, "apiVersion", regarding->api_version);
    add_text(json, "kind", regarding->kind);
    add_text(json, "namespace", regarding->name_space);
    add_text(json, "name", regarding->name);
    add_text(json, "uid", regarding->uid);
    cw_str_add_char(json, '}');
}

/* A note that is too long is cut at the end of a character. */
static char *cut_note(const char *note)
{
    size_t n = CW_MIN(strlen(note), (size_t)NOTE_MAX);

    while (n > 0 && note[n] && ((unsigned char)note[n] & 0xC0) == 0x80)
        n--;
    return cw_mem_strndup(note, n);
}

static char *print_event(const struct cw_kube_events *events, const struct series *series,
                         const struct cw_kube_event *event)
{
    char now[CW_KUBE_TIME_BYTES];
    CW_STR_AUTO json = {0};
    cw_autofree char *note = cut_note(event->note);

    cw_kube_time_print_us(series->last_us, now);
    cw_str_add(&json, "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{");
    add_text(&json, "namespace", series->name_space);
    add_text(&json, "name", series->name);
    cw_str_add_char(&json, '}');
    add_text(&json, "eventTime", now);
    add_text(&json, "reportingController", cw_kube_manager(events->kube));
    add_text(&json, "reportingInstance", events->instance);
    add_text(&json, "action", event->action);
    add_text(&json, "reason", event->reason);
    add_text(&json, "type", event->warning ? "Warning" : "Normal");
    add_text(&json, "note", note);
    add_regarding(&json, &event->regarding);
    cw_str_add_char(&json, '}');
    return cw_str_take(&json);
}

static void write_series(struct series *series);

static void on_written(void *arg, struct cw_kube_answer *answer)
{
    struct series *series = arg;
    struct cw_kube_events *events = series->events;

    series->call = NULL;
    if (answer->code == CW_OK) {
        events->is_failing = false;
        if (series->count > series->written)
            write_series(series);
        return;
    }
    if (!events->is_failing && events->failed)
        events->failed(events->arg, answer->err);
    events->is_failing = true;
    events->counts.dropped += series->count - series->written + 1;
    cw_strmap_remove(&events->all, series->key); /* the next one is written as a new object */
    free_series(series);
}

/* Writes what the server does not know of yet. */
static void write_series(struct series *series)
{
    struct cw_kube_events *events = series->events;
    bool is_new = series->written == 0;
    const struct cw_kube_target target = {&kind_of_events, series->name_space,
                                          is_new ? NULL : series->name, NULL};
    char now[CW_KUBE_TIME_BYTES];
    CW_STR_AUTO patch = {0};

    if (!may_write(events, cw_clock_ms())) {
        events->counts.dropped += series->count - series->written;
        series->count = series->written;
        return;
    }
    series->written = series->count;
    if (is_new) {
        events->counts.made++;
        series->call = cw_kube_create(events->kube, &target, series->body, on_written, series);
        return;
    }
    events->counts.counted++;
    cw_kube_time_print_us(series->last_us, now);
    cw_str_addf(&patch, "{\"series\":{\"count\":%" PRIu64 ",\"lastObservedTime\":\"%s\"}}",
                series->count, now);
    series->call = cw_kube_patch(events->kube, &target, patch.s, on_written, series);
}

static char *key_of(const struct cw_kube_event *event)
{
    const struct cw_kube_regarding *r = &event->regarding;

    return cw_mem_printf("%s\n%s\n%s\n%s\n%d\n%s\n%s\n%s", r->kind, r->name_space, r->name,
                         r->uid ? r->uid : "", event->warning, event->reason, event->action,
                         event->note);
}

/* Forgets series that are over. */
static void forget_old(struct cw_kube_events *events, int64_t now_ms)
{
    const char *key;
    void *value;

    for (size_t i = 0; cw_strmap_next(&events->all, &i, &key, &value);) {
        struct series *series = value;

        if (series->call || now_ms - series->last_ms <= SERIES_MS)
            continue;
        cw_strmap_remove(&events->all, series->key);
        free_series(series);
    }
}

static struct series *new_series(struct cw_kube_events *events, const struct cw_kube_event *event,
                                 const char *key)
{
    struct series *series = CW_NEW(struct series);

    series->events = events;
    series->key = cw_mem_strdup(key);
    series->name_space = cw_mem_strdup(event->regarding.name_space);
    series->name =
        cw_mem_printf("%.*s.%016" PRIx64, NAME_MAX_BYTES, event->regarding.name, events->id++);
    series->last_us = cw_clock_wall_ms() * 1000;
    series->body = print_event(events, series, event);
    cw_strmap_set(&events->all, series->key, series);
    return series;
}

void cw_kube_events_tell(struct cw_kube_events *events, const struct cw_kube_event *event)
{
    int64_t now_ms = cw_clock_ms();
    cw_autofree char *key = key_of(event);

    events->counts.told++;
    forget_old(events, now_ms);
    struct series *series = cw_strmap_get(&events->all, key);
    if (!series && events->all.n >= CW_KUBE_EVENTS_BURST * 4) {
        events->counts.dropped++;
        return;
    }
    if (!series)
        series = new_series(events, event, key);
    series->count++;
    series->last_ms = now_ms;
    series->last_us = cw_clock_wall_ms() * 1000;
    if (!series->call)
        write_series(series);
}

struct cw_kube_events_counts cw_kube_events_counts(const struct cw_kube_events *events)
{
    return events->counts;
}
