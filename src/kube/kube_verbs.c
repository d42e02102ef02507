/* SPDX-License-Identifier: Apache-2.0 */
/* The usual requests. */
#include <string.h>

#include "kube/kube.h"

static struct cw_kube_call *ask(struct cw_kube *kube, enum cw_kube_verb verb,
                                const struct cw_kube_target *target, const char *body,
                                cw_kube_fn *fn, void *arg)
{
    struct cw_kube_request request = {.verb = verb, .target = *target, .body = body};

    return cw_kube_call_new(kube, &request, fn, arg);
}

struct cw_kube_call *cw_kube_get(struct cw_kube *kube, const struct cw_kube_target *target,
                                 cw_kube_fn *fn, void *arg)
{
    return ask(kube, CW_KUBE_GET, target, NULL, fn, arg);
}

struct cw_kube_call *cw_kube_create(struct cw_kube *kube, const struct cw_kube_target *target,
                                    const char *body, cw_kube_fn *fn, void *arg)
{
    return ask(kube, CW_KUBE_CREATE, target, body, fn, arg);
}

struct cw_kube_call *cw_kube_update(struct cw_kube *kube, const struct cw_kube_target *target,
                                    const char *body, cw_kube_fn *fn, void *arg)
{
    return ask(kube, CW_KUBE_UPDATE, target, body, fn, arg);
}

struct cw_kube_call *cw_kube_patch(struct cw_kube *kube, const struct cw_kube_target *target,
                                   const char *body, cw_kube_fn *fn, void *arg)
{
    return ask(kube, CW_KUBE_PATCH, target, body, fn, arg);
}

static void add_member(struct cw_str *json, const char *key, const char *text)
{
    if (!text)
        return;
    cw_str_addf(json, "%s\"%s\":", json->s[json->len - 1] == '{' ? "" : ",", key);
    cw_str_add_json(json, text, strlen(text));
}

struct cw_kube_call *cw_kube_delete(struct cw_kube *kube, const struct cw_kube_target *target,
                                    const char *uid, const char *resource_version,
                                    const char *propagation, cw_kube_fn *fn, void *arg)
{
    CW_STR_AUTO body = {0};

    cw_str_add(&body, "{\"preconditions\":{");
    add_member(&body, "uid", uid);
    add_member(&body, "resourceVersion", resource_version);
    cw_str_add(&body, "}");
    add_member(&body, "propagationPolicy", propagation);
    cw_str_add(&body, "}");
    return ask(kube, CW_KUBE_DELETE, target, body.s, fn, arg);
}
