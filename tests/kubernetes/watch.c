/* SPDX-License-Identifier: Apache-2.0 */
/* Watches: from a version on, each event that a selector knows is a line; bookmarks now and then; an end
 * at the timeout. Lines gather in the watch and are handed over at the end of a call, so that nobody
 * is called back in the middle of a change. */
#include "kubernetes/fk_int.h"
#include <stdio.h>
#include <string.h>
#include "base/mem.h"

struct fk_watch {
    struct fk_server *server; /* NULL: the server is gone */
    struct fk_watch *next;
    struct fk_kind *kind;
    char *ns;
    struct fk_selector selector;
    fk_watch_fn *fn; /* NULL: not started */
    void *arg;
    struct cw_str out; /* what is to be sent */
    size_t split_at;   /* bytes of out that go first, the rest a moment later; 0: all */
    int64_t resume_ms; /* nothing is sent before */
    bool is_silent;    /* a fault: nothing is sent any more */
    uint64_t from;     /* what is not newer is not told, even if the server has gone back since */
    bool wants_bookmarks;
    int64_t bookmark_ms, end_ms;
    enum fk_watch_end end; /* how it ends when out is sent */
    bool has_ended;        /* fn has been told so */
};

static void add_line(struct fk_watch *watch, const char *type, const json_t *object)
{
    json_auto_t *line = json_pack("{s:s, s:O}", "type", type, "object", (json_t *)object);
    cw_autofree char *text = NULL;
    if (watch->kind->custom) { /* the type first, and the object's keys sorted */
        cw_autofree char *inner = fk_dump(object, true, NULL);
        text = cw_mem_printf("{\"type\":\"%s\",\"object\":%s}", type, inner);
    } else {
        text = fk_dump(line, false, NULL);
    }
    cw_str_add(&watch->out, text);
    cw_str_add_char(&watch->out, '\n');
}

static void add_bookmark(struct fk_watch *watch, uint64_t at, bool ends_initial)
{
    char version[32];
    snprintf(version, sizeof(version), "%llu", (unsigned long long)at);
    json_auto_t *empty = json_pack("{s:{s:s}}", "metadata", "resourceVersion", version);
    if (!watch->kind->custom)
        fk_put(empty, "metadata.creationTimestamp", json_null());
    json_auto_t *object = fk_with_kind(watch->kind, empty);
    if (ends_initial)
        json_object_set_new(fk_at(object, "metadata"), "annotations",
                            json_pack("{s:s}", "k8s.io/initial-events-end", "true"));
    add_line(watch, "BOOKMARK", object);
}

static void add_error(struct fk_watch *watch, const char *message, const char *reason, int code)
{
    json_auto_t *status = fk_status(message, reason, code, NULL);
    cw_autofree char *text = fk_dump(status, false, NULL);
    cw_str_addf(&watch->out, "{\"type\":\"ERROR\",\"object\":%s}\n", text);
    watch->end = FK_WATCH_ENDS;
}

static bool sees(const struct fk_watch *watch, const json_t *object)
{
    return object && (!watch->ns || cw_str_eq(fk_text(object, "metadata.namespace"), watch->ns)) &&
           fk_selector_matches(&watch->selector, object);
}

/* The object of a deletion: what it was, under the version of the event. */
static json_t *last_state(const struct fk_watch *watch, const struct fk_event *event)
{
    json_t *object = fk_with_kind(watch->kind, event->before);
    json_t *metadata = json_copy(json_object_get(object, "metadata"));
    char version[32];
    snprintf(version, sizeof(version), "%llu", (unsigned long long)event->version);
    json_object_set_new(metadata, "resourceVersion", json_string(version));
    json_object_set_new(object, "metadata", metadata);
    return object;
}

static void add_event(struct fk_watch *watch, const struct fk_event *event)
{
    bool before = sees(watch, event->before), after = sees(watch, event->after);
    if (!before && !after)
        return;
    json_auto_t *object =
        after ? fk_with_kind(watch->kind, event->after) : last_state(watch, event);
    add_line(watch, !after ? "DELETED" : before ? "MODIFIED" : "ADDED", object);
}

/* ---- faults of a line ---- */
static void add_older_event(struct fk_watch *watch)
{
    const struct fk_kind *kind = watch->kind;
    if (kind->events_n > 1)
        add_event(watch, &kind->events[fk_draw(watch->server, kind->events_n - 1)]);
}

static void add_raw(struct fk_watch *watch, const json_t *order)
{
    const char *text = fk_text(order, "line");
    json_int_t n = fk_int(order, "bytes", 0); /* of a line without an end */
    for (json_int_t i = 0; i < n; i++)
        cw_str_add_char(&watch->out, 'x');
    if (text)
        cw_str_addf(&watch->out, "%s\n", text);
}

