/* SPDX-License-Identifier: Apache-2.0 */
/* Small files that say how an API server is reached, and the texts in them. */
#ifndef CW_KUBE_KUBE_FILE_H
#define CW_KUBE_KUBE_FILE_H

#include "base/err.h"

/* Reads a whole file of at most max bytes as a text without zero bytes. The caller frees it with
 * cw_kube_forget. Errors name the file and say nothing of what is in it. */
int cw_kube_file_read(const char *path, size_t max, char **ret_text, struct cw_err *err);
/* Decodes base64 (with or without line ends) to a text. INVALID: it is none, or has a zero byte. */
int cw_kube_base64(const char *text, char **ret_text, struct cw_err *err);
/* Overwrites a text and frees it. Accepts NULL. */
void cw_kube_forget(char *text);
/* Checks and trims, in place, what may stand in an Authorization header: printable ASCII without
 * spaces, at most 64 KiB. The message does not show it. */
int cw_kube_token_check(char *token, struct cw_err *err);

#endif
