/* SPDX-License-Identifier: Apache-2.0 */
/* Children `cachew cache warm`. What was loaded stays when one dies, so another one goes on from there. */
#include "controller/prefetch.h"
#include "controller/prefetch_turns.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/source_url.h"
#include "kube/field.h"
#include "kube/watch_lines.h"
#include "loop/child.h"

#define END_MS 10000
#define LINE_MAX_BYTES 65536
#define ARGS_MAX 8192
/* How many run at once: each is a process in the controller's own limit of memory, and the workers that they
 * load with are the same ones. The others wait. */
#define RUNS_MAX 2

struct cw_prefetch {
    struct cw_ref *ref;
    struct cw_child child;
    struct cw_poll *poll;
    struct cw_kube_lines lines;
    char *name_space;
    char why[256]; /* what the child has said of its failure */
    int64_t begun_ms;
    bool yields; /* it was ended so that another one is warmed */
    struct cw_prefetch *prev, *next;
};

/* ---- what is warmed ---- */

struct words {
    const char *v[ARGS_MAX + 16];
    char *owned[ARGS_MAX];
    size_t n, owned_n;
};

static void add_owned(struct words *words, char *text)
{
    if (words->owned_n == ARGS_MAX) {
        cw_mem_free(text);
        return;
    }
    words->owned[words->owned_n++] = text;
    words->v[words->n++] = text;
}

/* "file:///data" and "local:///data" are /data; a URL of a server is read as it stands. Whether that is a file
 * or a folder is found out where the data is: by the workers. */
static const char *path_of(const char *location)
{
    const char *scheme = strstr(location, "://");
    return scheme && !cw_url_remote_scheme(location) ? scheme + 3 : location;
}

static void add_sources(const struct cw_cachebackend *b, struct words *words)
{
    size_t paths_n = 0;
    const struct cw_value *paths = cw_kube_list(&b->spec, "prefetch.paths", &paths_n);
    for (size_t i = 0; i < b->sources_n; i++) {
        const char *location = cw_kube_text(&b->sources[i], "location");
        for (size_t k = 0; location && k < paths_n; k++)
            if (paths[k].type == CW_VALUE_STR)
                add_owned(words, cw_mem_printf("%s/%s", path_of(location), paths[k].s));
        if (location && paths_n == 0)
            add_owned(words, cw_mem_strdup(path_of(location)));
    }
}

/* ---- a child ---- */

static void free_run(struct cw_prefetch *run)
{
    run->ref->c->prefetches_n--;
    cw_poll_free(run->poll);
    cw_kube_lines_fini(&run->lines);
    cw_mem_free(run->name_space);
    if (run->prev)
        run->prev->next = run->next;
    else
        run->ref->c->prefetches = run->next;
    if (run->next)
        run->next->prev = run->prev;
}

static int on_line(void *arg, const char *line, size_t n, struct cw_err *err)
{
    struct cw_prefetch *run = arg;
    struct cw_item *item = cw_item_find(run->ref->c, run->ref->key);
    struct cw_value value = {0};
    int64_t bytes = 0, total = 0;
    (void)err;
    if (!item || strcmp(item->b->uid, run->ref->uid) != 0 ||
        cw_value_parse(line, n, "cachew cache warm", &value, NULL) != 0)
        return 0;
    if ((cw_kube_i64(&value, "progress.bytes", &bytes) &&
         cw_kube_i64(&value, "progress.total", &total)) ||
        (cw_kube_i64(&value, "cached_bytes", &bytes) &&
         cw_kube_i64(&value, "source_bytes", &total)))
        item->prefetch_percent = total > 0 ? (int64_t)(100 * (double)bytes / (double)total) : 100;
    if (cw_kube_text(&value, "error"))
        snprintf(run->why, sizeof(run->why), "%s", cw_kube_text(&value, "error"));
    cw_value_fini(&value);
    cw_item_touch(item);
    return 0;
}

static void begin_next(struct cw_controller *c);

/* Whoever made the CacheBackend does not see the controller's log, so what the child has said stands in the
 * condition. */
