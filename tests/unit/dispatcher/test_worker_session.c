/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's stream: who is refused, what it reports, and what becomes of its work when it goes. */
#include <stdio.h>
#include <string.h>
#include "base/version.h"
#include "dispatcher/job/job.h"
#include "dispatcher/job/telemetry.h"
#include "dispatcher/session/session.h"
#include "unit/dispatcher/peers.h"

#define TO_WORKER(kind) CACHEW__V1__WORKER_COMMAND__KIND_##kind
#define LEASED 4 /* of ten items to a worker of two threads, of which nothing is known yet */
#define SAYS(kind) CACHEW__V1__WORKER_MESSAGE__KIND_##kind

struct hello {
    Cachew__V1__WorkerMessage message;
    Cachew__V1__WorkerHello hello;
    char version[16], address[32];
};

static void hello_init(struct hello *h)
{
    *h = (struct hello){.version = CW_VERSION, .address = "worker5:1"};
    cachew__v1__worker_message__init(&h->message);
    cachew__v1__worker_hello__init(&h->hello);
    h->message.kind_case = SAYS(HELLO);
    h->message.hello = &h->hello;
    h->hello.protocol = CW_PROTOCOL;
    h->hello.version = h->version;
    h->hello.worker_id = 5;
    h->hello.address = h->address;
    h->hello.threads = 2;
}

static void assert_ended(const struct cw_stream *stream, int code, const char *says)
{
    assert_true(peers_is_ended(stream));
    if (!strstr(peers_end_msg(stream), says))
        fail_msg("\"%s\" does not say \"%s\"", peers_end_msg(stream), says);
    assert_int_equal(peers_end_code(stream), code);
}

/* ---- hello ---- */
static void later_protocol(struct hello *h)
{
    h->hello.protocol = CW_PROTOCOL + 1;
}
static void earlier_protocol(struct hello *h)
{
    h->hello.protocol = CW_PROTOCOL - 2;
}
static void higher_generation(struct hello *h)
{
    h->message.generation = made_up.generation + 3;
}
static void no_id(struct hello *h)
{
    h->hello.worker_id = 0;
}
static void no_address(struct hello *h)
{
    h->address[0] = '\0';
}
static void no_threads(struct hello *h)
{
    h->hello.threads = 0;
}
static void many_threads(struct hello *h)
{
    h->hello.threads = 65537;
}

static void refused_hellos(void **state)
{
    (void)state;
    static const struct {
        void (*set)(struct hello *h);
        int code;
        const char *says;
    } cases[] = {
        {later_protocol, CW_E_UNSUPPORTED, "upgrade the older one"},
        {earlier_protocol, CW_E_UNSUPPORTED, "upgrade the older one"},
        {higher_generation, CW_E_STATE, "another dispatcher has taken over"},
        {no_id, CW_E_INVALID, "lacks an id, an address or threads"},
        {no_address, CW_E_INVALID, "lacks an id, an address or threads"},
        {no_threads, CW_E_INVALID, "lacks an id, an address or threads"},
        {many_threads, CW_E_INVALID, "lacks an id, an address or threads"},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct hello h;
        hello_init(&h);
        cases[i].set(&h);
        struct cw_stream *stream = peers_attach("Fleet/Attach");
        peers_say(stream, &h.message.base);
        assert_ended(stream, cases[i].code, cases[i].says);
        assert_int_equal(made_up.workers_n, 0);
        peers_say(stream, &h.message.base); /* does not count */
        peers_break(stream, 0, "");
    }
    assert_null(made_up.workers);
    assert_int_equal(made_up.generation_seen, made_up.generation + 3);
}

