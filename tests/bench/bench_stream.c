/* SPDX-License-Identifier: Apache-2.0 */
/* Batches through src/rpc and src/wire against bare gRPC core: the same bytes, a server in a
 * child process, TCP on loopback; both clients put every message into one contiguous buffer.
 * Rounds alternate; what counts is the ratio of the medians.
 *   bench_stream [MIB_PER_MESSAGE [MIB_PER_ROUND [ROUNDS]]] */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "bench/bare_stream.h"
#include "loop/child.h"
#include "wire/wire.h"

#define ROUNDS_MAX 25
#define AHEAD_BYTES (8u << 20) /* what the server keeps queued, like a worker */

static void die(const char *what)
{
    fprintf(stderr, "bench_stream: %s\n", what);
    _exit(1);
}

/* ---- our server ---- */

struct source {
    struct cw_stream *stream;
    struct cw_batch *batch;
    size_t left;
};

static void fill(struct source *source)
{
    while (source->left > 0 && cw_stream_queued(source->stream) <= AHEAD_BYTES) {
        source->batch->item++;
        cw_wire_send_outputs(source->stream, &source->batch, NULL, 1);
        if (--source->left == 0)
            cw_stream_finish(source->stream, 0, NULL);
    }
}

static void on_source_message(void *arg, struct cw_rpc_msg *msg)
{
    (void)arg;
    (void)msg;
}

static void on_source_low(void *arg)
{
    fill(arg);
}

static void on_source_close(void *arg, int code, const char *msg)
{
    struct source *source = arg;
    (void)code;
    (void)msg;
    cw_stream_free(source->stream);
}

static void handle_stream(void *arg, struct cw_stream *stream)
{
    static const struct cw_stream_cb cb = {
        .on_message = on_source_message, .on_low = on_source_low, .on_close = on_source_close};
    struct source *source = arg;
    source->stream = stream;
    cw_stream_accept(stream, &cb, source);
    cw_stream_set_low(stream, AHEAD_BYTES / 2);
    fill(source);
}

static struct cw_batch *make_batch(size_t bytes)
{
    struct cw_batch *batch = cw_batch_new(1);
    struct cw_err err = {0};
    size_t got = 0;
    batch->elements = 1;
    batch->tensors[0].field =
        (struct cw_field){.name = "x", .dtype = CW_DTYPE_U8, .rank = 1, .dims = {(int64_t)bytes}};
    if (cw_batch_layout(batch, &got, &err) != 0)
        die(err.msg);
    batch->buf = cw_buf_new(got);
    memset(batch->buf->data, 7, got);
    return batch;
}

static void serve_ours(size_t bytes, size_t n)
{
    struct cw_loop *loop = cw_loop_new();
    struct cw_rpc *rpc = cw_rpc_new(loop);
    struct source source = {.batch = make_batch(bytes), .left = n};
    struct cw_server *server = cw_server_new(rpc);
    struct cw_err err = {0};
    char address[64];
    cw_server_add(
        server, &(struct cw_method){.path = BARE_METHOD, .stream = handle_stream, .arg = &source});
    if (cw_server_listen(server, "127.0.0.1:0", address, sizeof address, &err) != 0)
        die(err.msg);
    cw_server_start(server);
    printf("%s\n", address);
    fflush(stdout);
    cw_loop_run(loop); /* until killed */
}

/* ---- our client ---- */

struct sink {
    struct cw_loop *loop;
    struct cw_buf *buf;
    size_t bytes;
    bool closed;
};

static void on_sink_message(void *arg, struct cw_rpc_msg *msg)
{
    struct sink *sink = arg;
    struct cw_wire_data data;
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    if (cw_wire_data_parse(msg, &data, &err) != 0 ||
        cw_wire_output_from(data.head->outputs[0], &batch, &err) != 0)
        die(err.msg);
    if (data.payload_len > sink->buf->cap ||
        cw_rpc_msg_copy(msg, data.payload_offset, sink->buf->data, data.payload_len) != 0)
        die("a message of another size");
    sink->bytes += data.payload_len;
    cw_batch_unref(batch);
    cw_wire_data_fini(&data);
}

static void on_sink_close(void *arg, int code, const char *msg)
{
    struct sink *sink = arg;
    if (code)
        die(msg);
    sink->closed = true;
    cw_loop_stop(sink->loop);
}

