/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC's small things: slices and byte buffers, times, arguments, what is begun and ended once. */
#include "simulation/rpc/grpc_int.h"

#include <grpc/byte_buffer.h>
#include <grpc/slice.h>
#include <grpc/slice_buffer.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <stdatomic.h>
#include <string.h>

#define SLICE_MAX ((size_t)65536) /* a received message comes in slices of so many bytes */

/* ---- slices ---- */

struct grpc_slice_refcount {
    atomic_int refs;
    void (*destroy)(void *arg);
    void *arg;
};

static grpc_slice slice_of(void *p, size_t n, void (*destroy)(void *), void *arg)
{
    struct grpc_slice_refcount *count = CW_NEW(struct grpc_slice_refcount);
    atomic_init(&count->refs, 1);
    count->destroy = destroy;
    count->arg = arg;
    grpc_slice slice = {.refcount = count};
    slice.data.refcounted.bytes = p;
    slice.data.refcounted.length = n;
    return slice;
}

grpc_slice grpc_slice_new_with_user_data(void *p, size_t len, void (*destroy)(void *),
                                         void *user_data)
{
    return slice_of(p, len, destroy, user_data);
}

grpc_slice grpc_empty_slice(void)
{
    return (grpc_slice){0};
}

grpc_slice grpc_slice_from_copied_buffer(const char *source, size_t len)
{
    void *copy = cw_mem_dup(source, len);
    return slice_of(copy, len, cw_mem_free, copy);
}

grpc_slice grpc_slice_from_copied_string(const char *source)
{
    return grpc_slice_from_copied_buffer(source, strlen(source));
}

void grpc_slice_unref(grpc_slice slice)
{
    struct grpc_slice_refcount *count = slice.refcount;
    if (!count || atomic_fetch_sub(&count->refs, 1) != 1)
        return;
    count->destroy(count->arg);
    cw_mem_free(count);
}

char *grpc_slice_to_c_string(grpc_slice slice)
{
    return cw_mem_strndup((const char *)GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice));
}

size_t grpc_slice_buffer_add_indexed(grpc_slice_buffer *sb, grpc_slice slice)
{
    if (sb->count == sb->capacity) {
        sb->capacity = sb->capacity ? 2 * sb->capacity : 4;
        sb->base_slices = cw_mem_grow(sb->base_slices, sb->capacity, sizeof(grpc_slice));
        sb->slices = sb->base_slices;
    }
    sb->slices[sb->count] = slice;
    sb->length += GRPC_SLICE_LENGTH(slice);
    return sb->count++;
}

/* ---- byte buffers ---- */

grpc_byte_buffer *grpc_raw_byte_buffer_create(grpc_slice *slices, size_t nslices)
{
    CW_ASSERT(!slices && nslices == 0);
    grpc_byte_buffer *buffer = CW_NEW(grpc_byte_buffer);
    buffer->type = GRPC_BB_RAW;
    return buffer;
}

void grpc_byte_buffer_destroy(grpc_byte_buffer *buffer)
{
    if (!buffer)
        return;
    if (buffer->reserved) /* one that had come */
        sim_held_add(sim_self(), SIM_HELD_MESSAGE, -1);
    grpc_slice_buffer *slices = &buffer->data.raw.slice_buffer;
    for (size_t i = 0; i < slices->count; i++)
        grpc_slice_unref(slices->slices[i]);
    cw_mem_free(slices->base_slices);
    cw_mem_free(buffer);
}

struct net_bytes *bytes_of(const grpc_byte_buffer *buffer)
{
    const grpc_slice_buffer *slices = &buffer->data.raw.slice_buffer;
    struct net_bytes *bytes = net_bytes_new(slices->length);
    size_t at = 0;
    for (size_t i = 0; i < slices->count; i++) {
        size_t n = GRPC_SLICE_LENGTH(slices->slices[i]);
        if (n > 0)
            memcpy(bytes->p + at, GRPC_SLICE_START_PTR(slices->slices[i]), n);
        at += n;
    }
    return bytes;
}

