/* SPDX-License-Identifier: Apache-2.0 */
/* How far a job is leased. A sparse one is run in a loop without daemons: the dispatcher's own
 * decisions and sets, a worker that computes what it is leased and sends it against credit,
 * clients that join rows, trainers. Whatever the window, the buffer and the items that a batch
 * spans, it ends, and what is held stays bounded. */
#include <stdio.h>
#include <string.h>
#include "unit/dispatcher/made_up.h"

#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"

#define CONSUMERS_MAX 3
#define ROW_BYTES 1000
#define EPOCHS 2

/* What is tried. Items: each `every`-th has `rows` rows, the others none. */
struct shape {
    uint64_t window, buffer, items, every, rows, batch;
    uint32_t consumers;
    bool lockstep; /* no trainer asks again before all have their batch */
    bool slow;     /* the last trainer takes its time */
    bool troubled; /* dispatchers that begin anew, other processes in places, tokens */
};
struct entry { /* finished, not consumed: where the consumer stands behind it */
    uint64_t epoch, item, row, batches;
    bool end;
};
struct trainer {
    /* by number from the first epoch's first item; out: computed, and waits at the worker */
    struct cw_set received, out;
    struct entry at; /* the next row that comes in */
    uint64_t fill;
    struct entry *queue;
    size_t queue_first, queue_n, queue_cap;
    struct entry consumed, given;
    bool has_given; /* the trainer has a batch in hand */
    int64_t credit, last_sent;
    uint64_t away_until; /* steps; until then nobody holds the place */
    uint64_t rounds;     /* batches and ends of epochs that it was given */
};
struct sim {
    const struct shape *shape;
    struct cw_job *job;
    struct trainer t[CONSUMERS_MAX];
    uint64_t steps;
};

static uint64_t number_of(const struct sim *sim, uint64_t epoch, uint64_t item)
{
    return epoch * sim->shape->items + item;
}

static uint64_t rows_of(const struct sim *sim, uint64_t number)
{
    uint64_t item = number % sim->shape->items;
    return item % sim->shape->every == sim->shape->every - 1 ? sim->shape->rows : 0;
}

/* ---- the client ---- */

static void push(struct trainer *t, const struct entry *entry)
{
    CW_GROW(t->queue, t->queue_first + t->queue_n, t->queue_cap);
    t->queue[t->queue_first + t->queue_n++] = *entry;
}

static void finish(struct sim *sim, uint32_t c, bool end)
{
    struct trainer *t = &sim->t[c];
    if (t->fill > 0) {
        bool mine = t->at.batches % sim->shape->consumers == c;
        t->at.batches++;
        if (mine) {
            t->credit -= (int64_t)(t->fill * ROW_BYTES);
            push(t, &t->at);
        }
        t->fill = 0;
    }
    if (end) {
        t->at = (struct entry){.epoch = t->at.epoch + 1, .end = true};
        push(t, &t->at);
        t->at.end = false;
    }
}

static void walk_item(struct sim *sim, uint32_t c)
{
    struct trainer *t = &sim->t[c];
    uint64_t rows = rows_of(sim, number_of(sim, t->at.epoch, t->at.item));
    while (t->at.row < rows) {
        uint64_t run = CW_MIN(rows - t->at.row, sim->shape->batch - t->fill);
        t->fill += run;
        t->at.row += run;
        bool last = t->at.row == rows;
        t->at.item += last;
        t->at.row = last ? 0 : t->at.row;
        if (t->fill == sim->shape->batch)
            finish(sim, c, false);
        if (last)
            return;
    }
    t->at.item++;
    t->at.row = 0;
}

static void walk(struct sim *sim, uint32_t c)
{
    struct trainer *t = &sim->t[c];
    while (t->at.epoch < EPOCHS &&
           cw_set_has(&t->received, number_of(sim, t->at.epoch, t->at.item))) {
        walk_item(sim, c);
        if (t->at.item == sim->shape->items)
            finish(sim, c, true);
    }
}

