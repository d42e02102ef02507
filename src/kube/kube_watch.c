/* SPDX-License-Identifier: Apache-2.0 */
/* List, watch, and what follows when one of them ends. */
#include "kube/kube_watch.h"

#include <stdio.h>
#include <string.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kube/cut_lists.h"
#include "kube/field.h"
#include "kube/kube_list.h"

#define TIMEOUT_S 300
#define SILENCE_MS 150000
#define BROKEN_SILENCE_MS 30000 /* the same for the first watch after a connection has broken */
#define RETRY_MAX_MS 30000
#define FIRST_TRIES 4     /* cw_backoff begins with about 50 ms * 2^4 */
#define DEADLINE_MS 30000 /* after the server should have ended a watch */
#define STEADY_MS 5000    /* a watch that lasted as long was no failure */
#define RESUMES_MAX 3     /* so often a watch is tried in vain before a list */

const char *const cw_kube_without_managers[] = {CW_KUBE_LIST("managedFields"), NULL};

struct cw_kube_watch {
    struct cw_kube *kube;
    struct cw_kube_watch_options options; /* its texts are copies */
    struct cw_kube_watch_events events;
    char *name_space, *labels, *fields;
    struct cw_kube_objects objects;
    char *kind; /* of one object, from the kind of the list; NULL: not known */
    struct cw_kube_list *list;
    struct cw_kube_call *stream;
    struct cw_timer *retry, *deadline;
    struct cw_backoff backoff;
    uint64_t seed;
    bool moved;       /* the present watch has told something */
    int in_vain;      /* watches one after the other that told nothing */
    int64_t begun_ms; /* the present watch */
    bool must_list;   /* a watch would not do */
    bool broken; /* a connection has broken, and the server has told nothing since: it may have been
                  * restored from a backup */
    struct cw_err line;         /* why a line has ended the watch */
    struct cw_err item;         /* the first object of a list that is none */
    struct cw_kube_status told; /* the Status of an ERROR line */
    struct cw_kube_watch_counts counts;
};

static void begin_list(struct cw_kube_watch *watch);
static void begin_watch(struct cw_kube_watch *watch);

static void go_on(void *arg)
{
    struct cw_kube_watch *watch = arg;

    if (watch->must_list || !watch->objects.position)
        begin_list(watch);
    else
        begin_watch(watch);
}

static void reset_backoff(struct cw_kube_watch *watch)
{
    cw_backoff_reset(&watch->backoff);
    watch->backoff.tries = FIRST_TRIES;
    watch->in_vain = 0;
}

/* Goes on later, after a failure. */
static void wait_and_go_on(struct cw_kube_watch *watch, int64_t at_least_ms,
                           const struct cw_err *err)
{
    int64_t ms = CW_MAX(cw_backoff_next_ms(&watch->backoff), at_least_ms);

    watch->counts.failures++;
    cw_timer_start(watch->retry, ms, 0);
    if (watch->events.failed)
        watch->events.failed(watch->events.arg, err, ms);
}

/* ---- lists ---- */

static void on_item(void *arg, struct cw_value *object)
{
    struct cw_kube_watch *watch = arg;
    struct cw_err err = {0};

    if (cw_kube_objects_list_item(&watch->objects, object, &err) != CW_OK &&
        watch->item.code == CW_OK)
        watch->item = err;
}

static void on_again(void *arg)
{
    struct cw_kube_watch *watch = arg;

    watch->item = (struct cw_err){0};
    cw_kube_objects_list_begin(&watch->objects);
}

/* "PodList" is a list of kind "Pod". */
static void keep_kind(struct cw_kube_watch *watch, const struct cw_value *list)
{
    const char *kind = cw_kube_text(list, "kind");

    cw_mem_free(watch->kind);
    watch->kind = kind ? cw_mem_strndup(kind, strlen(kind) - 4) : NULL;
    if (cw_str_eq(watch->kind, "")) {
        cw_mem_free(watch->kind);
        watch->kind = NULL;
    }
}

static void on_listed(void *arg, const char *version, const struct cw_kube_answer *answer)
{
    struct cw_kube_watch *watch = arg;

    watch->list = NULL;
    if (answer->code != CW_OK) {
        wait_and_go_on(watch, answer->status.retry_after_ms, answer->err);
        return;
    }
    if (watch->item.code != CW_OK) { /* nothing is deleted because of a list that lies */
        wait_and_go_on(watch, 0, &watch->item);
        return;
    }
    keep_kind(watch, answer->object);
    cw_kube_objects_list_end(&watch->objects, version);
    watch->must_list = watch->broken = false;
    if (watch->events.listed)
        watch->events.listed(watch->events.arg);
    begin_watch(watch);
}