static size_t receive_ours(const char *address, struct cw_buf *into)
{
    static const struct cw_stream_cb cb = {.on_message = on_sink_message,
                                           .on_close = on_sink_close};
    struct sink sink = {.loop = cw_loop_new(), .buf = into};
    struct cw_rpc *rpc = cw_rpc_new(sink.loop);
    struct cw_channel *channel = cw_channel_open(rpc, address);
    struct cw_stream *stream = cw_channel_stream(channel, BARE_METHOD, &cb, &sink);
    while (!sink.closed)
        cw_loop_run(sink.loop);
    cw_stream_free(stream);
    cw_channel_close(channel);
    cw_rpc_free(rpc);
    cw_loop_free(sink.loop);
    return sink.bytes;
}

/* ---- rounds ---- */

struct round {
    double gb_s, cpu_s_gb;
};

static double cpu_s(int who)
{
    struct rusage u;
    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static struct round run_round(const char *self, const char *kind, size_t bytes, size_t n,
                              struct cw_buf *into)
{
    struct cw_child child;
    struct cw_err err = {0};
    char address[64];
    cw_autofree char *bytes_text = cw_mem_printf("%zu", bytes), *n_text = cw_mem_printf("%zu", n);
    const char *const argv[] = {self, kind, bytes_text, n_text, NULL};
    if (cw_child_start(&child, argv, NULL, 0, &err) != 0 ||
        cw_child_read_line(&child, 60000, address, sizeof address, &err) != 0)
        die(err.msg);
    double cpu = cpu_s(RUSAGE_SELF) + cpu_s(RUSAGE_CHILDREN);
    int64_t start = cw_clock_ns();
    size_t got =
        cw_str_eq(kind, "ours") ? receive_ours(address, into) : bare_receive(address, into);
    double seconds = 1e-9 * (double)(cw_clock_ns() - start);
    cw_child_kill(&child, SIGKILL);
    cw_child_stop(&child, 60000);
    cpu = cpu_s(RUSAGE_SELF) + cpu_s(RUSAGE_CHILDREN) - cpu;
    if (got < bytes * n)
        die("bytes are missing");
    double gb = 1e-9 * (double)got;
    return (struct round){gb / seconds, cpu / gb};
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const struct round *rounds, size_t n, bool cpu)
{
    double v[ROUNDS_MAX];
    for (size_t i = 0; i < n; i++)
        v[i] = cpu ? rounds[i].cpu_s_gb : rounds[i].gb_s;
    qsort(v, n, sizeof v[0], compare);
    return v[n / 2];
}

static uint64_t number(int argc, char **argv, int i, uint64_t fallback)
{
    uint64_t value = fallback;
    if (argc > i && !cw_str_to_u64(argv[i], &value))
        die("usage: bench_stream [MIB_PER_MESSAGE [MIB_PER_ROUND [ROUNDS]]]");
    return value;
}

int main(int argc, char **argv)
{
    if (argc == 4 && cw_str_eq(argv[1], "ours")) {
        serve_ours(number(argc, argv, 2, 1), number(argc, argv, 3, 1));
        return 0;
    }
    if (argc == 4 && cw_str_eq(argv[1], "bare"))
        return bare_serve(number(argc, argv, 2, 1), number(argc, argv, 3, 1));
    size_t bytes = (size_t)number(argc, argv, 1, 1) << 20,
           total = (size_t)number(argc, argv, 2, 1024) << 20;
    size_t n = CW_MAX(total / CW_MAX(bytes, (size_t)1), (size_t)1),
           rounds = CW_MIN(number(argc, argv, 3, 5), (uint64_t)ROUNDS_MAX);
    struct round ours[ROUNDS_MAX], bare[ROUNDS_MAX];
    char self[4096] = {0};
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || rounds == 0)
        die("nothing to do");
    struct cw_buf *into = cw_buf_new(bytes + 4096);
    for (size_t i = 0; i < rounds; i++) {
        bare[i] = run_round(self, "bare", bytes, n, into);
        ours[i] = run_round(self, "ours", bytes, n, into);
    }
    cw_buf_unref(into);
    double a = median(ours, rounds, false), b = median(bare, rounds, false);
    double c = median(ours, rounds, true), d = median(bare, rounds, true);
    printf("stream: message_mib=%zu ours_gb_s=%.2f bare_gb_s=%.2f ratio=%.3f ours_cpu_s_gb=%.2f "
           "bare_cpu_s_gb=%.2f cpu_ratio=%.3f\n",
           bytes >> 20, a, b, a / b, c, d, c / d);
    return 0;
}
