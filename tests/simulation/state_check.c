/* SPDX-License-Identifier: Apache-2.0 */
/* What a dispatcher has stored, compared with what it has in memory: in its program. */
#include "state_check.h"

#include "bounds.h"

#include "dispatcher/model/model.h"
#include "dispatcher/state/state_int.h"
#include "sim.h"

#define EVERY 8      /* iterations of the loop in which all is stored */
#define ROWS_EVERY 8 /* of these */

/* Of the running actor; each is prepared once, since that costs more than running it. */
enum question { WORKERS, JOBS, PROGRESS, POSITIONS, USE, DECISIONS, ORPHANS, QUESTIONS_N };
static sqlite3_stmt *questions[QUESTIONS_N];

/* The first column of the statement's first row. */
static uint64_t number_of(const struct cw_state *state, enum question which, const char *job,
                          uint64_t from, uint64_t to)
{
    static const char *const sql[] = {
        [WORKERS] = "SELECT count(*) FROM workers",
        [JOBS] = "SELECT count(*) FROM jobs",
        [PROGRESS] = "SELECT count(*) FROM progress WHERE job=?1 AND (epoch<?2 OR epoch>=?3)",
        [POSITIONS] = "SELECT count(*) FROM positions",
        [USE] = "SELECT (SELECT count(*) FROM usage) + (SELECT count(*) FROM counts)",
        [DECISIONS] = "SELECT count(*) FROM decisions",
        [ORPHANS] = "SELECT (SELECT count(*) FROM progress WHERE job NOT IN (SELECT id FROM jobs))"
                    " + (SELECT count(*) FROM left_out WHERE job NOT IN (SELECT id FROM jobs))"
                    " + (SELECT count(*) FROM skipped WHERE job NOT IN (SELECT id FROM jobs))"};

    if (!questions[which] &&
        sqlite3_prepare_v2(state->reader, sql[which], -1, &questions[which], NULL) != SQLITE_OK)
        sim_fail("%s: %s", sql[which], sqlite3_errmsg(state->reader));
    sqlite3_stmt *stmt = questions[which];
    if (job) {
        sqlite3_bind_text(stmt, 1, job, -1, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 2, (sqlite3_int64)from);
        sqlite3_bind_int64(stmt, 3, (sqlite3_int64)to);
    }
    uint64_t n = sqlite3_step(stmt) == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_reset(stmt);
    return n;
}

__typeof__(cw_state_close) __real_cw_state_close, __wrap_cw_state_close;
void __wrap_cw_state_close(struct cw_state *state)
{
    for (size_t i = 0; i < QUESTIONS_N; i++) {
        sqlite3_finalize(questions[i]);
        questions[i] = NULL;
    }
    __real_cw_state_close(state);
}

static void compare(const char *what, uint64_t stored, uint64_t there)
{
    if (stored != there)
        sim_fail("%s: state.db has %llu %s, and there are %llu", sim_name(sim_self()),
                 (unsigned long long)stored, what, (unsigned long long)there);
}

/* Rows that a job has beside its own: none is of a job that is gone. A row is bounded by what it is
 * of, since not each has been written. */
static void check_rows(const struct cw_dispatcher *d)
{
    static unsigned checks;
    uint64_t jobs = 0, consumers = 0;

    if (checks++ % ROWS_EVERY != 0)
        return;
    for (const struct cw_job *job = d->jobs; job; job = job->next) {
        jobs++;
        consumers += job->layout.consumers;
    }
    sim_bound("rows of positions", number_of(d->state, POSITIONS, NULL, 0, 0),
              SIM_MOST_POSITIONS(consumers));
    sim_bound("rows of what jobs have used", number_of(d->state, USE, NULL, 0, 0),
              SIM_MOST_ROWS_OF_USE(jobs));
    sim_bound("decisions", number_of(d->state, DECISIONS, NULL, 0, 0), CW_DECISIONS_IN_ALL + jobs);
    sim_bound("rows of a job that is gone", number_of(d->state, ORPHANS, NULL, 0, 0), 0);
}

static void check_jobs(const struct cw_dispatcher *d)
{
    uint64_t n = 0;

    for (const struct cw_job *job = d->jobs; job; job = job->next) {
        n += job->row_written;
        if (job->due.row || job->due.progress) /* written at the next tick */
            continue;
        compare("rows of progress of epochs that are not open",
                number_of(d->state, PROGRESS, job->id, job->first_epoch,
                          job->first_epoch + job->epochs_open),
                0);
    }
    compare("jobs", number_of(d->state, JOBS, NULL, 0, 0), n);
}

void sim_check_state(const struct cw_dispatcher *d)
{
    static unsigned cycles;
    uint64_t workers = d->expected_workers.n;

    if (d->stopping || cw_state_is_dirty(d->state) || cycles++ % EVERY != 0)
        return;
    for (const struct cw_worker *worker = d->workers; worker; worker = worker->next)
        workers += worker->said_hello;
    compare("workers", number_of(d->state, WORKERS, NULL, 0, 0), workers);
    check_jobs(d);
    check_rows(d);
}
