/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for one page after the other. A continue token that has expired (410) makes it begin again
 * without pages, which the server can always answer. */
#include "kube/kube_list.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "kube/field.h"

#define PAGES_MAX 20000

struct cw_kube_list {
    struct cw_kube *kube;
    struct cw_kube_target target;              /* its texts are copies */
    char *name_space, *labels, *fields, *next; /* next: the continue token */
    const char *const *without;
    int page, pages; /* page 0: all at once */
    bool began_again;
    struct cw_kube_call *call;
    struct cw_kube_list_events events;
};

static void ask(struct cw_kube_list *list);

static void free_list(struct cw_kube_list *list)
{
    cw_mem_free(list->name_space);
    cw_mem_free(list->labels);
    cw_mem_free(list->fields);
    cw_mem_free(list->next);
    cw_mem_free(list);
}

static void done(struct cw_kube_list *list, const char *resource_version,
                 const struct cw_kube_answer *answer)
{
    list->events.done(list->events.arg, resource_version, answer);
    free_list(list);
}

/* Returns what is wrong with a page, or NULL. */
static const char *fault_of(const struct cw_kube_list *list, const struct cw_value *object)
{
    const char *kind = cw_kube_text(object, "kind"), *version;
    const struct cw_value *items = cw_kube_field(object, "items");
    size_t n = kind ? strlen(kind) : 0;

    version = cw_kube_text(object, "metadata.resourceVersion");
    if (n < 4 || strcmp(kind + n - 4, "List") != 0)
        return "its kind is no list";
    if (!version || !*version)
        return "it has no metadata.resourceVersion";
    if (items && items->type != CW_VALUE_LIST && items->type != CW_VALUE_NULL)
        return "its items are no list";
    return list->pages > PAGES_MAX ? "it has no end" : NULL;
}

static void fail(struct cw_kube_list *list, const char *fault)
{
    struct cw_kube_answer answer = {.code = CW_E_CORRUPT};
    CW_STR_AUTO what = {0};
    struct cw_err err = {0};

    cw_kube_describe(&list->target, &what);
    cw_err_set(&err, CW_E_CORRUPT, "list %s: what was answered is no list: %s", what.s, fault);
    answer.err = &err;
    done(list, NULL, &answer);
}

static void tell_items(struct cw_kube_list *list, struct cw_value *object)
{
    const struct cw_value *items = cw_kube_field(object, "items");

    for (size_t i = 0; items && i < items->n; i++)
        list->events.item(list->events.arg, &items->items[i]);
}

static void take_page(struct cw_kube_list *list, struct cw_kube_answer *answer)
{
    const char *fault = fault_of(list, answer->object), *next;

    if (fault) {
        fail(list, fault);
        return;
    }
    tell_items(list, answer->object);
    next = cw_kube_text(answer->object, "metadata.continue");
    cw_mem_free(list->next);
    list->next = next && *next ? cw_mem_strdup(next) : NULL;
    if (list->next)
        ask(list);
    else
        done(list, cw_kube_text(answer->object, "metadata.resourceVersion"), answer);
}

static void begin_again(struct cw_kube_list *list)
{
    list->began_again = true;
    list->page = 0;
    cw_mem_free(list->next);
    list->next = NULL;
    list->events.again(list->events.arg);
    ask(list);
}

static void on_page(void *arg, struct cw_kube_answer *answer)
{
    struct cw_kube_list *list = arg;
    bool expired =
        answer->status.reason == CW_KUBE_Expired || answer->status.reason == CW_KUBE_Gone;

    list->call = NULL;
    list->pages++;
    if (answer->code == CW_OK)
        take_page(list, answer);
    else if (expired && list->next && !list->began_again)
        begin_again(list);
    else
        done(list, NULL, answer);
}

static void ask(struct cw_kube_list *list)
{
    const char *query[9];
    char limit[16];
    size_t n = 0;
    const char *const wanted[][2] = {{"labelSelector", list->labels},
                                     {"fieldSelector", list->fields},
                                     {"limit", list->page ? limit : NULL},
                                     {"continue", list->next}};

    snprintf(limit, sizeof(limit), "%d", list->page);
    for (size_t i = 0; i < CW_ARRAY_LEN(wanted); i++) {
        if (!wanted[i][1])
            continue;
        query[n++] = wanted[i][0];
        query[n++] = wanted[i][1];
    }
    query[n] = NULL;
    const struct cw_kube_request request = {
        .verb = CW_KUBE_LIST, .target = list->target, .query = query, .without = list->without};
    list->call = cw_kube_call_new(list->kube, &request, on_page, list);
}

struct cw_kube_list *cw_kube_list_new(struct cw_kube *kube,
                                      const struct cw_kube_list_request *request,
                                      const struct cw_kube_list_events *events)
{
    struct cw_kube_list *list = CW_NEW(struct cw_kube_list);

    list->kube = kube;
    list->name_space = cw_mem_strdup(request->target.name_space);
    list->labels = cw_mem_strdup(request->labels);
    list->fields = cw_mem_strdup(request->fields);
    list->target =
        (struct cw_kube_target){.kind = request->target.kind, .name_space = list->name_space};
    list->page = request->page ? request->page : CW_KUBE_PAGE;
    list->without = request->without;
    list->events = *events;
    ask(list);
    return list;
}

void cw_kube_list_cancel(struct cw_kube_list *list)
{
    if (!list)
        return;
    cw_kube_call_cancel(list->call);
    free_list(list);
}
