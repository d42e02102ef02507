/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/session/ack_turns.h"

#include "dispatcher/session/inbox.h"

/* Of one client, client->ack_turns. */
struct cw_ack_turns {
    struct cw_client *client; /* NULL: it was freed. */
    struct cw_ack ack;
    cw_ack_turns_fn *done;
};

/* Returns whether there is more to take. */
static bool take(struct cw_client *client, struct cw_ack *ack, cw_ack_turns_fn *done)
{
    struct cw_err err = {0};
    bool more = false;
    int rc = cw_job_ack(client->job, client->consumer, ack, &more, &err);
    if (rc == 0 && more)
        return true;
    done(client, rc, &err);
    return false;
}

static void go_on(void *arg)
{
    struct cw_ack_turns *turns = arg;
    struct cw_client *client = turns->client;
    if (!client) {
        cw_mem_free(turns);
        return;
    }
    int64_t begin = cw_clock_thread_cpu_ns();
    struct cw_stream *stream = client->stream;
    if (!client->failed && take(client, &turns->ack, turns->done)) {
        cw_loop_post(client->d->loop, go_on, turns);
    } else {
        client->ack_turns = NULL;
        cw_mem_free(turns);
        cw_inbox_go_on(client->inbox);
    }
    cw_stream_note_time(stream, cw_clock_thread_cpu_ns() - begin);
}

bool cw_ack_turns_begin(struct cw_client *client, const struct cw_ack *ack, cw_ack_turns_fn *done)
{
    struct cw_ack first = *ack;
    cw_job_ack_init(client->job, &first);
    if (!take(client, &first, done))
        return true;
    struct cw_ack_turns *turns = CW_NEW(struct cw_ack_turns);
    *turns = (struct cw_ack_turns){client, first, done};
    client->ack_turns = turns;
    cw_inbox_hold(client->inbox);
    cw_loop_post(client->d->loop, go_on, turns);
    return false;
}

void cw_ack_turns_drop(struct cw_client *client)
{
    if (client->ack_turns)
        client->ack_turns->client = NULL;
    client->ack_turns = NULL;
}