/* Only what may be the name of a pod is taken over. */
static void names_of_pods_are_checked(void **state)
{
    (void)state;
    struct hello h;
    char name[] = "pod-7", bad[] = "a b", longest[256] = "", node[] = "node8";
    memset(longest, 'x', sizeof(longest) - 1);
    hello_init(&h);
    h.hello.pod_name = name;
    h.hello.pod_namespace = bad;
    h.hello.pod_uid = longest;
    h.hello.node_name = node;
    peers_say(peers_attach("Fleet/Attach"), &h.message.base);
    const struct cw_worker *worker = peers_worker_of(5);
    assert_string_equal(worker->pod_name, "pod-7");
    assert_string_equal(worker->pod_namespace, "");
    assert_string_equal(worker->pod_uid, "");
    assert_string_equal(worker->node_name, "node8");
}

static void what_is_not_a_first_hello(void **state)
{
    (void)state;
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    message.kind_case = SAYS(PROGRESS);
    message.progress = &progress;
    struct cw_stream *stream = peers_attach("Fleet/Attach");
    peers_say(stream, &message.base);
    assert_ended(stream, CW_E_INVALID, "the first message must be a hello");
    stream = peers_attach("Fleet/Attach");
    peers_say_bytes(stream, "\xff\xff\xff");
    assert_true(peers_is_ended(stream) && peers_end_code(stream) == CW_E_INVALID);
    struct hello h;
    hello_init(&h);
    stream = peers_attach("Fleet/Attach");
    peers_say(stream, &h.message.base);
    assert_non_null(peers_to_worker(stream, TO_WORKER(WELCOME)));
    peers_say(stream, &h.message.base);
    assert_ended(stream, CW_E_INVALID, "a second hello");
    assert_int_equal(made_up.workers_n, 0);
}

static void there_is_no_room(void **state)
{
    (void)state;
    made_up.stopping = true;
    assert_ended(peers_attach("Fleet/Attach"), CW_E_UNAVAILABLE, "the dispatcher is stopping");
    made_up.stopping = false;
    made_up.workers_n += 20001;
    assert_ended(peers_attach("Fleet/Attach"), CW_E_LIMIT, "as many workers as it takes");
    made_up.workers_n -= 20001;
}

static void the_same_process_connects_again(void **state)
{
    (void)state;
    struct cw_stream *before = peers_worker(5, 2), *after = peers_worker(5, 3);
    assert_ended(before, CW_E_STATE, "the same worker has connected again");
    assert_false(peers_is_ended(after));
    assert_int_equal(made_up.workers_n, 1);
    peers_break(before, 0, "");
    assert_int_equal(peers_worker_of(5)->threads, 3);
}

static void the_silent_are_given_up(void **state)
{
    (void)state;
    made_up.options.silence_ms = 30000;
    struct cw_stream *known = peers_worker(5, 2), *unknown = peers_attach("Fleet/Attach");
    int64_t now = cw_clock_ms();
    cw_worker_sessions_tick(&made_up, now + 2000);
    assert_false(peers_is_ended(known) || peers_is_ended(unknown));
    cw_worker_sessions_tick(&made_up, now + 20000);
    assert_ended(unknown, CW_E_TIMEOUT, "no hello came");
    assert_false(peers_is_ended(known));
    cw_worker_sessions_tick(&made_up, now + 40000);
    assert_ended(known, CW_E_TIMEOUT, "nothing was heard of it for too long");
    assert_int_equal(made_up.counts.workers_lost, 0); /* maybe only cut off */
}

/* ---- what it says ---- */
static void say(struct cw_stream *stream, Cachew__V1__WorkerMessage__KindCase kind, void *what)
{
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    message.kind_case = kind;
    message.progress = what; /* a union of pointers */
    peers_say(stream, &message.base);
}

/* What is leased to worker `id` of epoch 0 of the job. */
static uint64_t leased(const struct cw_job *job, uint64_t id)
{
    const struct cw_share *share = cw_share_find(job, peers_worker_of(id));
    uint64_t n = 0;
    for (const struct cw_lease *lease = share ? share->leases : NULL; lease; lease = lease->next)
        n += lease->epoch == 0 ? cw_set_count(&lease->items) : 0;
    return n;
}

