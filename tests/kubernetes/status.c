/* SPDX-License-Identifier: Apache-2.0 */
/* Answers, and above all Status objects, word for word as real servers give them. */
#include "kubernetes/fk_int.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/mem.h"

json_t *fk_status(const char *message, const char *reason, int code, json_t *details)
{
    json_t *status = json_pack("{s:s, s:s, s:{}, s:s, s:s}", "kind", "Status", "apiVersion", "v1",
                               "metadata", "status", "Failure", "message", message);
    if (reason)
        json_object_set_new(status, "reason", json_string(reason));
    if (details)
        json_object_set_new(status, "details", details);
    json_object_set_new(status, "code", json_integer(code));
    return status;
}

void fk_answer_json(struct fk_call *call, int status, const json_t *json)
{
    cw_mem_free(call->answer->body);
    call->answer->status = status;
    bool sorted = call->kind && call->kind->custom && status < 300;
    call->answer->body = fk_dump(json, sorted, &call->answer->body_n);
}

CW_PRINTF(1, 0)
static char *formatted(const char *fmt, va_list args)
{
    char *text = NULL;
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    text = cw_mem_new((size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, fmt, args);
    return text;
}

bool fk_fail(struct fk_call *call, int code, const char *reason, json_t *details, const char *fmt,
             ...)
{
    va_list args;
    va_start(args, fmt);
    cw_autofree char *message = formatted(fmt, args);
    va_end(args);
    json_auto_t *status = fk_status(message, reason, code, details);
    fk_answer_json(call, code, status);
    return false;
}

/* {name, group, kind}, as far as they are there. */
static json_t *details_of(const struct fk_call *call, const char *name, const char *kind)
{
    json_t *details = json_object();
    if (name && *name)
        fk_put_text(details, "name", name);
    if (call->group && *call->group)
        fk_put_text(details, "group", call->group);
    fk_put_text(details, "kind", kind);
    return details;
}

bool fk_fail_named(struct fk_call *call, int code, const char *reason, const char *name,
                   const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    cw_autofree char *message = formatted(fmt, args);
    va_end(args);
    json_t *details = details_of(call, name, call->resource);
    return fk_fail(call, code, reason, details, "%s", message);
}

bool fk_fail_not_found(struct fk_call *call)
{
    struct cw_str CW_CLEANUP(cw_str_fini) name = {0};
    fk_kind_name(call->kind, &name);
    return fk_fail_named(call, 404, "NotFound", call->name, "%s \"%s\" not found",
                         cw_str_text(&name), call->name);
}

bool fk_fail_conflict(struct fk_call *call)
{
    struct cw_str CW_CLEANUP(cw_str_fini) name = {0};
    fk_kind_name(call->kind, &name);
    return fk_fail_named(
        call, 409, "Conflict", call->name,
        "Operation cannot be fulfilled on %s \"%s\": the object has been modified; please apply "
        "your changes to the latest version and try again",
        cw_str_text(&name), call->name);
}

void fk_cause(json_t *causes, const char *reason, const char *field, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    cw_autofree char *message = formatted(fmt, args);
    va_end(args);
    json_array_append_new(
        causes, json_pack("{s:s, s:s, s:s}", "reason", reason, "message", message, "field", field));
}

static bool is_repeated(const json_t *causes, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (json_equal(json_array_get(causes, i), json_array_get(causes, at)))
            return true;
    return false;
}

/* The texts of all causes, each of them once. */
static size_t join_causes(const json_t *causes, struct cw_str *text)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(causes); i++) {
        const json_t *cause = json_array_get(causes, i);
        if (!is_repeated(causes, i))
            cw_str_addf(text, "%s%s: %s", n++ ? ", " : "", fk_text(cause, "field"),
                        fk_text(cause, "message"));
    }
    return n;
}

static bool fail_invalid(struct fk_call *call, const char *title, const char *kind,
                         const char *name, json_t *causes)
{
    struct cw_str CW_CLEANUP(cw_str_fini) text = {0};
    bool many = join_causes(causes, &text) > 1;
    json_t *details = details_of(call, name, kind);
    json_object_set_new(details, "causes", causes);
    return fk_fail(call, 422, "Invalid", details, "%s \"%s\" is invalid: %s%s%s", title, name,
                   many ? "[" : "", cw_str_text(&text), many ? "]" : "");
}

bool fk_fail_invalid(struct fk_call *call, const char *name, json_t *causes)
{
    struct cw_str CW_CLEANUP(cw_str_fini) title = {0};
    fk_kind_title(call->kind, &title);
    return fail_invalid(call, cw_str_text(&title), call->kind->kind, name, causes);
}

bool fk_fail_invalid_resource(struct fk_call *call, const char *name, json_t *causes)
{
    struct cw_str CW_CLEANUP(cw_str_fini) title = {0};
    fk_kind_name(call->kind, &title);
    return fail_invalid(call, cw_str_text(&title), call->resource, name, causes);
}

json_t *fk_with_kind(const struct fk_kind *kind, const json_t *object)
{
    cw_autofree char *api_version = fk_kind_api_version(kind);
    json_t *ret = json_pack("{s:s, s:s}", "kind", kind->kind, "apiVersion", api_version);
    json_object_update_missing(ret, (json_t *)object);
    return ret;
}

void fk_answer_object(struct fk_call *call, int status, const json_t *object)
{
    json_auto_t *whole = fk_with_kind(call->kind, object);
    fk_answer_json(call, status, whole);
}
