/* SPDX-License-Identifier: Apache-2.0 */
/* A client that comes back is told of all that will not come, whatever happened while it was
 * away. */
#include <string.h>
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include "dispatcher/message/message.h"
#include "dispatcher/session/session.h"
#include "unit/dispatcher/made_up.h"
#include "support/ranges.h"

#define ITEMS 10
#define EPOCHS 4

/* ---- what is sent: which items of which epochs will not come, for which reason ---- */

static struct cw_set not_coming[EPOCHS];
static Cachew__V1__Skipped__Why why[EPOCHS];
/* Where the welcome says that the client begins, and what of that epoch it is not to get. */
static struct cw_set had;
static uint64_t begins_epoch, begins_item;
/* How many messages of each kind there were, and the most runs of one that says what will not come. */
static size_t welcomes_n, skipped_n, most_runs;

static void note_welcome(const Cachew__V1__ClientWelcome *welcome)
{
    struct cw_err err = {0};
    begins_epoch = welcome->position->epoch;
    begins_item = welcome->position->item;
    welcomes_n++;
    cw_set_clear(&had);
    for (size_t i = 0; i < welcome->n_consumed; i++)
        if (welcome->consumed[i]->epoch == begins_epoch)
            assert_int_equal(cw_wire_set_from(welcome->consumed[i]->items,
                                              welcome->consumed[i]->n_items, &had, &err),
                             0);
}

static void note(const Cachew__V1__Skipped *skipped)
{
    struct cw_err err = {0};
    skipped_n++;
    for (size_t i = 0; i < skipped->n_items; i++) {
        const Cachew__V1__EpochSet *set = skipped->items[i];
        most_runs = CW_MAX(most_runs, set->n_items);
        assert_in_range(set->epoch, 0, EPOCHS - 1);
        assert_int_equal(cw_wire_set_from(set->items, set->n_items, &not_coming[set->epoch], &err),
                         0);
        why[set->epoch] = skipped->why;
    }
}

void __wrap_cw_stream_send(struct cw_stream *stream, struct cw_buf *const *bufs, size_t n);

void __wrap_cw_stream_send(struct cw_stream *stream, struct cw_buf *const *bufs, size_t n)
{
    (void)stream;
    size_t len = 0;
    for (size_t i = 0; i < n; i++)
        len += bufs[i]->len;
    cw_autofree uint8_t *bytes = cw_mem_new(len + 1);
    len = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(bytes + len, bufs[i]->data, bufs[i]->len);
        len += bufs[i]->len;
    }
    Cachew__V1__ClientCommand *command = cachew__v1__client_command__unpack(NULL, len, bytes);
    assert_non_null(command);
    if (command->kind_case == CACHEW__V1__CLIENT_COMMAND__KIND_SKIPPED)
        note(command->skipped);
    if (command->kind_case == CACHEW__V1__CLIENT_COMMAND__KIND_WELCOME)
        note_welcome(command->welcome);
    cachew__v1__client_command__free_unpacked(command, NULL);
}

void __wrap_cw_stream_finish(struct cw_stream *stream, int code, const char *msg);

void __wrap_cw_stream_finish(struct cw_stream *stream, int code, const char *msg)
{
    (void)stream;
    (void)code;
    (void)msg;
}

static bool is_told(uint64_t epoch, uint64_t lo, uint64_t hi)
{
    return cw_set_count(&not_coming[epoch]) == hi - lo &&
           cw_set_has_range(&not_coming[epoch], lo, hi);
}

static int end(void **state)
{
    for (size_t i = 0; i < EPOCHS; i++)
        cw_set_fini(&not_coming[i]);
    cw_set_fini(&had);
    welcomes_n = skipped_n = most_runs = 0;
    return made_up_end_stored(state);
}

/* ---- the job and its client ---- */

static struct cw_job *begin_job(Cachew__V1__ConsumerMode mode)
{
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->mode = mode;
    options->consumers = 1;
    options->epochs = EPOCHS;
    info->items = ITEMS;
    return made_up_job("a", options, info);
}

