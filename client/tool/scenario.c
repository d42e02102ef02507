/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/scenario.h"

#include <string.h>

#include "base/mem.h"

struct job_rows {
    char *name, *tenant, *cause;
    int64_t count, priority, least, most, remote, local, epoch_columns;
    double arrive_s, every_s, batches, epochs, loss, slower, local_speed, cpu_s, room, slow, weight,
        odd_every, odd_s;
    bool odd_waits;
    struct cw_f64_list step_s, step_at_s, worker_s, worker_at_s, ceiling, ceiling_at_s, epoch_s;
};
struct tenant_rows {
    char *name;
    double weight, most;
};
struct scenario_file {
    char *name;
    struct cw_str_list policies;
    int64_t workers, local, seed;
    double start_s, window_batches, discard_batches, window_least_s, noise, until_s;
    struct cw_scale_options options;
    struct cw_value jobs, tenants;
    struct job_rows *job;
    size_t jobs_n;
    struct tenant_rows *tenant;
    size_t tenants_n;
};

#define ROW(struct_, key, type_, def_, min_, max_, help_)                                          \
    {                                                                                              \
        .name = #key, .help = help_, .type = type_, .offset = offsetof(struct struct_, key),       \
        .def = def_, .min = min_, .max = max_                                                      \
    }
#define MANY 1e12

static const struct cw_opt job_table[] = {
    ROW(job_rows, arrive_s, CW_OPT_F64, "0.0", 0, MANY, "when it begins"),
    ROW(job_rows, batches, CW_OPT_F64, "1000.0", 1, MANY, "of an epoch"),
    {.name = "cause",
     .help = "of the ceiling: source, cpu, store, quota, network",
     .type = CW_OPT_STR,
     .offset = offsetof(struct job_rows, cause),
     .def = "\"source\""},
    ROW(job_rows, ceiling, CW_OPT_F64_LIST, "[0.0]", 0, MANY,
        "batches per second that all workers together give at most; 0 = any"),
    ROW(job_rows, ceiling_at_s, CW_OPT_F64_LIST, "[0.0]", 0, MANY,
        "after its begin: when the values of ceiling hold"),
    ROW(job_rows, count, CW_OPT_I64, "1", 1, 1e6, "so many of these jobs"),
    ROW(job_rows, cpu_s, CW_OPT_F64, "0.0", 0, MANY,
        "CPU time of a batch on a worker; 0 = all of its time"),
    ROW(job_rows, epoch_columns, CW_OPT_I64, "0", 0, 1e6,
        "epoch_s has a row for 0, 1, ... remote workers, and in it so many numbers of local ones"),
    ROW(job_rows, epoch_s, CW_OPT_F64_LIST, "[]", 0, MANY,
        "measured seconds of an epoch with 1, 2, ... workers, instead of worker_s and loss"),
    ROW(job_rows, epochs, CW_OPT_F64, "1.0", 0, MANY, "0 = until the scenario ends"),
    ROW(job_rows, every_s, CW_OPT_F64, "0.0", 0, MANY,
        "of several, one begins after the other so much later"),
    ROW(job_rows, least, CW_OPT_I64, "1", 0, 1e6, "workers that it has a right to"),
    ROW(job_rows, local, CW_OPT_I64, "0", 0, 1e6, "local workers to begin with"),
    ROW(job_rows, local_speed, CW_OPT_F64, "1.0", 1e-6, 1e6,
        "of a local worker, as a part of a remote one's"),
    ROW(job_rows, loss, CW_OPT_F64, "0.0", 0, 1, "of a worker's rate, for each further worker"),
    ROW(job_rows, most, CW_OPT_I64, "0", 0, 1e6, "remote workers at most; 0 = any"),
    {.name = "name",
     .help = "shown",
     .type = CW_OPT_STR,
     .offset = offsetof(struct job_rows, name),
     .def = "\"job\""},
    ROW(job_rows, odd_every, CW_OPT_F64, "0.0", 0, MANY,
        "one window of so many is odd, at random; 0 = none"),
    ROW(job_rows, odd_s, CW_OPT_F64, "0.0", 0, MANY, "seconds that the trainer stands still in it"),
    {.name = "odd_waits",
     .help = "it waits for a batch meanwhile, else it saves a checkpoint",
     .type = CW_OPT_BOOL,
     .offset = offsetof(struct job_rows, odd_waits),
     .def = "false"},
    ROW(job_rows, priority, CW_OPT_I64, "0", -1000, 1000, "higher is served first"),
    ROW(job_rows, remote, CW_OPT_I64, "1", 0, 1e6, "remote workers to begin with"),
    ROW(job_rows, room, CW_OPT_F64, "0.0", 0, 1e6, "local workers that the trainer's host bears"),
    ROW(job_rows, slow, CW_OPT_F64, "0.0", 0, 1e3,
        "each further local worker makes the trainer's step longer by this share"),
    ROW(job_rows, slower, CW_OPT_F64, "0.0", 0, 1,
        "of a worker's rate, for each pair of workers: too many give less"),
    ROW(job_rows, step_at_s, CW_OPT_F64_LIST, "[0.0]", 0, MANY,
        "after its begin: when the values of step_s hold"),
    ROW(job_rows, step_s, CW_OPT_F64_LIST, "[0.1]", 1e-9, MANY, "the trainer's time for a batch"),
    {.name = "tenant",
     .help = "whose it is",
     .type = CW_OPT_STR,
     .offset = offsetof(struct job_rows, tenant),
     .def = "\"default\""},
    ROW(job_rows, weight, CW_OPT_F64, "1.0", 1e-6, 1e6, "within its tenant"),
    ROW(job_rows, worker_at_s, CW_OPT_F64_LIST, "[0.0]", 0, MANY,
        "after its begin: when the values of worker_s hold"),
    ROW(job_rows, worker_s, CW_OPT_F64_LIST, "[0.1]", 1e-9, MANY, "a worker's time for a batch"),
    {0},
};
static const struct cw_opt tenant_table[] = {
    ROW(tenant_rows, most, CW_OPT_F64, "0.0", 0, 1e6, "workers of all its jobs; 0 = any"),
    {.name = "name",
     .help = "jobs name it",
     .type = CW_OPT_STR,
     .offset = offsetof(struct tenant_rows, name),
     .flags = CW_OPT_REQUIRED},
    ROW(tenant_rows, weight, CW_OPT_F64, "1.0", 1e-6, 1e6, "its share"),
    {0},
};
#define OPTION(key, min_, max_, help_)                                                             \
    {                                                                                              \
        .name = #key, .help = help_, .type = CW_OPT_F64,                                           \
        .offset = offsetof(struct scenario_file, options.key), .def = "0.0", .min = min_,          \
        .max = max_                                                                                \
    }
