/* SPDX-License-Identifier: Apache-2.0 */
/* A CacheBackend and what is seen around it, for tests of decisions. */
#ifndef CW_TESTS_UNIT_CONTROLLER_SIGHT_H
#define CW_TESTS_UNIT_CONTROLLER_SIGHT_H

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/decide.h"
#include "support/cm.h"

#define NOW_MS ((int64_t)1795700000000) /* 2026-11-26T13:33:20Z */
#define URL "dir:/root/team-a/c-u1"

/* Reads an object with this metadata besides its names, this spec and this status: JSON. */
static inline struct cw_cachebackend *read_backend(const char *metadata, const char *spec,
                                                   const char *status)
{
    struct cw_value value = {0};
    struct cw_err err = {0};
    cw_autofree char *text =
        cw_mem_printf("{\"metadata\":{\"namespace\":\"team-a\",\"name\":\"c\",\"uid\":\"u1\","
                      "\"resourceVersion\":\"7\",\"generation\":3%s%s},\"spec\":%s,\"status\":%s}",
                      *metadata ? "," : "", metadata, spec, status);
    if (cw_value_parse(text, strlen(text), "test", &value, &err) != 0)
        fail_msg("%s", err.msg);
    struct cw_cachebackend *b = cw_cachebackend_read(&value);
    cw_value_fini(&value);
    assert_non_null(b);
    return b;
}

/* Facts own their texts; those of tests are literals, which nobody changes. */
static inline char *lit(const char *text)
{
    return (char *)(uintptr_t)text;
}

struct world {
    struct cw_sight s;
    struct cw_cachebackend *b;
    struct cachew_engine_answer place;
    struct cw_cache_facts cache;
    struct cw_job_facts job;
    char *users[3];
    struct cw_decision plan;
};

/* A localfs cache that is attached and has its ConfigMap, with its finalizer, and nobody uses it. */
static inline void set_up(struct world *w, const char *metadata, const char *spec,
                          const char *status)
{
    cw_autofree char *all =
        cw_mem_printf("\"finalizers\":[\"a/b\",\"" CW_BACKEND_FINALIZER "\"]%s%s",
                      *metadata ? "," : "", metadata);
    *w = (struct world){.b = read_backend(all, spec, status)};
    snprintf(w->place.url, sizeof(w->place.url), "%s", URL);
    w->cache = (struct cw_cache_facts){.name = lit("team-a/c"),
                                       .url = lit(URL),
                                       .tenant = lit("team-a"),
                                       .why = lit(""),
                                       .quota = (uint64_t)w->b->quota,
                                       .source_quota = (uint64_t)w->b->source_quota,
                                       .high_percent = w->b->high_percent,
                                       .low_percent = w->b->low_percent,
                                       .users = w->users};
    w->job = (struct cw_job_facts){.name_space = lit("team-a"),
                                   .name = lit("train"),
                                   .uid = lit("j1"),
                                   .version = lit("1"),
                                   .kind = "Job",
                                   .wants = lit("c"),
                                   .managed_by = lit(""),
                                   .suspended = true};
    w->s = (struct cw_sight){.now_ms = NOW_MS,
                             .b = w->b,
                             .engine = &cw_engine_localfs,
                             .engine_why = "",
                             .place = CACHEW_ENGINE_READY,
                             .place_answer = &w->place,
                             .dispatcher_known = true,
                             .dispatcher_why = "",
                             .cache = &w->cache,
                             .map = CW_MAP_RIGHT,
                             .claim = CW_CLAIM_UNSUPPORTED,
                             .prefetch_percent = -1,
                             .warming = w->b->to_warm};
}

static inline void tear_down(struct world *w)
{
    cw_cachebackend_unref(w->b);
}

static inline const struct cw_condition *condition(const struct world *w, const char *type)
{
    for (size_t i = 0; i < w->plan.conditions_n; i++)
        if (strcmp(w->plan.conditions[i].type, type) == 0)
            return &w->plan.conditions[i];
    fail_msg("there is no condition %s", type);
    return NULL;
}

#endif