static void admit(struct cw_client *client, struct cw_job *job, uint64_t id,
                  Cachew__V1__ClientHello *hello)
{
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_HELLO;
    message.hello = hello;
    struct cw_buf *buf = cw_wire_pack(&message.base);
    *client = (struct cw_client){.d = &made_up, .job = job, .id = id};
    client->hello = cachew__v1__client_message__unpack(NULL, buf->len, buf->data);
    cw_buf_unref(buf);
    cw_client_admit(client);
    assert_true(client->admitted);
}

static void hear(struct cw_client *client, struct cw_job *job, Cachew__V1__ClientHello *hello)
{
    admit(client, job, 7, hello);
    cw_client_welcome(client);
}

/* A process that has no token, and has never been welcomed. */
static void begin(struct cw_client *client, struct cw_job *job, uint64_t id)
{
    Cachew__V1__ClientHello hello = CACHEW__V1__CLIENT_HELLO__INIT;
    admit(client, job, id, &hello);
}

/* Its place is stored, and its dispatcher goes before its welcome. */
static void begin_in_vain(struct cw_job *job, uint64_t id)
{
    struct cw_client client;
    begin(&client, job, id);
    job->consumers[0].client = NULL;
}

static void begin_again(struct cw_job *job, uint64_t id)
{
    struct cw_client client;
    begin(&client, job, id);
    cw_client_welcome(&client);
}

/* The process of before, which says where it stands. */
static void come_back(struct cw_client *client, struct cw_job *job, uint64_t epoch)
{
    char id[] = "a";
    Cachew__V1__ClientHello hello = CACHEW__V1__CLIENT_HELLO__INIT;
    Cachew__V1__Position position = CACHEW__V1__POSITION__INIT;
    position.epoch = epoch;
    hello.position = &position;
    hello.job_id = id;
    job->consumers[0].client_id = 7;
    hear(client, job, &hello);
}

static void skip_all(struct cw_job *job, uint64_t epoch)
{
    assert_int_equal(cw_job_skip(job, epoch, RANGE(0, ITEMS), "lost"), ITEMS);
}

/* Two that advance in step, of which the job's first two epochs are over, and a part of the next. */
static struct cw_job *begin_coordinated(void)
{
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->mode = CACHEW__V1__CONSUMER_MODE__COORDINATED;
    options->consumers = 2;
    options->epochs = EPOCHS;
    info->items = ITEMS;
    struct cw_job *job = made_up_job("a", options, info);
    struct cw_set fresh = {0};
    for (uint32_t c = 0; c < 2; c++) {
        job->consumers[c].client_id = 7 + c;
        cw_epoch_consume(cw_job_open_epoch(job, 0), c, RANGE(0, ITEMS), &fresh);
        cw_epoch_consume(cw_job_open_epoch(job, 1), c, RANGE(0, ITEMS), &fresh);
        cw_epoch_consume(cw_job_open_epoch(job, 2), c, RANGE(0, 6), &fresh);
    }
    cw_set_fini(&fresh);
    cw_job_advance(job);
    assert_int_equal(job->first_epoch, 2);
    return job;
}

/* ---- tests ---- */

static void of_epochs_that_ended_meanwhile(void **state)
{
    (void)state;
    struct cw_job *job = begin_job(CACHEW__V1__CONSUMER_MODE__SINGLE);
    struct cw_client client;
    skip_all(job, 0);
    skip_all(job, 1);
    cw_job_skip(job, 2, RANGE(3, 5), "lost");
    assert_int_equal(job->first_epoch, 2);
    come_back(&client, job, 0);
    assert_true(is_told(0, 0, ITEMS) && is_told(1, 0, ITEMS) && is_told(2, 3, 5));
    assert_int_equal(not_coming[3].n, 0);
    assert_int_equal(why[0], CACHEW__V1__SKIPPED__WHY__LEFT_OUT);
}