static void progress_is_noted(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    struct cw_worker *worker = peers_worker_of(1);
    assert_int_equal(leased(job, 1), LEASED);
    Cachew__V1__Interval items = CACHEW__V1__INTERVAL__INIT, *in[] = {&items};
    Cachew__V1__Progress__Done done = CACHEW__V1__PROGRESS__DONE__INIT,
                               other = CACHEW__V1__PROGRESS__DONE__INIT, *dones[] = {&done, &other};
    Cachew__V1__SourceTier tier = CACHEW__V1__SOURCE_TIER__INIT, *tiers[] = {&tier};
    char none[] = "no such", name[] = "memory";
    items.hi = 3;
    done.job_id = job->id;
    done.n_items = 1, done.items = in;
    done.cpu_ns = 1000, done.elements = 3, done.bytes = 300;
    other.job_id = none;
    tier.tier = name, tier.bytes = 77;
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    progress.n_done = 2, progress.done = dones;
    progress.budget_used = 12, progress.cpu_share = 0.5;
    progress.n_source = 1, progress.source = tiers;
    say(worker->stream, SAYS(PROGRESS), &progress);
    assert_true(worker->done_n == 3 && worker->budget_used == 12 && worker->cpu_share == 0.5);
    assert_true(job->usage.elements == 3 && job->usage.bytes == 300 && job->usage.cpu_ns == 1000);
    assert_int_equal(cw_share_find(job, worker)->todo_n, LEASED - 3);
    assert_true(worker->source_tiers_n == 1 && worker->source_tiers[0]->bytes == 77);
    assert_int_equal(leased(job, 1), LEASED); /* until they are received */
}

/* Two workers compute an item, of which a bad element is left out: the trainer gets one output of
 * it, and says so. Of a trainer that says nothing only the workers' reports are known. */
static void a_bad_element_of_an_item_that_was_computed_twice_counts_once(void **state)
{
    (void)state;
    struct cw_stream *trainer;
    struct cw_job *job = peers_running("a", &trainer);
    (void)peers_worker(2, 2);
    Cachew__V1__Interval items = CACHEW__V1__INTERVAL__INIT, *in[] = {&items};
    Cachew__V1__Progress__Done done = CACHEW__V1__PROGRESS__DONE__INIT, *dones[] = {&done};
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    Cachew__V1__Ack ack = CACHEW__V1__ACK__INIT;
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    items.hi = 1;
    done.job_id = job->id;
    done.n_items = 1, done.items = in;
    done.elements = 2, done.skipped = 1;
    progress.n_done = 1, progress.done = dones;
    (void)cw_share_get(job, peers_worker_of(2));
    say(peers_worker_of(1)->stream, SAYS(PROGRESS), &progress);
    say(peers_worker_of(2)->stream, SAYS(PROGRESS), &progress);
    assert_int_equal(cw_telemetry_skipped(job), 0); /* of what was consumed */
    ack.bad_n = 1;
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_ACK;
    message.ack = &ack;
    peers_say(trainer, &message.base);
    assert_int_equal(cw_telemetry_skipped(job), 1);
    job->skipped_untold = true;
    assert_int_equal(cw_telemetry_skipped(job), 2);
}

