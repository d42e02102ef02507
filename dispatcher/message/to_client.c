/* SPDX-License-Identifier: Apache-2.0 */
/* What an admitted client is sent: its position, the list of workers, and the items that will not
 * come. */
#include "dispatcher/message/message.h"

#include <string.h>
#include "base/clock.h"
#include "base/hash.h"

#define LEFT_OUT_BEFORE "left out before"
/* The largest number of ended epochs that a client is told of when it comes back. That is far more
 * than can be open when it leaves. */
#define OVER_MAX 4096

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

/* What was left out is not among them: the client is told of it after its welcome, and counts it. */
static struct cw_set consumed_of(const struct cw_client *client, const struct cw_epoch *epoch)
{
    struct cw_set consumed = {0};
    cw_set_copy(&consumed,
                epoch->layout.to_all ? &epoch->parts[client->consumer].consumed : &epoch->consumed);
    cw_set_remove_all(&consumed, &epoch->skipped);
    return consumed;
}

static Cachew__V1__EpochSet **consumed_sets(const struct cw_client *client, size_t *ret_n)
{
    const struct cw_job *job = client->job;
    Cachew__V1__EpochSet **sets = CW_NEW_ARRAY(Cachew__V1__EpochSet *, job->epochs_open + 1);
    size_t n = 0;
    for (size_t i = 0; i < job->epochs_open; i++) {
        const struct cw_epoch *epoch = job->epochs[i];
        struct cw_set consumed = consumed_of(client, epoch);
        if (consumed.n > 0) {
            sets[n] = CW_NEW(Cachew__V1__EpochSet);
            cachew__v1__epoch_set__init(sets[n]);
            sets[n]->epoch = epoch->number;
            sets[n]->items = cw_wire_set_to(&consumed, &sets[n]->n_items);
            n++;
        }
        cw_set_fini(&consumed);
    }
    *ret_n = n;
    return sets;
}

static void free_sets(Cachew__V1__EpochSet **sets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cw_mem_free(sets[i]->items);
        cw_mem_free(sets[i]);
    }
    cw_mem_free(sets);
}

static void send_numbers(struct cw_client *client, uint64_t epoch, const struct cw_set *numbers,
                         bool batches, Cachew__V1__Skipped__Why why, const char *reason)
{
    Cachew__V1__EpochSet set = CACHEW__V1__EPOCH_SET__INIT, *sets[] = {&set};
    set.epoch = epoch;
    set.items = cw_wire_set_to(numbers, &set.n_items);
    cw_autofree char *text = cw_mem_strdup(reason);
    Cachew__V1__Skipped skipped = CACHEW__V1__SKIPPED__INIT;
    *(batches ? &skipped.n_batches : &skipped.n_items) = 1;
    *(batches ? &skipped.batches : &skipped.items) = sets;
    skipped.reason = text;
    skipped.why = why;
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_SKIPPED;
    command.skipped = &skipped;
    cw_client_send(client, &command);
    cw_mem_free(set.items);
}

static void send_skipped(struct cw_client *client, uint64_t epoch, const struct cw_set *items,
                         Cachew__V1__Skipped__Why why, const char *reason)
{
    send_numbers(client, epoch, items, false, why, reason);
}

static void send_batches(struct cw_client *client, uint64_t epoch, const struct cw_set *batches,
                         const char *reason)
{
    send_numbers(client, epoch, batches, true, CACHEW__V1__SKIPPED__WHY__LEFT_OUT, reason);
}

void cw_job_send_skipped(struct cw_job *job, uint64_t epoch, const struct cw_set *items,
                         const char *reason)
{
    for (struct cw_client *client = job->clients; client; client = client->next_of_job)
        if (client->welcomed)
            send_skipped(client, epoch, items, CACHEW__V1__SKIPPED__WHY__LEFT_OUT, reason);
}

void cw_job_send_left_out(struct cw_job *job, struct cw_epoch *epoch)
{
    if (epoch->skipped_unsent.n > 0)
        cw_job_send_skipped(job, epoch->number, &epoch->skipped_unsent, CW_SKIPPED_BY_REQUEST);
    cw_set_clear(&epoch->skipped_unsent);
}

void cw_clients_send_left_out(struct cw_dispatcher *d)
{
    for (struct cw_job *job = d->due.left_out ? d->jobs : NULL; job; job = job->next)
        for (size_t i = 0; i < job->epochs_open; i++)
            cw_job_send_left_out(job, job->epochs[i]);
    d->due.left_out = false;
}

static void send_taken(struct cw_client *client, uint64_t epoch, const struct cw_set *items)
{
    send_skipped(client, epoch, items, CACHEW__V1__SKIPPED__WHY__TAKEN, "shared");
}

void cw_job_send_taken(struct cw_job *job, uint64_t epoch, const struct cw_set *items,
                       uint32_t consumer)
{
    for (struct cw_client *client = job->clients; client; client = client->next_of_job)
        if (client->welcomed && client->consumer != consumer)
            send_taken(client, epoch, items);
}

void cw_job_send_skipped_batches(struct cw_job *job, uint64_t epoch, const struct cw_set *batches)
{
    for (struct cw_client *client = job->clients; client; client = client->next_of_job)
        if (client->welcomed)
            send_batches(client, epoch, batches, CW_SKIPPED_BY_REQUEST);
}

