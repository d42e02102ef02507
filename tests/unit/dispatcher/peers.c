/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/dispatcher/peers.h"

#include "dispatcher/admin/admin.h"
#include "dispatcher/autocache/autocache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/program.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/session/session.h"
#include "support/soon.h"

#include <stdio.h>
#include <string.h>

#define METHODS_MAX 32
#define SENT_MAX 4096

struct cw_stream {
    struct cw_stream *next;
    const ProtobufCMessageDescriptor *says; /* what the dispatcher sends */
    const struct cw_stream_cb *cb;
    void *arg;
    ProtobufCMessage *sent[SENT_MAX];
    size_t sent_n, forgotten_n, noted_n;
    bool ended, freed, paused;
    int code;
    char msg[1024];
};
struct cw_call {
    bool done;
};

const struct cw_caller *peers_caller;

static struct cw_method methods[METHODS_MAX];
static size_t methods_n;
static struct cw_stream *streams;
static struct peers_answer answer;
static const ProtobufCMessageDescriptor *reply_type;
static size_t slices_n;
static int64_t longest_ns;

/* ---- in place of src/rpc ---- */
void __wrap_cw_server_add(struct cw_server *server, const struct cw_method *method);
void __wrap_cw_server_set_request_max(struct cw_server *server, const char *path, size_t bytes);
void __wrap_cw_call_reply(struct cw_call *call, struct cw_buf *reply);
void __wrap_cw_call_reply_parts(struct cw_call *call, struct cw_buf *const *bufs, size_t n);
void __wrap_cw_call_fail(struct cw_call *call, int code, const char *msg);
void __wrap_cw_stream_accept(struct cw_stream *stream, const struct cw_stream_cb *cb, void *arg);
void __wrap_cw_stream_send(struct cw_stream *stream, struct cw_buf *const *bufs, size_t n);
void __wrap_cw_stream_finish(struct cw_stream *stream, int code, const char *msg);
void __wrap_cw_stream_free(struct cw_stream *stream);
const char *__wrap_cw_stream_peer(const struct cw_stream *stream);
const void *__wrap_cw_stream_caller(const struct cw_stream *stream);
const void *__wrap_cw_call_caller(const struct cw_call *call);
size_t __wrap_cw_stream_queued(const struct cw_stream *stream);
void __wrap_cw_stream_set_low(struct cw_stream *stream, size_t bytes);
void __wrap_cw_stream_pause(struct cw_stream *stream, bool paused);
void __wrap_cw_stream_note_time(struct cw_stream *stream, int64_t ns);
void __wrap_cw_call_note_time(struct cw_call *call, int64_t ns);

void __wrap_cw_server_set_request_max(struct cw_server *server, const char *path, size_t bytes)
{
    (void)server, (void)path, (void)bytes;
}

void __wrap_cw_server_add(struct cw_server *server, const struct cw_method *method)
{
    (void)server;
    assert_true(methods_n < METHODS_MAX);
    methods[methods_n++] = *method;
}

static ProtobufCMessage *unpack(const ProtobufCMessageDescriptor *type, struct cw_buf *const *bufs,
                                size_t n)
{
    CW_STR_AUTO bytes = {0};
    for (size_t i = 0; i < n; i++)
        cw_str_add_bytes(&bytes, bufs[i]->data, bufs[i]->len);
    return protobuf_c_message_unpack(type, NULL, bytes.len, (const uint8_t *)cw_str_text(&bytes));
}

void __wrap_cw_call_reply_parts(struct cw_call *call, struct cw_buf *const *bufs, size_t n)
{
    assert_false(call->done); /* exactly one answer */
    call->done = true;
    if (!reply_type)
        return;
    answer.reply = unpack(reply_type, bufs, n);
    assert_non_null(answer.reply);
}

void __wrap_cw_call_reply(struct cw_call *call, struct cw_buf *reply)
{
    __wrap_cw_call_reply_parts(call, &reply, 1);
}

void __wrap_cw_call_fail(struct cw_call *call, int code, const char *msg)
{
    assert_false(call->done);
    call->done = true;
    answer.code = code;
    snprintf(answer.msg, sizeof(answer.msg), "%s", msg);
}

