/* SPDX-License-Identifier: Apache-2.0 */
/* Notifies workers of the chunks of the keys that their jobs read: of all chunks before a worker
 * gets the first such job, and then of changes, once per loop iteration. */
#include "dispatcher/cache/cache_int.h"
#include "dispatcher/message/message.h"

#include <string.h>

#define NAMES_AT_ONCE 20000 /* The largest number of names in one message, which are about 2 MB. */

static void send_names(struct cw_worker *worker, const struct cw_catalogue_key *key,
                       Cachew__V1__CacheChunks *chunks)
{
    uint8_t bytes[CW_WIRE_HASH_BYTES];
    cw_wire_hash_to(key->key, bytes);
    chunks->key = (ProtobufCBinaryData){sizeof(bytes), bytes};
    chunks->tenant = (char *)(uintptr_t)key->tenant->name;
    chunks->cache = key->catalogue->cache_id;
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_CACHE_CHUNKS;
    command.cache_chunks = chunks;
    cw_worker_send(worker, &command);
}

/* Sends the names of all chunks of the key. The first message resets the worker's list, and the
 * others add to it. */
static void send_all(struct cw_worker *worker, const struct cw_catalogue_key *key)
{
    char **names = CW_NEW_ARRAY(char *, CW_MIN(key->chunks_n, NAMES_AT_ONCE) + 1);
    const struct cw_catalogue_chunk *chunk = key->first;
    bool first = true;
    do {
        size_t n = 0;
        for (; chunk && n < NAMES_AT_ONCE; chunk = chunk->next)
            names[n++] = (char *)(uintptr_t)chunk->name;
        Cachew__V1__CacheChunks chunks = CACHEW__V1__CACHE_CHUNKS__INIT;
        chunks.reset = first;
        chunks.added = names;
        chunks.n_added = n;
        send_names(worker, key, &chunks);
        first = false;
    } while (chunk);
    cw_mem_free(names);
}

static bool is_subscribed(const struct cw_worker *worker, const struct cw_catalogue_key *key)
{
    for (size_t i = 0; i < worker->cache_keys_n; i++) {
        if (worker->cache_keys[i] == key)
            return true;
    }
    return false;
}

bool cw_cache_is_known_to(const struct cw_cache_service *cache, const struct cw_worker *worker)
{
    return !cache || cache->id == 0 || worker->named_caches;
}

void cw_cache_subscribe(struct cw_share *share)
{
    struct cw_worker *worker = share->worker;
    if (!cw_cache_is_known_to(share->job->cache, worker))
        return;
    for (size_t i = 0; i < share->job->cache_uses_n; i++) {
        struct cw_catalogue_key *key = share->job->cache_uses[i].key;
        if (is_subscribed(worker, key))
            continue;
        send_all(worker, key);
        CW_GROW(worker->cache_keys, worker->cache_keys_n, worker->cache_keys_cap);
        worker->cache_keys[worker->cache_keys_n++] = key;
        (void)cw_map_set(&key->subscribers, worker->id, worker);
    }
}

static bool reads(const struct cw_worker *worker, const struct cw_catalogue_key *key)
{
    for (const struct cw_share *share = worker->shares; share; share = share->next_of_worker) {
        for (size_t i = 0; share->spec_sent && i < share->job->cache_uses_n; i++) {
            if (share->job->cache_uses[i].key == key)
                return true;
        }
    }
    return false;
}

void cw_cache_unsubscribe(struct cw_worker *worker)
{
    for (size_t i = 0; i < worker->cache_keys_n;) {
        struct cw_catalogue_key *key = worker->cache_keys[i];
        if (reads(worker, key)) {
            i++;
            continue;
        }
        (void)cw_map_remove(&key->subscribers, worker->id);
        worker->cache_keys[i] = worker->cache_keys[--worker->cache_keys_n];
    }
}

/* A name may have been added and removed in one loop iteration, in either order. Only those that
 * still hold are sent. */
static size_t drop_outdated(const struct cw_catalogue *catalogue, struct cw_catalogue_names *names,
                            bool exists)
{
    size_t n = 0;
    for (size_t i = 0; i < names->n; i++) {
        if ((cw_catalogue_chunk(catalogue, names->v[i]) != NULL) == exists)
            names->v[n++] = names->v[i];
        else
            cw_mem_free(names->v[i]);
    }
    names->n = n;
    return n;
}

/* Sends the changes to the subscribers: a listing may find that hundreds of thousands of chunks are
 * gone, which are more than one message may have. */
static void notify(struct cw_catalogue_key *key)
{
    uint64_t id;
    void *worker;
    size_t added = drop_outdated(key->catalogue, &key->added, true), added_sent = 0;
    size_t removed = drop_outdated(key->catalogue, &key->removed, false), removed_sent = 0;
    while (added_sent < added || removed_sent < removed) {
        Cachew__V1__CacheChunks chunks = CACHEW__V1__CACHE_CHUNKS__INIT;
        chunks.added = key->added.v + added_sent;
        chunks.n_added = CW_MIN(added - added_sent, (size_t)NAMES_AT_ONCE);
        chunks.removed = key->removed.v + removed_sent;
        chunks.n_removed = CW_MIN(removed - removed_sent, NAMES_AT_ONCE - chunks.n_added);
        for (size_t i = 0; cw_map_next(&key->subscribers, &i, &id, &worker);)
            send_names(worker, key, &chunks);
        added_sent += chunks.n_added;
        removed_sent += chunks.n_removed;
    }
    cw_catalogue_names_clear(&key->added);
    cw_catalogue_names_clear(&key->removed);
    key->notify_due = false;
}

static void forget_key(struct cw_worker *worker, const struct cw_catalogue_key *key)
{
    for (size_t i = 0; i < worker->cache_keys_n; i++) {
        if (worker->cache_keys[i] != key)
            continue;
        worker->cache_keys[i] = worker->cache_keys[--worker->cache_keys_n];
        return;
    }
}

void cw_cache_unsubscribe_all(struct cw_cache_service *cache)
{
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&cache->catalogue->keys, &i, &name, &value);) {
        struct cw_catalogue_key *key = value;
        uint64_t id;
        void *worker;
        for (size_t k = 0; cw_map_next(&key->subscribers, &k, &id, &worker);)
            forget_key(worker, key);
        cw_map_fini(&key->subscribers);
        key->subscribers = (struct cw_map){0};
    }
}

void cw_cache_notify_all(struct cw_cache_service *cache)
{
    struct cw_catalogue *catalogue = cache->catalogue;
    while (catalogue->notify_first) {
        struct cw_catalogue_key *key = catalogue->notify_first;
        catalogue->notify_first = key->next_notify;
        notify(key);
    }
}

void cw_cache_worker_gone(struct cw_worker *worker)
{
    for (size_t i = 0; i < worker->cache_keys_n; i++)
        (void)cw_map_remove(&worker->cache_keys[i]->subscribers, worker->id);
    cw_mem_free(worker->cache_keys);
    worker->cache_keys = NULL;
    worker->cache_keys_n = worker->cache_keys_cap = 0;
    if (worker->store_state)
        cachew__v1__store_state__free_unpacked(cw_steal(&worker->store_state), NULL);
    for (struct cw_cache_service *cache = worker->d->caches; cache; cache = cache->next)
        cw_mem_free(cw_map_remove(&cache->away, worker->id));
    cw_leaving_worker_gone(worker);
}
