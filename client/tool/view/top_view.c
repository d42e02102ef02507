/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of `cachew top`: the fleet, jobs, workers, decisions. Running jobs come first; rows
 * that do not fit are counted. */
#include "client/tool/view/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "client/tool/tool.h"

/* The screen always has two lines of the fleet, three heads, three empty lines, and one line of the
 * state. */
#define FIXED_LINES 9

struct screen {
    struct cw_str *out;
    size_t columns, rows;
    bool heads;
};
struct column {
    const char *head;
    size_t width; /* The width in columns; 0 means whatever is left of the line. */
    bool right;
};

/* ---- lines ---- */

/* Adds characters (not bytes) without control characters, which would move the cursor. Returns
 * their number. */
static size_t add_clean(struct cw_str *out, const char *text, size_t most)
{
    size_t n = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        bool begins = (*p & 0xc0) != 0x80;
        if (begins && n == most)
            break;
        n += begins;
        cw_str_add_char(out, *p < 0x20 || *p == 0x7f ? '?' : (char)*p);
    }
    return n;
}

static void add_spaces(struct cw_str *out, size_t n)
{
    while (n-- > 0)
        cw_str_add_char(out, ' ');
}

static void end_line(const struct screen *s)
{
    while (s->out->len > 0 && s->out->s[s->out->len - 1] == ' ')
        s->out->len--;
    cw_str_add_char(s->out, '\n');
}

static void add_line(const struct screen *s, const char *text)
{
    (void)add_clean(s->out, text, s->columns);
    end_line(s);
}

static size_t count(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += (*text & 0xc0) != 0x80;
    return n;
}

static void add_cell(const struct screen *s, const struct column *column, const char *text,
                     size_t *left)
{
    size_t width = column->width > 0 && column->width < *left ? column->width : *left;
    size_t n = CW_MIN(count(text), width);
    if (column->right)
        add_spaces(s->out, width - n);
    (void)add_clean(s->out, text, width);
    *left -= width;
    if (!column->right && *left > 0)
        add_spaces(s->out, width - n);
    if (*left > 0) {
        cw_str_add_char(s->out, ' ');
        --*left;
    }
}

static void add_heads(const struct screen *s, const struct column *columns, size_t n)
{
    size_t left = s->columns;
    if (s->heads)
        cw_str_add_char(s->out, TOOL_TOP_HEAD);
    for (size_t i = 0; i < n; i++)
        add_cell(s, &columns[i], columns[i].head, &left);
    end_line(s);
}

/* Cells are separated by '\t' in the text. */
static void add_cells(const struct screen *s, const struct column *columns, size_t n,
                      struct cw_str *cells)
{
    size_t left = s->columns;
    char *at = cw_str_take(cells);
    char *text = at;
    for (size_t i = 0; i < n; i++) {
        char *end = at + strcspn(at, "\t");
        char *next = *end ? end + 1 : end;
        *end = '\0';
        add_cell(s, &columns[i], at, &left);
        at = next;
    }
    end_line(s);
    cw_mem_free(text);
}

static void add_more(const struct screen *s, size_t n, const char *what)
{
    CW_STR_AUTO line = {0};
    cw_str_addf(&line, "... and %zu more %s", n, what);
    add_line(s, cw_str_text(&line));
}

/* ---- fleet ---- */

static void add_time(struct cw_str *out, int64_t wall_ms)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm parts;
    char text[16] = "-";
    if (localtime_r(&seconds, &parts))
        (void)strftime(text, sizeof(text), "%H:%M:%S", &parts);
    cw_str_add(out, text);
}