static void failed_items_are_retried_elsewhere(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    (void)peers_worker(2, 2);
    char error[] = "cannot read it", none[] = "no such";
    Cachew__V1__ItemFailed failed = CACHEW__V1__ITEM_FAILED__INIT;
    failed.job_id = none;
    failed.error = error;
    failed.code = CW_E_IO;
    say(peers_worker_of(1)->stream, SAYS(FAILED), &failed);
    assert_int_equal(leased(job, 1), LEASED);
    failed.job_id = job->id;
    failed.item = 3;
    say(peers_worker_of(1)->stream, SAYS(FAILED), &failed);
    assert_int_equal(leased(job, 1), LEASED - 1);
    peers_turn();
    const struct cw_share *share = cw_share_find(job, peers_worker_of(2));
    assert_non_null(share);
    assert_non_null(share->leases);
    bool has = false;
    for (const struct cw_lease *lease = share->leases; lease; lease = lease->next)
        has = has || cw_set_has(&lease->items, 3);
    assert_true(has);
    failed.element = true;
    say(peers_worker_of(2)->stream, SAYS(FAILED), &failed);
    assert_int_equal(job->status, CW_JOB_FAILED);
    assert_non_null(strstr(job->error, "cannot read it"));
    say(peers_worker_of(2)->stream, SAYS(FAILED), &failed); /* it is over */
}

static void other_files_bar_the_worker(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    (void)peers_worker(2, 2);
    peers_turn();
    char error[] = "/data/x has other bytes";
    Cachew__V1__ItemFailed failed = CACHEW__V1__ITEM_FAILED__INIT;
    failed.job_id = job->id;
    failed.error = error;
    failed.code = CW_E_OTHER_FILE;
    say(peers_worker_of(2)->stream, SAYS(FAILED), &failed);
    assert_true(cw_share_find(job, peers_worker_of(2))->barred);
    assert_int_equal(job->status, CW_JOB_RUNNING);
    uint32_t n = 0;
    const char *text = cw_other_files_text(job, &n);
    assert_non_null(text);
    assert_non_null(strstr(text, error));
    assert_int_equal(n, 1);
    /* nobody is left, and the worker that prepared it says so, too */
    say(peers_worker_of(1)->stream, SAYS(FAILED), &failed);
    assert_int_equal(job->status, CW_JOB_FAILED);
    assert_non_null(strstr(job->error, "no worker sees the files"));
}

static void what_is_handed_back_is_leased_again(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    Cachew__V1__Interval items = CACHEW__V1__INTERVAL__INIT, *in[] = {&items};
    Cachew__V1__HandBack back = CACHEW__V1__HAND_BACK__INIT;
    back.job_id = job->id;
    back.n_items = 1, back.items = in;
    items.lo = 2, items.hi = 1; /* no interval */
    say(peers_worker_of(1)->stream, SAYS(HAND_BACK), &back);
    assert_int_equal(leased(job, 1), LEASED);
    items.lo = 2, items.hi = 4;
    say(peers_worker_of(1)->stream, SAYS(HAND_BACK), &back);
    assert_int_equal(leased(job, 1), LEASED - 2);
    /* It may have been leased these anew meanwhile, so it is told to drop them. */
    assert_non_null(peers_to_worker(peers_worker_of(1)->stream, TO_WORKER(REVOKE)));
    peers_turn();
    assert_int_equal(leased(job, 1), LEASED);
}

static void who_drains_gets_nothing_more(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    struct cw_stream *one = peers_worker_of(1)->stream, *two = peers_worker(2, 2);
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    struct cw_stream *trainer = peers_trainer(101, &options); /* a second job, which it prepares */
    struct cw_job *second = job->next;
    struct cw_stream *preparing = second->preparing->stream, *other = preparing == one ? two : one;
    Cachew__V1__Draining draining = CACHEW__V1__DRAINING__INIT;
    say(preparing, SAYS(DRAINING), &draining);
    assert_ptr_equal(second->preparing->stream, other);
    assert_non_null(peers_to_worker(other, TO_WORKER(PREPARE)));
    assert_false(peers_is_ended(trainer));
    say(one, SAYS(DRAINING), &draining);
    /* all that is not leased to it is settled: here nothing of epoch 0 */
    assert_true(peers_worker_of(1)->draining);
    peers_break(one, 0, "");
    assert_null(peers_worker_of(1));
    assert_int_equal(made_up.counts.workers_lost, 0);
}