/* Outputs go out lowest first; their credit is back as soon as they are walked, or were there. */
static bool receive(struct sim *sim, uint32_t c)
{
    struct trainer *t = &sim->t[c];
    bool any = false;
    uint64_t number, at = 0;
    while (cw_set_first_present(&t->out, at, &number) &&
           (t->credit > 0 || (int64_t)number < t->last_sent)) {
        cw_set_remove(&t->out, number, number + 1);
        t->last_sent = CW_MAX(t->last_sent, (int64_t)number);
        any = true;
        if (number >= number_of(sim, t->at.epoch, t->at.item) && !cw_set_has(&t->received, number))
            cw_set_add(&t->received, number, number + 1);
        walk(sim, c);
    }
    return any;
}

/* ---- the trainer ---- */

static bool all_have_theirs(const struct sim *sim, uint64_t rounds)
{
    for (uint32_t c = 0; c < sim->shape->consumers; c++)
        if (sim->t[c].rounds < rounds && sim->t[c].consumed.epoch < EPOCHS)
            return false;
    return true;
}

static bool ask(struct sim *sim, uint32_t c)
{
    struct trainer *t = &sim->t[c];
    bool any = false;
    if (sim->shape->slow && c == sim->shape->consumers - 1 && sim->steps % 300 != 0)
        return true; /* it is at work */
    if (t->has_given && (!sim->shape->lockstep || all_have_theirs(sim, t->rounds))) {
        t->consumed = t->given;
        t->has_given = false;
        any = true;
    }
    if (!t->has_given && t->queue_n > 0) {
        t->given = t->queue[t->queue_first++];
        if (--t->queue_n == 0)
            t->queue_first = 0;
        t->credit += t->given.end ? 0 : (int64_t)(sim->shape->batch * ROW_BYTES);
        t->has_given = any = true;
        t->rounds++;
        if (t->given.end) { /* consumed with the next call, which comes by itself */
            t->consumed = t->given;
            t->has_given = false;
        }
    }
    return any;
}

/* ---- messages ---- */

static void say(struct sim *sim, uint32_t c, uint64_t lo, uint64_t hi, bool consumed)
{
    uint64_t items = sim->shape->items;
    for (uint64_t epoch = sim->job->first_epoch; epoch < EPOCHS; epoch++) {
        uint64_t from = CW_MAX(lo, epoch * items), to = CW_MIN(hi, (epoch + 1) * items);
        if (from < to)
            made_up_ack(sim->job, c, epoch, from - epoch * items, to - epoch * items, consumed);
    }
}

static void acknowledge(struct sim *sim, uint32_t c)
{
    struct trainer *t = &sim->t[c];
    for (size_t i = 0; i < t->received.n; i++)
        say(sim, c, t->received.v[i].lo, t->received.v[i].hi, false);
    say(sim, c, 0, number_of(sim, t->consumed.epoch, t->consumed.item), true);
    sim->job->consumers[c].ready = t->queue_n;
    sim->job->consumers[c].position = (struct cw_state_position){
        t->consumed.epoch, t->consumed.item, t->consumed.row, 0, t->consumed.batches};
    cw_set_remove(&t->received, 0, number_of(sim, t->consumed.epoch, t->consumed.item));
    cw_job_leases_due(sim->job);
}

/* ---- the worker ---- */

static bool compute(struct sim *sim)
{
    bool any = false;
    for (struct cw_share *share = sim->job->shares; share; share = share->next_of_job) {
        for (struct cw_lease *lease = share->leases; lease; lease = lease->next) {
            for (size_t i = 0; i < lease->todo.n; i++)
                for (uint32_t c = 0; c < sim->shape->consumers; c++)
                    cw_set_add(&sim->t[c].out, number_of(sim, lease->epoch, lease->todo.v[i].lo),
                               number_of(sim, lease->epoch, lease->todo.v[i].hi));
            any = any || lease->todo.n > 0;
            share->todo_n -= cw_set_count(&lease->todo);
            cw_set_clear(&lease->todo);
        }
    }
    return any;
}

/* ---- what goes wrong ---- */

