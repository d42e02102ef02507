/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/model/model.h"

#include <string.h>

#include "base/name.h"

#define WEIGHT_MAX 1e6

enum key { KEY_WEIGHT, KEY_MAX_WORKERS, KEY_MAX_JOBS, KEY_MAX_MEMORY, KEY_CACHE_QUOTA, KEYS_N };
static const char *const keys[] = {"weight",     "max-workers", "max-jobs",
                                   "max-memory", "cache-quota", NULL};

struct rule {
    char name[CW_TENANT_NAME_MAX + 1];
    bool given[KEYS_N];
    struct cw_tenant_limits limits;
};

static const char *const values[KEYS_N] = {"a number above 0, at most 1e6", "a number, at least 1",
                                           "a number", "bytes, as in 20G", "bytes, as in 20G"};

static bool read_value(enum key key, const char *text, struct cw_tenant_limits *limits)
{
    switch (key) {
    case KEY_WEIGHT:
        return cw_str_to_f64(text, &limits->weight) && limits->weight > 0 &&
               limits->weight <= WEIGHT_MAX;
    case KEY_MAX_WORKERS:
        return cw_str_to_u64(text, &limits->max_workers) && limits->max_workers > 0;
    case KEY_MAX_JOBS: /* With 0, only tenants that have a rule of their own may have jobs. */
        return cw_str_to_u64(text, &limits->max_jobs);
    case KEY_MAX_MEMORY:
        return cw_str_to_bytes(text, &limits->max_memory) && limits->max_memory > 0;
    case KEY_CACHE_QUOTA:
        return cw_str_to_bytes(text, &limits->cache_quota) && limits->cache_quota > 0;
    case KEYS_N:
    default:
        return false;
    }
}

static int read_pair(const char *whole, char *pair, struct rule *rule, struct cw_err *err)
{
    char *equals = strchr(pair, '=');
    if (!equals || equals == pair)
        return cw_err_set(err, CW_E_INVALID, "--tenant \"%s\": \"%s\" is not KEY=VALUE", whole,
                          pair);
    *equals = '\0';
    for (size_t k = 0; k < KEYS_N; k++) {
        if (strcmp(pair, keys[k]) != 0)
            continue;
        if (rule->given[k])
            return cw_err_set(err, CW_E_INVALID, "--tenant \"%s\": %s is given twice", whole,
                              keys[k]);
        rule->given[k] = true;
        if (!read_value((enum key)k, equals + 1, &rule->limits))
            return cw_err_set(err, CW_E_INVALID, "--tenant \"%s\": %s: \"%s\" is not %s", whole,
                              keys[k], equals + 1, values[k]);
        return 0;
    }
    const char *near = cw_str_nearest(pair, keys);
    return cw_err_set(err, CW_E_INVALID,
                      "--tenant \"%s\": there is no \"%s\"%s%s%s; there are weight, max-workers, "
                      "max-jobs, max-memory, cache-quota",
                      whole, pair, near ? " (did you mean " : "", near ? near : "",
                      near ? "?)" : "");
}

static int read_rule(const char *text, struct rule *ret_rule, struct cw_err *err)
{
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    if (n == 0 || colon[1] == '\0')
        return cw_err_set(
            err, CW_E_INVALID,
            "--tenant \"%s\" is not NAME:KEY=VALUE,... (as in team-a:weight=2,max-jobs=5)", text);
    *ret_rule = (struct rule){.limits = {1, CW_NO_LIMIT, CW_NO_LIMIT, CW_NO_LIMIT, CW_NO_LIMIT}};
    cw_autofree char *name = cw_mem_strndup(text, n);
    int rc = strcmp(name, "*") != 0 ? cw_name_check_tenant(name, err) : 0;
    if (rc != 0)
        return cw_err_wrap(err, "--tenant \"%s\"", text);
    memcpy(ret_rule->name, name, n);
    cw_autofree char *copy = cw_mem_strdup(colon + 1);
    for (char *pair = copy, *next; pair && rc == 0; pair = next) {
        next = strchr(pair, ',');
        if (next)
            *next++ = '\0';
        rc = read_pair(text, pair, ret_rule, err);
    }
    return rc;
}

