/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles: what jobs have measured of their pipelines, kept for the next job of the same pipeline.
 * They are stored in state.db, so they survive a restart of the dispatcher. */
#include <string.h>
#include "dispatcher/autocache/autocache_int.h"

#define PROFILES_MAX 1000

struct cw_profile {
    char *job, *inputs; /* The id of the job that measured, and the snapshot of its inputs. */
};

static void profile_free(struct cw_profile *profile)
{
    if (!profile)
        return;
    cw_mem_free(profile->job);
    cw_mem_free(profile->inputs);
    cw_mem_free(profile);
}

static char *key_of(const struct cw_job *job)
{
    char text[CW_HASH_TEXT_BYTES];
    cw_hash_text(job->fingerprint, text);
    return cw_mem_printf("%s/%s", cw_job_tenant(job), text);
}

void cw_profile_load(struct cw_dispatcher *d, const char *key, const char *job, const char *inputs)
{
    struct cw_profile *profile = CW_NEW(struct cw_profile);
    profile->job = cw_mem_strdup(job);
    profile->inputs = cw_mem_strdup(inputs);
    profile_free(cw_strmap_set(&d->autocache->profiles, key, profile));
}

void cw_profiles_free(struct cw_autocache_service *service)
{
    const char *key;
    void *value;
    for (size_t i = 0; cw_strmap_next(&service->profiles, &i, &key, &value);)
        profile_free(value);
    cw_strmap_fini(&service->profiles);
}

static bool is_of(const struct cw_job *job, const struct cw_autocache_snapshot *s)
{
    bool same = s->n == job->info->n_cacheable;
    for (size_t i = 0; same && i < s->n; i++)
        same = cw_str_eq(s->nodes[i].op, job->info->cacheable[i]->op);
    return same;
}

void cw_profile_begin(struct cw_autocache_job *decider)
{
    struct cw_job *job = decider->job;
    cw_autofree char *key = key_of(job);
    const struct cw_profile *profile = cw_strmap_get(&job->d->autocache->profiles, key);
    struct cw_autocache_snapshot *s = NULL;
    struct cw_err err = {0};
    if (!profile)
        return;
    if (cw_autocache_snapshot_parse(profile->inputs, strlen(profile->inputs), &s, &err) < 0) {
        cw_log_warn(CW_LOG_MOD,
                    "job=%s: what was measured of its pipeline before cannot be read: %s", job->id,
                    err.msg);
        return;
    }
    if (is_of(job, s) && s->elements_measured > 0 && job->measured->all_outputs <= 0) {
        cw_node_counters_set_prior(job->measured, s);
        decider->prior_job = cw_mem_strdup(profile->job);
    }
    cw_autocache_snapshot_free(s);
}

void cw_profile_put(struct cw_autocache_job *decider)
{
    struct cw_job *job = decider->job;
    struct cw_autocache_view view;
    CW_STR_AUTO inputs = {0};
    cw_autocache_view_init(decider, &view);
    bool measured = view.s.elements_measured > 0;
    for (size_t i = 0; i < view.s.n; i++)
        measured = measured && view.s.nodes[i].samples > 0;
    cw_autocache_snapshot_print(&view.s, &inputs);
    cw_autocache_view_fini(&view);
    if (!measured)
        return;
    cw_autofree char *key = key_of(job);
    cw_profile_load(job->d, key, job->name[0] != '\0' ? job->name : job->id, cw_str_text(&inputs));
    cw_state_put_profile(job->d->state, key, job->name[0] != '\0' ? job->name : job->id,
                         cw_clock_wall_ms(), cw_str_text(&inputs), PROFILES_MAX);
}