static void note_end(const struct cw_prefetch *run, int status, struct cw_item *item)
{
    if (run->yields && status != 0) {
        item->prefetch = (struct cw_step){0};
    } else if (status != 0) {
        cw_step_retry(&item->prefetch, "PrefetchFailed",
                      run->why[0] != '\0'
                          ? run->why
                          : "cachew cache warm has failed: the controller's log says why");
    } else {
        cw_step_set(&item->prefetch, CW_STEP_DONE);
        if (item->prefetch_percent >= 0 && item->prefetch_percent < 100)
            snprintf(item->prefetch.message, sizeof(item->prefetch.message),
                     "%" PRId64 " %% of the bytes are cached: the rest did not fit "
                     "(capacity.sourceQuota), or could not be kept",
                     item->prefetch_percent);
        item->prefetch_percent = 100;
    }
}

static void end(struct cw_prefetch *run)
{
    struct cw_controller *c = run->ref->c;
    int status = cw_child_stop(&run->child, END_MS);
    free_run(run);
    cw_log_info(CW_CONTROLLER, "cachebackend %s: its warming has ended, status %d", run->ref->key,
                WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    struct cw_item *item = cw_item_end(run->ref);
    if (item)
        note_end(run, status, item);
    cw_mem_free(run);
    begin_next(c);
    if (item)
        cw_item_touch(item);
}

static void on_output(void *arg)
{
    struct cw_prefetch *run = arg;
    char bytes[4096];
    ssize_t n = read(run->child.stdout_fd, bytes, sizeof(bytes));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || cw_kube_lines_add(&run->lines, bytes, (size_t)n, on_line, run, NULL) != 0)
        end(run);
}

static int start(struct cw_item *item, struct cw_prefetch *run, struct cw_err *err)
{
    const struct cw_controller_options *o = &item->c->options;
    cw_autofree char *name = cw_cachebackend_cache_name(item->b);
    cw_autofree char *tenant = cw_mem_printf("CACHEW_TENANT=%s", item->b->name_space);
    struct words *words = CW_NEW(struct words);
    char program[4096];
    int rc = cw_child_find("cachew", program, sizeof(program), err);
    /* The tenant's cache is for its jobs alone, and this is one. */
    const char *const head[] = {"/usr/bin/env", tenant,
                                program,        "cache",
                                "warm",         "--json",
                                "--dispatcher", o->dispatcher,
                                "--cache",      item->place_answer.url[0] != '\0' ? name : ""};
    for (size_t i = 0; i < CW_ARRAY_LEN(head); i++)
        words->v[words->n++] = head[i];
    if (o->token_file) {
        words->v[words->n++] = "--token-file";
        words->v[words->n++] = o->token_file;
    }
    words->v[words->n++] = "--";
    add_sources(item->b, words);
    if (rc == 0)
        rc = cw_child_start(&run->child, words->v, NULL, 0, err);
    for (size_t i = 0; i < words->owned_n; i++)
        cw_mem_free(words->owned[i]);
    cw_mem_free(words);
    return rc;
}

static void begin(struct cw_item *item)
{
    struct cw_controller *c = item->c;
    struct cw_prefetch *run = CW_NEW(struct cw_prefetch);
    struct cw_err err = {0};
    item->prefetch_since = 0;
    if (strcmp(item->warming, item->b->to_warm) != 0)
        item->prefetch_percent = -1;
    snprintf(item->warming, sizeof(item->warming), "%s", item->b->to_warm);
    int rc = start(item, run, &err);
    if (rc == 0) {
        run->poll = cw_poll_new(c->loop, run->child.stdout_fd, on_output, run, &err);
        if (!run->poll)
            (void)cw_child_stop(&run->child, 0);
    }
    if (rc != 0 || !run->poll) {
        cw_step_retry(&item->prefetch, "PrefetchFailed", err.msg);
        cw_mem_free(run);
        cw_item_touch(item);
        return;
    }
    item->prefetch.state = CW_STEP_RUNS;
    item->cancel_prefetch = cw_prefetch_cancel;
    run->lines.max = LINE_MAX_BYTES;
    run->ref = cw_item_begin(item, CW_DO_PREFETCH);
    run->name_space = cw_mem_strdup(item->b->name_space);
    run->begun_ms = cw_clock_ms();
    run->next = c->prefetches;
    if (c->prefetches)
        c->prefetches->prev = run;
    c->prefetches = run;
    c->prefetches_n++;
    (void)cw_strmap_set(&c->served, run->name_space, (void *)(uintptr_t)++c->prefetches_began);
    cw_log_info(CW_CONTROLLER, "cachebackend %s/%s: its data sources are warmed",
                item->b->name_space, item->b->name);
}

