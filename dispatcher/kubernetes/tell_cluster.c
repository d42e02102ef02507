/* SPDX-License-Identifier: Apache-2.0 */
/* What the provisioner says: decisions, Events of the Deployments, the log, and counts. */
#include "dispatcher/kubernetes/cluster.h"

#include <inttypes.h>

#include "dispatcher/state/state.h"

static void print_inputs(const struct cw_cluster *cluster, struct cw_str *out)
{
    const char *before = "";

    cw_str_addf(out, "{\"wanted\":%.0f,\"deployments\":[", cluster->wanted);
    for (size_t i = 0; i < cluster->pools_n; i++) {
        const struct cw_pool *pool = &cluster->pools[i];
        cw_str_addf(out,
                    "%s{\"name\":\"%s\",\"replicas\":%" PRIu64 ",\"wanted\":%" PRIu64
                    ",\"waiting\":%" PRIu64 ",\"held\":%s}",
                    before, pool->settings.name, pool->replicas, pool->wanted,
                    pool->settings.waiting, pool->hold == CW_HOLD_NOT ? "false" : "true");
        before = ",";
    }
    cw_str_add(out, "]}");
}

void cw_pool_tell(struct cw_pool *pool, bool warning, const char *reason, const char *choice,
                  const char *text)
{
    struct cw_cluster *cluster = pool->cluster;
    CW_STR_AUTO inputs = {0};

    print_inputs(cluster, &inputs);
    cw_autofree char *why = cw_mem_printf("Deployment %s: %s", pool->settings.name, text);
    const struct cw_state_decision row = {.kind = "provision",
                                          .policy = "kubernetes",
                                          .choice = choice,
                                          .reason = why,
                                          .inputs = cw_str_text(&inputs)};
    cw_decision_record(cluster->d, NULL, &row);
    if (!pool->seen)
        return;
    const struct cw_kube_event event = {.regarding = {"apps/v1", "Deployment",
                                                      cw_kube_namespace(cluster->kube),
                                                      pool->settings.name, pool->seen->d.uid},
                                        .warning = warning,
                                        .reason = reason,
                                        .action = "Scale",
                                        .note = text};
    cw_kube_events_tell(cluster->events, &event);
}

void cw_pool_tell_scaled(struct cw_pool *pool)
{
    uint64_t from = pool->from, to = pool->number;
    cw_autofree char *choice = cw_mem_printf("%s: %" PRIu64 " pods", pool->settings.name, to);
    cw_autofree char *text =
        cw_mem_printf("From %" PRIu64 " to %" PRIu64 " pods: %.0f workers are wanted in all.", from,
                      to, pool->cluster->wanted);

    if (from != to)
        cw_pool_tell(pool, false, to > from ? "ScaledOut" : "ScaledIn", choice, text);
}

void cw_cluster_answered(void *arg, enum cw_kube_verb verb, int http)
{
    struct cw_cluster *cluster = arg;
    const char *name = cw_kube_verb_name(verb);
    size_t i = 0;

    while (i < cluster->requests_n &&
           (cluster->requests[i].verb != name || cluster->requests[i].code != http))
        i++;
    if (i == CW_REQUESTS_MAX)
        return;
    if (i == cluster->requests_n)
        cluster->requests[cluster->requests_n++] =
            (struct cw_cluster_requests){.verb = name, .code = http};
    cluster->requests[i].n++;
}

void cw_cluster_warned(void *cluster, const char *text)
{
    (void)cluster;
    cw_log_warn(CW_LOG_MOD, "the API server warns: %s", text);
}
