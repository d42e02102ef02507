/* SPDX-License-Identifier: Apache-2.0 */
/* What a stranger says to a dispatcher as a worker. It computes nothing, and is soon gone: what it
 * was leased others compute. */
#include "base/mem.h"
#include "base/version.h"
#include "stranger.h"
#include "tokens.h"

#define FLEET "/cachew.v1.Fleet/Attach"
#define HELLOS 32
#define HELLOS_BEFORE 24 /* of those that do not say all */
#define SILENT_MS 11000  /* longer than a dispatcher waits for a hello */

static char no_text[] = "", unknown_job[] = "j1234", address[] = "stranger:9000";
static char why[] = "an operator of its own has crashed";

static Cachew__V1__Interval no_interval = {
    PROTOBUF_C_MESSAGE_INIT(&cachew__v1__interval__descriptor), 6, 3};
static Cachew__V1__Interval *reversed[] = {&no_interval};
static Cachew__V1__Interval all_items = {PROTOBUF_C_MESSAGE_INIT(&cachew__v1__interval__descriptor),
                                         0, 8};
static Cachew__V1__Interval *whole[] = {&all_items};

/* What it holds, or has computed, or hands back. */
struct odd {
    Cachew__V1__Interval intervals[3], *items[3];
    char *job_id;
    uint64_t worker_id; /* of another worker, or of nobody */
};

static void odd_init(struct odd *odd, const struct sim_known *known)
{
    for (size_t i = 0; i < 3; i++) {
        cachew__v1__interval__init(&odd->intervals[i]);
        odd->items[i] = &odd->intervals[i];
        odd->intervals[i].lo = sim_below(4);
        odd->intervals[i].hi = odd->intervals[i].lo + sim_below(2);
    }
    if (sim_one_in(2))
        odd->intervals[2].hi = UINT64_MAX;
    odd->worker_id = sim_strangers_say_all() && sim_one_in(3) ? 77 : known->worker_id;
    odd->job_id = sim_one_in(4) ? unknown_job : (char *)(uintptr_t)known->job_id;
}

static void say_hello(struct sim_talk *talk, uint64_t id, unsigned how, struct odd *odd)
{
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    Cachew__V1__WorkerHello hello = CACHEW__V1__WORKER_HELLO__INIT;
    Cachew__V1__HeldLease held = CACHEW__V1__HELD_LEASE__INIT, *all[] = {&held};
    Cachew__V1__LeaseId lease = CACHEW__V1__LEASE_ID__INIT;
    Cachew__V1__Died died = CACHEW__V1__DIED__INIT;

    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_HELLO;
    message.hello = &hello;
    message.generation = how == 1 ? SIM_HIGH_GENERATION : 0;
    hello.protocol = how == 2 ? 99 : CW_PROTOCOL;
    hello.worker_id = how == 3 ? 0 : id;
    hello.address = how == 4 ? no_text : address;
    hello.threads = how == 5 ? 0 : how == 6 ? 70000 : 1;
    hello.budget_bytes = 1 << 20;
    if ((how > 6 && how < 10) || (how > 23 && how < 29))
        hello.only_job = how == 24 ? unknown_job : odd->job_id;
    if (how > 23) { /* it says that it takes the place of one that an operator has ended */
        died.worker_id = odd->worker_id;
        died.job_id = odd->job_id;
        died.has_item = how % 2 == 0;
        died.item = sim_below(8);
        died.text = why;
        hello.died = &died;
    } else if (how > 9) {
        held.lease = &lease;
        held.job_id = odd->job_id;
        held.items = odd->items;
        held.n_items = how < 20 ? 2 : 3;
        if (sim_strangers_say_all() &&
            how % 2) { /* all that is free, and no interval is computed */
            held.items = whole;
            held.done = reversed;
            held.n_items = held.n_done = 1;
        }
        hello.held = all;
        hello.n_held = 1;
    }
    sim_say(talk, &message.base);
}

static void say_progress(struct sim_talk *talk, struct odd *odd)
{
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    Cachew__V1__Progress__Done done = CACHEW__V1__PROGRESS__DONE__INIT, *all[] = {&done};
    Cachew__V1__SourceTier tier = CACHEW__V1__SOURCE_TIER__INIT, *tiers[] = {&tier};

    done.job_id = odd->job_id;
    done.items = odd->items;
    done.n_items = sim_below(4);
    progress.done = all;
    progress.n_done = 1;
    progress.source = tiers;
    progress.n_source = sim_below(2);
    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PROGRESS;
    message.progress = &progress;
    sim_say(talk, &message.base);
}

