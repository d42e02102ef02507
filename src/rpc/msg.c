/* SPDX-License-Identifier: Apache-2.0 */
/* Received messages, and buffers that are being sent. Nothing is copied in either direction: a
 * received message keeps gRPC's slices (at most 64 KiB each, whatever is configured), and a sent
 * one points into our buffers. */
#include <grpc/byte_buffer.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "rpc/rpc_int.h"

struct cw_rpc_msg {
    atomic_int refs;
    /* NULL: the message consists of our own bytes, in one slice that gRPC does not know. */
    grpc_byte_buffer *buffer;
    grpc_slice own;
    grpc_slice_buffer own_list;
    const grpc_slice_buffer *slices; /* the slices of buffer, or of own */
    /* For each slice its end in the message, so that a place can be found quickly; may be NULL. */
    size_t *ends;
    void *flat; /* a copy of the first flat_n bytes */
    size_t flat_n;
};

#define SLICES_FEW 8

static size_t *ends_of(const grpc_slice_buffer *slices)
{
    if (slices->count <= SLICES_FEW)
        return NULL;
    size_t *ends = CW_NEW_ARRAY(size_t, slices->count);
    size_t end = 0;
    for (size_t i = 0; i < slices->count; i++)
        ends[i] = end += GRPC_SLICE_LENGTH(slices->slices[i]);
    return ends;
}

struct cw_rpc_msg *cw_rpc_msg_new(grpc_byte_buffer *buffer)
{
    struct cw_rpc_msg *msg = CW_NEW(struct cw_rpc_msg);
    atomic_init(&msg->refs, 1);
    msg->buffer = buffer;
    msg->slices = &buffer->data.raw.slice_buffer;
    msg->ends = ends_of(msg->slices);
    return msg;
}

/* The macros that look into a slice work without gRPC, which cannot be used in a forked child. */
struct cw_rpc_msg *cw_rpc_msg_own(void *bytes, size_t n)
{
    struct cw_rpc_msg *msg = CW_NEW(struct cw_rpc_msg);
    atomic_init(&msg->refs, 1);
    /* not NULL means that the bytes are outside of the slice; the count is never used */
    msg->own.refcount = (struct grpc_slice_refcount *)(void *)msg;
    msg->own.data.refcounted.bytes = bytes;
    msg->own.data.refcounted.length = n;
    msg->own_list.slices = &msg->own;
    msg->own_list.count = 1;
    msg->own_list.length = n;
    msg->slices = &msg->own_list;
    return msg;
}

struct cw_rpc_msg *cw_rpc_msg_from(const void *p, size_t n, size_t piece)
{
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(NULL, 0);
    for (size_t at = 0; at < n; at += piece) {
        grpc_slice slice =
            grpc_slice_from_copied_buffer((const char *)p + at, CW_MIN(piece, n - at));
        grpc_slice_buffer_add_indexed(&buffer->data.raw.slice_buffer, slice);
    }
    return cw_rpc_msg_new(buffer);
}

struct cw_rpc_msg *cw_rpc_msg_ref(struct cw_rpc_msg *msg)
{
    atomic_fetch_add_explicit(&msg->refs, 1, memory_order_relaxed);
    return msg;
}

struct cw_rpc_msg *cw_rpc_msg_unref(struct cw_rpc_msg *msg)
{
    if (msg && atomic_fetch_sub_explicit(&msg->refs, 1, memory_order_acq_rel) == 1) {
        if (msg->buffer)
            grpc_byte_buffer_destroy(msg->buffer);
        else
            cw_mem_free(msg->own.data.refcounted.bytes);
        cw_mem_free(msg->ends);
        cw_mem_free(msg->flat);
        cw_mem_free(msg);
    }
    return NULL;
}

size_t cw_rpc_msg_len(const struct cw_rpc_msg *msg)
{
    return msg->slices->length;
}

size_t cw_rpc_reader_next(struct cw_rpc_reader *reader, size_t max, const void **ret_p)
{
    const grpc_slice_buffer *slices = reader->msg->slices;
    while (reader->slice < slices->count) {
        const grpc_slice *slice = &slices->slices[reader->slice];
        size_t left = GRPC_SLICE_LENGTH(*slice) - reader->at;
        if (left == 0) {
            reader->slice++;
            reader->at = 0;
            continue;
        }
        size_t n = CW_MIN(left, max);
        *ret_p = GRPC_SLICE_START_PTR(*slice) + reader->at;
        reader->at += n;
        reader->pos += n;
        return n;
    }
    return 0;
}

size_t cw_rpc_reader_skip(struct cw_rpc_reader *reader, size_t n)
{
    const void *piece;
    size_t done = 0, got;
    while (done < n && (got = cw_rpc_reader_next(reader, n - done, &piece)) > 0)
        done += got;
    return done;
}

size_t cw_rpc_reader_read(struct cw_rpc_reader *reader, void *dst, size_t n)
{
    const void *piece;
    size_t done = 0, got;
    while (done < n && (got = cw_rpc_reader_next(reader, n - done, &piece)) > 0) {
        memcpy((char *)dst + done, piece, got);
        done += got;
    }
    return done;
}

/* Returns the slice that contains the byte at offset: the first one that ends behind it. */
static size_t find_slice(const struct cw_rpc_msg *msg, size_t offset)
{
    size_t lo = 0, hi = msg->slices->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (msg->ends[mid] > offset)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

int cw_rpc_msg_copy(const struct cw_rpc_msg *msg, size_t offset, void *dst, size_t n)
{
    size_t len = cw_rpc_msg_len(msg);
    if (offset > len || n > len - offset)
        return CW_E_INVALID;
    struct cw_rpc_reader reader = {.msg = msg};
    if (msg->ends) {
        reader.slice = find_slice(msg, offset);
        reader.pos = reader.slice > 0 ? msg->ends[reader.slice - 1] : 0;
    }
    cw_rpc_reader_skip(&reader, offset - reader.pos);
    cw_rpc_reader_read(&reader, dst, n);
    return 0;
}

const void *cw_rpc_msg_flat(struct cw_rpc_msg *msg, size_t n)
{
    CW_ASSERT(n <= cw_rpc_msg_len(msg));
    if (n == 0)
        return "";
    const grpc_slice *first = &msg->slices->slices[0];
    if (GRPC_SLICE_LENGTH(*first) >= n)
        return GRPC_SLICE_START_PTR(*first);
    if (msg->flat && msg->flat_n >= n)
        return msg->flat;
    void *flat = cw_mem_try(n);
    if (!flat)
        return NULL;
    struct cw_rpc_reader reader = {.msg = msg};
    cw_rpc_reader_read(&reader, flat, n);
    cw_mem_free(msg->flat);
    msg->flat = flat;
    msg->flat_n = n;
    return flat;
}

/* Called on gRPC's threads. */
static void on_slice_release(void *arg)
{
    cw_buf_unref(arg);
}

grpc_byte_buffer *cw_rpc_buffer_new(struct cw_buf *const *bufs, size_t n, size_t *ret_bytes)
{
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(NULL, 0);
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (bufs[i]->len == 0)
            continue;
        bytes += bufs[i]->len;
        grpc_slice slice = grpc_slice_new_with_user_data(bufs[i]->data, bufs[i]->len,
                                                         on_slice_release, cw_buf_ref(bufs[i]));
        grpc_slice_buffer_add_indexed(&buffer->data.raw.slice_buffer, slice);
    }
    *ret_bytes = bytes;
    return buffer;
}