static const struct cw_opt file_table[] = {
    OPTION(client_price, 0, MANY, "per hour"),
    ROW(scenario_file, discard_batches, CW_OPT_F64, "20.0", 0, MANY, "left out after a change"),
    {.name = "jobs",
     .help = "list of jobs",
     .type = CW_OPT_VALUE,
     .offset = offsetof(struct scenario_file, jobs),
     .flags = CW_OPT_REQUIRED},
    ROW(scenario_file, local, CW_OPT_I64, "0", 0, 1e6,
        "local workers that a trainer's host may have"),
    OPTION(max_stall, 0, 1, "share of its time that a trainer may wait; 0 = the policy's default"),
    OPTION(max_workers, 0, 1e6, "0 = the fleet"),
    {.name = "name",
     .help = "title",
     .type = CW_OPT_STR,
     .offset = offsetof(struct scenario_file, name),
     .def = "\"\""},
    ROW(scenario_file, noise, CW_OPT_F64, "0.0", 0, 1, "of what windows measure, at most"),
    {.name = "policies",
     .help = "autoscale policies, and place:NAME",
     .type = CW_OPT_STR_LIST,
     .offset = offsetof(struct scenario_file, policies),
     .def = "[\"auto\"]",
     .len_min = 1,
     .len_max = 100},
    ROW(scenario_file, seed, CW_OPT_I64, "0", 0, 1e15, "of noise and of odd windows"),
    ROW(scenario_file, start_s, CW_OPT_F64, "1.0", 0, MANY, "until a new worker serves"),
    {.name = "tenants",
     .help = "list of tenants",
     .type = CW_OPT_VALUE,
     .offset = offsetof(struct scenario_file, tenants),
     .def = "[]"},
    ROW(scenario_file, until_s, CW_OPT_F64, "0.0", 0, MANY, "end; 0 = when all jobs are done"),
    ROW(scenario_file, window_batches, CW_OPT_F64, "50.0", 1, MANY, "that a window measures"),
    ROW(scenario_file, window_least_s, CW_OPT_F64, "0.5", 0, MANY, "shortest window"),
    OPTION(worker_price, 0, MANY, "per hour"),
    ROW(scenario_file, workers, CW_OPT_I64, "8", 0, 1e6, "of the fleet"),
    {0},
};