void __wrap_cw_stream_accept(struct cw_stream *stream, const struct cw_stream_cb *cb, void *arg)
{
    stream->cb = cb;
    stream->arg = arg;
}

void __wrap_cw_stream_send(struct cw_stream *stream, struct cw_buf *const *bufs, size_t n)
{
    if (!stream || stream->ended)
        return;
    assert_true(stream->sent_n < SENT_MAX);
    ProtobufCMessage *message = unpack(stream->says, bufs, n);
    assert_non_null(message);
    stream->sent[stream->sent_n++] = message;
}

void __wrap_cw_stream_finish(struct cw_stream *stream, int code, const char *msg)
{
    if (!stream || stream->ended)
        return;
    stream->ended = true;
    stream->code = code;
    snprintf(stream->msg, sizeof(stream->msg), "%s", msg);
}

void __wrap_cw_stream_free(struct cw_stream *stream)
{
    if (stream)
        stream->freed = true;
}

const char *__wrap_cw_stream_peer(const struct cw_stream *stream)
{
    (void)stream;
    return "ipv4:192.0.2.1:4711";
}

const void *__wrap_cw_stream_caller(const struct cw_stream *stream)
{
    (void)stream;
    return peers_caller;
}

const void *__wrap_cw_call_caller(const struct cw_call *call)
{
    (void)call;
    return peers_caller;
}

size_t __wrap_cw_stream_queued(const struct cw_stream *stream)
{
    (void)stream;
    return 0;
}

void __wrap_cw_stream_set_low(struct cw_stream *stream, size_t bytes)
{
    (void)stream;
    (void)bytes;
}

void __wrap_cw_stream_pause(struct cw_stream *stream, bool paused)
{
    stream->paused = paused;
}

void __wrap_cw_call_note_time(struct cw_call *call, int64_t ns)
{
    assert_false(call->done);
    slices_n++;
    longest_ns = CW_MAX(longest_ns, ns);
}

size_t peers_slices_n(void)
{
    return slices_n;
}

int64_t peers_longest_ns(void)
{
    return longest_ns;
}

void __wrap_cw_stream_note_time(struct cw_stream *stream, int64_t ns)
{
    (void)ns;
    stream->noted_n++;
}

/* ---- the dispatcher ---- */
static void add_methods(void)
{
    const struct cw_method fleet = {"/cachew.v1.Fleet/Attach", NULL, cw_worker_session_open,
                                    &made_up},
                           jobs = {"/cachew.v1.Jobs/Attach", NULL, cw_client_session_open,
                                   &made_up};
    cw_server_add(NULL, &fleet);
    cw_server_add(NULL, &jobs);
    cw_svc_admin_add(&made_up);
    cw_svc_elements_add(&made_up);
    cw_svc_explain_add(&made_up);
    cw_svc_check_add(&made_up);
    cw_svc_plan_add(&made_up);
    cw_svc_decisions_add(&made_up);
    cw_svc_cache_add(&made_up);
    cw_svc_caches_add(&made_up);
    cw_svc_tenants_add(&made_up);
    cw_svc_metrics_add(&made_up);
    cw_backup_add(&made_up);
}

static void set_options(void)
{
    struct cw_err err = {0};
    struct cw_options *options = &made_up.options;
    /* Made-up workers say nothing by themselves. On a busy machine a test takes seconds, and the tick
     * would lose them. */
    options->silence_ms = 3600000;
    options->grace_ms = 1000;
    options->client_grace_ms = 10000;
    options->job_idle_ms = 60000;
    options->takeover_ms = 2000;
    options->autoscale = options->autoplace = options->autocache = "off";
    options->min_workers = 1;
    options->max_workers = 4;
    options->max_stall = 0.1;
    options->scale_window_ms = 1000;
    options->worker_price = options->client_price = 1;
    assert_int_equal(cw_provision_find("none", &options->provisioner, &err), 0);
}

static void begin_dispatcher(void)
{
    struct cw_err err = {0};
    assert_int_equal(cw_provision_open(&made_up, &err), 0);
    made_up.generation = cw_state_generation(made_up.state);
    made_up.started_ms = cw_clock_ms();
}

int peers_begin(void **state)
{
    if (made_up_begin_stored(state) != 0)
        return -1;
    methods_n = 0;
    set_options();
    begin_dispatcher();
    add_methods();
    return 0;
}