/* Sets of what was received are not stored; clients come back and say it again. */
static void begin_dispatcher_anew(struct sim *sim)
{
    cw_lease_free_job(sim->job);
    for (uint32_t c = 0; c < sim->shape->consumers; c++) {
        cw_job_release_consumer(sim->job, c);
        sim->job->consumers[c].ready = 0;
    }
    for (uint32_t c = 0; c < sim->shape->consumers; c++)
        acknowledge(sim, c);
    /* it comes with the hello, which does not say what is ready */
    for (uint32_t c = 0; c < sim->shape->consumers; c++)
        sim->job->consumers[c].ready = 0;
}

/* Another process goes on where the last acknowledgement of its place stood, or where a token
 * says, which is the same. */
static void replace(struct sim *sim, uint32_t c, bool token)
{
    struct trainer *t = &sim->t[c];
    acknowledge(sim, c);
    cw_job_release_consumer(sim->job, c);
    cw_lease_free_job(sim->job);
    struct cw_epoch *epoch = cw_job_open_epoch(sim->job, t->consumed.epoch);
    if (token && epoch)
        cw_epoch_reset(epoch, c, t->consumed.item, NULL);
    sim->job->consumers[c].ready = 0;
    cw_set_clear(&t->received);
    cw_set_clear(&t->out);
    t->at = t->consumed;
    t->at.end = false;
    t->fill = t->queue_n = t->queue_first = 0;
    t->rounds -= t->has_given;
    t->has_given = false;
    t->credit = (int64_t)sim->shape->buffer;
    t->last_sent = -1;
    t->away_until = sim->steps + 20;
    sim->job->consumers[c].client = NULL;
}

static void fault(struct sim *sim)
{
    uint32_t c = (uint32_t)(sim->steps / 97 % sim->shape->consumers);
    if (sim->steps % 97 == 0 && sim->t[c].consumed.epoch < EPOCHS)
        replace(sim, c, sim->steps % 2 == 0);
    else if (sim->steps % 61 == 0)
        begin_dispatcher_anew(sim);
}

/* ---- all of it ---- */

static uint64_t span_of(const struct shape *s)
{
    return CW_MAX(s->batch * s->every / s->rows, s->every) + 1;
}

/* Its own batch, those of the others that lie between, the one being filled; and the window.
 * Trainers that do not wait for each other may drift apart. */
static void check_held(const struct sim *sim)
{
    const struct shape *s = sim->shape;
    uint64_t steps = s->lockstep || s->consumers == 1 ? 4 : 20;
    for (uint32_t c = 0; c < s->consumers; c++) {
        const struct trainer *t = &sim->t[c];
        uint64_t from = number_of(sim, t->consumed.epoch, t->consumed.item),
                 top = t->received.n > 0 ? t->received.v[t->received.n - 1].hi : 0;
        if (top > from && top - from > steps * s->consumers * span_of(s) + s->window)
            fail_msg("window %llu, a batch in %llu items, %u consumers: %llu items are held",
                     (unsigned long long)s->window, (unsigned long long)span_of(s), s->consumers,
                     (unsigned long long)(top - from));
    }
}

static bool is_over(const struct sim *sim)
{
    for (uint32_t c = 0; c < sim->shape->consumers; c++)
        if (sim->t[c].consumed.epoch < EPOCHS)
            return false;
    return true;
}

/* Who has all leaves; who was away returns. */
static bool is_here(struct sim *sim, uint32_t c)
{
    static struct cw_client here;
    struct trainer *t = &sim->t[c];
    bool there = t->consumed.epoch < EPOCHS && sim->steps >= t->away_until;
    sim->job->consumers[c].client = there ? &here : NULL;
    return there;
}

static bool step(struct sim *sim)
{
    bool any = false;
    for (uint32_t c = 0; c < sim->shape->consumers; c++)
        if (is_here(sim, c))
            cw_job_leases_due(sim->job);
    cw_lease_fill_all(&made_up);
    any |= compute(sim);
    for (uint32_t c = 0; c < sim->shape->consumers; c++) {
        if (sim->job->consumers[c].client)
            any = (int)receive(sim, c) | (int)ask(sim, c) | (int)any;
        else
            any |= sim->steps < sim->t[c].away_until;
    }
    check_held(sim);
    for (uint32_t c = 0; c < sim->shape->consumers; c++)
        if (sim->job->consumers[c].client)
            acknowledge(sim, c);
    cw_job_advance(sim->job);
    sim->steps++;
    if (sim->shape->troubled)
        fault(sim);
    return any;
}

