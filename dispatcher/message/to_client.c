/* SPDX-License-Identifier: Apache-2.0 */
/* What an admitted client is sent: the items that will not come. Its welcome is in welcome.c, and its list
 * of workers in worker_lists.c. */
#include "dispatcher/message/message.h"

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

void cw_client_send_skipped(struct cw_client *client, uint64_t epoch, const struct cw_set *items,
                            const char *reason)
{
    send_numbers(client, epoch, items, false, CACHEW__V1__SKIPPED__WHY__LEFT_OUT, reason);
}

void cw_client_send_skipped_batches(struct cw_client *client, uint64_t epoch,
                                    const struct cw_set *batches, const char *reason)
{
    send_numbers(client, epoch, batches, true, CACHEW__V1__SKIPPED__WHY__LEFT_OUT, reason);
}

void cw_job_send_skipped(struct cw_job *job, uint64_t epoch, const struct cw_set *items,
                         const char *reason)
{
    for (struct cw_client *client = job->clients; client; client = client->next_of_job)
        if (client->welcomed)
            cw_client_send_skipped(client, epoch, items, reason);
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

void cw_client_send_taken(struct cw_client *client, uint64_t epoch, const struct cw_set *items)
{
    send_numbers(client, epoch, items, false, CACHEW__V1__SKIPPED__WHY__TAKEN, "shared");
}

void cw_job_send_taken(struct cw_job *job, uint64_t epoch, const struct cw_set *items,
                       uint32_t consumer)
{
    for (struct cw_client *client = job->clients; client; client = client->next_of_job)
        if (client->welcomed && client->consumer != consumer)
            cw_client_send_taken(client, epoch, items);
}

void cw_job_send_skipped_batches(struct cw_job *job, uint64_t epoch, const struct cw_set *batches)
{
    for (struct cw_client *client = job->clients; client; client = client->next_of_job)
        if (client->welcomed)
            cw_client_send_skipped_batches(client, epoch, batches, CW_SKIPPED_BY_REQUEST);
}

void cw_client_send(struct cw_client *client, Cachew__V1__ClientCommand *command)
{
    command->generation = client->d->generation;
    cw_wire_send(client->stream, &command->base);
}

void cw_client_send_parts(struct cw_client *client, uint32_t kind, const ProtobufCMessage *body,
                          const struct cw_wire_part *parts, size_t n)
{
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    command.generation = client->d->generation;
    cw_wire_send_parts(client->stream, &command.base, kind, body, parts, n);
}
