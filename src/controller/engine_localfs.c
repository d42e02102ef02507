/* SPDX-License-Identifier: Apache-2.0 */
/* localfs: a directory below --localfs-root, which controller, dispatcher and workers see under one
 * path. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "controller/engine.h"
#include "controller/engine_options.h"
#include "controller/engine_store.h"

static int place(const struct cachew_engine_request *request, struct cachew_engine_answer *answer)
{
    struct cw_value options = {0};
    if (request->root[0] != '/')
        return cw_engine_say(answer, CACHEW_ENGINE_REFUSED, "NotAllowed",
                             "spec.cacheEngine.localfs: this controller has no --localfs-root");
    int verdict = cw_engine_options(request, &options, answer);
    if (verdict != CACHEW_ENGINE_READY)
        return verdict;
    const char *path = cw_engine_path(&options, "path", answer);
    if (path) {
        int n =
            snprintf(answer->url, sizeof(answer->url), "dir:%s%s%s/%s/%s-%s", request->root,
                     path[0] ? "/" : "", path, request->name_space, request->name, request->uid);
        verdict = cw_engine_check_url(answer, n);
    } else {
        verdict = CACHEW_ENGINE_REFUSED;
    }
    cw_value_fini(&options);
    return verdict;
}

/* The root is a volume that somebody mounts: a directory made in its place would be lost with the pod. */
static int prepare(const struct cachew_engine_request *request, struct cachew_engine_answer *answer)
{
    struct stat root;
    if (stat(request->root, &root) != 0 || !S_ISDIR(root.st_mode))
        return cw_engine_say(answer, CACHEW_ENGINE_RETRY, "VolumeNotFound",
                             "--localfs-root %.300s is no directory here: mount it", request->root);
    return cw_engine_store_prepare(request, answer);
}

const struct cachew_engine cw_engine_localfs = {
    CACHEW_ENGINE_ABI, "localfs", place, prepare, cw_engine_store_owns, cw_engine_store_erase,
};
