/* SPDX-License-Identifier: Apache-2.0 */
/* What a liar says. About half of it is true, so that its peers go on to hear the rest. */
#include "base/err.h"
#include "liar.h"
#include "rpc/rpc.h"

static char no_text[] = "", text[] = "a lie", job_id[] = "j7777";

static void tell_client(struct cw_stream *stream, Cachew__V1__ClientCommand *command)
{
    command->generation = sim_one_in(8) ? sim_below(5) : 5;
    cw_wire_send(stream, &command->base);
}

/* A job of 8 items that nobody computes. */
static void welcome_client(struct cw_stream *stream, const Cachew__V1__ClientHello *hello)
{
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    Cachew__V1__ClientWelcome welcome = CACHEW__V1__CLIENT_WELCOME__INIT;
    Cachew__V1__PlanInfo info = CACHEW__V1__PLAN_INFO__INIT;
    Cachew__V1__Spec out = CACHEW__V1__SPEC__INIT;
    Cachew__V1__EpochSet sets[2], *all[] = {&sets[0], &sets[1]};
    Cachew__V1__Interval interval = CACHEW__V1__INTERVAL__INIT, *intervals[] = {&interval};

    welcome.job_id = job_id;
    welcome.seed = hello && hello->job ? hello->job->seed : 0;
    welcome.epochs = 2;
    welcome.info = sim_one_in(12) ? NULL : &info;
    welcome.window = sim_below(2) * 8;
    info.sparse = sim_one_in(2);
    info.items = sim_one_in(6) ? 0 : 8;
    info.elements = 40;
    info.batch = sim_one_in(12) ? -1 : 5;
    info.chunk = sim_one_in(12) ? 0 : 5;
    info.join_batch = 5;
    info.join_take = sim_one_in(12) ? INT64_MAX : sim_one_in(8) ? -5 : sim_one_in(4) ? 30 : -1;
    info.join_skip = info.join_take == INT64_MAX ? 7 : 0;
    info.out = sim_one_in(2) ? &out : NULL;
    info.fingerprint_lo = sim_one_in(4) ? 1 : 0;
    for (size_t i = 0; i < 2; i++) {
        cachew__v1__epoch_set__init(&sets[i]);
        sets[i].epoch = i;
        sets[i].items = intervals;
        sets[i].n_items = 1;
    }
    interval.hi = sim_below(4);
    interval.lo = sim_one_in(8) ? 6 : 0;
    welcome.consumed = all;
    welcome.n_consumed = sim_below(3);
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_WELCOME;
    command.welcome = &welcome;
    tell_client(stream, &command);
}

static void list_workers(struct cw_stream *stream, const Cachew__V1__ClientHello *hello)
{
    static char addresses[][32] = {SIM_LIAR_ADDRESS, "nowhere:1", ""};
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    Cachew__V1__Workers workers = CACHEW__V1__WORKERS__INIT;
    Cachew__V1__WorkerInfo info[3], *all[3];

    for (size_t i = 0; i < 3; i++) {
        all[i] = &info[i];
        cachew__v1__worker_info__init(&info[i]);
        info[i].worker_id = 1 + i;
        info[i].address = addresses[i == 0 ? 0 : sim_below(3)];
        info[i].host_id = hello && sim_one_in(2) ? hello->host_id : text;
    }
    workers.workers = all;
    workers.n_workers = sim_below(4);
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_WORKERS;
    command.workers = &workers;
    tell_client(stream, &command);
}

static void refuse_client(struct cw_stream *stream)
{
    static const int codes[] = {CW_E_INVALID,   CW_E_DENIED,     CW_E_UNSUPPORTED,
                                CW_E_LIMIT,     CW_E_STATE,      CW_E_EXISTS,
                                CW_E_NOT_FOUND, CW_E_OTHER_FILE, CW_E_UNAVAILABLE,
                                CW_E_INTERNAL,  CW_E_CORRUPT,    -12345,
                                12345,          CW_E_NOT_FOUND,  CW_E_NOT_FOUND,
                                CW_E_NOT_FOUND, CW_E_NOT_FOUND};
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    Cachew__V1__JobError error = CACHEW__V1__JOB_ERROR__INIT;
    int code = codes[sim_below(sizeof(codes) / sizeof(codes[0]))];

    if (sim_one_in(2)) {
        cw_stream_finish(stream, code > 0 || code < -100 ? CW_E_INTERNAL : code,
                         sim_one_in(2) ? text : no_text);
        return;
    }
    error.code = code;
    error.error = sim_one_in(2) ? text : no_text;
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_ERROR;
    command.error = &error;
    tell_client(stream, &command);
}

/* The job that the client has begun is not known any more. */
static void forget_job(struct cw_stream *stream)
{
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    Cachew__V1__JobError error = CACHEW__V1__JOB_ERROR__INIT;

    error.code = CW_E_NOT_FOUND;
    error.error = text;
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_ERROR;
    command.error = &error;
    tell_client(stream, &command);
}

