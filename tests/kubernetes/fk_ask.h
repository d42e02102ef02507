/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the fake API server's core: requests in a line, and watches that keep what they get. */
#ifndef CW_TESTS_KUBERNETES_FK_ASK_H
#define CW_TESTS_KUBERNETES_FK_ASK_H

#include <string.h>
#include "base/mem.h"
#include "base/str.h"
#include "kubernetes/fk.h"
#include "kubernetes/jpath.h"
#include "support/cm.h"

#define PODS "/api/v1/namespaces/default/pods"
#define CONFIGS "/api/v1/namespaces/default/configmaps"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"

struct ask {
    struct fk_server *server;
    int64_t now_ms;
    const char *token, *patch_type; /* NULL: nobody, a merge patch */
    struct fk_answer answer;        /* the last one */
    json_t *json;                   /* its body */
};

static inline void ask_fini(struct ask *ask)
{
    json_decref(ask->json);
    fk_answer_fini(&ask->answer);
    fk_server_free(ask->server);
}

/* "GET /path?query"; body NULL: none. Returns the status. */
static inline int ask_do(struct ask *ask, const char *line, const char *body)
{
    cw_autofree char *copy = cw_mem_strdup(line);
    char *path = strchr(copy, ' '), *query;
    *path++ = '\0';
    query = strchr(path, '?');
    if (query)
        *query++ = '\0';
    struct fk_request request = {
        .method = copy,
        .path = path,
        .query = query,
        .token = ask->token,
        .user_agent = "test/1",
        .content_type = strcmp(copy, "PATCH") != 0 ? "application/json"
                        : ask->patch_type          ? ask->patch_type
                                                   : "application/merge-patch+json",
        .body = body,
        .body_n = body ? strlen(body) : 0,
    };
    fk_answer_fini(&ask->answer);
    json_decref(ask->json);
    fk_server_handle(ask->server, ask->now_ms, &request, &ask->answer);
    ask->json = ask->answer.body ? json_loads(ask->answer.body, 0, NULL) : NULL;
    return ask->answer.status;
}

/* Lets time go on until nothing is due within ms. */
static inline void ask_pass(struct ask *ask, int64_t ms)
{
    int64_t end = ask->now_ms + ms;
    while (fk_server_next_ms(ask->server) <= end) {
        int64_t next = fk_server_next_ms(ask->server);
        ask->now_ms = next > ask->now_ms ? next : ask->now_ms;
        fk_server_advance(ask->server, ask->now_ms);
    }
    ask->now_ms = end;
    fk_server_advance(ask->server, end);
}

static inline struct ask ask_new(struct fk_options options)
{
    options.wall_ms = 1767225600000; /* 2026-01-01T00:00:00Z */
    struct ask ask = {.server = fk_server_new(&options)};
    fk_server_open_to_all(ask.server);
    return ask;
}

/* ---- watches ---- */
struct heard {
    struct fk_watch *watch;
    struct cw_str text;
    size_t pieces;
    enum fk_watch_end end;
};

static inline void on_heard(void *arg, const char *bytes, size_t n, enum fk_watch_end end)
{
    struct heard *heard = arg;
    cw_str_add_bytes(&heard->text, bytes, n);
    heard->pieces += n > 0;
    heard->end = end;
}

static inline int hear(struct ask *ask, struct heard *heard, const char *line)
{
    *heard = (struct heard){0};
    int status = ask_do(ask, line, NULL);
    heard->watch = ask->answer.watch;
    ask->answer.watch = NULL;
    if (heard->watch)
        fk_watch_start(heard->watch, on_heard, heard);
    return status;
}

static inline void heard_fini(struct heard *heard)
{
    fk_watch_free(heard->watch);
    cw_str_fini(&heard->text);
}

/* The lines as "TYPE NAME\n"; what is no line is "?". */
static inline char *heard_lines(const struct heard *heard)
{
    struct cw_str out = {0};
    for (const char *s = cw_str_text(&heard->text); *s;) {
        size_t n = strcspn(s, "\n");
        json_auto_t *line = s[n] ? json_loadb(s, n, 0, NULL) : NULL;
        const char *name = fk_text_or(line, "object.metadata.name", "-");
        if (line)
            cw_str_addf(&out, "%s %s\n", fk_text(line, "type"), name);
        else
            cw_str_add(&out, "?\n");
        s += n + (s[n] == '\n');
    }
    return cw_str_take(&out);
}

static inline void assert_heard(const struct heard *heard, const char *lines)
{
    cw_autofree char *found = heard_lines(heard);
    assert_string_equal(found, lines);
}

static inline void make_config(struct ask *ask, const char *name)
{
    cw_autofree char *body = cw_mem_printf(
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\"}}", name);
    assert_int_equal(ask_do(ask, "POST " CONFIGS, body), 201);
}

static inline void order(struct ask *ask, const char *text)
{
    json_auto_t *json = json_loads(text, 0, NULL);
    struct cw_err err = {0};
    assert_int_equal(fk_server_order(ask->server, json, &err), 0);
}

#endif
