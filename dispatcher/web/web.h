/* SPDX-License-Identifier: Apache-2.0 */
/* A page for browsers at the HTTP port of the dispatcher (docs/watching.md): what it shows are
 * answers of the methods of Admin, which are called in this process with the token of who looks, as
 * JSON (wire/reply_json.h). Only who has shown an operator's token may change anything through it. Loop
 * thread. This is the face of web/.
 *
 *   web.c               the paths, and the files of the page itself
 *   web_guard.c         who may look: Host, Origin, token; headers of all answers
 *   web_login.c         a token is exchanged for a cookie; web_session.c: who has one
 *   web_admin_answer.c  one answer of Admin
 *   web_act.c           who looks, and what operators may do
 *   web_events.c        a stream of events: what has changed since the last look
 *   web_rows.c          which rows have changed
 *   make_files.cmake  makes the files of dist/ part of the program
 *   src/, dist/   the page in TypeScript, and what was built of it (tests/web) */
#ifndef CW_DISPATCHER_WEB_WEB_H
#define CW_DISPATCHER_WEB_WEB_H

#include "daemon/http.h"
#include "dispatcher/model/model.h"

#define CW_WEB_PAGES_MAX 16
/* Adds the page's paths to `pages`, which has room for CW_WEB_PAGES_MAX. */
void cw_web_add_pages(struct cw_dispatcher *d, struct cw_http_page *pages);
/* Ends all streams, as before the HTTP server is started anew: browsers come back. */
void cw_web_end_views(struct cw_dispatcher *d);
/* The same, for good. Called when the dispatcher ends, before its HTTP server does. */
void cw_web_close(struct cw_dispatcher *d);

#endif
