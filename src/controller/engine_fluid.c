/* SPDX-License-Identifier: Apache-2.0 */
/* fluid: a Dataset of Fluid and an AlluxioRuntime, which mount the data sources and cache what is read
 * of them. They are objects of the API server and no store, so nothing is attached to the dispatcher, and
 * this file only says what is wrong with what is asked for; fluid.c does the rest. */
#include <inttypes.h>
#include <string.h>

#include "controller/engine.h"
#include "controller/engine_options.h"
#include "kube/field.h"
#include "kube/quantity.h"

#define NAME_MAX_BYTES 63
#define LEVELS "spec.cacheEngine.fluid.alluxioRuntime.tieredStorage"

/* The runtime's name becomes that of Services, which may be less than that of another object. */
static bool is_service_name(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n <= NAME_MAX_BYTES && name[0] >= 'a' && name[0] <= 'z' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == n && name[n - 1] != '-';
}

static bool is_quota(const struct cw_value *quota)
{
    int64_t bytes;
    return quota && (quota->type == CW_VALUE_I64
                         ? quota->i > 0
                         : quota->type == CW_VALUE_STR &&
                               cw_kube_quantity(quota->s, &bytes, NULL) == 0 && bytes > 0);
}

static int check_level(const struct cw_value *level, size_t i, struct cachew_engine_answer *answer)
{
    const char *path = cw_kube_text(level, "cachePath");
    if (cw_kube_text(level, "mediumType") && path && *path &&
        is_quota(cw_kube_field(level, "quota")))
        return CACHEW_ENGINE_READY;
    return cw_engine_say(answer, CACHEW_ENGINE_REFUSED, "TieredStorageInvalid",
                         LEVELS "[%zu]: give mediumType, cachePath and a quota such as 10Gi", i);
}

static int check_runtime(const struct cw_value *options, struct cachew_engine_answer *answer)
{
    size_t n = 0;
    const struct cw_value *levels = cw_kube_list(options, "alluxioRuntime.tieredStorage", &n);
    int verdict = CACHEW_ENGINE_READY;
    if (n == 0)
        return cw_engine_say(answer, CACHEW_ENGINE_REFUSED, "TieredStorageInvalid",
                             LEVELS ": give at least one level, or nothing is cached anywhere");
    for (size_t i = 0; i < n && verdict == CACHEW_ENGINE_READY; i++)
        verdict = check_level(&levels[i], i, answer);
    return verdict;
}

static int place(const struct cachew_engine_request *request, struct cachew_engine_answer *answer)
{
    struct cw_value options = {0};
    if (!is_service_name(request->name))
        return cw_engine_say(answer, CACHEW_ENGINE_REFUSED, "NameInvalid",
                             "metadata.name: with spec.cacheEngine.fluid it becomes the name of "
                             "Services: a small letter first, then small letters, digits and -, "
                             "63 in all");
    int verdict = cw_engine_options(request, &options, answer);
    if (verdict == CACHEW_ENGINE_READY)
        verdict = check_runtime(&options, answer);
    cw_value_fini(&options);
    return verdict;
}

static int nothing(const struct cachew_engine_request *request, struct cachew_engine_answer *answer)
{
    (void)request;
    (void)answer;
    return CACHEW_ENGINE_READY;
}

const struct cachew_engine cw_engine_fluid = {
    CACHEW_ENGINE_ABI, "fluid", place, nothing, nothing, nothing,
};
