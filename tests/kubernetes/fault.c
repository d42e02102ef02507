/* SPDX-License-Identifier: Apache-2.0 */
/* Faults, by order or by chance.
 *
 * An order says which request meets it: "verb" (get, list, watch, create, update, patch, delete),
 * "resource" ("pods", "deployments/scale"), "user", after "skip" of them, "times" times (1). Its
 * "fault" is one of
 *   401 403 404 409 429 500 503   that Status is the answer ("retryAfter": seconds)
 *   410            an expired list or continue token, or a watch's HTTP status
 *   silence        nothing is answered
 *   reset          the connection ends, and nothing was done
 *   done           it was done, and the connection ends before the answer
 *   answer         "status" and "body" (text) are the answer, whatever they are
 *   shuffle        a list has its items in another order
 * or of a watch's next line (resource only, as above)
 *   split          it comes in two pieces, parted at byte "at"
 *   watch-reset    the connection ends behind byte "at" of it
 *   watch-end      the watch ends behind it, in order
 *   watch-silence  neither it nor anything more comes, and the connection stays
 *   watch-gone     an ERROR line with 410 follows it
 *   duplicate, back   it comes twice; an older event follows it
 *   watch-line     "line" follows it, or "bytes" bytes without an end of line
 * By chance all of these occur but 401, 403, 404, answer and watch-line. */
#include "kubernetes/fk_int.h"
#include <string.h>
#include "base/mem.h"

static const struct {
    const char *name;
    bool of_line;
    bool by_chance;
} FAULTS[] = {
    {"401", false, false},     {"403", false, false},         {"404", false, false},
    {"409", false, true},      {"429", false, true},          {"500", false, true},
    {"503", false, true},      {"410", false, true},          {"silence", false, true},
    {"reset", false, true},    {"done", false, true},         {"answer", false, false},
    {"shuffle", false, true},  {"split", true, true},         {"watch-reset", true, true},
    {"watch-end", true, true}, {"watch-silence", true, true}, {"watch-gone", true, true},
    {"duplicate", true, true}, {"back", true, true},          {"watch-line", true, false},
};
enum { FAULTS_N = sizeof(FAULTS) / sizeof(FAULTS[0]) };

static bool is_fault(const char *name)
{
    for (size_t i = 0; i < FAULTS_N; i++)
        if (cw_str_eq(FAULTS[i].name, name))
            return true;
    return false;
}

int fk_server_order(struct fk_server *server, const json_t *order, struct cw_err *err)
{
    const char *name = fk_text_or(order, "fault", "");
    if (!is_fault(name))
        return cw_err_set(err, CW_E_INVALID, "there is no fault \"%s\"", name);
    struct fk_order *entry = CW_NEW(struct fk_order);
    entry->json = json_deep_copy(order);
    struct fk_order **at = &server->orders;
    while (*at)
        at = &(*at)->next;
    *at = entry;
    return 0;
}

void fk_server_set_fault_rate(struct fk_server *server, double rate)
{
    server->fault_rate = rate;
}

void fk_faults_fini(struct fk_server *server)
{
    while (server->orders) {
        struct fk_order *order = server->orders;
        server->orders = order->next;
        json_decref(order->json);
        cw_mem_free(order);
    }
}

static bool is_of_line(const char *name)
{
    for (size_t i = 0; i < FAULTS_N; i++)
        if (cw_str_eq(FAULTS[i].name, name))
            return FAULTS[i].of_line;
    return false;
}

/* Counts down an order that was met; the json is the caller's when it says that it strikes now. */
static json_t *use(struct fk_order **at)
{
    struct fk_order *order = *at;
    json_int_t skip = fk_int(order->json, "skip", 0), times = fk_int(order->json, "times", 1);
    if (skip > 0) {
        fk_put_int(order->json, "skip", skip - 1);
        return NULL;
    }
    fk_put_int(order->json, "times", times - 1);
    json_t *json = json_incref(order->json);
    if (times <= 1) {
        *at = order->next;
        json_decref(order->json);
        cw_mem_free(order);
    }
    return json;
}

/* ---- requests ---- */
static bool is_meant(const struct fk_call *call, const json_t *order)
{
    cw_autofree char *resource =
        cw_mem_printf("%s%s%s", call->resource, call->sub ? "/" : "", call->sub ? call->sub : "");
    return !is_of_line(fk_text(order, "fault")) &&
           cw_str_eq(fk_text_or(order, "verb", call->verb), call->verb) &&
           cw_str_eq(fk_text_or(order, "resource", resource), resource) &&
           cw_str_eq(fk_text_or(order, "user", call->user.name), call->user.name) &&
           (!cw_str_eq(fk_text(order, "fault"), "410") || cw_str_eq(call->verb, "list") ||
            cw_str_eq(call->verb, "watch"));
}

