/* SPDX-License-Identifier: Apache-2.0 */
/* What a liar says to a worker that has come to it as to its dispatcher. */
#include "base/err.h"
#include "liar.h"
#include "rpc/rpc.h"
#include "strangers.h"

static char text[] = "a lie", job_id[] = "j7777";
static Cachew__V1__Interval right = {PROTOBUF_C_MESSAGE_INIT(&cachew__v1__interval__descriptor), 0,
                                     2},
                            wrong = {PROTOBUF_C_MESSAGE_INIT(&cachew__v1__interval__descriptor), 6,
                                     3};
static Cachew__V1__Interval *items[] = {&right, &wrong};

static void tell(struct cw_stream *stream, Cachew__V1__WorkerCommand *command)
{
    command->generation = sim_one_in(12) ? sim_below(5) : 5;
    cw_wire_send(stream, &command->base);
}

static void welcome_worker(struct cw_stream *stream)
{
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    Cachew__V1__WorkerWelcome welcome = CACHEW__V1__WORKER_WELCOME__INIT;

    welcome.heartbeat_ms = (uint32_t)sim_below(2) * 100;
    welcome.silence_ms = (uint32_t)sim_below(2) * 400;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_WELCOME;
    command.welcome = &welcome;
    tell(stream, &command);
}

static void prepare(struct cw_stream *stream)
{
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    Cachew__V1__Prepare message = CACHEW__V1__PREPARE__INIT;
    Cachew__V1__Graph graph = CACHEW__V1__GRAPH__INIT;

    message.job_id = job_id;
    message.graph = sim_one_in(2) ? &graph : NULL;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_PREPARE;
    command.prepare = &message;
    tell(stream, &command);
}

static void give_job(struct cw_stream *stream)
{
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    Cachew__V1__JobSpec spec = CACHEW__V1__JOB_SPEC__INIT;
    Cachew__V1__Graph graph = CACHEW__V1__GRAPH__INIT;

    spec.job_id = job_id;
    spec.graph = sim_one_in(2) ? &graph : NULL;
    spec.consumers = (uint32_t)sim_below(3);
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_JOB;
    command.job = &spec;
    tell(stream, &command);
}

static void lease(struct cw_stream *stream, bool revokes)
{
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    Cachew__V1__LeaseId id = CACHEW__V1__LEASE_ID__INIT;
    Cachew__V1__Lease message = CACHEW__V1__LEASE__INIT;
    Cachew__V1__Revoke revoke = CACHEW__V1__REVOKE__INIT;

    message.lease = &id;
    message.job_id = revoke.job_id = job_id;
    message.items = revoke.items = items;
    message.n_items = revoke.n_items = 1 + sim_below(2);
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_LEASE;
    command.lease = &message;
    if (revokes) {
        command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_REVOKE;
        command.revoke = &revoke;
    }
    tell(stream, &command);
}

static void say_small(struct cw_stream *stream)
{
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    Cachew__V1__Forget forget = CACHEW__V1__FORGET__INIT;
    Cachew__V1__CachePlan plan = CACHEW__V1__CACHE_PLAN__INIT;
    Cachew__V1__CacheChunks chunks = CACHEW__V1__CACHE_CHUNKS__INIT;
    Cachew__V1__Parts parts = CACHEW__V1__PARTS__INIT;
    Cachew__V1__JobPart part = CACHEW__V1__JOB_PART__INIT, *all[] = {&part};
    Cachew__V1__Drain drain = CACHEW__V1__DRAIN__INIT;

    forget.job_id = plan.job_id = part.job_id = job_id;
    forget.reason = chunks.tenant = text;
    parts.parts = all;
    parts.n_parts = 1;
    switch (sim_below(6)) {
    case 0:
        command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_FORGET;
        command.forget = &forget;
        break;
    case 1:
        command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_CACHE_PLAN;
        command.cache_plan = &plan;
        break;
    case 2:
        command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_CACHE_CHUNKS;
        command.cache_chunks = &chunks;
        break;
    case 3:
        command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_PARTS;
        command.parts = &parts;
        break;
    case 4:
        if (sim_one_in(4)) { /* it ends then; it may be told twice */
            command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_DRAIN;
            command.drain = &drain;
            if (sim_one_in(2))
                tell(stream, &command);
        }
        break;
    default: /* of no kind */
        break;
    }
    tell(stream, &command);
}

/* What becomes of indices that nobody makes, and a look at a job. */
static void say_of_preparing(struct cw_stream *stream)
{
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    Cachew__V1__IndexLease part = CACHEW__V1__INDEX_LEASE__INIT;
    Cachew__V1__IndexMade made = CACHEW__V1__INDEX_MADE__INIT;
    Cachew__V1__ShowElements show = CACHEW__V1__SHOW_ELEMENTS__INIT;

    part.job_id = made.job_id = show.job_id = job_id;
    part.op = part.options = made.error = text;
    part.number = made.number = 1 + sim_below(2);
    show.elements = UINT32_MAX;
    switch (sim_below(3)) {
    case 0:
        command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_INDEX_LEASE;
        command.index_lease = &part;
        break;
    case 1:
        command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_INDEX_MADE;
        command.index_made = &made;
        break;
    default:
        command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_SHOW_ELEMENTS;
        command.show_elements = &show;
    }
    tell(stream, &command);
}

void sim_lie_to_worker(struct cw_stream *stream, bool first)
{
    if (first && !sim_one_in(4)) {
        welcome_worker(stream);
        return;
    }
    switch (sim_below(sim_strangers_say_all() ? 9 : 8)) {
    case 0:
        sim_lie_bytes(stream);
        break;
    case 1:
        cw_stream_finish(stream, sim_one_in(2) ? CW_E_STATE : 0, sim_one_in(2) ? text : "");
        break;
    case 2:
        prepare(stream);
        break;
    case 3:
        give_job(stream);
        break;
    case 4:
        lease(stream, false);
        break;
    case 5:
        lease(stream, true);
        break;
    case 6:
        welcome_worker(stream);
        break;
    case 8:
        say_of_preparing(stream);
        break;
    default:
        say_small(stream);
    }
}