static int parse_list(const struct cw_value *list, const char *what, const struct cw_opt *table,
                      size_t bytes, void **ret_v, size_t *ret_n, struct cw_err *err)
{
    if (list->type != CW_VALUE_LIST || list->n > 1000000)
        return cw_err_set(err, CW_E_INVALID, "%s must be a list, not %s", what,
                          cw_value_type_name(list->type));
    char *v = cw_mem_new_array(list->n + 1, bytes);
    *ret_v = v;
    for (size_t i = 0; i < list->n; i++) {
        if (list->items[i].type != CW_VALUE_OBJECT)
            return cw_err_set(err, CW_E_INVALID, "%s %zu must be an object, not %s", what, i,
                              cw_value_type_name(list->items[i].type));
        int rc = cw_opt_parse(table, &list->items[i], v + i * bytes, err);
        if (rc < 0)
            return cw_err_wrap(err, "%s %zu", what, i);
        *ret_n = i + 1;
    }
    return 0;
}

static int find_tenant(struct scenario *s, const char *name, size_t *ret, struct cw_err *err)
{
    const struct scenario_file *f = s->file;
    for (size_t t = 0; t < f->tenants_n; t++)
        if (strcmp(f->tenant[t].name, name) == 0) {
            *ret = t;
            return 0;
        }
    *ret = f->tenants_n; /* The tenant "default" needs no entry in the file. */
    return strcmp(name, "default") == 0
               ? 0
               : cw_err_set(err, CW_E_INVALID, "tenant \"%s\" is not in the list of tenants", name);
}

static int check_series(const char *name, const struct cw_f64_list *v,
                        const struct cw_f64_list *at_s, struct cw_err *err)
{
    if (v->n == 0 || v->n != at_s->n || at_s->v[0] != 0)
        return cw_err_set(err, CW_E_INVALID,
                          "%s and its times must have the same number of values, and the first "
                          "time be 0",
                          name);
    for (size_t i = 1; i < at_s->n; i++)
        if (at_s->v[i] <= at_s->v[i - 1])
            return cw_err_set(err, CW_E_INVALID, "the times of %s must rise", name);
    return 0;
}

static const char *const causes[] = {[CW_SIM_SOURCE] = "source",
                                     [CW_SIM_CPU] = "cpu",
                                     [CW_SIM_STORE] = "store",
                                     [CW_SIM_QUOTA] = "quota",
                                     [CW_SIM_NETWORK] = "network"};

static size_t cause_of(const char *name)
{
    size_t i = 0;
    while (i < CW_ARRAY_LEN(causes) && !cw_str_eq(causes[i], name))
        i++;
    return i;
}

static int check_job(const struct job_rows *j, struct cw_err *err)
{
    size_t columns = (size_t)j->epoch_columns;
    int rc = check_series("step_s", &j->step_s, &j->step_at_s, err);
    if (rc == 0)
        rc = check_series("worker_s", &j->worker_s, &j->worker_at_s, err);
    if (rc == 0)
        rc = check_series("ceiling", &j->ceiling, &j->ceiling_at_s, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < j->epoch_s.n; i++)
        if (j->epoch_s.v[i] <= 0)
            return cw_err_set(err, CW_E_INVALID, "epoch_s: times must be greater than 0");
    if (columns > 0 && (j->epoch_s.n < 2 || j->epoch_s.n % columns != 0))
        return cw_err_set(err, CW_E_INVALID, "epoch_s: its rows must have epoch_columns times");
    if (cause_of(j->cause) == CW_ARRAY_LEN(causes))
        return cw_err_set(
            err, CW_E_INVALID,
            "cause \"%s\" is not known; there are: source, cpu, store, quota, network", j->cause);
    return 0;
}

static void add_jobs(struct scenario *s, const struct job_rows *j, size_t tenant)
{
    for (int64_t i = 0; i < j->count; i++) {
        char *name = j->count > 1 ? cw_mem_printf("%s-%lld", j->name, (long long)i + 1)
                                  : cw_mem_strdup(j->name);
        s->names[s->names_n++] = name;
        s->jobs[s->sim.jobs_n++] =
            (struct cw_sim_job_spec){.name = name,
                                     .tenant = tenant,
                                     .arrive_s = j->arrive_s + (double)i * j->every_s,
                                     .batches = j->batches,
                                     .epochs = j->epochs,
                                     .step_s = {j->step_at_s.v, j->step_s.v, j->step_s.n},
                                     .worker_s = {j->worker_at_s.v, j->worker_s.v, j->worker_s.n},
                                     .ceiling = {j->ceiling_at_s.v, j->ceiling.v, j->ceiling.n},
                                     .cause = (enum cw_sim_cause)cause_of(j->cause),
                                     .loss = j->loss,
                                     .slower = j->slower,
                                     .local_speed = j->local_speed,
                                     .cpu_s = j->cpu_s,
                                     .columns = (size_t)j->epoch_columns,
                                     .odd_every = j->odd_every,
                                     .odd_s = j->odd_s,
                                     .odd_waits = j->odd_waits,
                                     .epoch_s = j->epoch_s.v,
                                     .epoch_s_n = j->epoch_s.n,
                                     .room = j->room,
                                     .slow = j->slow,
                                     .weight = j->weight,
                                     .least = (double)j->least,
                                     .most = (double)j->most,
                                     .priority = (int)j->priority,
                                     .remote = (double)j->remote,
                                     .local = (double)j->local};
    }
}