int cw_tenant_rules_check(const struct cw_arg_list *rules, struct cw_err *err)
{
    for (size_t i = 0; i < rules->n; i++) {
        struct rule rule, other;
        int rc = read_rule(rules->v[i], &rule, err);
        for (size_t k = 0; k < i && rc == 0; k++)
            if (read_rule(rules->v[k], &other, err) == 0 && strcmp(rule.name, other.name) == 0)
                rc = cw_err_set(err, CW_E_INVALID,
                                "--tenant \"%s\": there is one for %s already: \"%s\"", rules->v[i],
                                rule.name, rules->v[k]);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static void apply(const struct rule *rule, struct cw_tenant_limits *limits)
{
    if (rule->given[KEY_WEIGHT])
        limits->weight = rule->limits.weight;
    if (rule->given[KEY_MAX_WORKERS])
        limits->max_workers = rule->limits.max_workers;
    if (rule->given[KEY_MAX_JOBS])
        limits->max_jobs = rule->limits.max_jobs;
    if (rule->given[KEY_MAX_MEMORY])
        limits->max_memory = rule->limits.max_memory;
    if (rule->given[KEY_CACHE_QUOTA])
        limits->cache_quota = rule->limits.cache_quota;
}

struct cw_tenant_limits cw_tenant_limits_of(const struct cw_arg_list *rules, const char *name)
{
    struct cw_tenant_limits limits = {1, CW_NO_LIMIT, CW_NO_LIMIT, CW_NO_LIMIT, CW_NO_LIMIT};
    const char *const order[] = {"*", name};
    struct rule rule;
    for (size_t o = 0; o < CW_ARRAY_LEN(order); o++)
        for (size_t i = 0; i < rules->n; i++)
            if (read_rule(rules->v[i], &rule, NULL) == 0 && strcmp(rule.name, order[o]) == 0)
                apply(&rule, &limits);
    return limits;
}

bool cw_tenant_rules_have_quota(const struct cw_arg_list *rules)
{
    struct rule rule;
    for (size_t i = 0; i < rules->n; i++)
        if (read_rule(rules->v[i], &rule, NULL) == 0 && rule.given[KEY_CACHE_QUOTA])
            return true;
    return false;
}

/* ---- known tenants ---- */

struct cw_tenant *cw_tenant_get(struct cw_dispatcher *d, const char *name)
{
    name = name && name[0] != '\0' ? name : CW_TENANT_DEFAULT;
    struct cw_tenant *tenant = cw_strmap_get(&d->tenants, name);
    if (tenant)
        return tenant;
    tenant = CW_NEW(struct cw_tenant);
    tenant->name = cw_mem_strdup(name);
    tenant->limits = cw_tenant_limits_of(&d->options.tenants, name);
    cw_strmap_set(&d->tenants, name, tenant);
    return tenant;
}

void cw_tenants_open(struct cw_dispatcher *d)
{
    struct rule rule;
    for (size_t i = 0; i < d->options.tenants.n; i++)
        if (read_rule(d->options.tenants.v[i], &rule, NULL) == 0 && strcmp(rule.name, "*") != 0)
            (void)cw_tenant_get(d, rule.name);
}

void cw_tenants_close(struct cw_dispatcher *d)
{
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&d->tenants, &i, &name, &value);) {
        struct cw_tenant *tenant = value;
        cw_mem_free(tenant->name);
        cw_mem_free(tenant);
    }
    cw_strmap_fini(&d->tenants);
}

/* ---- admission ---- */

uint64_t cw_job_memory(const Cachew__V1__JobOptions *options)
{
    uint64_t buffer = options->buffer_bytes > 0 ? options->buffer_bytes : CW_BUFFER_DEFAULT;
    uint64_t consumers =
        options->mode == CACHEW__V1__CONSUMER_MODE__SINGLE ? 1 : CW_MAX(options->consumers, 1u);
    return buffer > UINT64_MAX / consumers ? UINT64_MAX : buffer * consumers;
}

struct cw_tenant_load cw_tenant_load(const struct cw_dispatcher *d, const struct cw_tenant *tenant)
{
    struct cw_tenant_load load = {0};
    for (const struct cw_job *job = d->jobs; job; job = job->next) {
        if (job->tenant != tenant ||
            (job->status != CW_JOB_PREPARING && job->status != CW_JOB_RUNNING))
            continue;
        uint64_t memory = cw_job_memory(job->options);
        load.jobs++;
        load.memory = memory > UINT64_MAX - load.memory ? UINT64_MAX : load.memory + memory;
    }
    return load;
}

int cw_tenant_admits(struct cw_dispatcher *d, const Cachew__V1__JobOptions *options,
                     struct cw_err *err)
{
    const char *name = options->tenant[0] != '\0' ? options->tenant : CW_TENANT_DEFAULT;
    if (d->tenants.n >= CW_TENANTS_MAX && !cw_strmap_get(&d->tenants, name))
        return cw_err_set(
            err, CW_E_LIMIT,
            "tenant %s is new, and the dispatcher knows %d already, which is all it takes", name,
            CW_TENANTS_MAX);
    const struct cw_tenant *tenant = cw_strmap_get(&d->tenants, name);
    const struct cw_tenant_limits found = cw_tenant_limits_of(&d->options.tenants, name),
                                  *limits = &found;
    struct cw_tenant_load load = tenant ? cw_tenant_load(d, tenant) : (struct cw_tenant_load){0};
    uint64_t memory = cw_job_memory(options);
    if (limits->max_jobs == 0)
        return cw_err_set(err, CW_E_LIMIT,
                          "tenant %s may have no jobs here (--tenant, max-jobs=0): give the tenant "
                          "that you belong to",
                          name);
    if (load.jobs >= limits->max_jobs)
        return cw_err_set(
            err, CW_E_LIMIT,
            "tenant %s has %llu job%s, and may have %llu (--tenant, max-jobs): try again when one "
            "has ended, or end one (cachew jobs, cachew remove)",
            name, (unsigned long long)load.jobs, load.jobs == 1 ? "" : "s",
            (unsigned long long)limits->max_jobs);
    if (memory > limits->max_memory || load.memory > limits->max_memory - memory)
        return cw_err_set(
            err, CW_E_LIMIT,
            "tenant %s: the trainers of its jobs may buffer %llu bytes in all (--tenant, "
            "max-memory): its other jobs have %llu, this one asks for %llu: "
            "give it a smaller buffer (--buffer), or try again when another has ended",
            name, (unsigned long long)limits->max_memory, (unsigned long long)load.memory,
            (unsigned long long)memory);
    return 0;
}