static void add_fleet(const struct screen *s, const struct tool_top *top)
{
    CW_STR_AUTO line = {0};
    unsigned ready = 0, draining = 0, threads = 0;
    double cores = 0, used = 0, budget = 0;
    for (size_t i = 0; i < top->workers->n_workers; i++) {
        const Cachew__V1__WorkerRow *w = top->workers->workers[i];
        *(strcmp(w->state, "ready") == 0 ? &ready : &draining) += 1;
        threads += w->threads;
        cores += w->cpu_cores;
        used += (double)w->budget_used;
        budget += (double)w->budget_bytes;
    }
    cw_str_addf(&line, "cachew %s  %s  up ", top->info->version, top->address);
    tool_print_time((double)top->info->uptime_ms / 1e3, &line);
    cw_str_addf(&line, "  %zu jobs  ", top->jobs->n_jobs);
    add_time(&line, top->time_ms);
    add_line(s, cw_str_text(&line));
    cw_str_clear(&line);
    cw_str_addf(&line, "workers: %u ready, %u starting, %u draining; thr %u; CPU %.1f; ", ready,
                top->workers->starting, draining, threads, cores);
    tool_print_bytes(used, &line);
    cw_str_add(&line, " of ");
    tool_print_bytes(budget, &line);
    if (strcmp(top->workers->provisioner, "none") != 0)
        cw_str_addf(&line, "; %.0f wanted", top->workers->wanted);
    add_line(s, cw_str_text(&line));
}

/* ---- jobs ---- */

#define JOB_LEAST 11 /* The least width of the column JOB. With it a row fits into 80 columns. */
#define JOB_MOST 20
#define JOB_COLUMNS 11
static const struct column job_columns[JOB_COLUMNS] = {
    {"JOB", JOB_LEAST, false}, {"STATE", 7, false}, {"EPOCH", 6, true},  {"DONE", 4, true},
    {"BATCH/S", 7, true},      {"WAIT", 4, true},   {"STEP", 7, true},   {"QUEUE", 5, true},
    {"WORKERS", 7, true},      {"HITS", 4, true},   {"TENANT", 0, false}};

static bool works(const Cachew__V1__JobRow *job)
{
    return strcmp(job->state, "finished") != 0 && strcmp(job->state, "failed") != 0;
}

static void add_rate(struct cw_str *out, const Cachew__V1__JobRow *job)
{
    const Cachew__V1__TrainerWindow *w = job->window;
    double rate = w && w->seconds > 0 ? w->batches / w->seconds : job->items_s;
    if (strcmp(job->state, "running") == 0 && (w || rate > 0))
        cw_str_addf(out, rate < 100 ? "%.1f" : "%.0f", rate);
    else
        cw_str_add(out, "-");
}

static void add_step(struct cw_str *out, const Cachew__V1__TrainerWindow *w)
{
    double ms = w ? 1e3 * w->step_s : 0;
    if (ms <= 0)
        cw_str_add(out, "-");
    else
        cw_str_addf(out, ms < 10 ? "%.2f ms" : ms < 1000 ? "%.0f ms" : "%.0fms", ms);
}

/* Returns the consumed fraction of all its epochs; of the present one, if there is no last
 * epoch. */
static double done_of(const Cachew__V1__JobRow *job)
{
    if (!works(job) && job->error[0] == '\0')
        return 1;
    if (job->epochs == 0)
        return job->epoch_done;
    return CW_MIN(((double)job->epoch + job->epoch_done) / (double)job->epochs, 1);
}

static void add_job(const struct screen *s, const struct column *columns,
                    const Cachew__V1__JobRow *job)
{
    static const char *const states[][2] = {{"preparing", "prepare"}, {"finished", "done"}};
    const char *state = job->state;
    for (size_t i = 0; i < CW_ARRAY_LEN(states); i++)
        state = strcmp(state, states[i][0]) == 0 ? states[i][1] : state;
    CW_STR_AUTO cells = {0};
    for (const char *p = job->name[0] ? job->name : job->job_id; *p; p++)
        cw_str_add_char(&cells, *p == '\t' ? '?' : *p);
    cw_str_addf(&cells, "\t%s\t%" PRIu64, state, job->epoch);
    if (job->epochs > 0)
        cw_str_addf(&cells, "/%" PRIu64, job->epochs);
    cw_str_addf(&cells, "\t%.0f%%\t", 100 * done_of(job));
    add_rate(&cells, job);
    const Cachew__V1__TrainerWindow *w = works(job) ? job->window : NULL;
    if (w)
        cw_str_addf(&cells, "\t%.0f%%\t", 100 * w->wait_share);
    else
        cw_str_add(&cells, "\t-\t");
    add_step(&cells, w);
    if (w)
        cw_str_addf(&cells, "\t%.1f\t", w->queue);
    else
        cw_str_add(&cells, "\t-\t");
    if (job->wanted > 0)
        cw_str_addf(&cells, "%u/%.0f", job->assigned - job->local, job->wanted);
    else
        cw_str_addf(&cells, "%u", job->assigned - job->local);
    if (job->local > 0)
        cw_str_addf(&cells, "+%u", job->local);
    if (job->hits > 0)
        cw_str_addf(&cells, "\t%.0f%%\t", 100 * job->hit_share);
    else
        cw_str_add(&cells, "\t-\t");
    cw_str_add(&cells, job->tenant[0] ? job->tenant : "-");
    add_cells(s, columns, JOB_COLUMNS, &cells);
}