/* `from` is where the line begins in out. */
static void do_fault(struct fk_watch *watch, const struct fk_event *event, size_t from,
                     const char *fault, const json_t *order)
{
    size_t n = watch->out.len - from;
    size_t at = from + (n ? (size_t)fk_int(order, "at", (json_int_t)fk_draw(watch->server, n)) : 0);
    at = at < watch->out.len ? at : watch->out.len;
    if (cw_str_eq(fault, "split")) {
        watch->split_at = at;
    } else if (cw_str_eq(fault, "watch-reset")) {
        watch->out.len = at;
        watch->out.s[at] = '\0';
        watch->end = FK_WATCH_RESET;
    } else if (cw_str_eq(fault, "watch-end")) {
        watch->end = FK_WATCH_ENDS;
    } else if (cw_str_eq(fault, "watch-silence")) {
        watch->is_silent = true;
    } else if (cw_str_eq(fault, "watch-gone")) {
        add_error(watch, "too old resource version", "Expired", 410);
    } else if (cw_str_eq(fault, "duplicate")) {
        add_event(watch, event);
    } else if (cw_str_eq(fault, "back")) {
        add_older_event(watch);
    } else if (cw_str_eq(fault, "watch-line")) {
        add_raw(watch, order);
    }
}

void fk_watches_tell(struct fk_server *server, const struct fk_kind *kind,
                     const struct fk_event *event)
{
    for (struct fk_watch *watch = server->watches; watch; watch = watch->next) {
        if (watch->kind != kind || watch->end != FK_WATCH_GOES_ON || event->version <= watch->from)
            continue;
        size_t from = watch->out.len;
        add_event(watch, event);
        json_auto_t *order = NULL;
        const char *fault = watch->out.len > from ? fk_fault_of_line(server, kind, &order) : NULL;
        if (fault)
            do_fault(watch, event, from, fault, order);
    }
}

/* ---- sending ---- */
static void send_to(struct fk_watch *watch)
{
    struct fk_server *server = watch->server;
    if (!watch->fn || watch->is_silent || watch->has_ended || watch->resume_ms > server->now_ms)
        return;
    size_t n = watch->split_at ? watch->split_at : watch->out.len;
    bool is_rest = n < watch->out.len;
    watch->has_ended = !is_rest && watch->end != FK_WATCH_GOES_ON;
    if (!n && !watch->has_ended)
        return;
    cw_autofree char *bytes = cw_mem_dup(cw_str_text(&watch->out), n + 1);
    struct cw_str rest = {0};
    cw_str_add_bytes(&rest, watch->out.s ? watch->out.s + n : "", watch->out.len - n);
    cw_str_fini(&watch->out);
    watch->out = rest;
    watch->split_at = 0;
    if (is_rest)
        watch->resume_ms = server->now_ms + FK_STEP_MS;
    watch->fn(watch->arg, bytes, n, watch->has_ended ? watch->end : FK_WATCH_GOES_ON);
}

void fk_watches_flush(struct fk_server *server)
{
    for (struct fk_watch *watch = server->watches; watch; watch = watch->next)
        send_to(watch);
}

/* The version of the last change of a kind. */
static uint64_t last_version(const struct fk_kind *kind)
{
    return kind->events_n ? kind->events[kind->events_n - 1].version : kind->forgotten;
}

static void advance_one(struct fk_watch *watch, int64_t now_ms)
{
    if (watch->end != FK_WATCH_GOES_ON)
        return;
    if (now_ms >= watch->end_ms) {
        watch->end = FK_WATCH_ENDS;
    } else if (watch->wants_bookmarks && now_ms >= watch->bookmark_ms) {
        /* None where nothing of the kind has changed since the watch was begun. */
        if (last_version(watch->kind) > watch->from)
            add_bookmark(watch, last_version(watch->kind), false);
        watch->bookmark_ms = now_ms + watch->server->options.bookmark_ms;
    }
}

void fk_watches_advance(struct fk_server *server)
{
    for (struct fk_watch *watch = server->watches; watch; watch = watch->next)
        advance_one(watch, server->now_ms);
    fk_watches_flush(server);
}

static int64_t next_of(const struct fk_watch *watch, int64_t now_ms)
{
    if (watch->is_silent || watch->has_ended)
        return INT64_MAX;
    if (watch->resume_ms > now_ms)
        return watch->resume_ms;
    return watch->wants_bookmarks && watch->bookmark_ms < watch->end_ms ? watch->bookmark_ms
                                                                        : watch->end_ms;
}

int64_t fk_watches_next_ms(const struct fk_server *server)
{
    int64_t next = INT64_MAX;
    for (const struct fk_watch *watch = server->watches; watch; watch = watch->next) {
        int64_t at = next_of(watch, server->now_ms);
        next = at < next ? at : next;
    }
    return next;
}

void fk_watches_end(struct fk_server *server, enum fk_watch_end end)
{
    for (struct fk_watch *watch = server->watches; watch; watch = watch->next)
        watch->end = watch->end == FK_WATCH_GOES_ON ? end : watch->end;
    fk_watches_flush(server);
}