static void run(const struct shape *shape)
{
    struct sim sim = {.shape = shape};
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->epochs = EPOCHS;
    options->window = (uint32_t)shape->window;
    options->buffer_bytes = shape->buffer;
    options->mode = shape->consumers > 1 ? CACHEW__V1__CONSUMER_MODE__COORDINATED
                                         : CACHEW__V1__CONSUMER_MODE__SINGLE;
    options->consumers = shape->consumers;
    info->items = shape->items;
    info->item_bytes = ROW_BYTES * 100;
    info->sparse = true;
    sim.job = made_up_job("a", options, info);
    for (uint32_t c = 0; c < shape->consumers; c++) {
        sim.t[c].credit = (int64_t)shape->buffer;
        sim.t[c].last_sent = -1;
        assert_true(is_here(&sim, c));
    }
    for (int idle = 0; !is_over(&sim); idle++) {
        if (step(&sim))
            idle = 0;
        if (idle > 3)
            fail_msg("window %llu, buffer %llu, a batch in %llu items, %u consumers%s%s: it stands "
                     "after %llu steps",
                     (unsigned long long)shape->window, (unsigned long long)shape->buffer,
                     (unsigned long long)span_of(shape), shape->consumers,
                     shape->lockstep ? " in step" : "", shape->troubled ? ", troubled" : "",
                     (unsigned long long)sim.steps);
    }
    cw_job_advance(sim.job);
    assert_int_equal(sim.job->status, CW_JOB_FINISHED);
    for (uint32_t c = 0; c < shape->consumers; c++) {
        sim.job->consumers[c].client = NULL;
        cw_set_fini(&sim.t[c].received);
        cw_set_fini(&sim.t[c].out);
        cw_mem_free(sim.t[c].queue);
    }
    cw_job_free(sim.job);
}

static const uint64_t buffers[] = {1, 1000, 64 << 10, 1 << 20, 1 << 30};

/* Of every number of consumers; windows of 1 to 8 items. */
static void run_all(struct shape shape, uint64_t steps)
{
    for (shape.consumers = 1; shape.consumers <= CONSUMERS_MAX; shape.consumers++) {
        shape.items = steps * shape.consumers * span_of(&shape) + span_of(&shape) / 2 + 1;
        for (shape.window = 1; shape.window <= 8; shape.window++)
            run(&shape);
    }
}

static void a_batch_may_span_many_items(void **state)
{
    (void)state;
    static const uint64_t spans[] = {1, 2, 3, 5, 8, 9, 17, 100};
    made_up_worker(1, 2);
    for (size_t b = 0; b < CW_ARRAY_LEN(buffers); b++) {
        for (size_t s = 0; s < CW_ARRAY_LEN(spans); s++) {
            struct shape shape = {
                .buffer = buffers[b], .every = 1, .rows = 1, .batch = spans[s], .lockstep = true};
            run_all(shape, spans[s] < 100 ? 3 : 1);
            shape.lockstep = false;
            if (b % 2 == 0)
                run_all(shape, 1);
        }
    }
}

static void it_may_span_ten_thousand(void **state)
{
    (void)state;
    made_up_worker(1, 2);
    struct shape shape = {.buffer = 1, .every = 1, .rows = 1, .batch = 1000, .lockstep = true};
    run_all(shape, 1);
    shape.batch = 10000;
    for (shape.window = 1; shape.window <= 8; shape.window++) {
        shape.consumers = (uint32_t)(shape.window - 1) / 3 + 1;
        shape.items = shape.consumers * span_of(&shape) + 1;
        run(&shape);
    }
}

static void most_items_may_have_no_rows(void **state)
{
    (void)state;
    static const uint64_t every[] = {2, 7, 50, 700};
    made_up_worker(1, 2);
    for (size_t b = 0; b < CW_ARRAY_LEN(buffers); b++) {
        for (size_t i = 0; i < CW_ARRAY_LEN(every); i++) {
            struct shape shape = {.buffer = buffers[b],
                                  .every = every[i],
                                  .rows = 3,
                                  .batch = 2,
                                  .lockstep = b % 2 == 0};
            run_all(shape, 1);
        }
    }
}