/* Lists the job's workers. The caller frees the list. */
static struct cw_worker **list_workers(const struct cw_job *job, size_t *ret_n)
{
    struct cw_worker **serving = CW_NEW_ARRAY(struct cw_worker *, job->d->workers_n + 1);
    if (cw_job_uses_all_workers(job)) {
        for (struct cw_worker *worker = job->d->workers; worker; worker = worker->next)
            if (cw_job_fetches_from(job, worker))
                serving[(*ret_n)++] = worker;
    } else {
        for (struct cw_share *share = job->shares; share; share = share->next_of_job)
            if (cw_job_fetches_from(job, share->worker))
                serving[(*ret_n)++] = share->worker;
    }
    return serving;
}

static void send_list(struct cw_client *client, struct cw_worker *const *serving, size_t n)
{
    Cachew__V1__WorkerInfo *infos = CW_NEW_ARRAY(Cachew__V1__WorkerInfo, n + 1);
    Cachew__V1__WorkerInfo **list = CW_NEW_ARRAY(Cachew__V1__WorkerInfo *, n + 1);
    for (size_t i = 0; i < n; i++) {
        cachew__v1__worker_info__init(&infos[i]);
        infos[i].worker_id = serving[i]->id;
        infos[i].address = serving[i]->address;
        infos[i].host_id = serving[i]->host_id;
        list[i] = &infos[i];
    }
    Cachew__V1__Workers workers = CACHEW__V1__WORKERS__INIT;
    workers.n_workers = n;
    workers.workers = list;
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_WORKERS;
    command.workers = &workers;
    cw_client_send(client, &command);
    cw_mem_free(list);
    cw_mem_free(infos);
}

void cw_client_send_workers(struct cw_client *client, bool again)
{
    size_t n = 0;
    struct cw_worker **serving = list_workers(client->job, &n);
    uint64_t sum = n;
    for (size_t i = 0; i < n; i++)
        sum += cw_mix64(serving[i]->id + (uint64_t)serving[i]->since_ms);
    if (again || sum != client->workers_sent_sum)
        send_list(client, serving, n);
    client->workers_sent_sum = sum;
    cw_mem_free(serving);
}

/* Tells a client of the epochs that are over, since no more of their items will come. A client that
 * was away, or whose stream broke, may not know why: the items that it lacks of them were skipped,
 * or (in a shared job) other clients have them. */
static void send_over(struct cw_client *client)
{
    const struct cw_job *job = client->job;
    struct cw_set all = {0};
    if (job->items > 0)
        cw_set_add(&all, 0, job->items);
    uint64_t oldest = job->first_epoch - CW_MIN(job->first_epoch, OVER_MAX);
    for (uint64_t n = CW_MAX(client->hello_epoch, oldest); all.n > 0 && n < job->first_epoch; n++) {
        if (job->layout.mode == CW_MODE_SHARED)
            send_taken(client, n, &all);
        else
            send_skipped(client, n, &all, CACHEW__V1__SKIPPED__WHY__LEFT_OUT, LEFT_OUT_BEFORE);
    }
    cw_set_fini(&all);
}

/* Shared jobs: the items of open epochs that other consumers have consumed will not come. */
static void send_others(struct cw_client *client)
{
    const struct cw_job *job = client->job;
    for (size_t i = 0; i < job->epochs_open; i++) {
        if (job->epochs[i]->consumed.n > 0)
            send_taken(client, job->epochs[i]->number, &job->epochs[i]->consumed);
    }
}

/* Sends everything that will not come and that the client may not know of. */
static void send_unavailable(struct cw_client *client, uint64_t from_epoch)
{
    const struct cw_job *job = client->job;
    send_over(client);
    for (size_t i = 0; i < job->epochs_open; i++) {
        if (job->epochs[i]->skipped.n > 0)
            send_skipped(client, job->epochs[i]->number, &job->epochs[i]->skipped,
                         CACHEW__V1__SKIPPED__WHY__LEFT_OUT, LEFT_OUT_BEFORE);
    }
    for (size_t i = 0; job->info->sparse && i < job->skips_n; i++) {
        if (job->skips[i].epoch >= from_epoch)
            send_batches(client, job->skips[i].epoch, &job->skips[i].items, LEFT_OUT_BEFORE);
    }
    if (job->layout.mode == CW_MODE_SHARED)
        send_others(client);
}

void cw_client_welcome(struct cw_client *client)
{
    struct cw_job *job = client->job;
    const int64_t begin = cw_clock_thread_cpu_ns();
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
    welcome.consumed = consumed_sets(client, &welcome.n_consumed);
    welcome.buffer_bytes = job->options->buffer_bytes;
    welcome.window = job->window;
    welcome.ack_ms = cw_ack_interval_ms(job->d);
    welcome.secret = (ProtobufCBinaryData){sizeof(job->data_secret), job->data_secret};
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_WELCOME;
    command.welcome = &welcome;
    cw_client_send(client, &command);
    free_sets(welcome.consumed, welcome.n_consumed);
    client->due.welcome = false;
    client->welcomed = true;
    cw_fault_point("dispatcher.welcome");
    send_unavailable(client, CW_MIN(at.epoch, client->hello_epoch));
    cw_client_send_workers(client, true);
    if (client->stream)
        cw_stream_note_time(client->stream, cw_clock_thread_cpu_ns() - begin);
}

void cw_client_send(struct cw_client *client, Cachew__V1__ClientCommand *command)
{
    command->generation = client->d->generation;
    cw_wire_send(client->stream, &command->base);
}