static void begin_list(struct cw_kube_watch *watch)
{
    const struct cw_kube_list_request request = {.target = watch->options.target,
                                                 .labels = watch->labels,
                                                 .fields = watch->fields,
                                                 .page = watch->options.page,
                                                 .without = watch->options.without};
    const struct cw_kube_list_events events = {on_item, on_again, on_listed, watch};

    watch->counts.lists++;
    on_again(watch);
    watch->list = cw_kube_list_new(watch->kube, &request, &events);
}

/* ---- watches ---- */

/* Takes an event's object. Another kind than that of the list is a watch for something else. */
static int take_event(struct cw_kube_watch *watch, const struct cw_value *event, struct cw_err *err)
{
    const char *type = cw_kube_text(event, "type");
    const struct cw_value *object = cw_kube_field(event, "object");
    const char *kind = cw_kube_text(object, "kind");

    if (!type || !object || object->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID, "a line without type and object");
    if (cw_str_eq(type, "ERROR")) {
        cw_kube_status_of(object, 0, NULL, &watch->told);
        return cw_err_set(err, CW_E_UNAVAILABLE, "%s: %s", cw_kube_reason_name(watch->told.reason),
                          watch->told.message);
    }
    if (watch->kind && kind && !cw_str_eq(watch->kind, kind))
        return cw_err_set(err, CW_E_AGAIN, "an object of kind %.100s in a watch for %s", kind,
                          watch->kind);
    /* The event is ours, so its object may be emptied. */
    return cw_kube_objects_event(&watch->objects, type, &event->items[object - event->items], err);
}

static int on_line(void *arg, const char *line, size_t n, struct cw_err *err)
{
    struct cw_kube_watch *watch = arg;
    struct cw_value event = {0};
    CW_STR_AUTO rest = {0};

    watch->counts.events++;
    if (watch->options.without && cw_kube_cut_lists(line, n, watch->options.without, &rest)) {
        line = rest.s;
        n = rest.len;
    }
    int rc = cw_value_parse(line, n, NULL, &event, &watch->line);
    if (rc == CW_OK)
        rc = take_event(watch, &event, &watch->line);
    cw_value_fini(&event);
    if (rc == CW_E_AGAIN)
        watch->must_list = true;
    else if (rc == CW_OK)
        watch->moved = true, watch->broken = false;
    return rc == CW_OK ? CW_OK : cw_err_set(err, rc, "%s", watch->line.msg);
}

/* Whether the server has taken a watch, and then nothing came for too long. That is no failure: where
 * nothing of a kind changes no bookmarks come either. But a server that was restored from a backup
 * tells nothing until its versions have reached the one that it was asked for. */
static bool was_silent(const struct cw_kube_answer *answer)
{
    return answer->code == CW_E_TIMEOUT && answer->status.http == 200;
}

static bool is_too_old(const struct cw_kube_status *status)
{
    return status->reason == CW_KUBE_Expired || status->reason == CW_KUBE_Gone;
}

static void on_stream_end(void *arg, struct cw_kube_answer *answer)
{
    struct cw_kube_watch *watch = arg;
    bool too_old = is_too_old(&answer->status) || is_too_old(&watch->told);
    struct cw_err early = {0};

    watch->stream = NULL;
    cw_timer_stop(watch->deadline);
    if (too_old || (was_silent(answer) && watch->broken))
        watch->must_list = true;
    if (watch->moved || cw_clock_ms() - watch->begun_ms >= STEADY_MS)
        reset_backoff(watch);
    else
        watch->in_vain++;
    if (was_silent(answer) || ((answer->code == CW_OK || too_old) && watch->in_vain <= 1)) {
        go_on(watch);
        return;
    }
    if (answer->code != CW_OK)
        watch->broken = true;
    if (watch->in_vain > RESUMES_MAX)
        watch->must_list = true;
    cw_err_set(&early, CW_E_UNAVAILABLE, "a watch was ended as soon as it had begun");
    wait_and_go_on(watch, CW_MAX(answer->status.retry_after_ms, watch->told.retry_after_ms),
                   answer->code == CW_OK ? &early : answer->err);
}

/* The server goes on for longer than it was asked to. */
static void on_deadline(void *arg)
{
    struct cw_kube_watch *watch = arg;

    cw_kube_call_cancel(watch->stream);
    watch->stream = NULL;
    reset_backoff(watch);
    go_on(watch);
}

