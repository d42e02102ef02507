/* SPDX-License-Identifier: Apache-2.0 */
/* What a stranger says to a dispatcher as a client. Its jobs are its own, so nobody else is asked to
 * be content with what becomes of them. */
#include <string.h>

#include "base/mem.h"
#include "base/version.h"
#include "stranger.h"
#include "tokens.h"
#include "wire/token.h"

#define JOBS "/cachew.v1.Jobs/Attach"
#define TOKEN_BYTES 512
#define KINDS 7
#define CHANGES 65
#define CHANGES_BEFORE 54 /* of those that do not say all */
#define SILENT_MS 11000   /* longer than a dispatcher waits for a hello */
#define TAKEOVER_MS 7000

/* What it says to have received. */
struct odd_sets {
    Cachew__V1__EpochSet set, *sets[1];
    Cachew__V1__Interval interval, *intervals[1];
};
struct offer {
    Cachew__V1__ClientMessage message;
    Cachew__V1__ClientHello hello;
    Cachew__V1__JobOptions job;
    unsigned kind;
    unsigned char token[TOKEN_BYTES];
    struct odd_sets odd;
};

static char no_text[] = "", wrong[] = "no such\nthing", other[] = "other", off[] = "off";

static Cachew__V1__Graph *graph_of(const char *text, unsigned identity)
{
    struct cw_err err = {.code = 0};
    struct cw_graph *graph = NULL;

    if (cw_graph_parse(text, strlen(text), "stranger", &graph, &err) != 0)
        sim_fail("a stranger's pipeline: %s", err.msg);
    Cachew__V1__Graph *message = cw_wire_graph_to(graph);
    message->identity = identity;
    cw_graph_unref(graph);
    return message;
}

static void draw_sets(struct odd_sets *odd)
{
    cachew__v1__epoch_set__init(&odd->set);
    cachew__v1__interval__init(&odd->interval);
    odd->sets[0] = &odd->set;
    odd->intervals[0] = &odd->interval;
    odd->set.items = odd->intervals;
    odd->set.n_items = 1;
    odd->set.epoch = sim_one_in(4) ? 1000 : sim_below(3);
    odd->interval.lo = sim_below(4);
    odd->interval.hi = sim_below(9); /* it may end before it begins */
}

/* A job of one consumer, a shared one, a coordinated one, one without a name, two that fail, one of
 * them without a name, and one without items. */