/* Then the window is the only bound on the number that is held. */
static void an_item_may_have_many_batches(void **state)
{
    (void)state;
    static const uint64_t rows[] = {2, 5, 200};
    made_up_worker(1, 2);
    for (size_t b = 0; b < CW_ARRAY_LEN(buffers); b++) {
        for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++) {
            struct shape shape = {
                .buffer = buffers[b], .every = 1, .rows = rows[i], .batch = 1, .lockstep = true};
            run_all(shape, rows[i] < 100 ? 6 : 1);
            shape.lockstep = false;
            if (b % 2 == 0)
                run_all(shape, rows[i] < 100 ? 6 : 1);
        }
    }
}

static void it_goes_on_after_trouble(void **state)
{
    (void)state;
    static const uint64_t spans[] = {1, 3, 9, 40};
    made_up_worker(1, 2);
    for (size_t b = 0; b < CW_ARRAY_LEN(buffers); b++) {
        for (size_t s = 0; s < CW_ARRAY_LEN(spans); s++) {
            struct shape shape = {.buffer = buffers[b],
                                  .every = 1,
                                  .rows = 1,
                                  .batch = spans[s],
                                  .lockstep = true,
                                  .troubled = true};
            run_all(shape, 10);
            shape.lockstep = false;
            run_all(shape, 10);
        }
    }
}

static void a_slow_trainer_is_waited_for(void **state)
{
    (void)state;
    made_up_worker(1, 2);
    for (uint64_t batch = 1; batch <= 10; batch += 9) {
        struct shape shape = {.buffer = 1 << 30,
                              .every = 1,
                              .rows = 1,
                              .batch = batch,
                              .slow = true,
                              .consumers = 2,
                              .window = 3};
        shape.items = 30 * shape.consumers * span_of(&shape);
        run(&shape);
    }
}

/* The window that is chosen follows from the buffer, down to a byte. */
static void a_chosen_window_is_enough(void **state)
{
    (void)state;
    made_up_worker(1, 2);
    for (size_t b = 0; b < CW_ARRAY_LEN(buffers); b++) {
        for (uint32_t consumers = 1; consumers <= CONSUMERS_MAX; consumers++) {
            struct shape shape = {.buffer = buffers[b],
                                  .every = 1,
                                  .rows = 1,
                                  .batch = 300,
                                  .lockstep = true,
                                  .consumers = consumers};
            shape.items = 2 * consumers * span_of(&shape) + 7;
            struct shape told = shape;
            told.window = 0;
            run(&told);
        }
    }
}

/* ---- the rule by itself ---- */

static void the_end_of_the_window(void **state)
{
    (void)state;
    struct cw_window_consumer one = {.received = 10, .present = true};
    assert_int_equal(cw_window_end(4, 3, &one, 1), 13);
    one.ready = 1; /* its trainer has what it needs: only what it consumes counts */
    assert_int_equal(cw_window_end(4, 3, &one, 1), 7);
    struct cw_window_consumer two[] = {{.received = 10, .ready = 1, .present = true},
                                       {.received = 6, .present = true}};
    assert_int_equal(cw_window_end(4, 3, two, 2), 9);
    two[0].ready = 0; /* in its trainer's hands */
    assert_int_equal(cw_window_end(4, 3, two, 2), 13);
    two[1].ready = 1000; /* it does not take what it has */
    assert_int_equal(cw_window_end(4, 3, two, 2), 7);
    /* Of one that is away: what it has to be sent waits at the workers. */
    two[0].batches = 5;
    two[1] = (struct cw_window_consumer){.received = 6, .batches = 3};
    assert_int_equal(cw_window_end(4, 3, two, 2), 9);
    two[1].batches = 4; /* the same step */
    assert_int_equal(cw_window_end(4, 3, two, 2), 13);
    two[0].epoch = 1;
    assert_int_equal(cw_window_end(4, 3, two, 2), 9);
    two[1].epoch = 2;
    assert_int_equal(cw_window_end(4, 3, two, 2), 13);
    two[1] = (struct cw_window_consumer){.received = 1000}; /* it needs nothing any more */
    assert_int_equal(cw_window_end(4, 3, two, 2), 13);
}