grpc_byte_buffer *buffer_of(const struct net_bytes *bytes)
{
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(NULL, 0);
    buffer->reserved = buffer; /* counted until it is destroyed */
    sim_held_add(sim_self(), SIM_HELD_MESSAGE, 1);
    for (size_t at = 0; at < bytes->n; at += SLICE_MAX) {
        const char *p = (const char *)bytes->p + at;
        grpc_slice slice = grpc_slice_from_copied_buffer(p, CW_MIN(bytes->n - at, SLICE_MAX));
        grpc_slice_buffer_add_indexed(&buffer->data.raw.slice_buffer, slice);
    }
    return buffer;
}

/* ---- what else there is ---- */

void grpc_init(void)
{
}

void grpc_shutdown(void)
{
}

void gpr_free(void *p)
{
    cw_mem_free(p);
}

void gpr_set_log_function(gpr_log_func func)
{
    (void)func;
}

void grpc_metadata_array_init(grpc_metadata_array *array)
{
    *array = (grpc_metadata_array){0};
}

void grpc_metadata_array_destroy(grpc_metadata_array *array)
{
    for (size_t i = 0; i < array->count; i++) {
        grpc_slice_unref(array->metadata[i].key);
        grpc_slice_unref(array->metadata[i].value);
    }
    cw_mem_free(array->metadata);
}

void grpc_call_details_init(grpc_call_details *details)
{
    *details = (grpc_call_details){0};
}

void grpc_call_details_destroy(grpc_call_details *details)
{
    grpc_slice_unref(details->method);
}

/* ---- times ---- */

gpr_timespec gpr_now(gpr_clock_type clock)
{
    int64_t now = sim_now_ns();
    return (gpr_timespec){
        .tv_sec = now / NET_S, .tv_nsec = (int32_t)(now % NET_S), .clock_type = clock};
}

gpr_timespec gpr_inf_future(gpr_clock_type clock)
{
    return (gpr_timespec){.tv_sec = INT64_MAX, .clock_type = clock};
}

gpr_timespec gpr_time_from_millis(int64_t ms, gpr_clock_type clock)
{
    return (gpr_timespec){
        .tv_sec = ms / 1000, .tv_nsec = (int32_t)(ms % 1000 * NET_MS), .clock_type = clock};
}

gpr_timespec gpr_time_add(gpr_timespec a, gpr_timespec b)
{
    if (a.tv_sec == INT64_MAX || b.tv_sec > INT64_MAX / 4)
        return gpr_inf_future(a.clock_type);
    a.tv_sec += b.tv_sec;
    a.tv_nsec += b.tv_nsec;
    if (a.tv_nsec >= NET_S) {
        a.tv_nsec -= (int32_t)NET_S;
        a.tv_sec++;
    }
    return a;
}

/* ---- arguments ---- */

static int64_t arg_of(const grpc_channel_args *args, const char *key, int64_t otherwise)
{
    for (size_t i = 0; args && i < args->num_args; i++)
        if (args->args[i].type == GRPC_ARG_INTEGER && strcmp(args->args[i].key, key) == 0)
            return args->args[i].value.integer;
    return otherwise;
}

/* A client's own default for keepalive is never. */
void settings_read(struct settings *settings, const grpc_channel_args *args)
{
    *settings = (struct settings){
        .keepalive_ns = arg_of(args, GRPC_ARG_KEEPALIVE_TIME_MS, INT32_MAX) * NET_MS,
        .keepalive_timeout_ns = arg_of(args, GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000) * NET_MS,
        .backoff_ns = arg_of(args, GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 1000) * NET_MS,
        .backoff_max_ns = arg_of(args, GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 120000) * NET_MS,
        .connect_timeout_ns = arg_of(args, GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20000) * NET_MS,
        .send_max = (size_t)arg_of(args, GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, INT32_MAX),
        .receive_max = (size_t)arg_of(args, GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, 4 << 20),
    };
}
