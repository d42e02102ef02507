/* SPDX-License-Identifier: Apache-2.0 */
/* Getting and listing, with pages. */
#include "kubernetes/fk_int.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

bool fk_wants_table(const struct fk_call *call)
{
    const char *accept = call->request->accept;
    return accept && strstr(accept, "as=Table") && strstr(accept, "g=meta.k8s.io");
}

void fk_handle_get(struct fk_call *call)
{
    json_t *object = fk_store_get(call->kind, call->ns, call->name);
    call->server->counts.reads++;
    if (!object) {
        fk_fail_not_found(call);
    } else if (fk_wants_table(call)) {
        json_auto_t *items = json_pack("[O]", object);
        json_auto_t *table = fk_table_of(call->server, call->kind, items);
        fk_put_text(table, "metadata.resourceVersion", fk_text(object, "metadata.resourceVersion"));
        call->kind = NULL;
        fk_answer_json(call, 200, table);
    } else {
        fk_answer_object(call, 200, object);
    }
}

/* ---- continue tokens: base64 of {"v","rv","start"}, opaque to clients ---- */
static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

char *fk_base64url(const char *text)
{
    struct cw_str str = {0};
    unsigned bits = 0, n = 0;
    for (; *text; text++) {
        bits = bits << 8 | (unsigned char)*text;
        for (n += 8; n >= 6; n -= 6)
            cw_str_add_char(&str, DIGITS[bits >> (n - 6) & 63U]);
    }
    if (n)
        cw_str_add_char(&str, DIGITS[bits << (6 - n) & 63U]);
    return cw_str_take(&str);
}

static char *decoded(const char *text)
{
    struct cw_str str = {0};
    unsigned bits = 0, n = 0;
    for (; *text && strchr(DIGITS, *text); text++) {
        bits = bits << 6 | (unsigned)(strchr(DIGITS, *text) - DIGITS);
        n += 6;
        if (n >= 8) {
            n -= 8;
            cw_str_add_char(&str, (char)(bits >> n & 255U));
        }
    }
    return cw_str_take(&str);
}

static char *token_for(uint64_t version, const char *key)
{
    json_auto_t *json = json_pack("{s:s, s:I, s:s}", "v", "meta.k8s.io/v1", "rv",
                                  (json_int_t)version, "start", key);
    cw_autofree char *text = fk_dump(json, false, NULL);
    return fk_base64url(text);
}

/* What a list answers from. */
struct page {
    uint64_t version; /* the list's */
    char *after;      /* key that the page begins behind; NULL: from the first */
    json_int_t limit; /* 0: none */
};

static char *key_of_object(const struct fk_kind *kind, const json_t *object)
{
    return cw_mem_printf("%s%s%s", kind->namespaced ? fk_text(object, "metadata.namespace") : "",
                         kind->namespaced ? "/" : "", fk_text(object, "metadata.name"));
}

static bool fail_expired(struct fk_call *call, const char *after)
{
    cw_autofree char *token = token_for(0, after);
    json_auto_t *status = fk_status(
        "The provided continue parameter is too old to display a consistent list result. You can "
        "start a new list without the continue parameter, or use the continue token in this "
        "response to retrieve the remainder of the results. Continuing with the provided token "
        "results in an inconsistent list - objects that were created, modified, or deleted between "
        "the time the first chunk was returned and now may show up in the list.",
        "Expired", 410, NULL);
    fk_put_text(status, "metadata.continue", token);
    fk_answer_json(call, 410, status);
    return false;
}

static bool read_continue(struct fk_call *call, struct page *page, const char *text)
{
    cw_autofree char *plain = decoded(text);
    json_auto_t *json = json_loads(plain, 0, NULL);
    const char *start = fk_text(json, "start");
    if (!start || !json_is_integer(json_object_get(json, "rv")))
        return fk_fail(call, 400, "BadRequest", NULL, "continue key is not valid: %s", text);
    page->after = cw_mem_strdup(start);
    uint64_t version = (uint64_t)fk_int(json, "rv", 0);
    if (version == 0) /* the token of an expired list: what is there now */
        return true;
    page->version = version;
    return version >= call->kind->forgotten || fail_expired(call, start);
}

static bool read_version(struct fk_call *call, struct page *page)
{
    uint64_t wanted = 0;
    const char *text = fk_text(call->query, "resourceVersion");
    if (!text || !*text)
        return true;
    if (!cw_str_to_u64(text, &wanted))
        return fk_fail(call, 400, "BadRequest", NULL,
                       "invalid resource version: resourceVersion: Invalid value: \"%s\": "
                       "strconv.ParseUint: parsing \"%s\": invalid syntax",
                       text, text);
    if (wanted > call->server->version)
        return fk_fail(call, 504, "Timeout",
                       json_pack("{s:[{s:s, s:s}], s:i}", "causes", "reason",
                                 "ResourceVersionTooLarge", "message", "Too large resource version",
                                 "retryAfterSeconds", 1),
                       "Timeout: Too large resource version: %llu, current: %llu",
                       (unsigned long long)wanted, (unsigned long long)call->server->version);
    if (cw_str_eq(fk_text(call->query, "resourceVersionMatch"), "Exact"))
        page->version = wanted;
    return true;
}

