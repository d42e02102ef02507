/* SPDX-License-Identifier: Apache-2.0 */
/* glusterfs: a directory of a volume, through libgfapi; nothing is mounted. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "controller/engine.h"
#include "controller/engine_options.h"
#include "controller/engine_store.h"
#include "kube/field.h"

static int add_servers(const struct cw_value *options, struct cw_str *url,
                       struct cachew_engine_answer *answer)
{
    size_t n = 0;
    const struct cw_value *servers = cw_kube_list(options, "servers", &n);
    for (size_t i = 0; i < n; i++) {
        const char *host = cw_kube_text(&servers[i], "host");
        int64_t port = 24007;
        (void)cw_kube_i64(&servers[i], "port", &port);
        if (!host || !*host || host[strspn(host, CW_ENGINE_WORD)] || port < 1 || port > 65535)
            return cw_engine_say(answer, CACHEW_ENGINE_REFUSED, "ServerInvalid",
                                 "spec.cacheEngine.glusterfs.servers[%zu]: give a host's name or "
                                 "its IPv4 address, and a port",
                                 i);
        cw_str_addf(url, "%s%s", i ? "," : "", host);
        if (port != 24007)
            cw_str_addf(url, ":%d", (int)port);
    }
    if (n == 0)
        return cw_engine_say(answer, CACHEW_ENGINE_REFUSED, "ServerInvalid",
                             "spec.cacheEngine.glusterfs.servers: name at least one");
    return CACHEW_ENGINE_READY;
}

static int add_volume(const struct cw_value *options, struct cw_str *url,
                      struct cachew_engine_answer *answer)
{
    const char *volume = cw_kube_text(options, "volume");
    const char *path = cw_engine_path(options, "basePath", answer);
    if (!path)
        return CACHEW_ENGINE_REFUSED;
    if (!volume || !*volume || volume[strspn(volume, CW_ENGINE_WORD)])
        return cw_engine_say(answer, CACHEW_ENGINE_REFUSED, "VolumeInvalid",
                             "spec.cacheEngine.glusterfs.volume: it is no name of a volume");
    cw_str_addf(url, "/%s/%s", volume, path[0] ? path : "cachew");
    return CACHEW_ENGINE_READY;
}

static int place(const struct cachew_engine_request *request, struct cachew_engine_answer *answer)
{
    CW_STR_AUTO url = {0};
    struct cw_value options = {0};
    int verdict = cw_engine_options(request, &options, answer);
    cw_str_add(&url, "gluster://");
    if (verdict == CACHEW_ENGINE_READY)
        verdict = add_servers(&options, &url, answer);
    if (verdict == CACHEW_ENGINE_READY)
        verdict = add_volume(&options, &url, answer);
    cw_value_fini(&options);
    if (verdict != CACHEW_ENGINE_READY)
        return verdict;
    cw_str_addf(&url, "/%s/%s-%s", request->name_space, request->name, request->uid);
    return cw_engine_check_url(answer,
                               snprintf(answer->url, sizeof(answer->url), "%s", cw_str_text(&url)));
}

const struct cachew_engine cw_engine_glusterfs = {
    CACHEW_ENGINE_ABI,       "glusterfs",          place,
    cw_engine_store_prepare, cw_engine_store_owns, cw_engine_store_erase,
};