static void say_failed(struct sim_talk *talk, struct odd *odd)
{
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    Cachew__V1__ItemFailed failed = CACHEW__V1__ITEM_FAILED__INIT;

    failed.job_id = odd->job_id;
    failed.item = sim_below(8);
    failed.code = sim_one_in(2) ? CW_E_OTHER_FILE : CW_E_IO;
    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_FAILED;
    message.failed = &failed;
    sim_say(talk, &message.base);
}

static void say_hand_back(struct sim_talk *talk, struct odd *odd)
{
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    Cachew__V1__HandBack back = CACHEW__V1__HAND_BACK__INIT;

    back.job_id = odd->job_id;
    back.items = odd->items;
    back.n_items = 3;
    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_HAND_BACK;
    message.hand_back = &back;
    sim_say(talk, &message.base);
}

static void say_prepared(struct sim_talk *talk, struct odd *odd)
{
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    Cachew__V1__Prepared prepared = CACHEW__V1__PREPARED__INIT;

    prepared.job_id = odd->job_id;
    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PREPARED;
    message.prepared = &prepared;
    sim_say(talk, &message.base);
}

/* What only workers say that were asked for it. */
static void say_unasked(struct sim_talk *talk, struct odd *odd)
{
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    Cachew__V1__PlanOpened opened = CACHEW__V1__PLAN_OPENED__INIT;
    Cachew__V1__IndexLease lease = CACHEW__V1__INDEX_LEASE__INIT;
    Cachew__V1__IndexMade made = CACHEW__V1__INDEX_MADE__INIT;
    Cachew__V1__ElementsShown shown = CACHEW__V1__ELEMENTS_SHOWN__INIT;

    opened.job_id = lease.job_id = made.job_id = shown.job_id = odd->job_id;
    opened.number = lease.number = made.number = sim_below(3);
    switch (sim_below(4)) {
    case 0:
        message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PLAN_OPENED;
        message.plan_opened = &opened;
        break;
    case 1:
        message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_INDEX_LEASE;
        message.index_lease = &lease;
        break;
    case 2:
        message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_INDEX_MADE;
        message.index_made = &made;
        break;
    default:
        message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_ELEMENTS_SHOWN;
        message.elements_shown = &shown;
    }
    sim_say(talk, &message.base);
}

static void say_odd(struct sim_talk *talk, uint64_t id, struct odd *odd)
{
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    Cachew__V1__Draining draining = CACHEW__V1__DRAINING__INIT;

    switch (sim_below(sim_strangers_say_all() ? 9 : 8)) {
    case 0:
        say_failed(talk, odd);
        break;
    case 1:
        say_hand_back(talk, odd);
        break;
    case 2:
        say_prepared(talk, odd);
        break;
    case 3:
        sim_say(talk, &message.base); /* of no kind */
        break;
    case 4:
        message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_DRAINING;
        message.draining = &draining;
        sim_say(talk, &message.base);
        break;
    case 5:
        if (sim_one_in(2))
            sim_say_garbage(talk);
        else
            say_hello(talk, id, 0, odd);
        say_progress(talk, odd); /* it is not heard any more */
        break;
    case 8:
        say_unasked(talk, odd);
        break;
    default:
        say_progress(talk, odd);
    }
}

void sim_as_worker(const struct sim_stranger *stranger, const struct sim_known *known)
{
    struct sim_talk talk = {.token_file = sim_stranger_token(stranger, SIM_TOKEN_OF_WORKERS)};
    struct sim_talk again = {.token_file = talk.token_file};
    static unsigned next; /* each kind of hello in turn, from one that is drawn */
    const unsigned hellos = sim_strangers_say_all() ? HELLOS : HELLOS_BEFORE;
    uint64_t id = 1 + sim_random() / 2;
    struct odd odd;

    odd_init(&odd, known);
    sim_talk_begin(&talk, stranger->dispatcher, FLEET);
    if (sim_one_in(12))
        say_odd(&talk, id, &odd);
    if (sim_one_in(40))
        sim_talk_wait(&talk, SILENT_MS);
    if (next == 0)
        next = hellos + (unsigned)sim_below(hellos);
    say_hello(&talk, id, next++ % hellos, &odd);
    for (uint64_t n = sim_below(4); n > 0; n--) {
        sim_talk_wait(&talk, sim_between(1, 300));
        odd_init(&odd, known);
        say_odd(&talk, id, &odd);
    }
    sim_talk_wait(&talk, sim_between(1, 300));
    if (sim_one_in(4)) { /* it registers again, on a second stream */
        sim_talk_begin(&again, stranger->dispatcher, FLEET);
        say_hello(&again, id, sim_strangers_say_all() && sim_one_in(3) ? 7 : 0, &odd);
        sim_talk_wait(&again, sim_between(1, 300));
        sim_talk_end(&again);
    }
    sim_talk_end(&talk);
}
