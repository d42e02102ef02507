/* SPDX-License-Identifier: Apache-2.0 */
/* The welcome of a client: where it begins, what of that epoch was consumed, and what will not come. The
 * sets may have very many runs, so that all of it is made in pieces, one in each iteration of the loop;
 * most often there is one piece. What changes meanwhile is told to welcomed clients as it comes. */
#include "dispatcher/message/message.h"

#include <string.h>

#define LEFT_OUT_BEFORE "left out before"
/* The largest number of ended epochs that a client is told of when it comes back. That is far more
 * than can be open when it leaves. */
#define OVER_MAX 4096
/* The most runs of a piece. A message that says nothing more is as much work as some runs. */
#define PIECE_RUNS 16384
#define MESSAGE_RUNS 32
/* The most bytes of a run in an EpochSet, and of its head. */
#define RUN_BYTES 24
#define HEAD_BYTES 16

/* What is told behind the welcome, in this order. */
enum rest {
    REST_LEFT_OUT, /* Of epochs that are over all; of open ones what is skipped. */
    REST_BATCHES,  /* Sparse jobs: batches that are skipped by request. */
    REST_TAKEN,    /* Shared jobs: what other consumers have consumed of open epochs. */
    REST_NOTHING
};

/* How far the welcome of a client is. */
struct cw_welcome {
    uint64_t epoch;         /* The epoch in which the client begins. */
    struct cw_set consumed; /* What was consumed of it when this began. */
    size_t packed_n;        /* So many runs of it are packed. */
    struct cw_buf *packed;  /* These, as an EpochSet. */
    uint64_t from_epoch;
    enum rest rest;
    uint64_t at;   /* The epoch that comes next (or the place in job->skips), */
    uint64_t from; /* from this number on. */
};

static size_t piece_runs(void)
{
    return cw_fault_rare("dispatcher.welcome_piece") ? 1 : PIECE_RUNS;
}

/* ---- where a client begins ---- */

/* Returns the first item of the consumer at or above `item`, where coordinated consumers take items
 * in turn. */
static uint64_t next_own_item(const struct cw_job *job, uint32_t consumer, uint64_t item)
{
    uint64_t n = job->layout.consumers;
    if (job->layout.mode != CW_MODE_COORDINATED || job->layout.to_all || n < 2)
        return item;
    return item + (consumer + n - item % n) % n;
}

/* Returns the first item of the epoch that the consumer has not consumed, or that was left out
 * behind the stored position of its last process: the next one is told of it. */
static uint64_t first_left(const struct cw_job *job, const struct cw_epoch *epoch,
                           uint32_t consumer)
{
    const struct cw_state_position *last = &job->consumers[consumer].position;
    bool ordered = !job->options->unordered && job->layout.mode != CW_MODE_SHARED;
    uint64_t next = cw_epoch_next_of(epoch, consumer), item = next;
    if (ordered && last->epoch > epoch->number)
        return next;
    for (size_t i = 0; i < epoch->skipped.n; i++) {
        uint64_t own = next_own_item(job, consumer, epoch->skipped.v[i].lo);
        item = own < epoch->skipped.v[i].hi ? CW_MIN(item, own) : item;
    }
    if (ordered && last->epoch == epoch->number)
        item = CW_MAX(item, next_own_item(job, consumer, last->item));
    return CW_MIN(item, next);
}

struct cw_state_position cw_client_find_position(const struct cw_client *client)
{
    struct cw_job *job = client->job;
    const struct cw_consumer *slot = &job->consumers[client->consumer];
    const struct cw_state_position *last = &slot->position;
    uint64_t number = job->first_epoch, item = 0;
    for (; cw_job_epoch(job, number); number++) {
        struct cw_epoch *epoch = cw_job_epoch(job, number);
        item = first_left(job, epoch, client->consumer);
        if (item < epoch->items)
            break;
        item = 0;
    }
    if (last->epoch == number && next_own_item(job, client->consumer, last->item) == item)
        return *last;
    /* A dense job needs nothing else. In a sparse job items were skipped by request, and the rows
     * that were counted so far remain. */
    bool begun = last->epoch == number && item > 0;
    return (struct cw_state_position){number, item, 0, begun ? last->rows : 0,
                                      begun ? last->batches : 0};
}

/* ---- the welcome itself ---- */

/* What was left out is not among them: the client is told of it after its welcome, and counts it. */
static void find_consumed(const struct cw_client *client, struct cw_set *ret_consumed)
{
    const struct cw_job *job = client->job;
    const uint64_t number = job->consumers[client->consumer].position.epoch;
    for (size_t i = 0; i < job->epochs_open; i++) {
        const struct cw_epoch *epoch = job->epochs[i];
        if (epoch->number != number)
            continue;
        cw_set_copy(ret_consumed, epoch->layout.to_all ? &epoch->parts[client->consumer].consumed
                                                       : &epoch->consumed);
        cw_set_remove_all(ret_consumed, &epoch->skipped);
    }
}