static json_t *order_for(struct fk_call *call)
{
    for (struct fk_order **at = &call->server->orders; *at; at = &(*at)->next)
        if (is_meant(call, (*at)->json))
            return use(at);
    return NULL;
}

static bool by_chance(struct fk_server *server)
{
    return server->fault_rate > 0 &&
           (double)fk_draw(server, 1000000) < server->fault_rate * 1000000;
}

static const char *chosen(struct fk_server *server, bool of_line)
{
    size_t n = 0;
    for (size_t i = 0; i < FAULTS_N; i++)
        n += FAULTS[i].by_chance && FAULTS[i].of_line == of_line;
    size_t left = (size_t)fk_draw(server, n);
    for (size_t i = 0;; i++)
        if (FAULTS[i].by_chance && FAULTS[i].of_line == of_line && left-- == 0)
            return FAULTS[i].name;
}

static bool answer_status(struct fk_call *call, int code, const json_t *order)
{
    static const struct {
        int code;
        const char *reason, *message;
    } STATUSES[] = {
        {401, "Unauthorized", "Unauthorized"},
        {403, "Forbidden", "forbidden: by a fault"},
        {404, "NotFound", "not found, by a fault"},
        {409, "Conflict",
         "Operation cannot be fulfilled: the object has been modified; please apply your changes "
         "to "
         "the latest version and try again"},
        {410, "Expired", "The resourceVersion for the provided list is too old."},
        {429, "TooManyRequests", "Too many requests, please try again later."},
        {500, "InternalError", "Internal error occurred: etcdserver: request timed out"},
        {503, "ServiceUnavailable", "the server is currently unable to handle the request"},
    };
    if (code == 429 || code == 503)
        call->answer->retry_after_s = (int)fk_int(order, "retryAfter", 1);
    for (size_t i = 0; i < sizeof(STATUSES) / sizeof(*STATUSES); i++)
        if (STATUSES[i].code == code)
            fk_fail(call, code, STATUSES[i].reason, NULL, "%s", STATUSES[i].message);
    return true;
}

static bool answer_anything(struct fk_call *call, const json_t *order)
{
    call->answer->status = (int)fk_int(order, "status", 200);
    call->answer->body = cw_mem_strdup(fk_text_or(order, "body", ""));
    call->answer->body_n = strlen(call->answer->body);
    return true;
}

static bool is_write(const struct fk_call *call)
{
    return !cw_str_eq(call->verb, "get") && !cw_str_eq(call->verb, "list") &&
           !cw_str_eq(call->verb, "watch");
}

/* Whether the fault answers in place of the server. */
static bool strike(struct fk_call *call, const char *fault, const json_t *order)
{
    int64_t code;
    bool is_list = cw_str_eq(call->verb, "list");
    if (cw_str_eq(fault, "shuffle"))
        call->server->shuffles = is_list;
    else if (cw_str_eq(fault, "answer"))
        return answer_anything(call, order);
    else if (cw_str_eq(fault, "silence"))
        call->answer->harm = FK_HARM_SILENCE;
    else if (cw_str_eq(fault, "reset"))
        call->answer->harm = FK_HARM_RESET;
    else if (cw_str_eq(fault, "done"))
        call->answer->harm = FK_HARM_DONE;
    else if (cw_str_to_i64(fault, &code))
        return (code == 410 && !is_list && !cw_str_eq(call->verb, "watch")) ||
                       (code == 409 && !is_write(call))
                   ? false
                   : answer_status(call, (int)code, order);
    return call->answer->harm == FK_HARM_SILENCE || call->answer->harm == FK_HARM_RESET;
}

bool fk_fault_strikes(struct fk_call *call)
{
    json_auto_t *order = order_for(call);
    const char *fault = order                     ? fk_text(order, "fault")
                        : by_chance(call->server) ? chosen(call->server, false)
                                                  : NULL;
    return fault && strike(call, fault, order);
}

bool fk_fault_shuffles(struct fk_server *server)
{
    bool shuffles = server->shuffles;
    server->shuffles = false;
    return shuffles;
}

/* ---- lines of watches ---- */
const char *fk_fault_of_line(struct fk_server *server, const struct fk_kind *kind,
                             json_t **ret_order)
{
    for (struct fk_order **at = &server->orders; *at; at = &(*at)->next) {
        const json_t *order = (*at)->json;
        if (!is_of_line(fk_text(order, "fault")) ||
            !cw_str_eq(fk_text_or(order, "resource", kind->plural), kind->plural))
            continue;
        *ret_order = use(at);
        return *ret_order ? fk_text(*ret_order, "fault") : NULL;
    }
    return by_chance(server) ? chosen(server, true) : NULL;
}
