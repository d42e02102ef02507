/* SPDX-License-Identifier: Apache-2.0 */
/* Server reflection, v1 and v1alpha. The messages of both versions are the same, so one
 * implementation serves both. */
#include "base/mem.h"
#include "grpc/reflection/v1/reflection.pb-c.h"
#include "rpc/descriptors.h"
#include "rpc/server_int.h"

typedef Grpc__Reflection__V1__ServerReflectionRequest request_pb;
typedef Grpc__Reflection__V1__ServerReflectionResponse response_pb;

#define ASKED(name) GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_##name
#define ANSWER(name) GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_##name
#define REQUEST_MAX 65536
#define GRPC_NOT_FOUND 5
#define GRPC_UNIMPLEMENTED 12

struct cw_reflect {
    struct cw_server_part part;
    struct cw_server *server;
    struct cw_descriptors set;
};
struct session {
    struct cw_reflect *reflect;
    struct cw_stream *stream;
};

static void send_response(struct session *session, request_pb *request, response_pb *response)
{
    response->valid_host = request->host;
    response->original_request = request;
    size_t n = grpc__reflection__v1__server_reflection_response__get_packed_size(response);
    struct cw_buf *buf = cw_buf_new(n);
    CW_ASSERT(buf); /* its size is at most that of the program's own descriptors */
    grpc__reflection__v1__server_reflection_response__pack(response, buf->data);
    cw_stream_send(session->stream, &buf, 1);
    cw_buf_unref(buf);
}

static void send_error(struct session *session, request_pb *request, int status, const char *text)
{
    Grpc__Reflection__V1__ErrorResponse error = GRPC__REFLECTION__V1__ERROR_RESPONSE__INIT;
    response_pb response = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;
    cw_autofree char *message = cw_mem_strdup(text);
    error.error_code = status;
    error.error_message = message;
    response.message_response_case = ANSWER(ERROR_RESPONSE);
    response.error_response = &error;
    send_response(session, request, &response);
}

static void send_services(struct session *session, request_pb *request)
{
    Grpc__Reflection__V1__ListServiceResponse list =
        GRPC__REFLECTION__V1__LIST_SERVICE_RESPONSE__INIT;
    response_pb response = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;
    size_t cap = 0;
    char name[256];
    for (size_t i = 0; cw_server_next_service(session->reflect->server, &i, name, sizeof name);) {
        CW_GROW(list.service, list.n_service, cap);
        Grpc__Reflection__V1__ServiceResponse *service =
            CW_NEW(Grpc__Reflection__V1__ServiceResponse);
        grpc__reflection__v1__service_response__init(service);
        service->name = cw_mem_strdup(name);
        list.service[list.n_service++] = service;
    }
    response.message_response_case = ANSWER(LIST_SERVICES_RESPONSE);
    response.list_services_response = &list;
    send_response(session, request, &response);
    for (size_t i = 0; i < list.n_service; i++) {
        cw_mem_free(list.service[i]->name);
        cw_mem_free(list.service[i]);
    }
    cw_mem_free(list.service);
}

static void send_file(struct session *session, request_pb *request,
                      const struct cw_descriptor_file *file)
{
    const struct cw_descriptors *set = &session->reflect->set;
    Grpc__Reflection__V1__FileDescriptorResponse files =
        GRPC__REFLECTION__V1__FILE_DESCRIPTOR_RESPONSE__INIT;
    response_pb response = GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__INIT;
    if (!file) {
        send_error(session, request, GRPC_NOT_FOUND, "unknown file or symbol");
        return;
    }
    cw_autofree size_t *indices = CW_NEW_ARRAY(size_t, set->n);
    cw_autofree ProtobufCBinaryData *data = CW_NEW_ARRAY(ProtobufCBinaryData, set->n);
    files.n_file_descriptor_proto = cw_descriptors_closure(set, file, indices);
    files.file_descriptor_proto = data;
    for (size_t i = 0; i < files.n_file_descriptor_proto; i++) {
        data[i].len = set->files[indices[i]].n;
        data[i].data = (uint8_t *)(uintptr_t)set->files[indices[i]].data;
    }
    response.message_response_case = ANSWER(FILE_DESCRIPTOR_RESPONSE);
    response.file_descriptor_response = &files;
    send_response(session, request, &response);
}

static void answer(struct session *session, request_pb *request)
{
    const struct cw_descriptors *set = &session->reflect->set;
    switch ((int)request->message_request_case) {
    case ASKED(LIST_SERVICES):
        send_services(session, request);
        break;
    case ASKED(FILE_BY_FILENAME):
        send_file(session, request, cw_strmap_get(&set->by_name, request->file_by_filename));
        break;
    case ASKED(FILE_CONTAINING_SYMBOL):
        send_file(session, request,
                  cw_strmap_get(&set->by_symbol, request->file_containing_symbol));
        break;
    default: /* there are no extensions in proto3 */
        send_error(session, request, GRPC_UNIMPLEMENTED, "there are no extensions");
        break;
    }
}

static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    struct session *session = arg;
    size_t n = cw_rpc_msg_len(msg);
    const void *flat = n <= REQUEST_MAX ? cw_rpc_msg_flat(msg, n) : NULL;
    request_pb *request =
        flat ? grpc__reflection__v1__server_reflection_request__unpack(NULL, n, flat) : NULL;
    if (!request) {
        cw_stream_finish(session->stream, CW_E_INVALID, "not a ServerReflectionRequest");
        return;
    }
    answer(session, request);
    grpc__reflection__v1__server_reflection_request__free_unpacked(request, NULL);
    /* Reading pauses while answers are queued, so a client that does not read cannot make the queue
     * grow. */
    cw_stream_pause(session->stream, cw_stream_queued(session->stream) > 0);
}

static void on_low(void *arg)
{
    struct session *session = arg;
    cw_stream_pause(session->stream, false);
}

static void on_close(void *arg, int code, const char *msg)
{
    (void)code;
    (void)msg;
    struct session *session = arg;
    cw_stream_free(session->stream);
    cw_mem_free(session);
}

static void handle_info(void *arg, struct cw_stream *stream)
{
    static const struct cw_stream_cb cb = {
        .on_message = on_message, .on_low = on_low, .on_close = on_close};
    struct session *session = CW_NEW(struct session);
    session->reflect = arg;
    session->stream = stream;
    cw_stream_accept(stream, &cb, session);
}

static void destroy_reflection(struct cw_server_part *part)
{
    struct cw_reflect *reflect = CW_CONTAINER_OF(part, struct cw_reflect, part);
    cw_descriptors_fini(&reflect->set);
    cw_mem_free(reflect);
}

void cw_server_add_reflection(struct cw_server *server, const void *descriptors, size_t n)
{
    static const char *const paths[] = {
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};
    struct cw_reflect *reflect = CW_NEW(struct cw_reflect);
    reflect->part = (struct cw_server_part){.destroy = destroy_reflection};
    reflect->server = server;
    cw_descriptors_init(&reflect->set, descriptors, n);
    for (size_t i = 0; i < CW_ARRAY_LEN(paths); i++)
        cw_server_add(server,
                      &(struct cw_method){.path = paths[i], .stream = handle_info, .arg = reflect});
    cw_server_add_part(server, &reflect->part);
}
