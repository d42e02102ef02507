/* SPDX-License-Identifier: Apache-2.0 */
/* At which node a job is cached: when its policy is asked, what it is shown, what becomes of its
 * answer, and what is remembered. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dispatcher/autocache/autocache_int.h"
#include "dispatcher/job/job.h"
#include "unit/dispatcher/peers.h"

#define NODES 3

/* ---- a job of three nodes: range, decode (can be cached), batch ---- */
static Cachew__V1__Cacheable *cacheable(const char *node, const char *op, struct cw_hash key,
                                        const char *why_not)
{
    Cachew__V1__Cacheable *c = cachew__v1__cacheable__unpack(NULL, 0, NULL);
    c->node = cw_mem_strdup(node);
    c->op = cw_mem_strdup(op);
    c->why_not = cw_mem_strdup(why_not);
    c->ids = 100;
    c->key = (ProtobufCBinaryData){CW_WIRE_HASH_BYTES, cw_mem_new(CW_WIRE_HASH_BYTES)};
    cw_wire_hash_to(key, c->key.data);
    return c;
}

static void add_node(Cachew__V1__Graph *graph, const char *op, int input)
{
    Cachew__V1__Node *node = cachew__v1__node__unpack(NULL, 0, NULL);
    node->name = cw_mem_strdup(op);
    node->op = cw_mem_strdup(op);
    if (input >= 0) {
        node->inputs = CW_NEW_ARRAY(uint32_t, 1);
        node->n_inputs = 1;
        node->inputs[0] = (uint32_t)input;
    }
    graph->nodes[graph->n_nodes++] = node;
}

static struct cw_job *begin_job(const char *id, const char *policy, bool sparse)
{
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    Cachew__V1__Graph *graph = cachew__v1__graph__unpack(NULL, 0, NULL);
    struct cw_err err = {0};
    if (policy)
        options->autocache = cw_mem_strdup(policy);
    options->epochs = 10;
    graph->nodes = CW_NEW_ARRAY(Cachew__V1__Node *, NODES);
    add_node(graph, "range", -1);
    add_node(graph, "decode_image", 0);
    add_node(graph, "batch", 1);
    info->items = 10;
    info->elements = sparse ? -1 : 100;
    info->sparse = sparse;
    info->chunk = sparse ? 10 : 0;
    info->batch = 10;
    info->fingerprint_hi = 5;
    info->n_cacheable = NODES;
    info->cacheable = CW_NEW_ARRAY(Cachew__V1__Cacheable *, NODES);
    info->cacheable[0] = cacheable("range", "range", KEY_1, "it is no work");
    info->cacheable[1] = cacheable("decode_image", "decode_image", KEY_2, "");
    info->cacheable[2] = cacheable("batch", "batch", (struct cw_hash){3, 3}, "");
    info->cacheable[2]->whole = true;
    struct cw_job *job = cw_job_new(&made_up, id, options, graph, cw_wire_pack(&graph->base));
    assert_int_equal(cw_job_set_info(job, info, &err), 0);
    job->status = CW_JOB_RUNNING;
    cw_job_store(job);
    job->stored = true;
    cw_job_leases_due(job);
    job->no_client_ms = 0;
    return job;
}

static int tick(struct cw_job *job, int64_t now, struct cw_err *err)
{
    *err = (struct cw_err){0};
    return cw_autocache_tick(job, now, err);
}

/* Worker 1 has computed so many elements of each node since it has the job, and so many of the last. */
static void report_of(struct cw_job *job, uint64_t elements, uint64_t last)
{
    Cachew__V1__NodeCounts counts[NODES], *list[NODES];
    static char names[NODES][16] = {"range", "decode_image", "batch"};
    for (size_t i = 0; i < NODES; i++) {
        cachew__v1__node_counts__init(&counts[i]);
        counts[i].job_id = job->id;
        counts[i].node = names[i];
        counts[i].elements = i == 2 ? last : elements;
        counts[i].cpu_ns = counts[i].wall_ns = i == 1 ? elements * 20000000 : elements * 10;
        counts[i].element_bytes = elements * 1000;
        list[i] = &counts[i];
    }
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    progress.n_counts = NODES;
    progress.counts = list;
    cw_autocache_take_counts(made_up.workers, &progress);
    cw_telemetry_take_counts(made_up.workers, &progress);
}