struct consumer_wait {
    float share;
    size_t consumer;
};

static int waits_more(const void *a, const void *b)
{
    const struct consumer_wait *x = a, *y = b;
    if (x->share != y->share)
        return x->share < y->share ? 1 : -1;
    return x->consumer < y->consumer ? -1 : 1;
}

/* A job with several consumers has a second line: which of its trainers wait, the one that waits most
 * first. */
static bool has_waits(const Cachew__V1__JobRow *job)
{
    return works(job) && job->n_consumer_waits > 0;
}

static void add_waits(const struct screen *s, const Cachew__V1__JobRow *job)
{
    CW_STR_AUTO line = {0};
    size_t n = job->n_consumer_waits;
    struct consumer_wait *waits = CW_NEW_ARRAY(struct consumer_wait, n);
    for (size_t i = 0; i < n; i++)
        waits[i] = (struct consumer_wait){job->consumer_waits[i], i};
    qsort(waits, n, sizeof(waits[0]), waits_more);
    cw_str_add(&line, "  consumers wait:");
    for (size_t i = 0; i < n; i++) { /* Those that fit, whole. */
        size_t fits = line.len;
        cw_str_addf(&line, "%s %zu ", i > 0 ? "," : "", waits[i].consumer);
        if (waits[i].share >= 0)
            cw_str_addf(&line, "%.0f%%", 100 * (double)waits[i].share);
        else
            cw_str_add(&line, "-");
        if (line.len > s->columns) {
            line.s[line.len = fits] = '\0';
            break;
        }
    }
    add_line(s, cw_str_text(&line));
    cw_mem_free(waits);
}

static size_t lines_of(const Cachew__V1__ListJobsReply *reply)
{
    size_t n = reply->n_jobs;
    for (size_t i = 0; i < reply->n_jobs; i++)
        n += has_waits(reply->jobs[i]);
    return n;
}

static void add_jobs(const struct screen *s, const Cachew__V1__ListJobsReply *reply, size_t room)
{
    size_t shown = 0, need = lines_of(reply),
           left = need > room && room > 0 ? room - 1 : CW_MIN(need, room);
    struct column columns[JOB_COLUMNS];
    memcpy(columns, job_columns, sizeof(columns));
    columns[0].width = s->columns > 80 ? CW_MIN(JOB_LEAST + s->columns - 80, JOB_MOST) : JOB_LEAST;
    add_heads(s, columns, JOB_COLUMNS);
    /* Running jobs come first, then the others, the youngest first. */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t k = 0; k < reply->n_jobs && left > 0; k++) {
            const Cachew__V1__JobRow *job = reply->jobs[pass == 0 ? k : reply->n_jobs - 1 - k];
            if (works(job) != (pass == 0))
                continue;
            add_job(s, columns, job);
            shown++;
            left--;
            if (left > 0 && has_waits(job)) {
                add_waits(s, job);
                left--;
            }
        }
    }
    if (shown < reply->n_jobs && room > 0)
        add_more(s, reply->n_jobs - shown, "jobs");
}

/* ---- workers ---- */

static const struct column worker_columns[] = {
    {"WORKER", 21, false}, {"STATE", 8, false}, {"THR", 3, true},
    {"CPU", 4, true},      {"HOST", 4, true},   {"LOAD", 5, true},
    {"MEM", 10, true},     {"LEASED", 6, true}, {"JOBS", 0, false}};

static const char *name_of(const Cachew__V1__ListJobsReply *jobs, const char *id)
{
    for (size_t i = 0; i < jobs->n_jobs; i++)
        if (strcmp(jobs->jobs[i]->job_id, id) == 0 && jobs->jobs[i]->name[0])
            return jobs->jobs[i]->name;
    return id;
}