/* ---- beginning ---- */
static void add_what_is_there(struct fk_watch *watch)
{
    for (size_t i = 0; i < watch->kind->n; i++)
        if (sees(watch, watch->kind->objects[i].json)) {
            json_auto_t *object = fk_with_kind(watch->kind, watch->kind->objects[i].json);
            add_line(watch, "ADDED", object);
        }
}

static bool fail_gone(struct fk_call *call, struct fk_watch *watch, uint64_t from)
{
    char message[96];
    snprintf(message, sizeof(message), "too old resource version: %llu (%llu)",
             (unsigned long long)from, (unsigned long long)watch->kind->forgotten);
    if (call->server->options.old_gone)
        return fk_fail(call, 410, "Expired", NULL, "%s", message);
    add_error(watch, message, "Expired", 410);
    return true;
}

static bool begin_initial(struct fk_call *call, struct fk_watch *watch)
{
    if (!cw_str_eq(fk_text(call->query, "resourceVersionMatch"), "NotOlderThan")) {
        json_t *causes = json_array();
        fk_cause(causes, "FieldValueForbidden", "resourceVersionMatch",
                 "Forbidden: sendInitialEvents requires setting resourceVersionMatch to "
                 "NotOlderThan");
        return fk_fail(call, 422, "Invalid",
                       json_pack("{s:s, s:s, s:o}", "group", "meta.k8s.io", "kind", "ListOptions",
                                 "causes", causes),
                       "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                       "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if (call->server->options.no_streaming_list) {
        add_error(watch,
                  "a watch stream was requested by the client but the required storage feature "
                  "RequestWatchProgress is disabled",
                  "InternalError", 500);
        return true;
    }
    add_what_is_there(watch);
    if (watch->wants_bookmarks)
        add_bookmark(watch, watch->server->version, true);
    return true;
}

static bool begin(struct fk_call *call, struct fk_watch *watch)
{
    uint64_t from = 0;
    const char *text = fk_text_or(call->query, "resourceVersion", "");
    if (cw_str_eq(fk_text(call->query, "sendInitialEvents"), "true"))
        return begin_initial(call, watch);
    if (*text && !cw_str_to_u64(text, &from))
        return fk_fail(call, 500, NULL, NULL,
                       "resourceVersion: Invalid value: \"%s\": strconv.ParseUint: parsing \"%s\": "
                       "invalid syntax",
                       text, text);
    if (from == 0) {
        add_what_is_there(watch);
        return true;
    }
    if (from < watch->kind->forgotten)
        return fail_gone(call, watch, from);
    watch->from = from;
    for (size_t i = 0; i < watch->kind->events_n; i++)
        if (watch->kind->events[i].version > from)
            add_event(watch, &watch->kind->events[i]);
    return true;
}

static struct fk_watch *new_watch(struct fk_call *call)
{
    struct fk_watch *watch = CW_NEW(struct fk_watch);
    struct fk_server *server = call->server;
    int64_t seconds = 0;
    bool is_timed = cw_str_to_i64(fk_text_or(call->query, "timeoutSeconds", ""), &seconds);
    watch->server = server;
    watch->kind = call->kind;
    watch->ns = cw_mem_strdup(call->ns);
    const char *bookmarks = fk_text_or(call->query, "allowWatchBookmarks", "");
    watch->wants_bookmarks = cw_str_eq(bookmarks, "true") || cw_str_eq(bookmarks, "1");
    watch->bookmark_ms = server->now_ms + server->options.bookmark_ms;
    watch->end_ms =
        server->now_ms +
        (is_timed && seconds > 0 ? seconds * 1000 : 1800000 + (int64_t)fk_draw(server, 1800000));
    return watch;
}

void fk_handle_watch(struct fk_call *call)
{
    struct fk_watch *watch = new_watch(call);
    call->server->counts.watches++;
    if (!fk_selector_init(call, &watch->selector) || !begin(call, watch)) {
        watch->server = NULL;
        fk_watch_free(watch);
        return;
    }
    watch->next = call->server->watches;
    call->server->watches = watch;
    call->answer->status = 200;
    call->answer->watch = watch;
}

void fk_watch_start(struct fk_watch *watch, fk_watch_fn *fn, void *arg)
{
    watch->fn = fn;
    watch->arg = arg;
    if (watch->server)
        send_to(watch);
}

void fk_watch_free(struct fk_watch *watch)
{
    if (!watch)
        return;
    if (watch->server) {
        struct fk_watch **at = &watch->server->watches;
        while (*at != watch)
            at = &(*at)->next;
        *at = watch->next;
    }
    fk_selector_fini(&watch->selector);
    cw_str_fini(&watch->out);
    cw_mem_free(watch->ns);
    cw_mem_free(watch);
}

void fk_watches_forget_server(struct fk_server *server)
{
    while (server->watches) {
        struct fk_watch *watch = server->watches;
        server->watches = watch->next;
        watch->server = NULL;
    }
}
