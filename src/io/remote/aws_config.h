/* SPDX-License-Identifier: Apache-2.0 */
/* Who we are for S3, and where it is: from the environment, else from the files of profiles, with the
 * names that the tools of AWS use (docs/sources.md). */
#ifndef CW_IO_REMOTE_AWS_CONFIG_H
#define CW_IO_REMOTE_AWS_CONFIG_H

#include <stdbool.h>
#include "base/err.h"

struct cw_aws_config {
    char *id, *secret, *token; /* NULL: there is no key (aws_role.h may get one); no session */
    /* A role that is taken by a token in a file, instead of a key; NULL: none. */
    char *role_arn, *token_file, *session_name;
    char *region;       /* never NULL */
    char *endpoint;     /* "https://host:port/path" without a "/" at its end; NULL: AWS */
    bool is_path_style; /* the bucket stands in the path, not in the host */
};
/* Reads them. INVALID names what is wrong, and no value. A file that is not there is no error, but if
 * the environment names it. */
int cw_aws_config_load(struct cw_aws_config *ret_config, struct cw_err *err);
bool cw_aws_config_same_credentials(const struct cw_aws_config *a, const struct cw_aws_config *b);
void cw_aws_config_fini(struct cw_aws_config *config); /* overwrites secrets */

#endif