static void a_drain_tells_what_is_settled(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    struct cw_stream *one = peers_worker_of(1)->stream;
    Cachew__V1__Interval items = CACHEW__V1__INTERVAL__INIT, *in[] = {&items};
    Cachew__V1__HandBack back = CACHEW__V1__HAND_BACK__INIT;
    back.job_id = job->id;
    back.n_items = 1, back.items = in;
    items.lo = 2, items.hi = 4;
    say(one, SAYS(HAND_BACK), &back);
    Cachew__V1__Draining draining = CACHEW__V1__DRAINING__INIT;
    peers_forget(one);
    say(one, SAYS(DRAINING), &draining);
    /* the last is of epoch 1, if that is open; of epoch 0 it is 2 to 9 */
    const Cachew__V1__WorkerCommand *revoke = peers_to_worker(one, TO_WORKER(REVOKE));
    assert_non_null(revoke);
    assert_string_equal(revoke->revoke->job_id, job->id);
}

/* ---- how it is lost ---- */
static void what_the_lost_held_is_free(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    peers_break(peers_worker_of(1)->stream, CW_E_UNAVAILABLE, "the connection broke");
    assert_null(job->shares);
    assert_int_equal(made_up.counts.workers_lost, 1);
    assert_int_equal(cw_job_epoch(job, 0)->leased.n, 0);
    (void)peers_worker(2, 2);
    peers_turn();
    assert_int_equal(leased(job, 2), LEASED);
}

static void at_most_once_leaves_out_what_the_lost_held(void **state)
{
    (void)state;
    struct cw_stream *trainer;
    struct cw_job *job = peers_running("a", &trainer);
    job->options->at_most_once = true;
    Cachew__V1__Interval items = CACHEW__V1__INTERVAL__INIT, *in[] = {&items};
    Cachew__V1__HandBack back = CACHEW__V1__HAND_BACK__INIT;
    back.job_id = job->id;
    back.n_items = 1, back.items = in;
    items.lo = 2, items.hi = 4;
    say(peers_worker_of(1)->stream, SAYS(HAND_BACK), &back);
    peers_break(peers_worker_of(1)->stream, CW_E_UNAVAILABLE, "the connection broke");
    const struct cw_epoch *epoch = cw_job_epoch(job, 0);
    assert_true(cw_set_has_range(&epoch->skipped, 0, 2) && cw_set_count(&epoch->skipped) == 2);
    const Cachew__V1__ClientCommand *told =
        peers_to_client(trainer, CACHEW__V1__CLIENT_COMMAND__KIND_SKIPPED);
    assert_non_null(told);
    assert_non_null(strstr(told->skipped->reason, "at_most_once"));
}

static void sources_that_kill_workers_fail_the_job(void **state)
{
    (void)state;
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    struct cw_stream *trainer = peers_trainer(100, &options);
    for (uint64_t id = 1; id <= 3; id++) {
        assert_int_equal(made_up.jobs->status, CW_JOB_PREPARING);
        struct cw_stream *worker = peers_worker(id, 1);
        assert_non_null(peers_to_worker(worker, TO_WORKER(PREPARE)));
        peers_break(worker, CW_E_UNAVAILABLE, "it died");
    }
    peers_turn();
    assert_ended(trainer, CW_E_INTERNAL, "the workers that looked at its sources died");
}