static void welcome_free(struct cw_welcome *welcome)
{
    if (!welcome)
        return;
    cw_set_fini(&welcome->consumed);
    cw_buf_unref(welcome->packed);
    cw_mem_free(welcome);
}

void cw_client_drop_welcome(struct cw_client *client)
{
    welcome_free(cw_steal(&client->welcome));
    client->due.rest = false;
}

static struct cw_welcome *welcome_new(const struct cw_client *client)
{
    struct cw_welcome *welcome = CW_NEW(struct cw_welcome);
    welcome->epoch = client->job->consumers[client->consumer].position.epoch;
    /* A process that is back knows it. */
    if (!client->knows)
        find_consumed(client, &welcome->consumed);
    if (welcome->consumed.n > 0) {
        welcome->packed = cw_buf_new(HEAD_BYTES + welcome->consumed.n * RUN_BYTES);
        CW_ASSERT(welcome->packed);
        welcome->packed->len = 0;
    }
    return welcome;
}

/* Packs a piece of what was consumed. Packed messages that follow each other are one with all that they
 * have. Returns whether there is more. */
static bool pack_more(struct cw_welcome *welcome)
{
    Cachew__V1__EpochSet set = CACHEW__V1__EPOCH_SET__INIT;
    const size_t left = welcome->consumed.n - welcome->packed_n, most = piece_runs();
    if (left == 0)
        return false;
    const struct cw_set piece = {.v = welcome->consumed.v + welcome->packed_n,
                                 .n = CW_MIN(left, most)};
    struct cw_buf *buf = welcome->packed;
    set.epoch = welcome->packed_n == 0 ? welcome->epoch : 0;
    set.items = cw_wire_set_to(&piece, &set.n_items);
    buf->len += cachew__v1__epoch_set__pack(&set, (uint8_t *)buf->data + buf->len);
    welcome->packed_n += piece.n;
    cw_mem_free(set.items);
    return piece.n < left;
}

static void send_welcome(struct cw_client *client, struct cw_welcome *packed)
{
    struct cw_job *job = client->job;
    const struct cw_state_position at = job->consumers[client->consumer].position;
    Cachew__V1__Position position = CACHEW__V1__POSITION__INIT;
    position.epoch = at.epoch;
    position.item = at.item;
    position.row = at.row;
    position.rows = at.rows;
    position.batches = at.batches;
    Cachew__V1__ClientWelcome welcome = CACHEW__V1__CLIENT_WELCOME__INIT;
    welcome.job_id = job->id;
    welcome.name = job->name;
    welcome.seed = job->seed;
    welcome.epochs = job->epochs_n;
    welcome.info = job->info;
    welcome.first_epoch = at.epoch;
    welcome.first_item = at.item;
    welcome.first_row = at.row;
    welcome.position = &position;
    welcome.buffer_bytes = job->options->buffer_bytes;
    welcome.window = job->window;
    welcome.ack_ms = cw_ack_interval_ms(job->d);
    welcome.secret = (ProtobufCBinaryData){sizeof(job->data_secret), job->data_secret};
    const struct cw_wire_part consumed = {"consumed", packed->packed};
    cw_client_send_parts(client, CACHEW__V1__CLIENT_COMMAND__KIND_WELCOME, &welcome.base, &consumed,
                         1);
    packed->packed = cw_buf_unref(packed->packed);
    cw_set_fini(&packed->consumed);
    client->due.welcome = false;
    client->welcomed = true;
    uint64_t oldest = job->first_epoch - CW_MIN(job->first_epoch, OVER_MAX);
    packed->at = CW_MIN(CW_MAX(client->hello_epoch, oldest), job->first_epoch);
    packed->from_epoch = CW_MIN(at.epoch, client->hello_epoch);
    cw_fault_point("dispatcher.welcome");
}

/* ---- what will not come ---- */

typedef void send_fn(struct cw_client *client, uint64_t epoch, const struct cw_set *numbers);

static void send_left_out(struct cw_client *client, uint64_t epoch, const struct cw_set *items)
{
    cw_client_send_skipped(client, epoch, items, LEFT_OUT_BEFORE);
}

static void send_batches(struct cw_client *client, uint64_t epoch, const struct cw_set *batches)
{
    cw_client_send_skipped_batches(client, epoch, batches, LEFT_OUT_BEFORE);
}

/* Goes on with the next epoch. */
static void end_epoch(struct cw_welcome *welcome)
{
    welcome->at++;
    welcome->from = 0;
}

/* Tells of the set from welcome->from on, and goes on with the next epoch when that was the rest of it. Returns
 * how many runs it may tell after that. */