static void of_a_job_that_ended_meanwhile(void **state)
{
    (void)state;
    struct cw_job *job = begin_job(CACHEW__V1__CONSUMER_MODE__SINGLE);
    struct cw_client client;
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++)
        skip_all(job, epoch);
    assert_int_equal(job->status, CW_JOB_FINISHED);
    come_back(&client, job, 2);
    assert_int_equal(not_coming[0].n + not_coming[1].n, 0); /* it has been through these */
    assert_true(is_told(2, 0, ITEMS) && is_told(3, 0, ITEMS));
}

static void of_shared_epochs_that_others_have(void **state)
{
    (void)state;
    struct cw_job *job = begin_job(CACHEW__V1__CONSUMER_MODE__SHARED);
    struct cw_client client;
    skip_all(job, 0);
    come_back(&client, job, 0);
    assert_true(is_told(0, 0, ITEMS));
    assert_int_equal(why[0], CACHEW__V1__SKIPPED__WHY__TAKEN);
}

/* A token can lead to an epoch of which the rest is skipped by request. */
static void of_what_a_token_leads_to(void **state)
{
    (void)state;
    struct cw_job *job = begin_job(CACHEW__V1__CONSUMER_MODE__SINGLE);
    struct cw_token token = {.epoch = 1, .item = 4};
    Cachew__V1__ClientHello hello = CACHEW__V1__CLIENT_HELLO__INIT;
    struct cw_client client;
    unsigned char bytes[256];
    size_t n = 0;
    struct cw_err err = {0};
    struct cw_set rest = {0};
    cw_set_add(&rest, 4, ITEMS);
    cw_job_skips_load(job, 1, &rest);
    cw_set_fini(&rest);
    token.fingerprint = job->fingerprint;
    token.seed = job->seed;
    assert_int_equal(cw_token_encode(&token, bytes, sizeof(bytes), &n, &err), 0);
    hello.token.data = bytes;
    hello.token.len = n;
    hear(&client, job, &hello);
    assert_true(cw_set_has_range(&not_coming[1], 4, ITEMS));
    assert_int_equal(job->first_epoch, 1); /* until it has counted what is left out */
    job->consumers[0].position.epoch = 2;
    cw_job_advance(job);
    assert_int_equal(job->first_epoch, 2);
}

/* Whatever is left out from the moment in which its place is stored is told to it. */
static void of_what_was_lost_before_its_welcome(void **state)
{
    (void)state;
    struct cw_job *job = begin_job(CACHEW__V1__CONSUMER_MODE__SINGLE);
    begin_in_vain(job, 7);
    cw_job_skip(job, 0, RANGE(0, 3), "lost");
    begin_again(job, 7);
    assert_int_equal(begins_epoch + begins_item + had.n, 0);
    assert_true(is_told(0, 0, 3));
}

static void of_an_epoch_that_was_lost_before_its_welcome(void **state)
{
    (void)state;
    struct cw_job *job = begin_job(CACHEW__V1__CONSUMER_MODE__SINGLE);
    begin_in_vain(job, 7);
    skip_all(job, 0);
    assert_int_equal(job->first_epoch, 0); /* until a client has counted what is left out */
    begin_again(job, 7);
    assert_int_equal(begins_epoch + begins_item + had.n, 0);
    assert_true(is_told(0, 0, ITEMS));
}

/* Also if the order of the items says nothing of what its last process had. */
static void of_an_epoch_without_order_that_was_lost_behind_its_last_process(void **state)
{
    (void)state;
    struct cw_job *job = begin_job(CACHEW__V1__CONSUMER_MODE__SINGLE);
    struct cw_set fresh = {0};
    job->options->unordered = true;
    begin_in_vain(job, 7);
    cw_epoch_consume(cw_job_open_epoch(job, 0), 0, RANGE(3, 5), &fresh);
    cw_set_fini(&fresh);
    cw_job_skip(job, 0, RANGE(0, ITEMS), "lost");
    begin_again(job, 8);
    assert_int_equal(begins_epoch + begins_item, 0);
    assert_true(had.n == 1 && cw_set_has_range(&had, 3, 5));
    assert_true(cw_set_has_range(&not_coming[0], 0, 3) &&
                cw_set_has_range(&not_coming[0], 5, ITEMS));
}