/* A worker of one job may be beside a trainer, and so the tenant's: it speaks for that job alone. */
static void the_hello_of_a_worker_of_one_job_is_of_that_job(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    Cachew__V1__Died died = CACHEW__V1__DIED__INIT;
    char other[] = "another", text[] = "it died of SIGSEGV";
    struct hello h;
    hello_init(&h);
    h.hello.only_job = other;
    h.hello.worker_id = 1; /* that of the job's worker */
    struct cw_stream *stream = peers_attach("Fleet/Attach");
    peers_say(stream, &h.message.base);
    assert_ended(stream, CW_E_DENIED, "a worker that serves other jobs");
    assert_non_null(peers_worker_of(1));
    died.worker_id = 1;
    died.text = text;
    died.job_id = job->id;
    h.hello.died = &died;
    for (uint64_t i = 0; i < 4; i++) { /* as many deaths as a job may have, and one more */
        h.hello.worker_id = 50 + i;
        peers_say(peers_attach("Fleet/Attach"), &h.message.base);
        died.worker_id = 90 + i;
    }
    assert_non_null(peers_worker_of(1));
    assert_int_equal(job->status, CW_JOB_RUNNING);
    assert_int_equal(job->prepare_dead.n, 0);
    h.hello.only_job = job->id; /* what is of its own job counts */
    h.hello.worker_id = 60;
    peers_say(peers_attach("Fleet/Attach"), &h.message.base);
    assert_int_equal(job->prepare_dead.n, 1);
    assert_non_null(peers_worker_of(1)); /* which serves other jobs too */
}

/* ---- the same worker under the next dispatcher ---- */
static void held_leases_are_kept_or_forgotten(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    peers_break(peers_worker_of(1)->stream, CW_E_UNAVAILABLE, "the connection broke");
    Cachew__V1__Interval items = CACHEW__V1__INTERVAL__INIT, *in[] = {&items};
    Cachew__V1__Interval done = CACHEW__V1__INTERVAL__INIT, *computed[] = {&done};
    Cachew__V1__LeaseId id = CACHEW__V1__LEASE_ID__INIT;
    Cachew__V1__HeldLease kept = CACHEW__V1__HELD_LEASE__INIT, gone = CACHEW__V1__HELD_LEASE__INIT,
                          *held[] = {&kept, &gone};
    char none[] = "no such";
    items.lo = 1, items.hi = 4;
    kept.job_id = job->id, gone.job_id = none;
    kept.lease = gone.lease = &id;
    kept.n_items = gone.n_items = 1;
    kept.items = gone.items = in;
    done.lo = 2, done.hi = 100;
    kept.n_done = 1, kept.done = computed;
    struct hello h;
    hello_init(&h);
    h.hello.n_held = 2;
    h.hello.held = held;
    struct cw_stream *stream = peers_attach("Fleet/Attach");
    peers_say(stream, &h.message.base);
    const Cachew__V1__WorkerCommand *forget = peers_to_worker(stream, TO_WORKER(FORGET));
    assert_non_null(forget);
    assert_string_equal(forget->forget->job_id, none);
    assert_string_equal(forget->forget->reason, "the job was removed");
    assert_int_equal(leased(job, 5), 3);
    /* What waits to be received has been computed: it is not to be waited for once more. */
    assert_int_equal(job->shares->todo_n, 1);
    assert_int_equal(cw_set_count(&job->shares->leases->todo), 1);
}

/* However many pieces a hello names: what it holds of an epoch is one lease, so that it takes no more
 * time than there are pieces. */
static void held_pieces_become_one_lease(void **state)
{
    (void)state;
    enum { PIECES = 500 };
    char name[] = "a";
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    options.name = name;
    options.graph = peers_graph(10 * PIECES);
    struct cw_stream *first = peers_worker(1, 1);
    (void)peers_trainer(100, &options);
    peers_prepared(first, 10 * PIECES);
    peers_turn();
    peers_break(first, CW_E_UNAVAILABLE, "the connection broke");
    struct cw_job *job = cw_job_find(&made_up, name);
    Cachew__V1__LeaseId id = CACHEW__V1__LEASE_ID__INIT;
    static Cachew__V1__HeldLease pieces[PIECES], *held[PIECES];
    static Cachew__V1__Interval items[PIECES], *in[PIECES];
    for (size_t i = 0; i < PIECES; i++) {
        cachew__v1__interval__init(&items[i]);
        cachew__v1__held_lease__init(&pieces[i]);
        items[i].lo = 2 * i, items[i].hi = 2 * i + 1;
        in[i] = &items[i];
        pieces[i].job_id = job->id;
        pieces[i].lease = &id;
        pieces[i].n_items = 1;
        pieces[i].items = &in[i];
        held[i] = &pieces[i];
    }
    struct hello h;
    hello_init(&h);
    h.hello.n_held = PIECES;
    h.hello.held = held;
    peers_say(peers_attach("Fleet/Attach"), &h.message.base);
    const struct cw_share *share = cw_share_find(job, peers_worker_of(h.hello.worker_id));
    assert_non_null(share->leases);
    assert_null(share->leases->next);
    assert_int_equal(cw_set_count(&share->leases->items), PIECES);
    assert_int_equal(share->todo_n, PIECES);
    cw_wire_graph_free(options.graph);
}

