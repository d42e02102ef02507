/* SPDX-License-Identifier: Apache-2.0 */
/* What a kubeconfig says of one context, before the files that it names are read. A pure function:
 * the only place that knows YAML. */
#ifndef CW_KUBE_KUBECONFIG_H
#define CW_KUBE_KUBECONFIG_H

#include "base/err.h"

/* Texts as they stand there; NULL: not there, or empty. */
struct cw_kubeconfig {
    char *context, *server, *name_space;
    char *ca_file, *ca_data, *cert_file, *cert_data, *key_file, *key_data;
    char *token, *token_file;
};
/* Parses the text of a file (YAML, of which JSON is a part). context NULL: the current one. INVALID:
 * the message names the field; UNSUPPORTED: something that has to be done in another way, which the
 * message says (exec, auth-provider, passwords, a proxy, TLS that is not verified, impersonation). No
 * message shows a secret. */
int cw_kubeconfig_parse(const char *text, size_t n, const char *context,
                        struct cw_kubeconfig *ret_config, struct cw_err *err);
void cw_kubeconfig_fini(struct cw_kubeconfig *config);

#endif
