/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs, workers and caches come as whole rows, and only those that have changed; decisions come once. */
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/json_member.h"
#include "base/mem.h"
#include "dispatcher/web/web_int.h"
#include "wire/reply_json.h"

#define SILENT_MS 3000 /* A worker that was silent for less is not news. */
#define AGE_MS 60000

struct shown {
    uint64_t hash;
    uint32_t look;
};

void cw_web_rows_fini(struct cw_web_rows *rows)
{
    const char *key;
    void *value;
    for (size_t i = 0; cw_strmap_next(&rows->shown, &i, &key, &value);)
        cw_mem_free(value);
    cw_strmap_fini(&rows->shown);
}

/* Notes the row that begins at `begin` in the text; takes it back if it was shown before. */
static void note(struct cw_web_rows *rows, const char *key, struct cw_str *out, size_t begin)
{
    struct shown *shown = cw_strmap_get(&rows->shown, key);
    uint64_t hash = cw_hash_u64(&out->s[begin], out->len - begin);
    bool is_news = !shown || shown->hash != hash;
    if (!shown) {
        shown = CW_NEW(struct shown);
        (void)cw_strmap_set(&rows->shown, key, shown);
    }
    *shown = (struct shown){hash, rows->look};
    if (!is_news) {
        out->len = begin;
        out->s[begin] = '\0';
    } else {
        cw_str_add_char(out, ',');
    }
}

static void end_list(struct cw_str *out)
{
    if (out->s[out->len - 1] == ',')
        out->s[--out->len] = '\0';
    cw_str_add_char(out, ']');
}

static void add_jobs(struct cw_web_rows *rows, const Cachew__V1__ListJobsReply *jobs,
                     struct cw_str *out)
{
    cw_str_add(out, ",\"jobs\":[");
    for (size_t i = 0; i < jobs->n_jobs; i++) {
        cw_autofree char *key = cw_mem_printf("j%s", jobs->jobs[i]->job_id);
        size_t begin = out->len;
        cw_str_add_char(out, '{');
        cw_wire_job_members(out, jobs->jobs[i]);
        cw_str_add_char(out, '}');
        note(rows, key, out, begin);
    }
    end_list(out);
}

static void add_workers(struct cw_web_rows *rows, const Cachew__V1__ListWorkersReply *workers,
                        struct cw_str *out)
{
    cw_str_add(out, ",\"workers\":[");
    for (size_t i = 0; i < workers->n_workers; i++) {
        Cachew__V1__WorkerRow *worker = workers->workers[i];
        cw_autofree char *key = cw_mem_printf("w%016" PRIx64, worker->worker_id);
        size_t begin = out->len;
        /* What changes with time alone is rounded. */
        worker->silent_ms = worker->silent_ms < SILENT_MS ? 0 : worker->silent_ms;
        worker->age_ms -= worker->age_ms % AGE_MS;
        cw_str_add_char(out, '{');
        cw_wire_worker_members(out, worker);
        cw_str_add_char(out, '}');
        note(rows, key, out, begin);
    }
    end_list(out);
}

static void add_caches(struct cw_web_rows *rows, const Cachew__V1__CacheDescribeReply *caches,
                       struct cw_str *out)
{
    cw_str_add(out, ",\"caches\":[");
    for (size_t i = 0; i < caches->n_caches; i++) {
        cw_autofree char *key = cw_mem_printf("c%" PRIu64, caches->caches[i]->id);
        size_t begin = out->len;
        cw_wire_cache_json(out, caches->caches[i]);
        note(rows, key, out, begin);
    }
    end_list(out);
}

static void add_decisions(const Cachew__V1__ListDecisionsReply *decisions, struct cw_str *out)
{
    cw_str_add(out, ",\"decisions\":[");
    for (size_t i = 0; i < decisions->n_decisions; i++) {
        cw_wire_decision_json(decisions->decisions[i], out);
        cw_str_add_char(out, ',');
    }
    end_list(out);
}

/* What was shown and is not there any more. */
static void add_gone(struct cw_web_rows *rows, struct cw_str *out)
{
    const char *key;
    void *value;
    cw_str_add(out, ",\"gone\":[");
    for (size_t i = 0; cw_strmap_next(&rows->shown, &i, &key, &value);) {
        struct shown *shown = value;
        if (shown->look == rows->look)
            continue;
        cw_str_add_json(out, key, strlen(key));
        cw_str_add_char(out, ',');
        cw_mem_free(shown);
        (void)cw_strmap_remove(&rows->shown, key);
    }
    end_list(out);
}

void cw_web_rows_print(struct cw_web_rows *rows, const struct cw_web_look *look, struct cw_str *out)
{
    rows->look++;
    cw_str_add_char(out, '{');
    cw_member_text(out, "version", look->info->version);
    cw_member_number(out, "generation", look->info->generation);
    cw_member_number(out, "uptime_ms", look->info->uptime_ms);
    cw_wire_fleet_member(out, look->workers);
    add_jobs(rows, look->jobs, out);
    add_workers(rows, look->workers, out);
    add_caches(rows, look->caches, out);
    add_decisions(look->decisions, out);
    add_gone(rows, out);
    cw_str_add_char(out, '}');
}
