/* SPDX-License-Identifier: Apache-2.0 */
/* The messages that say which chunks came and went, as they are sent to a made-up worker: none is
 * larger than a stream takes, whatever a listing finds. */
#include <string.h>

#include "dispatcher/cache/cache_int.h"
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include "unit/dispatcher/made_up.h"

#define CHUNKS 45000
#define LARGEST (3u << 20) /* bytes; all names of this test together have 7 MB */

void __wrap_cw_wire_send(struct cw_stream *stream, const ProtobufCMessage *message);

static struct {
    size_t messages, added, removed, largest, resets;
} sent;

void __wrap_cw_wire_send(struct cw_stream *stream, const ProtobufCMessage *message)
{
    const Cachew__V1__WorkerCommand *command = (const Cachew__V1__WorkerCommand *)message;
    (void)stream;
    if (message->descriptor != &cachew__v1__worker_command__descriptor ||
        command->kind_case != CACHEW__V1__WORKER_COMMAND__KIND_CACHE_CHUNKS)
        return;
    sent.messages++;
    sent.added += command->cache_chunks->n_added;
    sent.removed += command->cache_chunks->n_removed;
    sent.resets += command->cache_chunks->reset != 0;
    sent.largest = CW_MAX(sent.largest, protobuf_c_message_get_packed_size(message));
}

void __wrap_cw_wire_send_parts(struct cw_stream *stream, const ProtobufCMessage *outer,
                               uint32_t field, const ProtobufCMessage *inner,
                               const struct cw_wire_part *parts, size_t n);

void __wrap_cw_wire_send_parts(struct cw_stream *stream, const ProtobufCMessage *outer,
                               uint32_t field, const ProtobufCMessage *inner,
                               const struct cw_wire_part *parts, size_t n)
{
    (void)stream;
    (void)outer;
    (void)field;
    (void)inner;
    (void)parts;
    (void)n;
}

static void add_job(void)
{
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    Cachew__V1__Cacheable *c = cachew__v1__cacheable__unpack(NULL, 0, NULL);
    c->node = cw_mem_strdup("cached");
    c->op = cw_mem_strdup("decode");
    c->asked = true;
    c->ids = 100;
    c->key = (ProtobufCBinaryData){CW_WIRE_HASH_BYTES, cw_mem_new(CW_WIRE_HASH_BYTES)};
    cw_wire_hash_to(KEY_2, c->key.data);
    info->items = 100;
    info->n_cacheable = 1;
    info->cacheable = CW_NEW_ARRAY(Cachew__V1__Cacheable *, 1);
    info->cacheable[0] = c;
    (void)made_up_job("j", cachew__v1__job_options__unpack(NULL, 0, NULL), info);
}

static void no_message_is_too_large(void **state)
{
    (void)state;
    struct cw_catalogue *catalogue = made_up.cache->catalogue;
    struct cw_worker *worker = made_up_worker(1, 1);
    worker->stream = (struct cw_stream *)&sent; /* nobody looks into it: see above */
    made_up_chunk("default", KEY_2, 0, 10, WALL);
    add_job();
    cw_lease_fill_all(&made_up);
    assert_int_equal(sent.added, 1);
    assert_int_equal(sent.resets, 1);
    memset(&sent, 0, sizeof(sent));
    for (unsigned i = 1; i <= CHUNKS; i++)
        made_up_chunk("default", KEY_2, i, 10, WALL);
    cw_cache_notify_all(made_up.cache);
    assert_int_equal(sent.added, CHUNKS);
    for (unsigned i = 1; i <= CHUNKS; i++)
        cw_catalogue_remove(cw_catalogue_chunk(catalogue, made_up_name("default", KEY_2, i)));
    made_up_chunk("default", KEY_2, CHUNKS + 1, 10, WALL);
    cw_cache_notify_all(made_up.cache);
    assert_int_equal(sent.added, CHUNKS + 1);
    assert_int_equal(sent.removed, CHUNKS);
    assert_int_equal(sent.resets, 0);
    assert_true(sent.messages > 2 && sent.largest <= LARGEST);
    memset(&sent, 0, sizeof(sent));
    cw_cache_notify_all(made_up.cache);
    assert_int_equal(sent.messages, 0);
    worker->stream = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        no_message_is_too_large, made_up_begin_caching, made_up_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
