/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `--provisioner kubernetes`. */
#include "dispatcher/kubernetes/cluster.h"

#include <string.h>

#include "base/name.h"

/* Calls fn for each Deployment that is named; one text may name several, parted by blanks, as that of
 * an environment variable has to. */
static int each(const struct cw_options *o,
                int (*fn)(void *arg, const struct cw_deployment *d, struct cw_err *err), void *arg,
                struct cw_err *err)
{
    int rc = CW_OK;

    for (size_t i = 0; rc == CW_OK && i < o->kube_deployments.n; i++) {
        cw_autofree char *copy = cw_mem_strdup(o->kube_deployments.v[i]);
        char *rest = copy, *text;
        while (rc == CW_OK && (text = strsep(&rest, " \t\n"))) {
            struct cw_deployment d;
            if (*text == '\0')
                continue;
            rc = cw_deployment_parse(text, o->worker_price, &d, err);
            if (rc == CW_OK)
                rc = fn(arg, &d, err);
        }
    }
    return rc == CW_OK ? rc : cw_err_wrap(err, "--kube-deployment");
}

struct list {
    struct cw_deployment *v;
    size_t n, cap;
};

static int append(void *arg, const struct cw_deployment *d, struct cw_err *err)
{
    struct list *list = arg;

    for (size_t i = 0; i < list->n; i++)
        if (cw_str_eq(list->v[i].name, d->name))
            return cw_err_set(err, CW_E_INVALID, "%s is named twice", d->name);
    CW_GROW(list->v, list->n, list->cap);
    list->v[list->n++] = *d;
    return CW_OK;
}

int cw_cluster_read_deployments(const struct cw_options *o, struct cw_deployment **ret_v,
                                size_t *ret_n, struct cw_err *err)
{
    struct list list = {0};
    int rc = each(o, append, &list, err);

    if (rc != CW_OK) {
        cw_mem_free(list.v);
        return rc;
    }
    *ret_v = list.v;
    *ret_n = list.n;
    return CW_OK;
}

/* Without --max-workers each Deployment has a limit of its own, and their sum is the fleet's. */
static int set_max(struct cw_options *o, const struct cw_deployment *v, size_t n,
                   struct cw_err *err)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        if (v[i].max == UINT64_MAX)
            return cw_err_set(err, CW_E_INVALID,
                              "--provisioner kubernetes: give --max-workers N, or max=N of each "
                              "--kube-deployment; %s has none",
                              v[i].name);
        sum += CW_MIN(v[i].max, UINT32_MAX);
    }
    o->max_workers = CW_MAX(sum, 1);
    return CW_OK;
}

int cw_cluster_options_check(struct cw_options *o, struct cw_err *err)
{
    bool is_used = cw_str_eq(o->provisioner->name, CW_CLUSTER_NAME);
    cw_autofree struct cw_deployment *v = NULL;
    size_t n = 0;

    if (!is_used && (o->kube_deployments.n > 0 || o->kube_namespace))
        return cw_err_set(err, CW_E_INVALID, "%s is of --provisioner kubernetes only",
                          o->kube_namespace ? "--kube-namespace" : "--kube-deployment");
    if (!is_used)
        return CW_OK;
    if (o->kube_namespace && !cw_name_is_pod(o->kube_namespace))
        return cw_err_set(err, CW_E_INVALID, "--kube-namespace: \"%.100s\" is no name",
                          o->kube_namespace);
    int rc = cw_cluster_read_deployments(o, &v, &n, err);
    if (rc != CW_OK)
        return rc;
    if (n == 0)
        return cw_err_set(err, CW_E_INVALID,
                          "--provisioner kubernetes: --kube-deployment NAME is missing");
    return o->max_workers == 0 ? set_max(o, v, n, err) : CW_OK;
}
