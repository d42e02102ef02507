/* SPDX-License-Identifier: Apache-2.0 */
/* Starts children, and talks to them. Of what a child says only the socket's messages are believed to
 * have been said: every place and size in them is checked, and what lies in the memory is only copied. */
#include "python/python_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "loop/child.h"
#include "python/python_answer.h"
#include "python/python_spawn.h"
#include "python/python_wire.h"

#define START_MS 60000
#define LOOK_MS 20 /* how often a wait looks at the stop flag */
#define MAP_BYTES_MIN ((size_t)1 << 20)
#define END_MS 2000

struct cw_python_child {
    const struct cw_python_function *function;
    struct cw_child process;
    int socket, memory; /* -1: it was ended */
    unsigned char *map;
    size_t map_bytes;
    struct cw_python_request request; /* the last one */
    struct cw_python_reply answer;
    char names[CW_PYTHON_ANSWER_MAX];
};

static void end_process(struct cw_python_child *child)
{
    if (child->socket < 0)
        return;
    close(child->socket);
    child->socket = -1;
    cw_child_kill(&child->process, SIGKILL);
    (void)cw_child_stop(&child->process, END_MS);
}

bool cw_python_child_runs(const struct cw_python_child *child)
{
    return child->socket >= 0;
}

/* The child has closed its socket, so it has ended or does so now. */
static int fail_ended(struct cw_python_child *child, struct cw_err *err)
{
    for (int i = 0; i < END_MS && cw_child_is_alive(&child->process); i++)
        cw_clock_sleep_ns(1000000);
    int status = child->process.status;
    bool runs = child->process.pid != 0;
    end_process(child);
    if (runs)
        return cw_err_set(err, CW_E_INVALID, "its process has closed its socket");
    if (WIFSIGNALED(status))
        return cw_err_set(err, CW_E_INVALID, "its process was ended by signal %d (%s)",
                          WTERMSIG(status), strsignal(WTERMSIG(status)));
    return cw_err_set(err, CW_E_INVALID, "its process has exited with status %d",
                      WEXITSTATUS(status));
}

/* Receives an answer; returns its length, 0 if the child has ended. On every error the process is ended,
 * since its answer would be taken for that of another request. */
static ssize_t wait_answer(struct cw_python_child *child, int64_t limit_ms,
                           const struct cw_stop *stop, struct cw_err *err)
{
    int64_t deadline_ms = cw_clock_ms() + limit_ms;
    for (;;) {
        int rc = 0;
        ssize_t n = recv(child->socket, &child->answer.u, sizeof(child->answer.u), 0);
        if (n >= 0)
            return n;
        if (errno == ECONNRESET)
            return 0;
        if (errno != EAGAIN && errno != EINTR) /* it waits for LOOK_MS at most (begin_talk) */
            rc = cw_err_errno(err, errno, "cannot receive from its process");
        if (rc == 0)
            rc = cw_stop_check(stop, err);
        if (rc == 0 && cw_clock_ms() >= deadline_ms)
            rc = cw_err_set(err, CW_E_INVALID, "it took more than %.3g s, and was ended",
                            (double)limit_ms / 1000);
        if (rc != 0) {
            end_process(child);
            return rc;
        }
    }
}

static int fail_told(struct cw_python_child *child, struct cw_err *err)
{
    const size_t head = sizeof(child->answer.u.head);
    if (child->answer.u.head.status == CW_PYTHON_ENDS)
        end_process(child);
    return cw_err_set(err, CW_E_INVALID, "%.*s", (int)(child->answer.n - head),
                      child->answer.u.bytes + head);
}

static int receive(struct cw_python_child *child, int64_t limit_ms, const struct cw_stop *stop,
                   struct cw_err *err)
{
    ssize_t n = wait_answer(child, limit_ms, stop, err);
    if (n < 0)
        return (int)n;
    if (n == 0)
        return fail_ended(child, err);
    child->answer.n = (size_t)n;
    if (child->answer.n < sizeof(child->answer.u.head)) {
        end_process(child);
        return cw_err_set(err, CW_E_INVALID, "its process does not keep to the protocol");
    }
    if (child->answer.u.head.status == CW_PYTHON_ERROR ||
        child->answer.u.head.status == CW_PYTHON_ENDS)
        return fail_told(child, err);
    return 0;
}

static int send_request(struct cw_python_child *child, size_t bytes, struct cw_err *err)
{
    child->request.map_bytes = child->map_bytes;
    if (send(child->socket, &child->request, bytes, MSG_NOSIGNAL) == (ssize_t)bytes)
        return 0;
    return fail_ended(child, err);
}

