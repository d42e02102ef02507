/* SPDX-License-Identifier: Apache-2.0 */
/* The files of TLS: read, and checked as far as that is possible without a peer, so that what is wrong
 * with them is said by the name of the file, and not as a handshake that failed. Any thread. */
#ifndef CW_AUTH_TLS_FILES_H
#define CW_AUTH_TLS_FILES_H

#include "auth/tls_options.h"

/* The texts of the files (PEM), and the DNS names in the own certificate. */
struct cw_tls_files {
    char *cert, *key, *ca;
    char **names;
    size_t names_n;
    bool untrusted;       /* the own certificate is not signed by the own CA */
    bool readable_by_all; /* the mode of the key's file lets every user read it */
};
/* Errors name the option, the file and what to do, and never a secret. */
int cw_tls_files_read(const struct cw_tls_options *options, struct cw_tls_files *ret_files,
                      struct cw_err *err);
void cw_tls_files_fini(struct cw_tls_files *files);

#endif