int peers_begin_caching(void **state)
{
    if (peers_begin(state) != 0)
        return -1;
    made_up.options.cache_store = PEERS_STORE;
    made_up.options.cache_evict = cw_evict_find("lru");
    cw_cache_service_open(&made_up);
    cw_autocache_open(&made_up);
    cw_cache_service_start(&made_up);
    return 0;
}

static void answer_clear(void)
{
    if (answer.reply)
        protobuf_c_message_free_unpacked(answer.reply, NULL);
    answer = (struct peers_answer){0};
}

static void stream_free(struct cw_stream *stream)
{
    for (size_t i = 0; i < stream->sent_n; i++)
        protobuf_c_message_free_unpacked(stream->sent[i], NULL);
    cw_mem_free(stream);
}

int peers_end(void **state)
{
    cw_client_sessions_close(&made_up);
    cw_cache_service_close(&made_up);
    cw_worker_sessions_close(&made_up);
    while (made_up.jobs)
        cw_job_free(made_up.jobs);
    cw_autocache_close(&made_up);
    int rc = made_up_end_stored(state);
    cw_timer_free(made_up.retry);
    cw_map_fini(&made_up.expected_workers);
    cw_strmap_fini(&made_up.removed_ids);
    answer_clear();
    while (streams) {
        struct cw_stream *stream = streams;
        streams = stream->next;
        assert_true(stream->freed || !stream->arg);
        stream_free(stream);
    }
    return rc;
}

static void on_turn(void *arg)
{
    cw_loop_stop(arg);
}

/* What threads have posted, and timers that are due. */
static void run_posted(void)
{
    cw_loop_post(made_up.loop, on_turn, made_up.loop);
    cw_loop_run(made_up.loop);
}

void peers_restart(void)
{
    struct cw_err err = {0};
    cw_client_sessions_close(&made_up);
    cw_worker_sessions_close(&made_up);
    while (made_up.jobs)
        cw_job_free(made_up.jobs);
    cw_cache_service_close(&made_up);
    cw_autocache_close(&made_up);
    run_posted(); /* of the store's threads: dropped */
    cw_cache_service_free(&made_up);
    cw_timer_free(made_up.tick);
    cw_timer_free(made_up.retry);
    cw_tenants_close(&made_up);
    cw_strmap_fini(&made_up.jobs_by_id);
    cw_strmap_fini(&made_up.removed_ids);
    cw_map_fini(&made_up.expected_workers);
    cw_state_close(made_up.state);
    made_up = (struct cw_dispatcher){.loop = made_up.loop, .options = made_up.options};
    if (cw_state_open(made_up.options.state_dir, 0, &made_up.state, &err) != 0)
        fail_msg("%s", err.msg);
    begin_dispatcher();
    cw_cache_service_open(&made_up);
    cw_autocache_open(&made_up);
    if (cw_restore_all(&made_up, &err) != 0 || cw_autocache_restore(&made_up, &err) != 0)
        fail_msg("%s", err.msg);
    cw_cache_service_start(&made_up);
}

static void run_loop(void)
{
    run_posted();
    cw_iteration_end(&made_up);
}

void peers_one_turn(void)
{
    run_loop();
}

void peers_turn(void)
{
    soon((run_loop(), !cw_state_is_dirty(made_up.state)));
    run_loop(); /* what waited for that */
}

/* ---- tools ---- */
static const struct cw_method *find_method(const char *name)
{
    for (size_t i = 0; i < methods_n; i++)
        if (strcmp(methods[i].path + strlen("/cachew.v1."), name) == 0)
            return &methods[i];
    fail_msg("there is no method %s", name);
    return NULL;
}

static const struct peers_answer *ask(const char *name, const void *bytes, size_t n)
{
    static char path[64];
    struct cw_call call = {0};
    snprintf(path, sizeof(path), "Admin/%s", name);
    const struct cw_method *method = find_method(path);
    struct cw_rpc_msg *msg = cw_rpc_msg_from(bytes, n, 64);
    answer_clear();
    slices_n = 0;
    int64_t begin = cw_clock_thread_cpu_ns();
    method->unary(method->arg, &call, msg);
    longest_ns = cw_clock_thread_cpu_ns() - begin;
    cw_rpc_msg_unref(msg);
    if (!call.done)
        soon((run_loop(), call.done));
    return &answer;
}

