/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/mem.h"
#include "dispatcher/web/web_int.h"

#define EVENTS "text/event-stream; charset=utf-8"
#define JSON "application/json; charset=utf-8"

static const struct {
    const char *path, *type;
    void (*begin)(void *arg, struct cw_page_request *request);
    bool takes_post;
} answers[] = {
    {"/api/events", EVENTS, cw_web_events, false},
    {"/api/explain", JSON, cw_web_explain, false},
    {"/api/graph", JSON, cw_web_graph, false},
    {"/api/decision", JSON, cw_web_decision, false},
    {"/api/catalogue", JSON, cw_web_catalogue, false},
    {"/api/elements", JSON, cw_web_elements, false},
    {"/api/who", JSON, cw_web_who, false},
    {"/api/act", JSON, cw_web_act, true},
    {"/api/login", JSON, cw_web_login, true},
    {"/api/logout", JSON, cw_web_logout, true},
};

struct file_page {
    struct cw_web *web;
    const struct cw_web_file *file;
};

/* The files of the page say nothing of this dispatcher, so nobody is asked for a token. */
static void begin_file(void *arg, struct cw_page_request *request)
{
    const struct file_page *page = arg;
    struct cw_str text = {0};
    if (!cw_web_is_own(page->web, request))
        return;
    cw_web_add_headers(request);
    cw_str_add_bytes(&text, page->file->bytes, page->file->n);
    cw_http_answer(request, true, &text);
}

void cw_web_add_pages(struct cw_dispatcher *d, struct cw_http_page *pages)
{
    static struct file_page files[CW_WEB_PAGES_MAX];
    struct cw_web *web = d->web = CW_NEW(struct cw_web);
    size_t n = 0;
    web->d = d;
    for (size_t i = 0; i < CW_ARRAY_LEN(answers); i++)
        pages[n++] = (struct cw_http_page){.path = answers[i].path,
                                           .type = answers[i].type,
                                           .begin = answers[i].begin,
                                           .takes_post = answers[i].takes_post,
                                           .arg = web};
    for (size_t i = 0; cw_web_files[i].path; i++) {
        CW_ASSERT(n < CW_WEB_PAGES_MAX);
        files[i] = (struct file_page){web, &cw_web_files[i]};
        pages[n++] = (struct cw_http_page){.path = cw_web_files[i].path,
                                           .type = cw_web_files[i].type,
                                           .begin = begin_file,
                                           .arg = &files[i]};
    }
}

void cw_web_end_views(struct cw_dispatcher *d)
{
    cw_web_views_close(d->web);
}

void cw_web_close(struct cw_dispatcher *d)
{
    if (!d->web)
        return;
    cw_web_views_close(d->web);
    /* Whoever has an answer coming has it by now; tokens do not stay in memory that is free. */
    memset(d->web->sessions, 0, sizeof(d->web->sessions));
    cw_mem_free(cw_steal(&d->web));
}
