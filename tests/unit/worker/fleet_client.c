/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/worker/fleet.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/version.h"
#include "cachew/v1/data.pb-c.h"

static void client_send(struct client *c, Cachew__V1__FetchMessage *m)
{
    cw_wire_send(c->stream, &m->base);
}

void client_credit(struct client *c, uint64_t bytes)
{
    Cachew__V1__Credit credit = CACHEW__V1__CREDIT__INIT;
    credit.bytes = bytes;
    Cachew__V1__FetchMessage m = CACHEW__V1__FETCH_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_CREDIT;
    m.credit = &credit;
    client_send(c, &m);
}

void client_release(struct client *c)
{
    Cachew__V1__Release release = CACHEW__V1__RELEASE__INIT;
    release.slots = c->slots;
    release.n_slots = c->slots_n;
    Cachew__V1__FetchMessage m = CACHEW__V1__FETCH_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_RELEASE;
    m.release = &release;
    client_send(c, &m);
    c->slots_n = 0;
}

static void on_slot_released(void *arg, uint64_t slot)
{
    (void)arg;
    (void)slot;
}

/* The descriptor may come after the output: it is waited for. */
static uint64_t read_slot(struct client *c, uint64_t slot, size_t bytes)
{
    struct cw_buf *buf = NULL;
    struct cw_err err = {0};
    while (cw_shm_view_buf(c->view, slot, bytes, on_slot_released, NULL, &buf, &err) ==
           CW_E_NOT_FOUND) {
        uint64_t id = 0;
        size_t cap = 0;
        int memfd = -1;
        struct pollfd p = {.fd = c->shm_fd, .events = POLLIN};
        assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
        assert_int_equal(cw_shm_recv_fd(c->shm_fd, &id, &cap, &memfd, &err), 0);
        assert_int_equal(cw_shm_view_add(c->view, id, cap, memfd, &err), 0);
    }
    uint64_t value;
    memcpy(&value, buf->data, sizeof(value));
    cw_buf_unref(buf);
    c->slots_used++;
    assert_true(c->slots_n < CW_ARRAY_LEN(c->slots));
    c->slots[c->slots_n++] = slot;
    return value;
}

static void take_outputs(struct client *c, struct cw_rpc_msg *msg, const struct cw_wire_data *data)
{
    size_t at = data->payload_offset;
    for (size_t i = 0; i < data->head->n_outputs; i++) {
        const Cachew__V1__Output *o = data->head->outputs[i];
        assert_true(o->item < ITEMS_MAX);
        int64_t order = (int64_t)(o->epoch * ITEMS_MAX + o->item);
        c->disorder += order < c->last;
        c->last = order;
        c->duplicates += c->seen[o->item] != 0;
        c->seen[o->item] = 1;
        c->outputs++;
        c->bytes += o->payload_bytes;
        if (o->slot) {
            c->first_value[o->item] = read_slot(c, o->slot, o->payload_bytes);
        } else {
            if (o->payload_bytes >= sizeof(uint64_t))
                assert_int_equal(
                    cw_rpc_msg_copy(msg, at, &c->first_value[o->item], sizeof(uint64_t)), 0);
            at += o->payload_bytes;
        }
    }
    assert_int_equal(at, data->payload_offset + data->payload_len);
    if (c->auto_release && c->slots_n > 0)
        client_release(c);
}

static void take_welcome(struct client *c, const Cachew__V1__DataWelcome *welcome)
{
    c->welcomed = true;
    if (welcome->shm_name[0] == '\0')
        return;
    struct cw_err err = {0};
    Cachew__V1__ShmReady ready = CACHEW__V1__SHM_READY__INIT;
    ready.ok = cw_shm_connect(welcome->shm_name, welcome->shm_token, &c->shm_fd, &err) == 0;
    assert_true(ready.ok);
    Cachew__V1__FetchMessage m = CACHEW__V1__FETCH_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_SHM_READY;
    m.shm_ready = &ready;
    client_send(c, &m);
}

static void on_data(void *arg, struct cw_rpc_msg *msg)
{
    struct client *c = arg;
    struct cw_wire_data data;
    struct cw_err err = {0};
    if (cw_wire_data_parse(msg, &data, &err) != 0)
        fail_msg("%s", err.msg);
    if (data.head->welcome)
        take_welcome(c, data.head->welcome);
    take_outputs(c, msg, &data);
    for (size_t i = 0; data.head->slots_gone && i < data.head->slots_gone->n_slots; i++)
        cw_shm_view_drop(c->view, data.head->slots_gone->slots[i]);
    cw_wire_data_fini(&data);
}

static void on_data_close(void *arg, int code, const char *msg)
{
    (void)msg;
    struct client *c = arg;
    c->closed = true;
    c->close_code = code;
}

void client_open(struct client *c, struct fleet *f)
{
    static const struct cw_stream_cb cb = {.on_message = on_data, .on_close = on_data_close};
    memset(c, 0, sizeof(*c));
    c->fleet = f;
    c->shm_fd = -1;
    c->id = 77;
    c->last = -1;
    c->view = cw_shm_view_new(false);
    c->channel = cw_channel_open(f->rpc, cw_worker_address(f->worker));
    c->stream = cw_channel_stream(c->channel, "/cachew.v1.Data/Fetch", &cb, c);
}

void client_hello(struct client *c, const char *job_id, uint32_t consumer, uint64_t credit,
                  bool shm)
{
    char id[64];
    snprintf(id, sizeof(id), "%s", job_id);
    Cachew__V1__FetchHello hello = CACHEW__V1__FETCH_HELLO__INIT;
    hello.protocol = CW_PROTOCOL;
    hello.job_id = id;
    hello.client_id = c->id;
    hello.consumer = consumer;
    hello.host_id = c->fleet->host_id;
    hello.want_shm = shm;
    hello.credit = credit;
    Cachew__V1__FetchMessage m = CACHEW__V1__FETCH_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_HELLO;
    m.hello = &hello;
    client_send(c, &m);
}

void client_close(struct client *c)
{
    cw_stream_free(c->stream);
    cw_channel_close(c->channel);
    cw_shm_view_free(c->view);
    if (c->shm_fd >= 0)
        close(c->shm_fd);
}