static void begin_offer(struct offer *offer, unsigned kind)
{
    static char names[KINDS][16] = {"stranger",  "strangers", "strangest", "",
                                    "strangely", "",          "none"};
    static const char right[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 40}, {\"op\": "
                                "\"batch\", \"size\": 5}]}";
    static const char empty[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 0}, {\"op\": "
                                "\"batch\", \"size\": 5}]}";
    static const char bad[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 40}, {\"op\": "
                              "\"eval\", \"expr\": \"1 % (x - 17)\"}, {\"op\": \"batch\", "
                              "\"size\": 5}]}";

    *offer = (struct offer){.kind = kind};
    cachew__v1__client_message__init(&offer->message);
    cachew__v1__client_hello__init(&offer->hello);
    cachew__v1__job_options__init(&offer->job);
    offer->message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_HELLO;
    offer->message.hello = &offer->hello;
    offer->hello.protocol = CW_PROTOCOL;
    offer->hello.client_id = 1 + sim_random() / 2;
    offer->hello.job = &offer->job;
    offer->job.graph = graph_of(kind < 4 ? right : kind < 6 ? bad : empty, kind % 3);
    offer->job.name = names[kind];
    offer->job.seed = 1;
    offer->job.epochs = 2;
    offer->job.mode = kind == 1   ? CACHEW__V1__CONSUMER_MODE__SHARED
                      : kind == 2 ? CACHEW__V1__CONSUMER_MODE__COORDINATED
                                  : CACHEW__V1__CONSUMER_MODE__SINGLE;
    offer->job.consumers = kind == 1 || kind == 2 ? 2 : 1;
}

static void end_offer(struct offer *offer)
{
    cw_wire_graph_free(offer->job.graph);
}

/* Something that no dispatcher grants, whatever jobs it has. */
static void spoil_hello(struct offer *offer, unsigned how)
{
    Cachew__V1__ClientHello *hello = &offer->hello;
    Cachew__V1__JobOptions *job = &offer->job;

    switch (how) {
    case 0:
        hello->protocol = 99;
        break;
    case 1:
        hello->client_id = 0;
        break;
    case 2:
        hello->job_id = wrong;
        break;
    case 3:
        hello->job = NULL;
        break;
    case 4:
        cw_wire_graph_free(cw_steal(&job->graph));
        break;
    case 5:
        hello->consumer = 50;
        break;
    case 6:
        job->mode = (Cachew__V1__ConsumerMode)7;
        break;
    case 7:
        job->mode = CACHEW__V1__CONSUMER_MODE__COORDINATED;
        job->consumers = 100000;
        break;
    case 8:
        job->mode = CACHEW__V1__CONSUMER_MODE__SINGLE;
        job->consumers = 2;
        break;
    case 9:
        job->mode = CACHEW__V1__CONSUMER_MODE__COORDINATED;
        job->consumers = 2;
        job->name = no_text;
        break;
    case 10:
        job->name = wrong;
        break;
    case 11:
        job->tenant = wrong;
        break;
    case 12:
        job->autocache = wrong;
        break;
    case 13:
        job->autoscale = wrong;
        break;
    case 14:
        job->autoplace = wrong;
        break;
    case 15:
        offer->message.generation = SIM_HIGH_GENERATION;
        break;
    default:
        offer->message.generation = UINT64_MAX;
        break;
    }
}

/* Numbers that are too low or too high; and at the end some that are right. */
static void spoil_numbers(struct offer *offer, unsigned how)
{
    Cachew__V1__JobOptions *job = &offer->job;

    switch (how) {
    case 0:
        job->min_workers = 3;
        job->max_workers = 2;
        break;
    case 1:
        job->weight = -1;
        break;
    case 2:
        job->weight = 2e6;
        break;
    case 3:
        job->max_stall = -1;
        break;
    case 4:
        job->max_stall = 2;
        break;
    case 5:
        job->client_price = -1;
        break;
    case 6:
        job->client_price = 2e9;
        break;
    case 7:
        job->graph->identity = 99;
        break;
    case 8:
        cw_wire_graph_free(job->graph);
        job->graph = graph_of("{\"pipeline\": [{\"op\": \"nothing\"}]}", 0);
        break;
    default:
        job->min_workers = 1;
        job->max_workers = 2;
        job->autocache = off;
        job->autoscale = off;
        break;
    }
}

/* What it says of the order of operators, and operators that only a plugin could have. */
static void plan_it(struct offer *offer, unsigned how)
{
    static const char foreign[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 40}, {\"op\": "
                                  "\"lab.thing\"}, {\"op\": \"batch\", \"size\": 5}]}";
    static const char named[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 40}, {\"op\": "
                                "\"lab.thing\"}, {\"op\": \"lab.other\", \"plugin\": \"lab\"}, "
                                "{\"op\": \"batch\", \"size\": 5}]}";
    static const char both[] =
        "{\"pipeline\": [{\"op\": \"range\", \"stop\": 40}, {\"op\": "
        "\"lab.thing\"}, {\"op\": \"thing\"}, {\"op\": \"batch\", \"size\": 5}]}";
    static const char *const graphs[] = {foreign, foreign, foreign, foreign, named, both};
    static char pecan[] = "pecan", plan[] = "{\"plan\": 1, \"order\": [\"range\", \"batch\"]}",
                profile[] = "{\"profile\": 1, \"elements\": 40, \"nodes\": {}}";
    Cachew__V1__JobOptions *job = &offer->job;

    if (how < 6) {
        cw_wire_graph_free(job->graph);
        job->graph = graph_of(graphs[how], 0);
    }
    if (how == 1 || how == 6)
        job->plan = plan;
    if (how == 2 || how == 7)
        job->profile = profile;
    if (how == 8)
        job->optimize = wrong;
    if (how == 3 || how > 8) {
        job->relaxed = true;
        job->optimize = how == 9 ? no_text : pecan;
    }
}

/* Another function than that of the job which has this name. */
static void make_different(struct offer *offer, unsigned how)
{
    static const char pipeline[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 44}, {\"op\": "
                                   "\"batch\", \"size\": 4}]}";
    Cachew__V1__JobOptions *job = &offer->job;

    switch (how) {
    case 0:
        job->seed++;
        break;
    case 1:
        job->epochs++;
        break;
    case 2:
        job->unordered = true;
        break;
    case 3:
        job->skip_bad = true;
        break;
    case 4:
        job->mode = CACHEW__V1__CONSUMER_MODE__COORDINATED;
        job->consumers = 3;
        break;
    case 5:
        job->at_most_once = true;
        break;
    case 6:
        job->tenant = other;
        break;
    case 7:
        job->graph->identity = (job->graph->identity + 1) % 3;
        break;
    default:
        cw_wire_graph_free(job->graph);
        job->graph = graph_of(pipeline, offer->kind % 3);
        break;
    }
}

/* A token that is none, or that belongs to something else, or (7) to this job. */
static void add_token(struct offer *offer, const struct sim_known *known, unsigned how)
{
    struct cw_err err = {.code = 0};
    struct cw_token token = {.fingerprint = known->fingerprint,
                             .pipeline_sum = known->pipeline_sum,
                             .files_sum = known->files_sum,
                             .identity = known->identity,
                             .seed = how == 6 ? 5 : 1,
                             .epoch = sim_below(2),
                             .mode = offer->job.mode,
                             .consumers = offer->job.consumers};
    if (how > 0 && how < 6)
        token.fingerprint.lo++;
    if (how == 1 || how == 2)
        token.pipeline_sum = how == 1 ? 0 : 7;
    if (how == 3)
        token.identity = (token.identity + 1) % 3;
    if (how == 4)
        token.files_sum++;
    offer->hello.token.data = offer->token;
    if (cw_token_encode(&token, offer->token, sizeof(offer->token), &offer->hello.token.len, &err))
        sim_fail("a stranger's token: %s", err.msg);
    if (how == 0)
        offer->token[offer->hello.token.len / 2] ^= 1;
}

/* As if it had been welcomed on another stream. */
static void come_back(struct offer *offer, const struct sim_known *known, unsigned how)
{
    offer->hello.job_id = (char *)(uintptr_t)known->job_id;
    offer->hello.consumer = how == 0 ? 50 : (uint32_t)sim_below(2);
    if (how < 2)
        return;
    draw_sets(&offer->odd);
    offer->hello.received = offer->hello.consumed = offer->odd.sets;
    offer->hello.n_received = how % 2;
    offer->hello.n_consumed = 1 - how % 2;
}

static void change(struct offer *offer, const struct sim_known *known)
{
    static unsigned next; /* each in turn, from a place that is drawn */

    const unsigned n = sim_strangers_say_all() ? CHANGES : CHANGES_BEFORE;
    if (next == 0)
        next = n + (unsigned)sim_below(n);
    unsigned what = next++ % n;
    if (what < 17)
        spoil_hello(offer, what);
    else if (what < 27)
        spoil_numbers(offer, what - 17);
    else if (what < 37)
        make_different(offer, what - 27);
    else if (what < 47)
        add_token(offer, known, what - 37);
    else if (what < 54)
        come_back(offer, known, what - 47);
    else
        plan_it(offer, what - 54);
}

static void say_odd(struct sim_talk *talk, const struct offer *offer, const struct sim_known *known)
{
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    Cachew__V1__WorkerLost lost = CACHEW__V1__WORKER_LOST__INIT;
    Cachew__V1__WorkerFound found = CACHEW__V1__WORKER_FOUND__INIT;
    Cachew__V1__LocalFailed failed = CACHEW__V1__LOCAL_FAILED__INIT;
    Cachew__V1__Bye bye = CACHEW__V1__BYE__INIT;
    Cachew__V1__Ack ack = CACHEW__V1__ACK__INIT;
    struct odd_sets odd;

    draw_sets(&odd);
    switch (sim_below(8)) {
    case 0:
        sim_say_garbage(talk);
        return;
    case 1:
        sim_say(talk, &offer->message.base); /* a second hello */
        return;
    case 2:
        message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_WORKER_LOST;
        lost.worker_id = known->worker_id;
        message.worker_lost = &lost;
        sim_say(talk, &message.base); /* and once more below */
        break;
    case 3:
        message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_WORKER_FOUND;
        found.worker_id = known->worker_id;
        message.worker_found = &found;
        break;
    case 4:
        message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_LOCAL_FAILED;
        message.local_failed = &failed;
        break;
    case 5:
        message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_BYE;
        message.bye = &bye;
        sim_say(talk, &message.base);
        break;
    case 6:
        message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_ACK;
        message.ack = &ack;
        ack.received = ack.consumed = odd.sets;
        ack.n_received = sim_below(2);
        ack.n_consumed = sim_below(2);
        break;
    default: /* of no kind */
        break;
    }
    sim_say(talk, &message.base);
}

/* Another client wants the place; sometimes it is the same client. */
static void rival(const struct sim_stranger *stranger, struct offer *offer,
                  const struct sim_known *known)
{
    struct sim_talk talk = {.token_file = sim_stranger_token(stranger, SIM_TOKEN_OF_TRAINERS)};
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    Cachew__V1__Bye bye = CACHEW__V1__BYE__INIT;

    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_BYE;
    message.bye = &bye;
    sim_talk_begin(&talk, stranger->dispatcher, JOBS);
    if (sim_one_in(2))
        offer->hello.client_id = 1 + sim_random() / 2;
    if (sim_one_in(2) && known->job_id[0])
        come_back(offer, known, 1 + (unsigned)sim_below(3));
    sim_say(&talk, &offer->message.base);
    sim_talk_wait(&talk, sim_one_in(10) ? TAKEOVER_MS : sim_between(1, 300));
    if (sim_one_in(3))
        sim_say(&talk, &message.base);
    sim_talk_wait(&talk, sim_between(1, 20));
    sim_talk_end(&talk);
}

void sim_as_client(const struct sim_stranger *stranger, struct sim_known *known)
{
    struct sim_known heard = *known;
    struct sim_talk talk = {.known = &heard,
                            .token_file = sim_stranger_token(stranger, SIM_TOKEN_OF_TRAINERS)};
    struct offer offer;

    if (!known->job_id[0] || sim_one_in(3))
        heard.kind = (unsigned)sim_below(KINDS);
    begin_offer(&offer, heard.kind);
    if (!sim_one_in(3))
        change(&offer, known);
    sim_talk_begin(&talk, stranger->dispatcher, JOBS);
    if (sim_one_in(16))
        say_odd(&talk, &offer, known);
    if (sim_one_in(40))
        sim_talk_wait(&talk, SILENT_MS);
    sim_say(&talk, &offer.message.base);
    sim_talk_wait(&talk, sim_one_in(4) ? sim_between(300, 1500) : sim_between(1, 300));
    if (sim_one_in(3))
        rival(stranger, &offer, &heard);
    for (uint64_t n = sim_below(3); n > 0; n--)
        say_odd(&talk, &offer, known);
    sim_talk_wait(&talk, sim_between(1, 100));
    sim_talk_end(&talk);
    end_offer(&offer);
    *known = heard;
}