/* ---- very many unknown jobs ---- */

#define UNKNOWN 3000

static struct cw_stream *hold_unknown(void)
{
    static Cachew__V1__HeldLease leases[UNKNOWN], *held[UNKNOWN];
    static char ids[UNKNOWN][8];
    for (size_t i = 0; i < UNKNOWN; i++) {
        snprintf(ids[i], sizeof(ids[i]), "j%zu", i);
        cachew__v1__held_lease__init(&leases[i]);
        leases[i].job_id = ids[i];
        held[i] = &leases[i];
    }
    struct hello h;
    hello_init(&h);
    h.hello.n_held = UNKNOWN;
    h.hello.held = held;
    struct cw_stream *stream = peers_attach("Fleet/Attach");
    peers_say(stream, &h.message.base);
    return stream;
}

static void assert_forgot_up_to(const struct cw_stream *stream, const char *id)
{
    const Cachew__V1__WorkerCommand *last = peers_to_worker(stream, TO_WORKER(FORGET));
    assert_non_null(last);
    assert_string_equal(last->forget->job_id, id);
}

/* It is told of some in each iteration of the loop. */
static void very_many_unknown_jobs_are_forgotten_in_turns(void **state)
{
    (void)state;
    struct cw_stream *stream = hold_unknown();
    assert_forgot_up_to(stream, "j1023");
    peers_one_turn();
    assert_forgot_up_to(stream, "j2047");
    peers_one_turn();
    assert_forgot_up_to(stream, "j2999");
    assert_null(peers_worker_of(5)->forget_turns);
}

static void who_goes_is_not_told_the_rest(void **state)
{
    (void)state;
    struct cw_stream *stream = hold_unknown();
    assert_non_null(peers_worker_of(5)->forget_turns);
    peers_break(stream, CW_E_UNAVAILABLE, "the connection broke");
    peers_one_turn();
    assert_forgot_up_to(stream, "j1023");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, peers_begin, peers_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(refused_hellos),
        TEST(names_of_pods_are_checked),
        TEST(what_is_not_a_first_hello),
        TEST(there_is_no_room),
        TEST(the_same_process_connects_again),
        TEST(the_silent_are_given_up),
        TEST(progress_is_noted),
        TEST(a_bad_element_of_an_item_that_was_computed_twice_counts_once),
        TEST(failed_items_are_retried_elsewhere),
        TEST(other_files_bar_the_worker),
        TEST(what_is_handed_back_is_leased_again),
        TEST(who_drains_gets_nothing_more),
        TEST(a_drain_tells_what_is_settled),
        TEST(what_the_lost_held_is_free),
        TEST(at_most_once_leaves_out_what_the_lost_held),
        TEST(sources_that_kill_workers_fail_the_job),
        TEST(the_hello_of_a_worker_of_one_job_is_of_that_job),
        TEST(held_leases_are_kept_or_forgotten),
        TEST(held_pieces_become_one_lease),
        TEST(very_many_unknown_jobs_are_forgotten_in_turns),
        TEST(who_goes_is_not_told_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
