/* SPDX-License-Identifier: Apache-2.0 */
/* The token that is shown, which may stand in a file that somebody writes anew. */
#ifndef CW_KUBE_KUBE_TOKEN_H
#define CW_KUBE_KUBE_TOKEN_H

#include <stdbool.h>
#include "base/err.h"

struct cw_kube_token {
    char *file; /* NULL: the text stays */
    char *text; /* NULL: none is shown */
    int64_t read_ms;
};
/* Copies a text and a file's name, of which either may be NULL. The file counts. */
void cw_kube_token_init(struct cw_kube_token *token, const char *text, const char *file);
void cw_kube_token_fini(struct cw_kube_token *token);
/* Lends the text, NULL if there is none. A file is read again a minute after the last time; while it
 * cannot be read, the last text counts. */
const char *cw_kube_token_get(struct cw_kube_token *token, int64_t now_ms);
/* Reads the file now, since the text was refused. Returns whether there is another text. */
bool cw_kube_token_renew(struct cw_kube_token *token, int64_t now_ms);

#endif