/* ---- turns ---- */

static size_t running_of(const struct cw_controller *c, const char *name_space)
{
    size_t n = 0;
    for (const struct cw_prefetch *run = c->prefetches; run; run = run->next)
        n += cw_str_eq(run->name_space, name_space);
    return n;
}

static struct cw_turn_wanted wanted_of(const struct cw_item *item)
{
    const char *name_space = item->b->name_space;
    return (struct cw_turn_wanted){.name_space = name_space,
                                   .running = running_of(item->c, name_space),
                                   .served = (uintptr_t)cw_strmap_get(&item->c->served, name_space),
                                   .since = item->prefetch_since};
}

/* Returns whose turn it is of those that wait; NULL: nobody waits. */
static struct cw_item *find_next(const struct cw_controller *c, struct cw_turn_wanted *ret_wanted)
{
    struct cw_item *next = NULL;
    void *value;
    for (size_t i = 0; cw_strmap_next(&c->items, &i, NULL, &value);) {
        struct cw_item *item = value;
        if (item->prefetch_since == 0)
            continue;
        const struct cw_turn_wanted wanted = wanted_of(item);
        if (next && !cw_turn_is_before(&wanted, ret_wanted))
            continue;
        next = item;
        *ret_wanted = wanted;
    }
    return next;
}

static void begin_next(struct cw_controller *c)
{
    struct cw_turn_wanted wanted;
    struct cw_item *next;
    while (!c->stopping && c->prefetches_n < RUNS_MAX && (next = find_next(c, &wanted)))
        begin(next);
}

void cw_prefetch_begin(struct cw_item *item)
{
    if (item->prefetch_since == 0)
        item->prefetch_since = ++item->c->prefetches_began;
    begin_next(item->c);
}

void cw_prefetch_forget(struct cw_item *item)
{
    item->prefetch_since = 0;
}

void cw_prefetch_tick(struct cw_controller *c)
{
    struct cw_turn_wanted next;
    struct cw_prefetch *oldest = NULL;
    if (c->prefetches_n < RUNS_MAX || !find_next(c, &next))
        return;
    for (struct cw_prefetch *run = c->prefetches; run; run = run->next) {
        const struct cw_turn_taken taken = {run->name_space, running_of(c, run->name_space),
                                            run->begun_ms};
        if (run->yields) /* It ends already. */
            return;
        if (cw_turn_is_over(&taken, &next, cw_clock_ms(), c->options.prefetch_turn_ms) &&
            (!oldest || run->begun_ms < oldest->begun_ms))
            oldest = run;
    }
    if (!oldest)
        return;
    oldest->yields = true;
    cw_log_info(CW_CONTROLLER, "cachebackend %s: its warming makes room for one of namespace %s",
                oldest->ref->key, next.name_space);
    cw_child_kill(&oldest->child, 15);
}

void cw_prefetch_cancel(const struct cw_item *item)
{
    for (struct cw_prefetch *run = item->c->prefetches; run; run = run->next)
        if (strcmp(run->ref->uid, item->b->uid) == 0)
            cw_child_kill(&run->child, 15);
}

void cw_prefetch_stop_all(struct cw_controller *c)
{
    for (struct cw_prefetch *run; (run = c->prefetches) != NULL;) {
        cw_child_kill(&run->child, 15);
        (void)cw_child_stop(&run->child, END_MS);
        free_run(run);
        (void)cw_item_end(run->ref);
        cw_mem_free(run);
    }
    cw_strmap_fini(&c->served);
}
