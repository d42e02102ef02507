/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of objects below an API server's URL. Pure functions. */
#ifndef CW_KUBE_KUBE_PATH_H
#define CW_KUBE_KUBE_PATH_H

#include "base/err.h"
#include "base/str.h"

/* A kind of objects. */
struct cw_kube_kind {
    const char *group;   /* "apps"; "" is the core group */
    const char *version; /* "v1" */
    const char *plural;  /* "deployments" */
};
/* Which objects. */
struct cw_kube_target {
    const struct cw_kube_kind *kind;
    const char *name_space;  /* NULL: all, or objects that lie in none */
    const char *name;        /* NULL: all */
    const char *subresource; /* "status", "scale", "eviction"; NULL: none */
};
/* Appends the path. INVALID: a name is "", "." or "..", or longer than 253 bytes. Other characters are
 * encoded, so that a name stays one. */
int cw_kube_path(const struct cw_kube_target *target, struct cw_str *out, struct cw_err *err);
/* Appends "?KEY=VALUE", or "&KEY=VALUE" if there is a '?' already, encoded. */
void cw_kube_query(struct cw_str *url, const char *key, const char *value);
/* Appends "deployments.apps cachew-system/cachew-worker scale", for messages. */
void cw_kube_describe(const struct cw_kube_target *target, struct cw_str *out);

#endif