/* Its last process had five items, and said so; the next two were left out when nobody was there,
 * or were told to nobody but it. */
static void of_what_was_lost_behind_its_last_process(void **state)
{
    (void)state;
    struct cw_job *job = begin_job(CACHEW__V1__CONSUMER_MODE__SINGLE);
    struct cw_set fresh = {0};
    begin_in_vain(job, 7);
    cw_job_skip(job, 0, RANGE(2, 3), "lost");
    cw_epoch_consume(cw_job_epoch(job, 0), 0, RANGE(0, 5), &fresh);
    cw_set_fini(&fresh);
    job->consumers[0].position.item = 5;
    cw_job_skip(job, 0, RANGE(5, 7), "lost");
    begin_again(job, 8);
    assert_int_equal(begins_item, 5);
    assert_true(cw_set_has_range(&had, 0, 2) && cw_set_has_range(&had, 3, 5));
    assert_false(cw_set_has(&had, 5) || cw_set_has(&had, 6));
    assert_true(cw_set_has_range(&not_coming[0], 5, 7));
}

/* Two that advance in step: each begins at its own first item, with what it lacks. */
static void of_what_a_coordinated_consumer_lacks(void **state)
{
    (void)state;
    struct cw_job *job = begin_coordinated();
    job->consumers[0].client_id = job->consumers[1].client_id = 0;
    begin_in_vain(job, 7);
    cw_job_skip(job, 2, RANGE(6, 8), "lost");
    begin_again(job, 7);
    assert_int_equal(begins_epoch, 2);
    assert_int_equal(begins_item, 6);
    assert_false(cw_set_has(&had, 6));
    assert_true(is_told(2, 6, 8));
}

/* A token says where its client begins, also when the first welcome was lost. */
static void of_epochs_behind_a_token_that_ended_before_its_welcome(void **state)
{
    (void)state;
    struct cw_job *job = begin_job(CACHEW__V1__CONSUMER_MODE__SINGLE);
    struct cw_token token = {.epoch = 1, .item = 4, .fingerprint = job->fingerprint};
    Cachew__V1__ClientHello hello = CACHEW__V1__CLIENT_HELLO__INIT;
    struct cw_client first, second;
    unsigned char bytes[256];
    size_t n = 0;
    struct cw_err err = {0};
    token.seed = job->seed;
    assert_int_equal(cw_token_encode(&token, bytes, sizeof(bytes), &n, &err), 0);
    hello.token.data = bytes;
    hello.token.len = n;
    admit(&first, job, 7, &hello);
    job->consumers[0].client = NULL;
    cw_job_skip(job, 1, RANGE(4, ITEMS), "lost");
    hear(&second, job, &hello);
    assert_true(cw_set_has_range(&not_coming[1], 4, ITEMS));
}

/* At most once: leases all that it can to a worker, which is lost; then as many are skipped. */
static uint64_t skipped_with_a_worker(uint64_t client_id)
{
    struct cw_job *job = begin_job(CACHEW__V1__CONSUMER_MODE__SINGLE);
    struct cw_worker *worker = made_up_worker(1, 2);
    job->options->at_most_once = true;
    job->consumers[0].client_id = client_id;
    cw_lease_fill_all(&made_up);
    assert_true(cw_set_count(&cw_job_epoch(job, 0)->leased) > 0);
    cw_worker_sessions_tick(&made_up, worker->last_heard_ms + made_up.options.silence_ms + 1);
    assert_true(worker->failed);
    struct cw_epoch *epoch = cw_job_epoch(job, 0);
    assert_int_equal(epoch ? cw_set_count(&epoch->leased) : 0, 0);
    return job->skipped_items;
}

