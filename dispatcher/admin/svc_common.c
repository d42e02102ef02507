/* SPDX-License-Identifier: Apache-2.0 */
/* What all calls of tools have in common: unpacking, finding the job, replying. */
#include "dispatcher/admin/admin_int.h"

struct stored_reply {
    struct cw_call *call;
    struct cw_buf *buf;
};

struct read_call {
    struct cw_dispatcher *d;
    struct cw_call *call;
    ProtobufCMessage *message;
    cw_svc_read_fn *fn;
};

void cw_svc_reply(struct cw_call *call, const ProtobufCMessage *message)
{
    struct cw_buf *buf = cw_wire_pack(message);
    cw_call_reply(call, buf);
    cw_buf_unref(buf);
}

void cw_svc_add_packed(struct cw_str *packed, const ProtobufCMessage *message)
{
    struct cw_buf *buf = cw_wire_pack(message);
    cw_str_add_bytes(packed, buf->data, buf->len);
    cw_buf_unref(buf);
}

static void free_text(void *arg, struct cw_buf *buf)
{
    (void)buf;
    cw_mem_free(arg);
}

void cw_svc_reply_packed(struct cw_call *call, struct cw_str *packed)
{
    size_t n = packed->len;
    char *text = cw_str_take(packed);
    struct cw_buf *buf = cw_buf_wrap(text, n, free_text, text);
    cw_call_reply(call, buf);
    cw_buf_unref(buf);
}

static void on_stored(void *arg, const struct cw_err *err)
{
    struct stored_reply *reply = arg;
    if (err) {
        cw_autofree char *msg = cw_mem_printf("it is done, but not stored yet, and a restart of "
                                              "the dispatcher could undo it; the dispatcher "
                                              "tries again until it is stored: %s",
                                              err->msg);
        cw_call_fail(reply->call, err->code, msg);
    } else {
        cw_call_reply(reply->call, reply->buf);
    }
    cw_buf_unref(reply->buf);
    cw_mem_free(reply);
}

void cw_svc_reply_stored(struct cw_dispatcher *d, struct cw_call *call,
                         const ProtobufCMessage *message)
{
    struct stored_reply *reply = CW_NEW(struct stored_reply);
    *reply = (struct stored_reply){.call = call, .buf = cw_wire_pack(message)};
    cw_when_stored(d, on_stored, reply);
}

static void on_readable(void *arg, const struct cw_err *err)
{
    struct read_call *read = arg;
    (void)err; /* After an error the call reads what is there. */
    read->fn(read->d, read->call, read->message);
    protobuf_c_message_free_unpacked(read->message, NULL);
    cw_mem_free(read);
}

void cw_svc_when_readable(struct cw_dispatcher *d, struct cw_call *call, ProtobufCMessage *message,
                          cw_svc_read_fn *fn)
{
    struct read_call *read = CW_NEW(struct read_call);
    *read = (struct read_call){.d = d, .call = call, .message = message, .fn = fn};
    cw_when_stored(d, on_readable, read);
}

ProtobufCMessage *cw_svc_unpack(const ProtobufCMessageDescriptor *type, struct cw_call *call,
                                struct cw_rpc_msg *request)
{
    struct cw_err err = {0};
    ProtobufCMessage *message = cw_wire_unpack(type, request, &err);
    if (!message)
        cw_call_fail(call, CW_E_INVALID, err.msg);
    return message;
}

struct cw_job *cw_svc_find_job(struct cw_dispatcher *d, struct cw_call *call, const char *name)
{
    struct cw_job *job = cw_job_find(d, name);
    if (job && !cw_access_sees_job(cw_call_caller(call), job))
        job = NULL; /* Nobody learns which jobs others have. */
    if (!job) {
        cw_autofree char *msg = cw_mem_printf("there is no job \"%s\"", name);
        cw_call_fail(call, CW_E_NOT_FOUND, msg);
    }
    return job;
}
