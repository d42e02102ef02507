/* SPDX-License-Identifier: Apache-2.0 */
/* Where the API server is and who we are: from a kubeconfig, or from what each pod is given. */
#ifndef CW_KUBE_KUBE_CONFIG_H
#define CW_KUBE_KUBE_CONFIG_H

#include "base/err.h"

#define CW_KUBE_POD_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

struct cw_kube_config {
    char *server;          /* "https://10.0.0.1:443", without a slash at its end */
    char *name_space;      /* where own objects are; never NULL */
    char *ca, *cert, *key; /* texts in PEM form, or NULL */
    char *token;           /* what to show, or NULL */
    char *token_file;      /* read again each minute; it counts rather than token; or NULL */
    char *origin;          /* for messages: "kubeconfig FILE, context NAME", "this pod" */
};
/* Finds out: from `file` (option --kubeconfig) if it is not NULL, else from $KUBECONFIG, else as a
 * pod. Errors name file, field and what to do. */
int cw_kube_config_find(const char *file, struct cw_kube_config *ret_config, struct cw_err *err);
/* Reads one kubeconfig and the files that it names, which lie relative to it. context NULL: the
 * current one. */
int cw_kube_config_load(const char *file, const char *context, struct cw_kube_config *ret_config,
                        struct cw_err *err);
/* Reads what a pod has: KUBERNETES_SERVICE_HOST and _PORT of the environment, and token, ca.crt and
 * namespace of a folder (CW_KUBE_POD_DIR). */
int cw_kube_config_of_pod(const char *dir, struct cw_kube_config *ret_config, struct cw_err *err);
void cw_kube_config_fini(struct cw_kube_config *config);

#endif