static size_t tell_set(struct cw_client *client, uint64_t epoch, const struct cw_set *set,
                       size_t runs, send_fn *send)
{
    struct cw_welcome *welcome = client->welcome;
    size_t first = cw_set_find(set, welcome->from);
    const struct cw_set piece = {.v = set->v + first, .n = CW_MIN(set->n - first, runs)};
    if (piece.n > 0) {
        send(client, epoch, &piece);
        welcome->from = piece.v[piece.n - 1].hi;
    }
    if (first + piece.n == set->n)
        end_epoch(welcome);
    return piece.n > 0 ? runs - CW_MIN(runs, piece.n + MESSAGE_RUNS) : runs;
}

/* Of an epoch that is over no more will come. A client that was away, or whose stream broke, may not know
 * why: the items that it lacks were skipped, or (in a shared job) other clients have them. */
static size_t tell_over(struct cw_client *client, size_t runs)
{
    const struct cw_job *job = client->job;
    struct cw_interval run = {0, job->items};
    const struct cw_set all = {.v = &run, .n = job->items > 0};
    bool shared = job->layout.mode == CW_MODE_SHARED;
    client->welcome->from = 0;
    return tell_set(client, client->welcome->at, &all, runs,
                    shared ? cw_client_send_taken : send_left_out);
}

/* Begins with what is told next. */
static void go_on(struct cw_client *client)
{
    struct cw_welcome *welcome = client->welcome;
    welcome->rest++;
    welcome->from = 0;
    welcome->at = welcome->rest == REST_TAKEN ? client->job->first_epoch : 0;
}

static size_t tell_left_out(struct cw_client *client, size_t runs)
{
    struct cw_job *job = client->job;
    const uint64_t number = client->welcome->at;
    if (number < job->first_epoch)
        return tell_over(client, runs);
    const struct cw_epoch *epoch = cw_job_epoch(job, number);
    if (epoch)
        return tell_set(client, number, &epoch->skipped, runs, send_left_out);
    go_on(client);
    return runs;
}

static size_t tell_batches(struct cw_client *client, size_t runs)
{
    const struct cw_job *job = client->job;
    struct cw_welcome *welcome = client->welcome;
    if (!job->info->sparse || welcome->at >= job->skips_n) {
        go_on(client);
        return runs;
    }
    const struct cw_job_skip *skip = &job->skips[welcome->at];
    if (skip->epoch >= welcome->from_epoch)
        return tell_set(client, skip->epoch, &skip->items, runs, send_batches);
    end_epoch(welcome);
    return runs;
}

static size_t tell_taken(struct cw_client *client, size_t runs)
{
    struct cw_job *job = client->job;
    const uint64_t number = client->welcome->at;
    bool shared = job->layout.mode == CW_MODE_SHARED;
    const struct cw_epoch *epoch = shared ? cw_job_epoch(job, number) : NULL;
    if (epoch)
        return tell_set(client, number, &epoch->consumed, runs, cw_client_send_taken);
    if (shared && number < job->first_epoch) /* it has ended meanwhile */
        return tell_over(client, runs);
    go_on(client);
    return runs;
}

/* Tells a piece of everything that will not come and that the client may not know of. Returns whether
 * there is more. */
static bool tell_more(struct cw_client *client)
{
    const struct cw_welcome *welcome = client->welcome;
    for (size_t runs = piece_runs(); runs > 0 && welcome->rest != REST_NOTHING;) {
        if (welcome->rest == REST_LEFT_OUT)
            runs = tell_left_out(client, runs);
        else if (welcome->rest == REST_BATCHES)
            runs = tell_batches(client, runs);
        else
            runs = tell_taken(client, runs);
    }
    return welcome->rest != REST_NOTHING;
}

/* ---- all of it ---- */

static void on_next(void *arg)
{
    (void)arg; /* The end of this iteration goes on with it. */
}

/* Returns whether there is more to do. */
static bool make_piece(struct cw_client *client)
{
    const struct cw_job *job = client->job;
    uint64_t epoch = job->consumers[client->consumer].position.epoch;
    if (!client->welcomed && client->welcome && client->welcome->epoch != epoch)
        cw_client_drop_welcome(client); /* It begins elsewhere by now. */
    if (!client->welcome)
        client->welcome = welcome_new(client);
    if (!client->welcomed) {
        if (pack_more(client->welcome))
            return true;
        send_welcome(client, client->welcome);
    }
    return tell_more(client);
}

void cw_client_welcome(struct cw_client *client)
{
    const int64_t begin = cw_clock_thread_cpu_ns();
    if (make_piece(client)) {
        client->due.rest = client->d->due.clients = true;
        cw_loop_post(client->d->loop, on_next, NULL);
    } else {
        cw_client_drop_welcome(client);
        cw_client_send_workers(client, true);
    }
    if (client->stream)
        cw_stream_note_time(client->stream, cw_clock_thread_cpu_ns() - begin);
}