/* Coordinated trainers of a dense pipeline: each needs its batch of the step before any of them
 * asks for another. */
static void a_window_has_a_batch_for_each_consumer(void **state)
{
    (void)state;
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->epochs = 1;
    options->window = 1;
    options->mode = CACHEW__V1__CONSUMER_MODE__COORDINATED;
    options->consumers = 3;
    info->items = 100;
    struct cw_job *job = made_up_job("a", options, info);
    made_up_worker(1, 2);
    cw_lease_fill_all(&made_up);
    assert_int_equal(cw_set_count(&cw_job_epoch(job, 0)->leased), 3);
}

/* An item may be as large as its pipeline without the filter; how large it is shows. */
static void items_without_rows_widen_the_window(void **state)
{
    (void)state;
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->epochs = 1;
    info->items = 1000000;
    info->item_bytes = 20 << 20;
    info->sparse = true;
    struct cw_job *job = made_up_job("a", options, info);
    struct cw_worker *worker = made_up_worker(1, 100);
    cw_lease_fill_all(&made_up);
    assert_int_equal(job->window, CW_BUFFER_DEFAULT / (20 << 20));
    for (uint64_t item = 0; item < 20; item++) {
        Cachew__V1__Interval interval = CACHEW__V1__INTERVAL__INIT, *intervals[] = {&interval};
        Cachew__V1__Progress__Done done = CACHEW__V1__PROGRESS__DONE__INIT;
        interval.lo = item;
        interval.hi = item + 1;
        done.n_items = 1;
        done.items = intervals;
        done.wall_ns = 1000000;
        cw_lease_done(cw_share_find(job, worker), &done);
        cw_job_leases_due(job);
        cw_lease_fill_all(&made_up);
    }
    assert_true(job->window >= 2 * worker->threads);
}

/* What is leased and received is all that there is, until the consumer that is away comes back. */
static void a_job_that_stands_says_why(void **state)
{
    (void)state;
    static struct cw_client here;
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->epochs = 1;
    options->window = 4;
    options->mode = CACHEW__V1__CONSUMER_MODE__COORDINATED;
    options->consumers = 2;
    info->items = 100;
    struct sim sim = {.shape = &(struct shape){.items = 100, .consumers = 2},
                      .job = made_up_job("a", options, info)};
    struct cw_str reason = {0};
    made_up_worker(1, 8);
    sim.job->consumers[0].client = &here;
    cw_lease_fill_all(&made_up);
    assert_false(cw_job_lacks_leases(sim.job, &reason)); /* the worker is at it */
    for (uint32_t c = 0; c < 2; c++)
        say(&sim, c, 0, 4, false);
    say(&sim, 0, 0, 4, true);
    cw_lease_fill_all(&made_up);
    say(&sim, 0, 4, 5, false);
    cw_lease_fill_all(&made_up);
    assert_true(cw_job_lacks_leases(sim.job, &reason));
    assert_non_null(
        strstr(cw_str_text(&reason), "1 is the lowest that is not consumed; consumer 1 is away"));
    sim.job->consumers[0].ready = 1;
    assert_false(cw_job_lacks_leases(sim.job, &reason));
    cw_str_fini(&reason);
    sim.job->consumers[0].client = NULL;
}

/* Peers of a large fleet speak less often, so that there are not many more messages than of a small
 * one; and workers hold work for as long as that takes. */