/* Of two consumers only the first has joined. */
static void what_a_consumer_that_has_not_joined_is_to_get_is_not_skipped(void **state)
{
    (void)state;
    struct cw_job *job = begin_coordinated();
    struct cw_worker *worker = made_up_worker(1, 2);
    job->options->at_most_once = true;
    job->consumers[1].client_id = 0;
    cw_lease_fill_all(&made_up);
    const struct cw_epoch *epoch = cw_job_epoch(job, 2);
    assert_true(cw_set_has_range(&epoch->leased, 6, 8));
    cw_worker_sessions_tick(&made_up, worker->last_heard_ms + made_up.options.silence_ms + 1);
    assert_true(cw_set_has(&epoch->skipped, 6));
    assert_false(cw_set_has(&epoch->skipped, 7) || cw_set_has(&epoch->received, 7));
}

static void what_a_trainer_may_have_is_skipped(void **state)
{
    (void)state;
    assert_true(skipped_with_a_worker(7) > 0);
}

static void what_no_trainer_can_have_is_not_skipped(void **state)
{
    (void)state;
    assert_int_equal(skipped_with_a_worker(0), 0);
}

static uint64_t unconsumed(struct cw_job *job, uint64_t epoch, uint32_t consumer)
{
    const struct cw_epoch *e = cw_job_epoch(job, epoch);
    uint64_t n = 0;
    for (uint64_t item = consumer; e && item < ITEMS; item += 2)
        n += !cw_set_has(&e->consumed, item);
    return n;
}

/* One of them goes back to an epoch that is over for all: what it gets again is its own. */
static void a_token_opens_epochs_that_are_over(void **state)
{
    (void)state;
    struct cw_job *job = begin_coordinated();
    cw_job_resume_at(job, 1, &(struct cw_token){.epoch = 0, .item = 4});
    assert_int_equal(job->first_epoch, 0);
    assert_int_equal(unconsumed(job, 0, 1), 3);
    assert_int_equal(unconsumed(job, 1, 1), 5);
    assert_int_equal(unconsumed(job, 2, 1), 5);
    assert_int_equal(unconsumed(job, 0, 0), 0);
    assert_int_equal(unconsumed(job, 1, 0), 0);
    assert_int_equal(unconsumed(job, 2, 0), 2);
    assert_int_equal(cw_set_count(&cw_job_epoch(job, 0)->received), ITEMS - 3);
}

/* The other has not joined yet, and may do so without a token. */
static void a_token_moves_nobody_else(void **state)
{
    (void)state;
    struct cw_job *job = begin_coordinated();
    job->consumers[0].client_id = 0;
    cw_job_resume_at(job, 1, &(struct cw_token){.epoch = 2, .item = 10});
    assert_int_equal(unconsumed(job, 2, 0), 2);
    assert_int_equal(unconsumed(job, 2, 1), 0);
}

static void the_first_token_moves_all(void **state)
{
    (void)state;
    struct cw_job *job = begin_coordinated();
    job->consumers[0].client_id = job->consumers[1].client_id = 0;
    cw_job_resume_at(job, 1, &(struct cw_token){.epoch = 1, .item = 4});
    assert_int_equal(job->first_epoch, 1);
    assert_int_equal(unconsumed(job, 1, 0) + unconsumed(job, 1, 1), ITEMS - 4);
}

/* Unordered: what a token says beyond its position is what its own consumer has had. */
static void what_a_token_has_beyond_is_its_own(void **state)
{
    (void)state;
    struct cw_job *job = begin_coordinated();
    struct cw_token token = {.epoch = 1, .item = 2};
    cw_set_add(&token.beyond, 6, 8);
    job->consumers[0].client_id = job->consumers[1].client_id = 0;
    cw_job_resume_at(job, 1, &token);
    assert_int_equal(unconsumed(job, 1, 0), 4);
    assert_int_equal(unconsumed(job, 1, 1), 3);
    assert_true(cw_set_has(&cw_job_epoch(job, 1)->consumed, 7));
    cw_token_fini(&token);
}

