/* SPDX-License-Identifier: Apache-2.0 */
/* Files of access tokens (docs/security.md). A dispatcher's file has a line "NAME KIND TOKEN" for
 * each token; empty lines and lines that begin with '#' do not count. Whoever shows a token has a
 * file with that token alone, or with such a line. */
#ifndef CW_AUTH_TOKEN_FILE_H
#define CW_AUTH_TOKEN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/name.h"

#define CW_AUTH_TOKEN_MIN 16   /* bytes of a token */
#define CW_AUTH_TOKEN_MAX 4096 /* such of service accounts have above a thousand */

enum cw_auth_kind { CW_AUTH_TENANT, CW_AUTH_WORKER, CW_AUTH_OPERATOR, CW_AUTH_KINDS };
struct cw_auth_token {
    uint64_t id; /* of this token; a file that is read again keeps it */
    char *name;  /* of a tenant: the tenant */
    enum cw_auth_kind kind;
    char *text;
    size_t n; /* bytes of text */
};
struct cw_auth_tokens {
    struct cw_auth_token *v;
    size_t n, cap;
    uint64_t last_id;
    bool readable_by_all; /* the file's mode lets every user read it */
};

/* Parses the text of a file. Errors name the file and the line, and never a token. */
int cw_auth_tokens_parse(const char *text, const char *file, struct cw_auth_tokens *ret_tokens,
                         struct cw_err *err);
/* Reads a dispatcher's file. It must have at least one token. */
int cw_auth_tokens_read(const char *file, struct cw_auth_tokens *ret_tokens, struct cw_err *err);
void cw_auth_tokens_fini(struct cw_auth_tokens *tokens);
/* Gives the tokens of `now` that are in `before`, too, the ids that they have there, and all others
 * new ones. */
void cw_auth_tokens_keep_ids(struct cw_auth_tokens *now, const struct cw_auth_tokens *before);
/* Finds the token that somebody shows; NULL: there is no such token. The time does not depend on
 * which one it is, nor on how much of it was right. */
const struct cw_auth_token *cw_auth_tokens_find(const struct cw_auth_tokens *tokens,
                                                const char *text);
bool cw_auth_tokens_have_id(const struct cw_auth_tokens *tokens, uint64_t id);

/* Reads the token that this process shows. `file`: one token, or a line as above, of which the first
 * counts. */
int cw_auth_own_token(const char *file, char ret_text[CW_AUTH_TOKEN_MAX + 1], struct cw_err *err);
/* Checks the form of one token. */
int cw_auth_token_check(const char *text, struct cw_err *err);

#endif
