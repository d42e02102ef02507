/* SPDX-License-Identifier: Apache-2.0 */
/* Who has signed in. Sessions are in memory only: a dispatcher that is started again asks for the
 * token again. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "dispatcher/web/web_int.h"

#define SESSION_MS ((int64_t)12 * 3600 * 1000) /* It ends when it was not used for so long. */

static struct cw_web_session *find(struct cw_web *web, const char *id, size_t n)
{
    struct cw_web_session *found = NULL;
    int64_t now = cw_clock_ms();
    for (size_t i = 0; i < CW_WEB_SESSIONS_MAX; i++) { /* The time does not tell which. */
        struct cw_web_session *s = &web->sessions[i];
        if (cw_secret_equal(id, n, s->id, sizeof(s->id) - 1) && s->used_ms > 0 &&
            now - s->used_ms < SESSION_MS)
            found = s;
    }
    if (found)
        found->used_ms = now;
    return found;
}

struct cw_web_session *cw_web_session_of(struct cw_web *web, const struct cw_page_request *request)
{
    const char *at = cw_page_header(request, "Cookie");
    while (at) {
        at += strspn(at, " ;");
        if (cw_str_starts(at, CW_WEB_COOKIE)) {
            const char *id = at + strlen(CW_WEB_COOKIE);
            return find(web, id, strcspn(id, " ;"));
        }
        at = strchr(at, ';');
    }
    return NULL;
}

/* Takes a free entry, or the one that was not used for longest. */
struct cw_web_session *cw_web_session_begin(struct cw_web *web, const char *token)
{
    unsigned char secret[CW_SECRET_BYTES];
    struct cw_web_session *s = web->sessions;
    for (size_t i = 1; i < CW_WEB_SESSIONS_MAX; i++)
        if (web->sessions[i].used_ms < s->used_ms)
            s = &web->sessions[i];
    *s = (struct cw_web_session){.used_ms = cw_clock_ms()};
    cw_secret_make(secret, sizeof(secret));
    cw_secret_text(secret, s->id);
    snprintf(s->token, sizeof(s->token), "%s", token);
    return s;
}