static void a_token_opens_a_job_that_is_finished(void **state)
{
    (void)state;
    struct cw_job *job = begin_coordinated();
    struct cw_set fresh = {0};
    for (uint64_t epoch = 2; epoch < EPOCHS; epoch++)
        for (uint32_t c = 0; c < 2; c++)
            cw_epoch_consume(cw_job_open_epoch(job, epoch), c, RANGE(0, ITEMS), &fresh);
    cw_set_fini(&fresh);
    cw_job_advance(job);
    assert_int_equal(job->status, CW_JOB_FINISHED);
    cw_job_resume_at(job, 0, &(struct cw_token){.epoch = 3, .item = 8});
    assert_int_equal(job->status, CW_JOB_RUNNING);
    assert_int_equal(unconsumed(job, 3, 0), 1);
    assert_int_equal(unconsumed(job, 3, 1), 0);
}

/* ---- very many runs ---- */

#define RUNS 100000
#define PIECE 16384 /* of welcome.c */

/* Of every fourth item one is consumed, and one is left out. */
static struct cw_job *begin_long(Cachew__V1__ConsumerMode mode)
{
    struct cw_job *job = begin_job(mode);
    struct cw_set consumed = {0}, skipped = {0}, fresh = {0};
    job->items = job->info->items = (uint64_t)4 * RUNS;
    for (uint64_t i = 0; i < RUNS; i++) {
        cw_set_push(&consumed, 4 * i + 1, 4 * i + 2);
        cw_set_push(&skipped, 4 * i + 3, 4 * i + 4);
    }
    cw_epoch_consume(cw_job_open_epoch(job, 0), 0, &consumed, &fresh);
    cw_job_skip(job, 0, &skipped, "lost");
    cw_set_fini(&consumed);
    cw_set_fini(&skipped);
    cw_set_fini(&fresh);
    return job;
}

/* Returns in how many iterations of the loop it is welcomed and told of everything. */
static size_t welcome_in_turns(struct cw_client *client)
{
    size_t turns = 1;
    for (cw_client_welcome(client); client->due.rest; turns++)
        cw_client_welcome(client);
    assert_true(client->welcomed);
    assert_int_equal(welcomes_n, 1);
    return turns;
}

static void leave(struct cw_client *client)
{
    client->job->clients = client;
    cw_client_detach(client);
}

static void a_long_welcome_is_made_in_pieces(void **state)
{
    (void)state;
    struct cw_job *job = begin_long(CACHEW__V1__CONSUMER_MODE__SINGLE);
    struct cw_client client;
    job->options->unordered = true;
    begin(&client, job, 7);
    size_t turns = welcome_in_turns(&client);
    assert_in_range(turns, 2 * (RUNS / PIECE), 2 * (RUNS / PIECE) + 3);
    assert_in_range(most_runs, 1, PIECE);
    assert_int_equal(had.n, RUNS);
    assert_int_equal(not_coming[0].n, RUNS);
    for (uint64_t i = 0; i < RUNS; i++)
        assert_true(cw_set_has(&had, 4 * i + 1) && cw_set_has(&not_coming[0], 4 * i + 3));
    leave(&client);
}

/* Who is back knows what he has consumed, and what a welcome says of that he does not read. */
static void who_is_back_is_not_told_what_he_has(void **state)
{
    (void)state;
    struct cw_job *job = begin_long(CACHEW__V1__CONSUMER_MODE__SINGLE);
    char id[] = "a";
    Cachew__V1__ClientHello hello = CACHEW__V1__CLIENT_HELLO__INIT;
    struct cw_client client;
    hello.job_id = id;
    job->consumers[0].client_id = 7;
    admit(&client, job, 7, &hello);
    size_t turns = welcome_in_turns(&client);
    assert_in_range(turns, RUNS / PIECE, RUNS / PIECE + 2);
    assert_int_equal(had.n, 0);
    assert_int_equal(not_coming[0].n, RUNS);
    leave(&client);
}