const struct peers_answer *peers_ask(const char *method, const ProtobufCMessage *request,
                                     const ProtobufCMessageDescriptor *reply)
{
    struct cw_buf *buf = cw_wire_pack(request);
    reply_type = reply;
    const struct peers_answer *got = ask(method, buf->data, buf->len);
    cw_buf_unref(buf);
    return got;
}

const struct peers_answer *peers_ask_bytes(const char *method, const char *bytes)
{
    reply_type = NULL;
    return ask(method, bytes, strlen(bytes));
}

void peers_refused(const char *method, const ProtobufCMessage *request, int code, const char *says)
{
    const struct peers_answer *got = peers_ask(method, request, NULL);
    assert_int_equal(got->code, code);
    if (!strstr(got->msg, says))
        fail_msg("\"%s\" does not say \"%s\"", got->msg, says);
}

/* ---- streams ---- */
static const ProtobufCMessageDescriptor *says(const char *method)
{
    if (strcmp(method, "Jobs/Attach") == 0)
        return &cachew__v1__client_command__descriptor;
    return strcmp(method, "Fleet/Attach") == 0 ? &cachew__v1__worker_command__descriptor
                                               : &cachew__v1__backup_part__descriptor;
}

struct cw_stream *peers_attach(const char *name)
{
    const struct cw_method *method = find_method(name);
    struct cw_stream *stream = CW_NEW(struct cw_stream);
    stream->says = says(name);
    stream->next = streams;
    streams = stream;
    method->stream(method->arg, stream);
    return stream;
}

static void say(struct cw_stream *stream, const void *bytes, size_t n)
{
    struct cw_rpc_msg *msg = cw_rpc_msg_from(bytes, n, 4096);
    stream->cb->on_message(stream->arg, msg);
    cw_rpc_msg_unref(msg);
}

void peers_say(struct cw_stream *stream, const ProtobufCMessage *message)
{
    struct cw_buf *buf = cw_wire_pack(message);
    say(stream, buf->data, buf->len);
    cw_buf_unref(buf);
}

void peers_say_bytes(struct cw_stream *stream, const char *bytes)
{
    say(stream, bytes, strlen(bytes));
}

void peers_break(struct cw_stream *stream, int code, const char *msg)
{
    stream->cb->on_close(stream->arg, code, msg);
}

bool peers_is_ended(const struct cw_stream *stream)
{
    return stream->ended;
}

bool peers_is_paused(const struct cw_stream *stream)
{
    return stream->paused;
}

size_t peers_noted_n(const struct cw_stream *stream)
{
    return stream->noted_n;
}

int peers_end_code(const struct cw_stream *stream)
{
    return stream->code;
}

const char *peers_end_msg(const struct cw_stream *stream)
{
    return stream->msg;
}

const Cachew__V1__ClientCommand *peers_to_client(const struct cw_stream *stream,
                                                 Cachew__V1__ClientCommand__KindCase kind)
{
    for (size_t i = stream->sent_n; i-- > stream->forgotten_n;) {
        const Cachew__V1__ClientCommand *command =
            (const Cachew__V1__ClientCommand *)stream->sent[i];
        if (command->kind_case == kind || kind == CACHEW__V1__CLIENT_COMMAND__KIND__NOT_SET)
            return command;
    }
    return NULL;
}

const Cachew__V1__WorkerCommand *peers_to_worker(const struct cw_stream *stream,
                                                 Cachew__V1__WorkerCommand__KindCase kind)
{
    for (size_t i = stream->sent_n; i-- > stream->forgotten_n;) {
        const Cachew__V1__WorkerCommand *command =
            (const Cachew__V1__WorkerCommand *)stream->sent[i];
        if (command->kind_case == kind || kind == CACHEW__V1__WORKER_COMMAND__KIND__NOT_SET)
            return command;
    }
    return NULL;
}

const Cachew__V1__BackupPart *peers_part(const struct cw_stream *stream, size_t i)
{
    i += stream->forgotten_n;
    return i < stream->sent_n ? (const Cachew__V1__BackupPart *)stream->sent[i] : NULL;
}

void peers_forget(struct cw_stream *stream)
{
    stream->forgotten_n = stream->sent_n;
}