static void report(struct cw_job *job, uint64_t elements)
{
    report_of(job, elements, elements / 10);
}

/* ---- when it is asked ---- */
static void a_job_that_forces_a_node(void **state)
{
    (void)state;
    struct cw_err err;
    (void)made_up_worker(1, 4);
    struct cw_job *job = begin_job("a", "force:decode_image", false);
    assert_int_equal(tick(job, 1000, &err), 0);
    assert_string_equal(job->cached_node, "decode_image");
    assert_true(job->autocache->has_decision && job->autocache->current == 1);
    assert_true(job->cache_uses_n == 1 && job->cache_uses[0].write);
    /* of which it is not asked again */
    job->autocache->ask_due = true;
    assert_int_equal(tick(job, 1001, &err), 0);
    assert_true(job->autocache->ask_due); /* a quarter of a second between questions */
}

static void what_a_job_asks_for_and_cannot_have(void **state)
{
    (void)state;
    struct cw_err err;
    (void)made_up_worker(1, 4);
    struct cw_job *own = begin_job("a", "force:range", false);
    assert_true(tick(own, 1000, &err) < 0);
    assert_non_null(strstr(err.msg, "range"));
    assert_true(own->autocache->failed);
    assert_int_equal(tick(own, 9000, &err), 0); /* once */
    /* by the dispatcher's option it is only told */
    made_up.options.autocache = "force:nothing";
    struct cw_job *other = begin_job("b", NULL, false);
    assert_int_equal(tick(other, 1000, &err), 0);
    assert_true(other->autocache->failed);
    assert_null(other->cached_node);
    made_up.options.autocache = "no such policy";
    struct cw_job *wrong = begin_job("c", NULL, false);
    assert_int_equal(tick(wrong, 1000, &err), 0);
    assert_true(wrong->autocache->failed);
}

static void nobody_is_asked_in_vain(void **state)
{
    (void)state;
    struct cw_err err;
    struct cw_job *job = begin_job("a", "force:decode_image", false);
    job->hold_until_ms = 5;
    assert_int_equal(tick(job, 1000, &err), 0);
    assert_null(job->autocache);
    job->hold_until_ms = 0;
    job->status = CW_JOB_FINISHED;
    assert_int_equal(tick(job, 1000, &err), 0);
    assert_null(job->autocache);
    job->status = CW_JOB_RUNNING;
    job->first_epoch = 10; /* no epoch is left */
    assert_int_equal(tick(job, 1000, &err), 0);
    assert_non_null(job->autocache);
    assert_null(job->cached_node);
    struct cw_job *odd = begin_job("b", "force:decode_image", false);
    odd->graph->n_nodes--; /* what was prepared is of another graph */
    assert_null(cw_autocache_of(odd));
    odd->graph->n_nodes++;
}

/* ---- what it is shown ---- */
static void the_snapshot_of_a_dense_job(void **state)
{
    (void)state;
    (void)made_up_worker(1, 4);
    struct cw_job *job = begin_job("a", "auto", false);
    made_up_chunk("default", KEY_2, 0, 100, WALL);
    struct cw_client client = {.job = job};
    job->consumers[0].client = &client;
    job->consumers[0].wait_share = 0.25;
    struct cw_autocache_job *decider = cw_autocache_of(job);
    report(job, 50);
    Cachew__V1__Measure measure = CACHEW__V1__MEASURE__INIT;
    measure.batches = 2, measure.ns = 30, measure.wait_ns = 10;
    cw_autocache_ack(job, &measure);
    measure.step_ns = 5;
    cw_autocache_ack(job, &measure);
    cw_autocache_ack(job, NULL);
    struct cw_autocache_view view;
    cw_autocache_view_init(decider, &view);
    const struct cw_autocache_snapshot *s = &view.s;
    assert_true(s->n == NODES && s->workers == 1 && s->threads == 4);
    assert_true(s->wait_share == 0.25 && s->epochs_left == 10 && s->elements_measured == 5);
    assert_true(s->trainer_ns == (20.0 + 10.0) / 4 * 10);
    assert_string_equal(s->nodes[0].why_not, "it is no work");
    assert_null(s->nodes[1].why_not);
    assert_true(s->nodes[1].elements_n == 100 && s->nodes[1].per_output == 10);
    assert_true(s->nodes[1].cached == 10 && s->nodes[1].samples == 50);
    assert_true(s->nodes[1].cpu_ns == 20000000 && s->nodes[1].bytes == 1000);
    assert_true(s->nodes[0].inputs_n == 0 && s->nodes[1].inputs_n == 1 &&
                s->nodes[1].inputs[0] == 0 && s->nodes[2].inputs[0] == 1);
    assert_true(s->store.free_bytes < 0); /* no limit is known */
    assert_non_null(s->store.assumed);
    cw_autocache_view_fini(&view);
    job->consumers[0].client = NULL;
}