/* Makes the memory at least so large. */
static int grow(struct cw_python_child *child, size_t bytes, struct cw_err *err)
{
    size_t size = MAP_BYTES_MIN;
    if (bytes <= child->map_bytes)
        return 0;
    if (bytes > (size_t)child->function->memory_bytes)
        return cw_err_set(err, CW_E_LIMIT,
                          "an element takes %zu bytes with its result: more than `memory`, %lld",
                          bytes, (long long)child->function->memory_bytes);
    while (size < bytes)
        size *= 2;
    if (ftruncate(child->memory, (off_t)size) != 0)
        return cw_err_errno(err, errno, "cannot make shared memory of %zu bytes", size);
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, child->memory, 0);
    if (map == MAP_FAILED)
        return cw_err_errno(err, errno, "cannot map shared memory of %zu bytes", size);
    if (child->map)
        munmap(child->map, child->map_bytes);
    child->map = map;
    child->map_bytes = size;
    return 0;
}

/* ---- text requests ---- */

static int tell_text(struct cw_python_child *child, enum cw_python_request_kind kind,
                     const struct cw_value *told, const struct cw_stop *stop, struct cw_err *err)
{
    CW_STR_AUTO text = {0};
    cw_value_print(told, &text);
    int rc = grow(child, text.len, err);
    if (rc != 0)
        return rc;
    memcpy(child->map, cw_str_text(&text), text.len);
    child->request = (struct cw_python_request){.kind = kind, .room = text.len};
    rc = send_request(child, offsetof(struct cw_python_request, fields), err);
    return rc == 0 ? receive(child, START_MS, stop, err) : rc;
}

static void set_list(struct cw_value *value, const struct cw_str_list *list)
{
    struct cw_value *items = cw_value_set_list(value, list->n);
    for (size_t i = 0; i < list->n; i++)
        cw_value_set_str(&items[i], list->v[i]);
}

static int load(struct cw_python_child *child, const struct cw_stop *stop, struct cw_err *err)
{
    const struct cw_python_function *f = child->function;
    struct cw_value told = {0};
    cw_value_set_object(&told);
    cw_value_set_str(cw_value_member(&told, "function"), f->code);
    cw_value_set_str(cw_value_member(&told, "version"), f->version);
    set_list(cw_value_member(&told, "packages"), f->packages);
    set_list(cw_value_member(&told, "on"), f->on);
    cw_value_set_bool(cw_value_member(&told, "filter"), f->filters);
    cw_value_set_bool(cw_value_member(&told, "random"), f->draws);
    cw_value_set_f64(cw_value_member(&told, "timeout"), f->timeout_s);
    int rc = receive(child, START_MS, stop, err); /* it says that it has begun */
    if (rc == 0)
        rc = tell_text(child, CW_PYTHON_LOAD, &told, stop, err);
    cw_value_fini(&told);
    return rc;
}

static void set_spec(struct cw_value *value, const struct cw_spec *spec)
{
    struct cw_value *fields = cw_value_set_list(value, spec->n);
    for (size_t i = 0; i < spec->n; i++) {
        const struct cw_field *field = &spec->fields[i];
        struct cw_value *row = cw_value_set_list(&fields[i], 3);
        cw_value_set_str(&row[0], field->name);
        cw_value_set_str(&row[1], cw_dtype_name(field->dtype));
        struct cw_value *dims = cw_value_set_list(&row[2], (size_t)field->rank);
        for (int k = 0; k < field->rank; k++)
            cw_value_set_i64(&dims[k], field->dims[k]);
    }
}

int cw_python_child_tell(struct cw_python_child *child, const struct cw_spec *in,
                         const struct cw_spec *out, const struct cw_stop *stop, struct cw_err *err)
{
    struct cw_value told = {0};
    cw_value_set_object(&told);
    struct cw_value *names = cw_value_set_list(cw_value_member(&told, "fields"), in->n);
    for (size_t i = 0; i < in->n; i++)
        cw_value_set_str(&names[i], in->fields[i].name);
    struct cw_value *spec = cw_value_member(&told, "spec");
    if (out)
        set_spec(spec, out);
    int rc = tell_text(child, CW_PYTHON_FIELDS, &told, stop, err);
    cw_value_fini(&told);
    return rc;
}

/* ---- elements ---- */

/* Says where the fields of an element will lie; returns where the last one ends. */
static size_t place_fields(const struct cw_view *in, size_t n, struct cw_python_field *fields)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        at = CW_ALIGN_UP(at, (size_t)64);
        fields[i] = (struct cw_python_field){
            .dtype = in[i].dtype, .rank = (uint32_t)in[i].rank, .at = at, .bytes = in[i].bytes};
        memcpy(fields[i].dims, in[i].dims, (size_t)in[i].rank * sizeof(in[i].dims[0]));
        at += in[i].bytes;
    }
    return CW_ALIGN_UP(at, (size_t)64);
}

