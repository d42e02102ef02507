/* SPDX-License-Identifier: Apache-2.0 */
/* A stranger's program: what it does is drawn, one act after the other. stranger_client.c and
 * stranger_worker.c say what it says as a client and as a worker. */
#include "stranger.h"

#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "cachew/v1/admin.pb-c.h"
#include "system.h"
#include "tokens.h"

__attribute__((visibility("default"))) void sim_stranger_main(void *arg);

/* Where one of the workers listens. */
static const char *draw_worker(const struct sim_stranger *stranger)
{
    const struct sim_cluster *cluster = stranger->cluster;
    size_t first = 0, n = 0;

    while (cluster->seats[first].kind != SIM_WORKER)
        first++;
    while (cluster->seats[first + n].kind == SIM_WORKER)
        n++;
    return cluster->seats[first + sim_below(n)].address;
}

const char *sim_stranger_token(const struct sim_stranger *stranger, const char *own)
{
    static const char *const files[] = {SIM_TOKEN_OF_TRAINERS, SIM_TOKEN_OF_WORKERS,
                                        SIM_TOKEN_OF_OTHERS, SIM_TOKEN_OF_OTHERS};

    if (!stranger->cluster || stranger->cluster->is_open)
        return NULL;
    return sim_one_in(3) ? files[sim_below(4)] : own;
}

/* What it says to a worker as if it were a client, before or behind its hello. */
static void say_odd(struct sim_talk *talk, unsigned how)
{
    Cachew__V1__FetchMessage message = CACHEW__V1__FETCH_MESSAGE__INIT;
    Cachew__V1__Credit credit = CACHEW__V1__CREDIT__INIT;
    Cachew__V1__Release release = CACHEW__V1__RELEASE__INIT;
    Cachew__V1__ShmReady ready = CACHEW__V1__SHM_READY__INIT;
    uint64_t slots[] = {1, 77};

    switch (how % 6) {
    case 0:
        sim_say_garbage(talk);
        return;
    case 1:
        message.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_CREDIT;
        credit.bytes = UINT64_MAX;
        message.credit = &credit;
        break;
    case 2:
        message.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_RELEASE;
        release.n_slots = 2;
        release.slots = slots;
        message.release = &release;
        break;
    case 3:
        message.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_SHM_READY;
        ready.ok = sim_one_in(2);
        message.shm_ready = &ready;
        break;
    default: /* no kind */
        break;
    }
    sim_say(talk, &message.base);
}

static void say_fetch_hello(struct sim_talk *talk, const struct sim_known *known, unsigned how)
{
    static char too_long[400];
    Cachew__V1__FetchMessage message = CACHEW__V1__FETCH_MESSAGE__INIT;
    Cachew__V1__FetchHello hello = CACHEW__V1__FETCH_HELLO__INIT;
    char host[] = "another", unknown[] = "j1234", nothing[] = "";
    static uint8_t secret[16]; /* nobody has this one */

    memset(too_long, 'j', sizeof(too_long) - 1);
    hello.protocol = how % 8 == 0 ? 99 : CW_PROTOCOL;
    hello.job_id = how % 8 == 1   ? nothing
                   : how % 8 == 2 ? too_long
                   : how % 8 == 3 ? unknown
                                  : (char *)(uintptr_t)known->job_id;
    hello.client_id = 1 + sim_random();
    hello.consumer = how % 8 == 4 ? 1000 : 0;
    hello.want_shm = how % 8 == 5;
    hello.host_id = host;
    hello.credit = how % 8 == 6 ? UINT64_MAX : how % 8 == 5 ? 0 : 1000;
    if (sim_one_in(3))
        hello.secret = (ProtobufCBinaryData){sizeof(secret), secret};
    message.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_HELLO;
    message.hello = &hello;
    sim_say(talk, &message.base);
}

static void visit_worker(const struct sim_stranger *stranger, const struct sim_known *known)
{
    struct sim_talk talk = {.stream = NULL}, other = {.stream = NULL};
    unsigned how = (unsigned)sim_below(64);
    const char *worker = draw_worker(stranger);

    sim_talk_begin(&talk, worker, "/cachew.v1.Data/Fetch");
    if (how < 8)
        say_odd(&talk, how);
    say_fetch_hello(&talk, known, how / 2);
    sim_talk_wait(&talk, sim_between(1, 50));
    say_odd(&talk, (unsigned)sim_below(6));
    if (how % 8 == 7) /* the same consumer, once more */
        say_fetch_hello(&talk, known, 7);
    sim_talk_wait(&talk, sim_between(1, 100));
    if (how % 8 == 6) {
        sim_talk_begin(&other, worker, "/cachew.v1.Data/Fetch");
        say_fetch_hello(&other, known, 7);
        sim_talk_wait(&other, sim_between(1, 100));
        sim_talk_end(&other);
    }
    sim_talk_end(&talk);
}

static void remove_job(const struct sim_stranger *stranger, const struct sim_known *known)
{
    Cachew__V1__RemoveJobRequest request = CACHEW__V1__REMOVE_JOB_REQUEST__INIT;

    if (!known->job_id[0])
        return;
    request.job = (char *)(uintptr_t)known->job_id;
    sim_talk_call(stranger->dispatcher, "/cachew.v1.Admin/RemoveJob", &request.base);
}

void sim_stranger_main(void *arg)
{
    const struct sim_stranger *stranger = arg;
    struct sim_known known = {.job_id = ""};

    sim_system_init();
    for (int i = 0; i < stranger->acts; i++) {
        switch (sim_below(16)) {
        case 0:
        case 1:
            sim_as_worker(stranger, &known);
            break;
        case 2:
        case 3:
            visit_worker(stranger, &known);
            break;
        case 4:
            if (sim_one_in(4))
                remove_job(stranger, &known);
            break;
        case 5:
        case 6:
            sim_as_trainer(stranger);
            break;
        default:
            sim_as_client(stranger, &known);
        }
        sim_sleep_ns(sim_between(0, 50 * SIM_MS));
    }
    remove_job(stranger, &known);
    sim_log("the stranger has done what it wanted");
}