static void the_snapshot_of_a_sparse_job(void **state)
{
    (void)state;
    (void)made_up_worker(1, 4);
    struct cw_job *job = begin_job("a", "auto", true);
    struct cw_autocache_job *decider = cw_autocache_of(job);
    struct cw_autocache_view view;
    cw_autocache_view_init(decider, &view);
    assert_true(view.s.nodes[1].elements_n == 0 && view.s.nodes[1].per_output == 0);
    cw_autocache_view_fini(&view);
    report(job, 50);
    cw_autocache_view_init(decider, &view);
    /* half of the epoch's 100 positions were seen, and decode_image had all of them */
    assert_true(view.s.nodes[1].elements_n == 100 && view.s.nodes[2].elements_n == 10);
    cw_autocache_view_fini(&view);
}

/* What an operator inside items makes is more than there are positions. */
static void elements_that_are_made_of_one(void **state)
{
    (void)state;
    (void)made_up_worker(1, 4);
    struct cw_job *job = begin_job("a", "auto", true);
    struct cw_autocache_job *decider = cw_autocache_of(job);
    struct cw_autocache_view view;
    char *batch = job->info->cacheable[2]->op;
    job->info->cacheable[2]->op = cw_mem_strdup("unbatch");
    cw_mem_free(batch);
    report_of(job, 50, 400);
    cw_autocache_view_init(decider, &view);
    assert_true(view.s.nodes[1].elements_n == 100 && view.s.nodes[2].elements_n == 800);
    cw_autocache_view_fini(&view);
}

static void room_is_what_is_free_or_unread(void **state)
{
    (void)state;
    struct cw_job *job = begin_job("a", "auto", false);
    struct cw_autocache_job *decider = cw_autocache_of(job);
    struct cw_autocache_view view;
    made_up.cache->catalogue->quota = 1000;
    made_up_chunk("default", KEY_2, 0, 100, WALL);                  /* its own */
    made_up_chunk("default", (struct cw_hash){9, 9}, 0, 200, WALL); /* of nobody */
    made_up_chunk("team", (struct cw_hash){8, 8}, 0, 300, WALL);    /* pinned */
    cw_catalogue_find(made_up.cache->catalogue, "team", (struct cw_hash){8, 8})->pinned = true;
    cw_autocache_view_init(decider, &view);
    assert_true(view.s.store.free_bytes == 1000 - 600 + 200);
    cw_autocache_view_fini(&view);
    cw_catalogue_tenant(made_up.cache->catalogue, "default")->quota = 350;
    cw_autocache_view_init(decider, &view);
    assert_true(view.s.store.free_bytes == 350 - 300 + 200);
    cw_autocache_view_fini(&view);
}