static void skip(struct cw_stream *stream)
{
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    Cachew__V1__Skipped skipped = CACHEW__V1__SKIPPED__INIT;
    Cachew__V1__EpochSet set = CACHEW__V1__EPOCH_SET__INIT, *sets[] = {&set, &set};
    Cachew__V1__Interval interval = CACHEW__V1__INTERVAL__INIT, *intervals[] = {&interval};

    set.epoch = sim_below(3);
    set.items = intervals;
    set.n_items = 1;
    interval.lo = sim_below(8);
    interval.hi = interval.lo + sim_below(3);
    skipped.items = skipped.batches = sets;
    skipped.n_items = sim_below(3);
    skipped.n_batches = sim_below(3);
    skipped.why = (Cachew__V1__Skipped__Why)sim_below(3);
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_SKIPPED;
    command.skipped = &skipped;
    tell_client(stream, &command);
}

static void say_small(struct cw_stream *stream)
{
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    Cachew__V1__Waiting waiting = CACHEW__V1__WAITING__INIT;
    Cachew__V1__Window window = CACHEW__V1__WINDOW__INIT;
    Cachew__V1__LocalWorkers local = CACHEW__V1__LOCAL_WORKERS__INIT;

    switch (sim_below(4)) {
    case 0:
        command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_WAITING;
        waiting.reason = text;
        waiting.stuck = sim_one_in(2);
        waiting.still_ms = sim_one_in(2) ? UINT64_MAX - 1 : sim_below(1000);
        waiting.waited_ms = sim_one_in(2) ? UINT64_MAX : sim_below(1000);
        command.waiting = &waiting;
        break;
    case 1:
        command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_WINDOW;
        window.items = sim_below(2) * 100;
        command.window = &window;
        break;
    case 2:
        command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_LOCAL_WORKERS;
        local.job_id = job_id;
        local.workers = 1;
        command.local_workers = &local;
        break;
    default: /* of no kind */
        break;
    }
    tell_client(stream, &command);
}

void sim_lie_to_client(struct cw_stream *stream, const Cachew__V1__ClientHello *hello, bool first)
{
    if (first && hello && hello->job_id[0] != '\0' && sim_one_in(3)) {
        forget_job(stream);
        return;
    }
    if (first && sim_one_in(2)) {
        welcome_client(stream, hello);
        return;
    }
    switch (sim_below(8)) {
    case 0:
        sim_lie_bytes(stream);
        break;
    case 1:
        refuse_client(stream);
        break;
    case 2:
        skip(stream);
        break;
    case 3:
    case 4:
        say_small(stream);
        break;
    case 5:
        welcome_client(stream, hello);
        break;
    default:
        list_workers(stream, hello);
    }
}

/* ---- as a worker ---- */
/* said: so much was said on this stream before. Every second item is the one whose turn it is, so
 * that the trainer is given some. */
static void send_output(struct cw_stream *stream, uint64_t said)
{
    Cachew__V1__DataMessage message = CACHEW__V1__DATA_MESSAGE__INIT;
    Cachew__V1__Output output = CACHEW__V1__OUTPUT__INIT, *outputs[] = {&output};
    Cachew__V1__TensorHeader tensor = CACHEW__V1__TENSOR_HEADER__INIT, *tensors[] = {&tensor};
    Cachew__V1__SlotGone gone = CACHEW__V1__SLOT_GONE__INIT;
    static uint8_t bytes[64];
    static int64_t dims[] = {5};
    uint64_t slots[] = {3};

    tensor.name = text;
    tensor.dtype = sim_one_in(8) ? (uint32_t)sim_below(20) : CW_DTYPE_I32;
    tensor.dims = dims;
    tensor.n_dims = 1;
    tensor.bytes = sim_one_in(8) ? 40 : sim_below(2) * 20;
    bool in_turn = !sim_one_in(4);
    output.epoch = in_turn ? 0 : sim_below(3);
    output.item = in_turn ? said - 1 : sim_below(10);
    output.elements = sim_one_in(8) ? sim_below(7) : 5;
    output.tensors = tensors;
    output.n_tensors = tensor.bytes > 0;
    output.payload_bytes = sim_one_in(8) ? 1 << 20 : tensor.bytes;
    output.slot = sim_one_in(6) ? 3 : 0;
    message.outputs = outputs;
    message.n_outputs = 1;
    message.payload.data = bytes;
    message.payload.len = sim_one_in(8) ? tensor.bytes / 2 : tensor.bytes;
    gone.slots = slots;
    gone.n_slots = 1;
    message.slots_gone = sim_one_in(4) ? &gone : NULL;
    cw_wire_send(stream, &message.base);
}

void sim_lie_as_worker(struct cw_stream *stream, uint64_t said)
{
    bool first = said == 0;
    Cachew__V1__DataMessage message = CACHEW__V1__DATA_MESSAGE__INIT;
    Cachew__V1__DataWelcome welcome = CACHEW__V1__DATA_WELCOME__INIT;

    welcome.worker_id = 1;
    welcome.shm_name = sim_one_in(3) ? text : no_text;
    message.welcome = &welcome;
    if ((first && !sim_one_in(8)) || sim_one_in(16))
        cw_wire_send(stream, &message.base);
    else if (sim_one_in(16))
        sim_lie_bytes(stream);
    else if (sim_one_in(8))
        cw_stream_finish(stream, sim_one_in(2) ? CW_E_STATE : 0, sim_one_in(2) ? text : no_text);
    else
        send_output(stream, said);
}
