/* SPDX-License-Identifier: Apache-2.0 */
/* A trainer that takes batches as they come, and acknowledges them as client/session/session_send.c does. */
#include "bench/load.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/version.h"
#include "cachew/v1/job.pb-c.h"

#define ACK_MS 200 /* as in client/session/ack_schedule.c */
#define ACK_GAP_MS 5

static void ack(struct load_trainer *t, int64_t now_ms)
{
    Cachew__V1__EpochSet received = CACHEW__V1__EPOCH_SET__INIT,
                         consumed = CACHEW__V1__EPOCH_SET__INIT;
    Cachew__V1__EpochSet *received_list[] = {&received}, *consumed_list[] = {&consumed};
    struct cw_set given = {0};
    uint64_t next = cw_set_first_absent(&t->received, 0), batches = next - t->given;
    cw_set_add(&given, t->given, next);
    received.items = cw_wire_set_to(&t->news, &received.n_items);
    consumed.items = cw_wire_set_to(&given, &consumed.n_items);
    Cachew__V1__Position position = CACHEW__V1__POSITION__INIT;
    position.item = next;
    Cachew__V1__Measure measure = CACHEW__V1__MEASURE__INIT;
    measure.batches = batches;
    measure.ns = (uint64_t)(now_ms - t->told_ms) * 1000000;
    measure.wait_ns = measure.ns / 100;
    measure.step_ns = batches > 0 ? measure.ns / batches : 0;
    Cachew__V1__Ack a = CACHEW__V1__ACK__INIT;
    a.received = received_list;
    a.n_received = t->news.n > 0;
    a.consumed = consumed_list;
    a.n_consumed = batches > 0;
    a.wait_share = 0.01;
    a.ready = cw_set_count(&t->received) - next;
    a.buffered_bytes = a.ready * LOAD_BATCH_BYTES;
    a.position = &position;
    a.measure = &measure;
    Cachew__V1__ClientMessage m = CACHEW__V1__CLIENT_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_ACK;
    m.ack = &a;
    cw_wire_send(t->stream, &m.base);
    t->load->acks++;
    t->given = next;
    t->told_ms = now_ms;
    cw_set_clear(&t->news);
    cw_mem_free(received.items);
    cw_mem_free(consumed.items);
    cw_set_fini(&given);
}

void load_trainer_got(struct load_trainer *t, uint64_t item)
{
    if (cw_set_has(&t->received, item))
        return;
    cw_set_add(&t->received, item, item + 1);
    cw_set_add(&t->news, item, item + 1);
}

void load_trainer_tick(struct load_trainer *t, int64_t now_ms)
{
    if (!t->welcomed || t->news.n == 0)
        return;
    uint64_t ready = cw_set_first_absent(&t->received, 0) - t->given;
    if (now_ms - t->told_ms >= t->ack_ms ||
        (ready >= t->window / 4 && now_ms - t->told_ms >= ACK_GAP_MS))
        ack(t, now_ms);
}

static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    struct load_trainer *t = arg;
    struct cw_err err = {0};
    Cachew__V1__ClientCommand *c = (Cachew__V1__ClientCommand *)cw_wire_unpack(
        &cachew__v1__client_command__descriptor, msg, &err);
    CW_ASSERT(c);
    if (c->kind_case == CACHEW__V1__CLIENT_COMMAND__KIND_WELCOME) {
        t->welcomed = true;
        if (!t->job_id)
            t->job_id = cw_mem_strdup(c->welcome->job_id);
        t->window = c->welcome->window;
        t->ack_ms = c->welcome->ack_ms ? c->welcome->ack_ms : ACK_MS;
        t->told_ms = cw_clock_ms();
    } else if (c->kind_case == CACHEW__V1__CLIENT_COMMAND__KIND_WINDOW) {
        t->window = c->window->items;
        t->ack_ms = c->window->ack_ms ? c->window->ack_ms : t->ack_ms;
    } else if (c->kind_case == CACHEW__V1__CLIENT_COMMAND__KIND_ERROR) {
        fprintf(stderr, "a job failed: %s\n", c->error->error);
        t->load->lost_n++;
    }
    protobuf_c_message_free_unpacked(&c->base, NULL);
}

static void on_close(void *arg, int code, const char *msg)
{
    struct load_trainer *t = arg;
    fprintf(stderr, "a trainer is let go: %d %s\n", code, msg ? msg : "");
    cw_stream_free(t->stream);
    t->stream = NULL;
    t->welcomed = false;
    t->load->lost_n++;
}

void load_trainer_start(struct load *load, struct load_trainer *t, size_t number)
{
    static const struct cw_stream_cb cb = {.on_message = on_message, .on_close = on_close};
    char version[] = CW_VERSION, policy[64], host[] = "trainers", one[] = "fixed:1", off[] = "off";
    t->load = load;
    t->channel = cw_channel_open(load->rpc, load->address);
    t->stream = cw_channel_stream(t->channel, "/cachew.v1.Jobs/Attach", &cb, t);
    snprintf(policy, sizeof(policy), "fixed:%llu", (unsigned long long)load->per_job);
    Cachew__V1__JobOptions job = CACHEW__V1__JOB_OPTIONS__INIT;
    job.graph = load->message;
    job.seed = number; /* else they would share what is computed */
    job.autoscale = t->probe ? one : load->per_job > 0 ? policy : off;
    job.lease_items = t->probe;
    job.buffer_bytes = 4ull << 30;
    Cachew__V1__ClientHello hello = CACHEW__V1__CLIENT_HELLO__INIT;
    hello.protocol = CW_PROTOCOL;
    hello.version = version;
    hello.client_id = 1000000 + number;
    hello.job = &job;
    hello.host_id = host;
    Cachew__V1__ClientMessage m = CACHEW__V1__CLIENT_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_HELLO;
    m.hello = &hello;
    cw_wire_send(t->stream, &m.base);
}

void load_trainer_stop(struct load_trainer *t)
{
    cw_stream_free(t->stream);
    cw_channel_close(t->channel);
    cw_set_fini(&t->received);
    cw_set_fini(&t->news);
    cw_mem_free(t->job_id);
}