static void begin_watch(struct cw_kube_watch *watch)
{
    int64_t timeout_s = watch->options.timeout_s, random;
    char timeout[24];

    watch->seed = cw_mix64(watch->seed + 1);
    random = (int64_t)(watch->seed % (uint64_t)timeout_s);
    snprintf(timeout, sizeof(timeout), "%lld", (long long)(timeout_s + random));
    const char *query[] = {"watch",
                           "1",
                           "allowWatchBookmarks",
                           "true",
                           "timeoutSeconds",
                           timeout,
                           "resourceVersion",
                           watch->objects.position,
                           watch->labels   ? "labelSelector"
                           : watch->fields ? "fieldSelector"
                                           : NULL,
                           watch->labels ? watch->labels : watch->fields,
                           watch->labels && watch->fields ? "fieldSelector" : NULL,
                           watch->fields,
                           NULL};
    const struct cw_kube_request request = {
        .verb = CW_KUBE_WATCH, .target = watch->options.target, .query = query};
    watch->moved = false;
    watch->line = (struct cw_err){0};
    watch->told = (struct cw_kube_status){0};
    watch->begun_ms = cw_clock_ms();
    watch->counts.watches++;
    cw_timer_start(watch->deadline, (timeout_s + random) * 1000 + DEADLINE_MS, 0);
    watch->stream =
        cw_kube_stream_new(watch->kube, &request,
                           watch->broken ? CW_MIN(watch->options.silence_ms, BROKEN_SILENCE_MS)
                                         : watch->options.silence_ms,
                           on_line, on_stream_end, watch);
}

/* ---- from outside ---- */

static void set_options(struct cw_kube_watch *watch, const struct cw_kube_watch_options *options)
{
    watch->options = *options;
    watch->name_space = cw_mem_strdup(options->target.name_space);
    watch->labels = cw_mem_strdup(options->labels);
    watch->fields = cw_mem_strdup(options->fields);
    watch->options.target =
        (struct cw_kube_target){.kind = options->target.kind, .name_space = watch->name_space};
    if (options->timeout_s <= 0)
        watch->options.timeout_s = TIMEOUT_S;
    if (options->silence_ms <= 0)
        watch->options.silence_ms = SILENCE_MS;
    if (options->retry_max_ms <= 0)
        watch->options.retry_max_ms = RETRY_MAX_MS;
}

struct cw_kube_watch *cw_kube_watch_new(struct cw_kube *kube,
                                        const struct cw_kube_watch_options *options,
                                        const struct cw_kube_watch_events *events)
{
    struct cw_kube_watch *watch = CW_NEW(struct cw_kube_watch);

    watch->kube = kube;
    set_options(watch, options);
    watch->events = *events;
    watch->seed = cw_rng_process_id();
    cw_kube_objects_init(&watch->objects, &events->objects);
    cw_backoff_init(&watch->backoff, watch->options.retry_max_ms);
    reset_backoff(watch);
    watch->retry = cw_timer_new(cw_kube_loop(kube), go_on, watch);
    watch->deadline = cw_timer_new(cw_kube_loop(kube), on_deadline, watch);
    begin_list(watch);
    return watch;
}

void cw_kube_watch_free(struct cw_kube_watch *watch)
{
    if (!watch)
        return;
    cw_kube_list_cancel(watch->list);
    cw_kube_call_cancel(watch->stream);
    cw_timer_free(watch->retry);
    cw_timer_free(watch->deadline);
    cw_kube_objects_fini(&watch->objects);
    cw_mem_free(watch->kind);
    cw_mem_free(watch->name_space);
    cw_mem_free(watch->labels);
    cw_mem_free(watch->fields);
    cw_mem_free(watch);
}

void cw_kube_watch_relist(struct cw_kube_watch *watch)
{
    cw_kube_list_cancel(watch->list);
    cw_kube_call_cancel(watch->stream);
    watch->list = NULL;
    watch->stream = NULL;
    cw_timer_stop(watch->retry);
    cw_timer_stop(watch->deadline);
    reset_backoff(watch);
    watch->must_list = true;
    begin_list(watch);
}

bool cw_kube_watch_must_list(const struct cw_kube_watch *watch)
{
    return watch->must_list || !watch->objects.position;
}

const struct cw_kube_objects *cw_kube_watch_objects(const struct cw_kube_watch *watch)
{
    return &watch->objects;
}

struct cw_kube_watch_counts cw_kube_watch_counts(const struct cw_kube_watch *watch)
{
    return watch->counts;
}