/* ---- epochs ---- */
static void only_whole_epochs_count(void **state)
{
    (void)state;
    struct cw_err err;
    (void)made_up_worker(1, 4);
    struct cw_job *job = begin_job("a", "force:decode_image", false);
    assert_int_equal(tick(job, cw_clock_ms(), &err), 0);
    struct cw_autocache_job *decider = job->autocache;
    /* the decision came in the middle: this epoch says nothing */
    assert_false(decider->epoch_is_steady);
    cw_autocache_epochs_moved(job, 0); /* it stands at the same epoch: nothing is whole */
    assert_false(decider->epoch_is_steady);
    job->first_epoch = 1;
    decider->epoch = 0;
    cw_autocache_epochs_moved(job, 0);
    assert_true(decider->epoch_is_steady && decider->epoch == 1);
    assert_true(decider->node_ns[1] == 0);
    /* one that began with nothing cached is no epoch that was read */
    decider->began_ms -= 1000;
    job->first_epoch = 2;
    cw_autocache_epochs_moved(job, 1);
    assert_true(decider->node_ns[1] == 0 && decider->epoch_ns == 0);
    for (unsigned i = 0; i < 10; i++)
        made_up_chunk("default", KEY_2, i, 100, WALL);
    job->first_epoch = 3;
    cw_autocache_epochs_moved(job, 2);
    assert_true(decider->cached_at_begin == 1);
    decider->began_ms -= 1000;
    job->first_epoch = 4;
    cw_autocache_epochs_moved(job, 3);
    assert_true(decider->node_ns[1] >= 1e9 && decider->epoch_ns == decider->node_ns[1]);
    double one = decider->node_ns[1];
    decider->began_ms -= 3000;
    job->first_epoch = 5;
    cw_autocache_epochs_moved(job, 4);
    assert_true(decider->node_ns[1] > one); /* the mean of both */
    /* a trainer that is away makes an epoch long */
    job->no_client_ms = 1;
    (void)cw_autocache_detect_changes(decider, cw_clock_ms());
    assert_false(decider->epoch_is_steady);
    job->no_client_ms = 0;
    /* other workers: all of that is not true any more */
    (void)cw_autocache_detect_changes(decider, cw_clock_ms());
    decider->predicted_ns = 5;
    (void)made_up_worker(2, 4);
    assert_true(cw_autocache_detect_changes(decider, cw_clock_ms()));
    assert_true(decider->node_ns[1] == 0 && decider->epoch_ns == 0 && decider->predicted_ns == 0);
}

static void an_epoch_that_takes_too_long_is_noticed(void **state)
{
    (void)state;
    struct cw_err err;
    (void)made_up_worker(1, 4);
    struct cw_job *job = begin_job("a", "force:decode_image", false);
    int64_t now = cw_clock_ms();
    assert_int_equal(tick(job, now, &err), 0);
    struct cw_autocache_job *decider = job->autocache;
    struct cw_epoch *epoch = cw_job_open_epoch(job, 0);
    cw_set_add(&epoch->consumed, 0, 5);
    decider->epoch_is_steady = true;
    decider->cached_at_begin = 1;
    decider->predicted_ns = 1e9;
    decider->began_ms = now;
    decider->last_asked_ms = now - 1000;
    assert_false(cw_autocache_detect_changes(decider, now + 1500)); /* as was said, about */
    assert_true(cw_autocache_detect_changes(decider, now + 2000));
    assert_true(decider->epoch_ns == 4e9); /* half of it took two seconds */
    decider->cached_at_begin = 0.5;
    assert_false(cw_autocache_detect_changes(decider, now + 2000));
}

/* ---- the policy `auto`, epoch after epoch ---- */

/* Asks a second later than before, so that the policy is asked if anything is new. */
static void ask(struct cw_job *job)
{
    static int64_t later_ms;
    struct cw_err err;
    later_ms += 1000;
    assert_int_equal(tick(job, cw_clock_ms() + later_ms, &err), 0);
}

/* Ends the job's present epoch: it took so long, and its trainer waited for this part of it. */
static void end_epoch(struct cw_job *job, double seconds, double wait_share)
{
    struct cw_client client = {.job = job};
    const uint64_t before = job->first_epoch;
    job->consumers[0].client = &client;
    job->consumers[0].wait_share = wait_share;
    job->autocache->epoch_is_steady = true;
    job->autocache->began_ms = cw_clock_ms() - (int64_t)(seconds * 1e3);
    job->first_epoch++;
    cw_autocache_epochs_moved(job, before);
    ask(job);
    job->consumers[0].client = NULL;
}