static void add_worker(const struct screen *s, const Cachew__V1__WorkerRow *w,
                       const Cachew__V1__ListJobsReply *jobs)
{
    CW_STR_AUTO cells = {0};
    /* The end of a long address says more than its beginning. */
    size_t n = strlen(w->address),
           cut = n > worker_columns[0].width ? n - worker_columns[0].width : 0;
    cw_str_addf(&cells, "%s\t%s\t%u\t%.0f%%\t", w->address + cut, w->state, w->threads,
                100 * w->cpu_share);
    if (w->host_cpus > 0)
        cw_str_addf(&cells, "%.0f%%\t%.2f\t", 100 * w->host_cpu_share, w->host_load);
    else
        cw_str_add(&cells, "-\t-\t");
    tool_print_bytes((double)w->budget_used, &cells);
    cw_str_addf(&cells, "\t%" PRIu64 "\t%s", w->leased, w->only_job[0] ? "beside " : "");
    for (size_t i = 0; i < w->n_jobs; i++)
        cw_str_addf(&cells, "%s%s", i > 0 ? " " : "", name_of(jobs, w->jobs[i]));
    add_cells(s, worker_columns, CW_ARRAY_LEN(worker_columns), &cells);
}

static void add_workers(const struct screen *s, const struct tool_top *top, size_t room)
{
    size_t n = top->workers->n_workers, most = n > room && room > 0 ? room - 1 : CW_MIN(n, room);
    add_heads(s, worker_columns, CW_ARRAY_LEN(worker_columns));
    for (size_t i = 0; i < most; i++)
        add_worker(s, top->workers->workers[i], top->jobs);
    if (most < n && room > 0)
        add_more(s, n - most, "workers");
}

/* ---- decisions ---- */

static void add_decisions(const struct screen *s, const Cachew__V1__ListDecisionsReply *reply,
                          size_t room)
{
    static const struct column column = {"LAST DECISIONS", 0, false};
    add_heads(s, &column, 1);
    for (size_t i = reply->n_decisions - CW_MIN(reply->n_decisions, room); i < reply->n_decisions;
         i++) {
        const Cachew__V1__Decision *d = reply->decisions[i];
        CW_STR_AUTO line = {0};
        add_time(&line, d->time_ms);
        if (d->job_id[0])
            cw_str_addf(&line, " %s", d->job_name[0] ? d->job_name : d->job_id);
        cw_str_addf(&line, " %s %s: %s: %s", d->kind, d->policy,
                    d->choice[0] ? d->choice : "nothing", d->reason);
        add_line(s, cw_str_text(&line));
    }
}

/* ---- the whole screen ---- */

/* Divides the rows: each part gets what it needs, up to a third, and what it does not need goes to
 * the others. */
static void divide(const size_t need[3], size_t rows, size_t ret_room[3])
{
    size_t left = rows;
    for (size_t i = 0; i < 3; i++) {
        ret_room[i] = CW_MIN(need[i], rows / 3);
        left -= ret_room[i];
    }
    for (size_t i = 0; i < 3; i++) {
        size_t more = CW_MIN(need[i] - ret_room[i], left);
        ret_room[i] += more;
        left -= more;
    }
}

void tool_top_text(const struct tool_top *top, size_t columns, size_t rows, bool heads,
                   struct cw_str *out)
{
    const struct screen s = {out, columns, rows, heads};
    CW_STR_AUTO state = {0};
    if (top->lost)
        cw_str_addf(&state, "connection lost, trying again: %s", top->lost);
    if (!top->info) {
        add_line(&s, top->lost ? cw_str_text(&state) : "connecting ...");
        return;
    }
    size_t need[3] = {lines_of(top->jobs), top->workers->n_workers, top->decisions->n_decisions},
           room[3] = {need[0], need[1], need[2]};
    if (rows > 0)
        divide(need, rows > FIXED_LINES ? rows - FIXED_LINES : 0, room);
    add_fleet(&s, top);
    add_line(&s, "");
    add_jobs(&s, top->jobs, room[0]);
    add_line(&s, "");
    add_workers(&s, top, room[1]);
    add_line(&s, "");
    add_decisions(&s, top->decisions, room[2]);
    if (top->lost)
        add_line(&s, cw_str_text(&state));
}