static void large_fleets_speak_less_often(void **state)
{
    (void)state;
    static const struct {
        size_t workers, clients;
        int64_t lease_ms, silence_ms;
        uint32_t report_ms, beat_ms, ack_ms;
        int64_t work_ms, gather_ms;
    } cases[] = {
        {1, 1, 2000, 3000, 250, 750, 200, 2000, 0},
        {1000, 100, 2000, 3000, 250, 750, 200, 2000, 0},
        {2000, 200, 2000, 3000, 500, 750, 200, 2000, 1},
        {4000, 400, 2000, 3000, 1000, 1000, 400, 3000, 2},
        {10000, 1000, 2000, 3000, 2500, 2500, 1000, 7500, 5},
        {80000, 20000, 2000, 3000, 2500, 2500, 1000, 7500, 5},
        {10000, 1000, 2000, 20000, 2500, 5000, 1000, 7500, 5}, /* --heartbeat */
        {10000, 1000, 400, 3000, 500, 2500, 1000, 1500, 5},    /* --lease-ms */
        {10000, 1000, 100, 100, 250, 2500, 1000, 100, 5},
        {1, 1, 100, 100, 250, 50, 200, 100, 0},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        made_up.workers_n = cases[i].workers;
        made_up.clients_n = cases[i].clients;
        made_up.options.lease_ms = cases[i].lease_ms;
        made_up.options.silence_ms = cases[i].silence_ms;
        assert_int_equal(cw_report_interval_ms(&made_up), cases[i].report_ms);
        assert_int_equal(cw_heartbeat_ms(&made_up, 0), cases[i].beat_ms);
        assert_int_equal(cw_ack_interval_ms(&made_up), cases[i].ack_ms);
        assert_int_equal(cw_lease_work_ms(&made_up), cases[i].work_ms);
        assert_int_equal(cw_pace_gather_ms(&made_up), cases[i].gather_ms);
        assert_int_equal(cw_pace_longer_ms(&made_up),
                         cases[i].work_ms - cases[i].lease_ms + cases[i].ack_ms - 200);
    }
    made_up.workers_n = made_up.clients_n = 0;
}

/* A worker that was told to speak rarely may not have heard yet that it is to speak more often. */
static void a_shrinking_fleet_loses_nobody(void **state)
{
    (void)state;
    struct cw_worker *worker = made_up_worker(1, 8);
    made_up.options.silence_ms = 3000;
    assert_int_equal(cw_silence_ms(worker), 3000);
    made_up.workers_n = 10000;
    worker->heartbeat_ms = cw_heartbeat_ms(&made_up, 0);
    assert_int_equal(cw_silence_ms(worker), 10000);
    made_up.workers_n = 1;
    for (uint32_t before = worker->heartbeat_ms; before > 750; before = worker->heartbeat_ms) {
        worker->heartbeat_ms = cw_heartbeat_ms(&made_up, before);
        assert_true(worker->heartbeat_ms < before);
        assert_true(cw_silence_ms(worker) >= 2 * (int64_t)before);
    }
    assert_int_equal(cw_silence_ms(worker), 3000);
}

/* What lasts for longer is leased further ahead. */
static void the_window_of_a_large_fleet_is_wider(void **state)
{
    (void)state;
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->buffer_bytes = 1u << 30;
    info->items = 100000;
    info->item_bytes = 1000;
    struct cw_job *job = made_up_job("a", options, info);
    job->consume_rate = 100000; /* two seconds of it are more than AHEAD_BYTES */
    uint64_t small = cw_window_items(job, 8);
    assert_int_equal(small, 200000);
    made_up.workers_n = 10000;
    made_up.clients_n = 1000;
    assert_int_equal(cw_window_items(job, 8), 830000);
    made_up.workers_n = made_up.clients_n = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_end_of_the_window, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(a_job_that_stands_says_why, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(items_without_rows_widen_the_window, made_up_begin,
                                        made_up_end),
        cmocka_unit_test_setup_teardown(a_window_has_a_batch_for_each_consumer, made_up_begin,
                                        made_up_end),
        cmocka_unit_test_setup_teardown(a_batch_may_span_many_items, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(it_may_span_ten_thousand, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(most_items_may_have_no_rows, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(an_item_may_have_many_batches, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(it_goes_on_after_trouble, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(a_slow_trainer_is_waited_for, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(a_chosen_window_is_enough, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(large_fleets_speak_less_often, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(a_shrinking_fleet_loses_nobody, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(the_window_of_a_large_fleet_is_wider, made_up_begin,
                                        made_up_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