/* The trainer's steps of an epoch: ten batches. */
static void steps(struct cw_job *job, double step_s)
{
    Cachew__V1__Measure measure = CACHEW__V1__MEASURE__INIT;
    measure.batches = 10;
    measure.step_ns = (uint64_t)(step_s * 1e9);
    measure.ns = 10 * measure.step_ns;
    cw_autocache_ack(job, &measure);
}

static void fill_cache(void)
{
    for (unsigned i = 0; i < 10; i++)
        made_up_chunk("default", KEY_2, i, 100, WALL);
}

/* The last decision about a job, as tools are told. */
static const Cachew__V1__Decision *last_decision(char *job, size_t *ret_n)
{
    Cachew__V1__ListDecisionsRequest request = CACHEW__V1__LIST_DECISIONS_REQUEST__INIT;
    static char kind[] = "autocache";
    request.job = job;
    request.kind = kind;
    const struct peers_answer *got =
        peers_ask("ListDecisions", &request.base, &cachew__v1__list_decisions_reply__descriptor);
    assert_non_null(got->reply);
    const Cachew__V1__ListDecisionsReply *listed =
        (const Cachew__V1__ListDecisionsReply *)got->reply;
    assert_true(listed->n_decisions > 0);
    *ret_n = listed->n_decisions;
    return listed->decisions[listed->n_decisions - 1];
}

/* A job with one worker of one thread, for which an epoch is 2 s of decoding. */
static struct cw_job *begin_auto(const char *id)
{
    struct cw_job *job = begin_job(id, "auto", false);
    (void)cw_autocache_of(job);
    ask(job);
    return job;
}

/* Reading was to take a moment, and takes 4 s: measurement contradicts the decision, so it is
 * revised, with both numbers in its reason. It is not revised for a little. */
static void a_contradicted_decision_is_revised(void **state)
{
    (void)state;
    static char id[] = "a";
    size_t n;
    (void)made_up_worker(1, 1);
    struct cw_job *job = begin_auto(id);
    assert_null(job->cached_node); /* nothing is measured yet */
    report(job, 50);
    ask(job);
    assert_string_equal(job->cached_node, "decode_image");
    const double predicted = job->autocache->predicted_ns;
    assert_true(predicted > 0 && predicted < 0.1e9);
    fill_cache();
    end_epoch(job, 2.2, 0.9); /* the filling epoch says nothing about reading */
    assert_string_equal(job->cached_node, "decode_image");
    end_epoch(job, 0.1, 0.9); /* as short as was said */
    assert_string_equal(job->cached_node, "decode_image");
    end_epoch(job, 8, 0.9); /* the mean of both is 4 s: the store has become slow */
    assert_null(job->cached_node);
    const Cachew__V1__Decision *last = last_decision(id, &n);
    assert_string_equal(last->choice, "");
    assert_non_null(strstr(last->reason, "; an epoch took 8.00 s where "));
    assert_non_null(strstr(last->reason, " was predicted; until now \"decode_image\" was cached"));
    /* Computing is as long as was said from now on: this stands. */
    end_epoch(job, 2.1, 0.9);
    end_epoch(job, 2.2, 0.9);
    assert_null(job->cached_node);
}

/* A full cache that saves CPU time alone, since the trainer is the limit: steps of 323 ms, ten of
 * them an epoch, and epochs that last half a second longer. It is kept for all epochs, whatever
 * their noise, and no prediction is shorter than the steps. */