static int build(struct scenario *s, struct cw_err *err)
{
    struct scenario_file *f = s->file;
    size_t n = 0;
    for (size_t i = 0; i < f->jobs_n; i++)
        n += (size_t)f->job[i].count;
    s->jobs = CW_NEW_ARRAY(struct cw_sim_job_spec, n + 1);
    s->names = CW_NEW_ARRAY(char *, n + 1);
    s->tenants = CW_NEW_ARRAY(struct cw_share_tenant, f->tenants_n + 1);
    for (size_t t = 0; t < f->tenants_n; t++)
        s->tenants[t] = (struct cw_share_tenant){f->tenant[t].weight, f->tenant[t].most};
    s->tenants[f->tenants_n].weight = 1;
    bool ends = f->until_s > 0;
    for (size_t i = 0; i < f->jobs_n; i++) {
        size_t tenant = 0;
        int rc = check_job(&f->job[i], err);
        if (rc == 0)
            rc = find_tenant(s, f->job[i].tenant, &tenant, err);
        if (rc == 0 && f->job[i].epochs == 0 && !ends)
            rc =
                cw_err_set(err, CW_E_INVALID, "its epochs have no end: the scenario needs until_s");
        if (rc < 0)
            return cw_err_wrap(err, "job %zu (%s)", i, f->job[i].name);
        add_jobs(s, &f->job[i], tenant);
    }
    s->name = f->name;
    s->policies = f->policies;
    s->sim.jobs = s->jobs;
    s->sim.tenants = s->tenants;
    s->sim.tenants_n = f->tenants_n + 1;
    s->sim.workers = (double)f->workers;
    s->sim.local = (double)f->local;
    s->sim.start_s = f->start_s;
    s->sim.window_batches = f->window_batches;
    s->sim.discard_batches = f->discard_batches;
    s->sim.window_least_s = f->window_least_s;
    s->sim.noise = f->noise;
    s->sim.seed = (uint64_t)f->seed;
    s->sim.until_s = f->until_s;
    s->sim.options = f->options;
    return 0;
}

int scenario_load(const char *path, struct scenario **ret_scenario, struct cw_err *err)
{
    struct cw_value value = {0};
    int rc = cw_value_load(path, &value, err);
    if (rc < 0)
        return rc;
    struct scenario *s = CW_NEW(struct scenario);
    s->file = CW_NEW(struct scenario_file);
    void *jobs = NULL, *tenants = NULL;
    rc = cw_opt_parse(file_table, &value, s->file, err);
    if (rc == 0)
        rc = parse_list(&s->file->tenants, "tenant", tenant_table, sizeof(struct tenant_rows),
                        &tenants, &s->file->tenants_n, err);
    s->file->tenant = tenants;
    if (rc == 0)
        rc = parse_list(&s->file->jobs, "job", job_table, sizeof(struct job_rows), &jobs,
                        &s->file->jobs_n, err);
    s->file->job = jobs;
    if (rc == 0)
        rc = build(s, err);
    cw_value_fini(&value);
    if (rc < 0) {
        cw_err_wrap(err, "%s", path);
        scenario_free(s);
        return rc;
    }
    *ret_scenario = s;
    return 0;
}

void scenario_free(struct scenario *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->file->jobs_n; i++)
        cw_opt_fini(job_table, &s->file->job[i]);
    for (size_t i = 0; i < s->file->tenants_n; i++)
        cw_opt_fini(tenant_table, &s->file->tenant[i]);
    for (size_t i = 0; i < s->names_n; i++)
        cw_mem_free(s->names[i]);
    cw_mem_free(s->file->job);
    cw_mem_free(s->file->tenant);
    cw_opt_fini(file_table, s->file);
    cw_mem_free(s->file);
    cw_mem_free(s->names);
    cw_mem_free(s->jobs);
    cw_mem_free(s->tenants);
    cw_mem_free(s);
}

int scenario_use(struct scenario *s, const char *policy, struct cw_err *err)
{
    if (cw_str_starts(policy, "place:"))
        return cw_autoplace_find(policy + strlen("place:"), &s->sim.policy, &s->sim.argument, err);
    return cw_autoscale_find(policy, &s->sim.policy, &s->sim.argument, err);
}
