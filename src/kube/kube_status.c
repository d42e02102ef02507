/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Status objects. */
#include "kube/kube_status.h"

#include <stdio.h>
#include <string.h>

#include "kube/field.h"

#define RETRY_MAX_S 3600 /* nobody is left alone for longer */
#define CAUSES_MAX 3     /* so many wrong fields are named */

static const struct {
    const char *name;
    int http, code;
} reasons[CW_KUBE_REASONS] = {
    [CW_KUBE_NONE] = {"", 0, CW_OK},
    [CW_KUBE_Unknown] = {"Unknown", 0, CW_E_UNAVAILABLE},
#define CW_KUBE(name, http, code) [CW_KUBE_##name] = {#name, http, CW_E_##code},
#include "kube/reason_list.h"
#undef CW_KUBE
};

const char *cw_kube_reason_name(enum cw_kube_reason reason)
{
    return reasons[reason].name;
}

int cw_kube_reason_code(enum cw_kube_reason reason)
{
    return reasons[reason].code;
}

static enum cw_kube_reason by_name(const char *name)
{
    for (int i = CW_KUBE_Unknown + 1; name && i < CW_KUBE_REASONS; i++)
        if (cw_str_eq(name, reasons[i].name))
            return (enum cw_kube_reason)i;
    return CW_KUBE_Unknown;
}

static enum cw_kube_reason by_http(int http)
{
    for (int i = CW_KUBE_Unknown + 1; i < CW_KUBE_REASONS; i++)
        if (reasons[i].http == http)
            return (enum cw_kube_reason)i;
    return http >= 500 ? CW_KUBE_InternalError : CW_KUBE_Unknown;
}

static void add_causes(const struct cw_value *object, struct cw_str *text)
{
    size_t n;
    const struct cw_value *causes = cw_kube_list(object, "details.causes", &n);

    for (size_t i = 0; i < CW_MIN(n, (size_t)CAUSES_MAX); i++) {
        const char *field = cw_kube_text(&causes[i], "field");
        const char *message = cw_kube_text(&causes[i], "message");

        if (field && (text->len == 0 || !strstr(text->s, field)))
            cw_str_addf(text, "%s%s: %s", text->len ? "; " : "", field, message ? message : "");
    }
}

static void set_message(struct cw_kube_status *status, const char *text)
{
    size_t n = CW_MIN(strlen(text), sizeof(status->message) - 1);

    while (n > 0 && text[n] && ((unsigned char)text[n] & 0xC0) == 0x80)
        n--; /* not within a character */
    memcpy(status->message, text, n);
    status->message[n] = '\0';
    for (char *c = status->message; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
}

static int64_t retry_after_ms(const char *header, const struct cw_value *object)
{
    int64_t s = 0;

    if (!header || !cw_str_to_i64(header, &s))
        (void)cw_kube_i64(object, "details.retryAfterSeconds", &s);
    return CW_MIN(CW_MAX(s, 0), RETRY_MAX_S) * 1000;
}

void cw_kube_status_of(const struct cw_value *object, int http, const char *retry_after,
                       struct cw_kube_status *ret_status)
{
    CW_STR_AUTO text = {0};
    const char *kind = cw_kube_text(object, "kind");
    const struct cw_value *status = kind && cw_str_eq(kind, "Status") ? object : NULL;
    const char *message = cw_kube_text(status, "message");
    int64_t code = 0;

    *ret_status = (struct cw_kube_status){.http = http};
    if (http == 0 && cw_kube_i64(status, "code", &code) && code >= 300 && code <= 599)
        ret_status->http = (int)code;
    ret_status->reason = by_name(cw_kube_text(status, "reason"));
    if (ret_status->reason == CW_KUBE_Unknown)
        ret_status->reason = by_http(ret_status->http);
    ret_status->retry_after_ms = retry_after_ms(retry_after, status);
    cw_str_add(&text, message ? message : "");
    add_causes(status, &text);
    set_message(ret_status, cw_str_text(&text));
}

void cw_kube_status_read(const char *body, size_t n, int http, const char *retry_after,
                         struct cw_kube_status *ret_status)
{
    struct cw_value object = {0};

    if (cw_value_parse(body, n, NULL, &object, NULL) != CW_OK)
        object = (struct cw_value){0};
    cw_kube_status_of(&object, http, retry_after, ret_status);
    cw_value_fini(&object);
}