static void a_full_cache_is_kept_where_the_trainer_is_the_limit(void **state)
{
    (void)state;
    static char id[] = "a";
    static const double lengths[] = {3.71, 3.66, 3.85, 3.52, 3.9, 3.7, 3.64, 3.75};
    size_t n, before;
    (void)made_up_worker(1, 1);
    struct cw_job *job = begin_auto(id);
    steps(job, 0.323);
    report(job, 50);
    ask(job);
    assert_string_equal(job->cached_node, "decode_image");
    assert_true(job->autocache->predicted_ns >= 3.23e9);
    fill_cache();
    end_epoch(job, lengths[0], 0.02);
    (void)last_decision(id, &before);
    for (size_t i = 1; i < CW_ARRAY_LEN(lengths); i++) {
        steps(job, 0.323);
        end_epoch(job, lengths[i], 0.02);
        assert_string_equal(job->cached_node, "decode_image");
        assert_true(job->autocache->predicted_ns >= 3.23e9);
        assert_null(strstr(last_decision(id, &n)->reason, "-0 %"));
    }
    assert_true(n <= before + 1); /* at most one more, when the first whole epoch was measured */
}

/* What one job has measured decides for the next of its pipeline, before it has computed anything;
 * and both say so. */
static void the_next_job_begins_with_what_was_measured(void **state)
{
    (void)state;
    static char first[] = "a", second[] = "b";
    size_t n;
    (void)made_up_worker(1, 1);
    struct cw_job *job = begin_auto(first);
    report(job, 50);
    ask(job);
    assert_string_equal(job->cached_node, "decode_image");
    assert_null(strstr(last_decision(first, &n)->reason, "It begins with"));
    struct cw_job *next = begin_auto(second);
    assert_string_equal(next->cached_node, "decode_image");
    assert_true(next->autocache->predicted_ns == job->autocache->predicted_ns);
    assert_non_null(strstr(last_decision(second, &n)->reason,
                           " It begins with what job a of this pipeline measured."));
    /* A job of another tenant, or of another pipeline, does not. */
    struct cw_job *other = begin_job("c", "auto", false);
    other->fingerprint.lo++;
    assert_null(cw_autocache_of(other)->prior_job);
    ask(other);
    assert_null(other->cached_node);
}

/* ---- what tools are told ---- */
static const Cachew__V1__ExplainReply *explain(struct cw_job *job)
{
    Cachew__V1__ExplainRequest request = CACHEW__V1__EXPLAIN_REQUEST__INIT;
    request.job = job->id;
    const struct peers_answer *got =
        peers_ask("Explain", &request.base, &cachew__v1__explain_reply__descriptor);
    assert_non_null(got->reply);
    return (const Cachew__V1__ExplainReply *)got->reply;
}

static void what_the_policy_would_say_now(void **state)
{
    (void)state;
    struct cw_err err;
    (void)made_up_worker(1, 4);
    struct cw_job *job = begin_job("a", "force:decode_image", false);
    assert_int_equal(tick(job, cw_clock_ms(), &err), 0);
    Cachew__V1__Ack ack = CACHEW__V1__ACK__INIT;
    Cachew__V1__Measure measure = CACHEW__V1__MEASURE__INIT;
    measure.batches = 10, measure.ns = 1000000000, measure.wait_ns = 500000000;
    ack.measure = &measure;
    cw_telemetry_measured(job, 0, &ack);
    report(job, 50);
    struct cw_telemetry *watch = cw_telemetry_of(job);
    watch->windows[watch->windows_n++] = (struct cw_scale_window){.batches = 10, .seconds = 1};
    const Cachew__V1__ExplainReply *said = explain(job);
    assert_string_equal(said->policy, "force:decode_image");
    assert_true(said->decided);
    assert_string_equal(said->now->choice, "decode_image");
    assert_int_equal(said->n_nodes, NODES);
    assert_string_equal(said->nodes[1]->name, "decode_image");
    assert_int_equal(said->n_windows, 1);
    assert_true(said->windows[0]->batches == 10 && said->job->batches == 10);
    assert_true(said->job->trainer_s == 1 && said->job->wait_s == 0.5);
    assert_string_equal(said->job->cached_node, "decode_image");
    job->first_epoch = 10;
    said = explain(job);
    assert_string_equal(said->now->reason, "No epoch is left.");
    assert_false(said->decided);
    struct cw_job *wrong = begin_job("b", "force:range", false);
    said = explain(wrong);
    assert_false(said->decided);
    assert_string_equal(said->now->choice, "");
    assert_non_null(strstr(said->now->reason, "range"));
}