static bool read_page(struct fk_call *call, struct page *page)
{
    *page = (struct page){.version = call->server->version};
    int64_t limit = 0;
    if (cw_str_to_i64(fk_text_or(call->query, "limit", "0"), &limit))
        page->limit = limit;
    const char *token = fk_text(call->query, "continue");
    return token && *token ? read_continue(call, page, token) : read_version(call, page);
}

/* The objects of a page and how many follow. */
static json_t *items_of(struct fk_call *call, const struct page *page,
                        const struct fk_selector *selector, const json_t *all, json_int_t *ret_left)
{
    json_t *items = json_array();
    size_t i;
    json_t *object;
    *ret_left = 0;
    json_array_foreach ((json_t *)all, i, object) {
        cw_autofree char *key = key_of_object(call->kind, object);
        if ((page->after && strcmp(key, page->after) <= 0) ||
            (call->ns && !cw_str_eq(fk_text(object, "metadata.namespace"), call->ns)) ||
            !fk_selector_matches(selector, object))
            continue;
        if (page->limit && (json_int_t)json_array_size(items) >= page->limit)
            ++*ret_left;
        else
            json_array_append(items, object);
    }
    return items;
}

static void set_list_meta(struct fk_call *call, json_t *list, const struct page *page,
                          const struct fk_selector *selector, const json_t *items, json_int_t left)
{
    char version[32];
    snprintf(version, sizeof(version), "%llu", (unsigned long long)page->version);
    fk_put_text(list, "metadata.resourceVersion", version);
    if (left) {
        cw_autofree char *last =
            key_of_object(call->kind, json_array_get(items, json_array_size(items) - 1));
        cw_autofree char *token = token_for(page->version, last);
        fk_put_text(list, "metadata.continue", token);
        if (!json_array_size(selector->labels) && !json_array_size(selector->fields))
            fk_put_int(list, "metadata.remainingItemCount", left);
    } else if (call->kind->custom && !fk_wants_table(call)) {
        fk_put_text(list, "metadata.continue", "");
    }
}

static void shuffle(struct fk_server *server, json_t *items)
{
    for (size_t i = json_array_size(items); i > 1; i--) {
        size_t j = (size_t)fk_draw(server, i);
        json_t *a = json_incref(json_array_get(items, i - 1));
        json_array_set(items, i - 1, json_array_get(items, j));
        json_array_set_new(items, j, a);
    }
}

static json_t *list_of(const struct fk_call *call, const json_t *items)
{
    const struct fk_kind *kind = call->kind;
    if (fk_wants_table(call))
        return fk_table_of(call->server, kind, items);
    cw_autofree char *api_version = fk_kind_api_version(kind);
    json_t *list = json_object();
    cw_autofree char *name = cw_mem_printf("%sList", kind->kind);
    fk_put_text(list, "kind", name);
    fk_put_text(list, "apiVersion", api_version);
    json_t *out = json_array();
    size_t i;
    json_t *object;
    json_array_foreach ((json_t *)items, i, object)
        json_array_append_new(out, kind->custom ? fk_with_kind(kind, object) : json_incref(object));
    json_object_set_new(list, "metadata", json_object());
    json_object_set_new(list, "items", out);
    return list;
}

static void answer_list(struct fk_call *call, struct page *page, const struct fk_selector *selector)
{
    json_auto_t *all = fk_store_at(call->kind, page->version);
    if (!all) {
        fk_fail(call, 410, "Expired", NULL,
                "The resourceVersion for the provided list is too old.");
        return;
    }
    json_int_t left;
    json_auto_t *items = items_of(call, page, selector, all, &left);
    if (fk_fault_shuffles(call->server) && !left)
        shuffle(call->server, items);
    json_auto_t *list = list_of(call, items);
    set_list_meta(call, list, page, selector, items, left);
    if (fk_wants_table(call))
        call->kind = NULL; /* a table's keys stand in their own order */
    fk_answer_json(call, 200, list);
}

void fk_handle_list(struct fk_call *call)
{
    call->server->counts.lists++;
    struct fk_selector selector = {0};
    struct page page = {0};
    if (fk_selector_init(call, &selector) && read_page(call, &page))
        answer_list(call, &page, &selector);
    fk_selector_fini(&selector);
    cw_mem_free(page.after);
}
