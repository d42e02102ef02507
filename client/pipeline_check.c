/* SPDX-License-Identifier: Apache-2.0 */
/* cachew_pipeline_check: asks the dispatcher about a pipeline. */
#include "base/limits.h"
#include "base/mem.h"
#include "base/thread.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/model/client.h"
#include "client/model/public.h"
#include "base/short_reason.h"
#include "client/model/trainer_spec.h"
#include "client/pipeline.h"
#include "wire/wire.h"

/* A question that the caller waits for. The loop thread writes the answer. */
struct question {
    struct cachew_client *client;
    struct cw_buf *request;
    struct cw_mutex mutex;
    struct cw_cond cond;
    bool done; /* `mutex` guards it. */
    struct cw_err err;
    struct cachew_spec spec;
};

static int read_reply(struct cw_rpc_msg *reply, struct cachew_spec *ret_spec, struct cw_err *err)
{
    ProtobufCMessage *base = cw_wire_unpack(&cachew__v1__check_reply__descriptor, reply, err);
    if (!base)
        return err->code;
    int rc =
        cw_wire_spec_from(((const Cachew__V1__CheckReply *)(void *)base)->out, &ret_spec->of, err);
    protobuf_c_message_free_unpacked(base, NULL);
    return rc;
}

static void on_reply(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    struct question *question = arg;
    struct cw_err err = {0};
    if (reply) {
        (void)!read_reply(reply, &question->spec, &err);
    } else if (code == CW_E_UNAVAILABLE || code == CW_E_TIMEOUT) {
        char why[256];
        cw_short_reason(question->client->address, msg, why, sizeof(why));
        cw_err_set(&err, code, "cannot ask the dispatcher at %s: %s", question->client->address,
                   why);
    } else if (code == CW_E_UNSUPPORTED) {
        cw_err_set(&err, code,
                   "the dispatcher at %s is of an older version, which checks "
                   "pipelines only when a job starts",
                   question->client->address);
    } else {
        cw_err_set(&err, code, "%s", msg);
    }
    cw_mutex_lock(&question->mutex);
    question->err = err;
    question->done = true;
    cw_cond_signal(&question->cond); /* The lock is held, because the waiting thread frees it. */
    cw_mutex_unlock(&question->mutex);
}

static void ask_on_loop(void *arg)
{
    struct question *question = arg;
    cw_channel_unary(question->client->channel, "/cachew.v1.Admin/CheckPipeline", question->request,
                     question->client->timeout_ms, on_reply, question);
}

static struct cw_buf *pack(const struct cw_graph *graph)
{
    Cachew__V1__CheckRequest request = CACHEW__V1__CHECK_REQUEST__INIT;
    request.graph = cw_wire_graph_to(graph);
    struct cw_buf *buf = cw_wire_pack(&request.base);
    cw_wire_graph_free(request.graph);
    return buf;
}

static void ask(struct question *question)
{
    cw_mutex_init(&question->mutex);
    cw_cond_init(&question->cond);
    cw_loop_post(question->client->loop, ask_on_loop, question);
    cw_mutex_lock(&question->mutex);
    while (!question->done)
        cw_cond_wait(&question->cond, &question->mutex);
    cw_mutex_unlock(&question->mutex);
    cw_cond_fini(&question->cond);
    cw_mutex_fini(&question->mutex);
}

int cachew_pipeline_check(struct cachew_client *client, const struct cachew_pipeline *pipeline,
                          struct cachew_spec **ret_spec, struct cachew_error *error)
{
    struct question question = {.client = client};
    if (cw_client_check(client, &question.err) != 0)
        return cw_public_fail(error, &question.err);
    if (!pipeline)
        return cw_public_set(error, CW_E_INVALID,
                             "cachew_pipeline_check: pipeline must not be NULL");
    question.request = pack(cw_pipeline_graph(pipeline));
    if (question.request->len > CW_CHECK_REQUEST_MAX)
        cw_err_set(&question.err, CW_E_LIMIT,
                   "the pipeline has %zu bytes, and one of more than %zu is checked when a job is "
                   "started",
                   question.request->len, CW_CHECK_REQUEST_MAX);
    else
        ask(&question);
    cw_buf_unref(question.request);
    if (question.err.code != 0) {
        cw_spec_fini(&question.spec.of);
        return cw_public_fail(error, &question.err);
    }
    if (ret_spec) {
        *ret_spec = CW_NEW(struct cachew_spec);
        (*ret_spec)->of = cw_spec_take(&question.spec.of);
    }
    cw_spec_fini(&question.spec.of);
    return 0;
}
