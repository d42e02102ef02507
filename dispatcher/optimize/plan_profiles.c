/* SPDX-License-Identifier: Apache-2.0 */
/* What jobs have measured of their pipelines, kept for the first plan of the next job. It is stored in
 * state.db beside the measurements of autocache/pipeline_profiles.c; a prefix tells them apart. */
#include <string.h>

#include "dispatcher/cache/cache.h"
#include "dispatcher/optimize/job_optimizer.h"
#include "dispatcher/optimize/operator_costs.h"
#include "dispatcher/optimize/plan_search.h"
#include "dispatcher/state/state.h"

#define PREFIX "optimize:"
#define PROFILES_MAX 1000

static char *key_of(const struct cw_job *job)
{
    char text[CW_HASH_TEXT_BYTES];
    cw_hash_text(job->fingerprint, text);
    return cw_mem_printf(PREFIX "%s/%s", cw_job_tenant(job), text);
}

static void keep(struct cw_dispatcher *d, const char *key, const char *profile)
{
    const char *end = strrchr(key, '/');
    if (end && (size_t)(end - key) >= strlen(PREFIX)) {
        cw_autofree char *tenant = cw_mem_printf(
            "%.*s", (int)(end - key - (ptrdiff_t)strlen(PREFIX)), key + strlen(PREFIX));
        cw_operator_costs_keep(d, tenant, profile);
    }
    if (d->plan_profiles.n < PROFILES_MAX || cw_strmap_get(&d->plan_profiles, key))
        cw_mem_free(cw_strmap_set(&d->plan_profiles, key, cw_mem_strdup(profile)));
}

const char *cw_plan_profile_of(const struct cw_job *job)
{
    cw_autofree char *key = key_of(job);
    return cw_strmap_get(&job->d->plan_profiles, key);
}

void cw_plan_profile_put(const struct cw_job *job, const char *profile)
{
    cw_autofree char *key = key_of(job);
    keep(job->d, key, profile);
    if (job->d->state) /* There is no state where a test uses parts of a dispatcher. */
        cw_state_put_profile(job->d->state, key, job->name[0] != '\0' ? job->name : job->id,
                             cw_clock_wall_ms(), profile, PROFILES_MAX);
}

static int on_profile(void *arg, const char *key, const char *job, const char *inputs,
                      struct cw_err *err)
{
    (void)job;
    (void)err;
    if (strncmp(key, PREFIX, strlen(PREFIX)) == 0)
        keep(arg, key, inputs);
    return 0;
}

/* A plan that said what is cached says it again. */
static int on_decision(void *arg, const struct cw_state_decision *row, struct cw_err *err)
{
    struct cw_job *job = cw_strmap_get(&((struct cw_dispatcher *)arg)->jobs_by_id, row->job);
    const char *at = strstr(row->choice, CW_PLAN_CHOICE_CACHED);
    (void)err;
    if (!job || !at || !job->info || !job->cache || cw_str_eq(job->options->optimize, "off"))
        return 0;
    at += strlen(CW_PLAN_CHOICE_CACHED);
    cw_autofree char *node = cw_mem_printf("%.*s", (int)strcspn(at, ";"), at);
    job->plan.decides_cache = true;
    cw_job_set_cached_node(job, node);
    return 0;
}

int cw_job_optimizers_restore(struct cw_dispatcher *d, struct cw_err *err)
{
    return cw_state_load_decisions(d->state, "optimize", on_profile, on_decision, d, err);
}

void cw_job_optimizers_close(struct cw_dispatcher *d)
{
    const char *key;
    void *value;
    for (size_t i = 0; cw_strmap_next(&d->plan_profiles, &i, &key, &value);)
        cw_mem_free(value);
    cw_strmap_fini(&d->plan_profiles);
    cw_operator_costs_close(d);
}