/* ---- what is remembered ---- */
static void decisions_and_measurements_survive(void **state)
{
    (void)state;
    struct cw_err err;
    (void)made_up_worker(1, 4);
    struct cw_job *job = begin_job("a", "force:decode_image", false);
    assert_int_equal(tick(job, cw_clock_ms(), &err), 0);
    report(job, 50);
    job->first_epoch = 1;
    cw_autocache_epochs_moved(job, 0); /* writes the profile */
    (void)begin_job("b", "force:batch", false);
    peers_turn();
    peers_restart();
    job = cw_job_find(&made_up, "a");
    assert_non_null(job);
    assert_non_null(job->autocache);
    assert_true(job->autocache->has_decision && job->autocache->current == 1);
    assert_string_equal(job->cached_node, "decode_image");
    /* another job of the same pipeline begins with what was measured */
    struct cw_job *next = begin_job("c", "auto", false);
    struct cw_autocache_job *decider = cw_autocache_of(next);
    assert_string_equal(decider->prior_job, "a");
    assert_true(next->measured->recent[1].elements > 0);
    /* not if it is of other operators, or cannot be read */
    struct cw_job *other = begin_job("d", "auto", false);
    cw_mem_free(other->info->cacheable[1]->op);
    other->info->cacheable[1]->op = cw_mem_strdup("resize");
    assert_null(cw_autocache_of(other)->prior_job);
    const char *key;
    void *value;
    size_t i = 0;
    assert_true(cw_strmap_next(&made_up.autocache->profiles, &i, &key, &value));
    cw_profile_load(&made_up, key, "a", "no snapshot");
    struct cw_job *last = begin_job("e", "auto", false);
    assert_null(cw_autocache_of(last)->prior_job);
}

static void a_decision_of_another_policy_does_not_stand(void **state)
{
    (void)state;
    struct cw_job *job = begin_job("a", "force:decode_image", false);
    const struct cw_state_decision made = {.kind = "autocache",
                                           .policy = "auto",
                                           .choice = "batch",
                                           .reason = "r",
                                           .inputs = "{}",
                                           .candidates = ""};
    cw_decision_record(&made_up, job, &made);
    peers_turn();
    peers_restart();
    job = cw_job_find(&made_up, "a");
    assert_non_null(job->autocache);
    assert_false(job->autocache->has_decision);
    assert_null(job->cached_node);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, peers_begin_caching, peers_end)

/* A decoder that makes parts of images would have whole ones cached. */
static void whole_images(void **state)
{
    (void)state;
    struct cw_autocache_view view;
    (void)made_up_worker(1, 4);
    struct cw_job *job = begin_job("a", "auto", false);
    struct cw_autocache_job *decider = cw_autocache_of(job);
    report(job, 50);
    cw_autocache_view_init(decider, &view);
    double part = view.nodes[1].bytes;
    cw_autocache_view_fini(&view);
    job->measured->costs[1].sums = (struct cw_cost_sums){
        .calls = 50, .out_bytes = 50 * 900, .whole_timed = 2, .whole_out_bytes = 2 * 3600};
    cw_autocache_view_init(decider, &view);
    assert_true(view.nodes[1].bytes > 3.99 * part && view.nodes[1].bytes < 4.01 * part);
    assert_true(view.nodes[0].bytes <= part);
    cw_autocache_view_fini(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_that_forces_a_node),
        TEST(what_a_job_asks_for_and_cannot_have),
        TEST(nobody_is_asked_in_vain),
        TEST(the_snapshot_of_a_dense_job),
        TEST(the_snapshot_of_a_sparse_job),
        TEST(elements_that_are_made_of_one),
        TEST(whole_images),
        TEST(room_is_what_is_free_or_unread),
        TEST(only_whole_epochs_count),
        TEST(an_epoch_that_takes_too_long_is_noticed),
        TEST(a_contradicted_decision_is_revised),
        TEST(a_full_cache_is_kept_where_the_trainer_is_the_limit),
        TEST(the_next_job_begins_with_what_was_measured),
        TEST(what_the_policy_would_say_now),
        TEST(decisions_and_measurements_survive),
        TEST(a_decision_of_another_policy_does_not_stand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