/* Of a shared job all that others have is told, also when the epoch ends in the middle of that. */
static void an_epoch_that_ends_meanwhile_is_told_whole(void **state)
{
    (void)state;
    struct cw_job *job = begin_long(CACHEW__V1__CONSUMER_MODE__SHARED);
    struct cw_client client;
    begin(&client, job, 7);
    client.hello_epoch = 0;
    while (not_coming[0].n < RUNS / 2)
        cw_client_welcome(&client);
    assert_true(client.due.rest);
    cw_job_skip(job, 0, RANGE(0, (uint64_t)4 * RUNS), "lost");
    assert_int_equal(job->first_epoch, 1);
    (void)welcome_in_turns(&client);
    assert_true(is_told(0, 0, (uint64_t)4 * RUNS));
    leave(&client);
}

/* It leaves, or its job does, before it was told all. */
static void a_welcome_is_dropped_in_the_middle(void **state)
{
    (void)state;
    struct cw_job *job = begin_long(CACHEW__V1__CONSUMER_MODE__SINGLE);
    struct cw_client client;
    begin(&client, job, 7);
    cw_client_welcome(&client);
    assert_true(client.due.rest && !client.welcomed);
    leave(&client);
    assert_false(client.due.rest || client.due.welcome);
    assert_null(client.welcome);
    assert_int_equal(welcomes_n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(of_epochs_that_ended_meanwhile, made_up_begin_stored, end),
        cmocka_unit_test_setup_teardown(of_a_job_that_ended_meanwhile, made_up_begin_stored, end),
        cmocka_unit_test_setup_teardown(of_shared_epochs_that_others_have, made_up_begin_stored,
                                        end),
        cmocka_unit_test_setup_teardown(of_what_a_token_leads_to, made_up_begin_stored, end),
        cmocka_unit_test_setup_teardown(of_what_was_lost_before_its_welcome, made_up_begin_stored,
                                        end),
        cmocka_unit_test_setup_teardown(of_what_was_lost_behind_its_last_process,
                                        made_up_begin_stored, end),
        cmocka_unit_test_setup_teardown(of_what_a_coordinated_consumer_lacks, made_up_begin_stored,
                                        end),
        cmocka_unit_test_setup_teardown(of_an_epoch_that_was_lost_before_its_welcome,
                                        made_up_begin_stored, end),
        cmocka_unit_test_setup_teardown(
            of_an_epoch_without_order_that_was_lost_behind_its_last_process, made_up_begin_stored,
            end),
        cmocka_unit_test_setup_teardown(of_epochs_behind_a_token_that_ended_before_its_welcome,
                                        made_up_begin_stored, end),
        cmocka_unit_test_setup_teardown(what_a_trainer_may_have_is_skipped, made_up_begin_stored,
                                        end),
        cmocka_unit_test_setup_teardown(a_token_opens_epochs_that_are_over, made_up_begin_stored,
                                        end),
        cmocka_unit_test_setup_teardown(a_token_moves_nobody_else, made_up_begin_stored, end),
        cmocka_unit_test_setup_teardown(the_first_token_moves_all, made_up_begin_stored, end),
        cmocka_unit_test_setup_teardown(what_a_token_has_beyond_is_its_own, made_up_begin_stored,
                                        end),
        cmocka_unit_test_setup_teardown(a_token_opens_a_job_that_is_finished, made_up_begin_stored,
                                        end),
        cmocka_unit_test_setup_teardown(
            what_a_consumer_that_has_not_joined_is_to_get_is_not_skipped, made_up_begin_stored,
            end),
        cmocka_unit_test_setup_teardown(a_long_welcome_is_made_in_pieces, made_up_begin_stored,
                                        end),
        cmocka_unit_test_setup_teardown(who_is_back_is_not_told_what_he_has, made_up_begin_stored,
                                        end),
        cmocka_unit_test_setup_teardown(an_epoch_that_ends_meanwhile_is_told_whole,
                                        made_up_begin_stored, end),
        cmocka_unit_test_setup_teardown(a_welcome_is_dropped_in_the_middle, made_up_begin_stored,
                                        end),
        cmocka_unit_test_setup_teardown(what_no_trainer_can_have_is_not_skipped,
                                        made_up_begin_stored, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
