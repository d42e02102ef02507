/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials of S3 that are good for some time, and are got of a server, by those who have no key: by a
 * token of their own that a role trusts (web identity, as pods of EKS have it), of the agent beside a
 * container (ECS, EKS Pod Identity), or of the metadata of an instance (EC2, version 2 of its protocol).
 * The names in the environment are those of AWS' tools (docs/sources.md). They are got anew before they
 * end, or when they were refused. */
#ifndef CW_IO_REMOTE_AWS_ROLE_H
#define CW_IO_REMOTE_AWS_ROLE_H

#include "io/remote/fetch.h"

struct cw_aws_keys {
    char *id, *secret, *token;
};
/* Takes them from an answer. Returns false if it has not all three, in bytes that a header may have. Free all
 * results in any case. Pure. */
bool cw_aws_keys_parse(const char *body, struct cw_aws_keys *ret_keys, char **ret_expires);
void cw_aws_keys_fini(struct cw_aws_keys *keys); /* overwrites them */

/* Sees to it that there are such credentials that are good for some minutes, if aws_config.h finds no
 * key and there is who gives some. Not on the loop thread: it may wait for a server. */
int cw_aws_role_ensure(const struct cw_stop *stop, struct cw_err *err);
/* Copies them. Returns false if there are none. It does not wait. */
bool cw_aws_role_get(struct cw_aws_keys *ret_keys);
/* A server has refused them; is_expired: because they are too old. Does not wait. */
void cw_aws_role_refused(bool is_expired);
/* Forgets them if they were refused, unless that was only just got. Returns whether they are forgotten. */
bool cw_aws_role_drop(int rc);
/* Forgets all. Nobody may use them any more. */
void cw_aws_role_forget(void);

#endif