/* Puts an element into the memory, and sends it. */
static int send_element(struct cw_python_child *child, const struct cw_view *in, size_t n,
                        uint64_t seed, struct cw_err *err)
{
    struct cw_python_field fields[CW_PYTHON_FIELDS_MAX];
    const size_t head = offsetof(struct cw_python_request, fields);
    size_t map_bytes = child->map_bytes, room = place_fields(in, n, fields);
    int rc = grow(child, room, err);
    if (rc != 0)
        return rc;
    struct cw_python_request *r = &child->request;
    bool same = (r->kind == CW_PYTHON_CALL || r->kind == CW_PYTHON_SAME) && r->n == n &&
                map_bytes == child->map_bytes && r->map_bytes == map_bytes &&
                memcmp(r->fields, fields, n * sizeof(fields[0])) == 0;
    for (size_t i = 0; i < n; i++)
        memcpy(child->map + fields[i].at, in[i].data, in[i].bytes);
    r->kind = same ? CW_PYTHON_SAME : CW_PYTHON_CALL;
    r->n = (uint32_t)n;
    r->seed = seed;
    r->room = room;
    memcpy(r->fields, fields, n * sizeof(fields[0]));
    return send_request(child, same ? head : head + n * sizeof(fields[0]), err);
}

static int take_fields(struct cw_python_child *child, struct cw_view *ret_out, size_t *ret_n,
                       struct cw_err *err)
{
    if (child->answer.u.head.n > CW_PYTHON_FIELDS_MAX)
        return cw_err_set(err, CW_E_INVALID, "it returned %u fields, at most %d are possible",
                          child->answer.u.head.n, CW_PYTHON_FIELDS_MAX);
    if (!cw_python_answer_fields(&child->answer, child->map, child->map_bytes, ret_out, ret_n)) {
        end_process(child);
        return cw_err_set(err, CW_E_INVALID, "its process does not keep to the protocol");
    }
    cw_python_answer_names(&child->answer, child->names, sizeof(child->names));
    return 0;
}

static int give_room(struct cw_python_child *child, const struct cw_stop *stop, struct cw_err *err)
{
    int rc = grow(child, (size_t)child->answer.u.head.bytes, err);
    child->request.kind = CW_PYTHON_ROOM;
    if (rc == 0)
        rc = send_request(child, offsetof(struct cw_python_request, fields), err);
    else
        end_process(child); /* it waits for the room */
    return rc == 0
               ? receive(child, (int64_t)(child->function->timeout_s * 1000) + LOOK_MS, stop, err)
               : rc;
}

int cw_python_child_call(struct cw_python_child *child, const struct cw_view *in, size_t in_n,
                         uint64_t seed, const struct cw_stop *stop, struct cw_view *ret_out,
                         size_t *ret_n, struct cw_err *err)
{
    int64_t limit_ms = CW_MAX((int64_t)(child->function->timeout_s * 1000), 1);
    int rc = send_element(child, in, in_n, seed, err);
    if (rc == 0)
        rc = receive(child, limit_ms, stop, err);
    if (rc == 0 && child->answer.u.head.status == CW_PYTHON_NEED)
        rc = give_room(child, stop, err);
    if (rc == 0 && child->answer.u.head.status == CW_PYTHON_DROP)
        return 1;
    return rc == 0 ? take_fields(child, ret_out, ret_n, err) : rc;
}

int64_t cw_python_child_cpu_ns(const struct cw_python_child *child)
{
    const struct cw_python_answer *head = &child->answer.u.head;
    bool says = head->status == CW_PYTHON_KEEP || head->status == CW_PYTHON_DROP;
    return says ? (int64_t)CW_MIN(head->bytes, (uint64_t)INT64_MAX) : 0;
}

const char *cw_python_child_names(const struct cw_python_child *child)
{
    return child->names;
}

/* ---- life ---- */

/* Waits for an answer end now and then, to look whether anybody still wants it. */
static int begin_talk(struct cw_python_child *child, struct cw_err *err)
{
    const struct timeval wait = {.tv_usec = LOOK_MS * 1000};
    return setsockopt(child->socket, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) == 0
               ? 0
               : cw_err_errno(err, errno, "cannot limit a wait");
}

int cw_python_child_start(const struct cw_python_function *function, const struct cw_stop *stop,
                          struct cw_python_child **ret_child, struct cw_err *err)
{
    struct cw_python_child *child = CW_NEW(struct cw_python_child);
    child->function = function;
    child->socket = child->memory = -1;
    int rc = cw_python_spawn((uint64_t)function->memory_bytes, &child->process, &child->socket,
                             &child->memory, err);
    if (rc == 0)
        rc = begin_talk(child, err);
    if (rc == 0)
        rc = load(child, stop, err);
    if (rc != 0) {
        cw_python_child_free(child);
        return rc;
    }
    *ret_child = child;
    return 0;
}

void cw_python_child_free(struct cw_python_child *child)
{
    if (!child)
        return;
    end_process(child);
    if (child->map)
        munmap(child->map, child->map_bytes);
    if (child->memory >= 0)
        close(child->memory);
    cw_mem_free(child);
}
