/* SPDX-License-Identifier: Apache-2.0 */
/* Gets and puts blobs, in stores, a directory or memory. A store in use is not closed: users are
 * counted. */
#include "cache/index/index_home.h"

#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/thread.h"
#include "cache/index/index_int.h"
#include "format/kept_index.h"
#include "format/source_file.h"

struct place {
    struct place *next;
    uint64_t cache_id;
    char *url;
    struct cw_store *store;
    unsigned users;
    bool is_retired; /* it is in no list, and its last user closes it */
    bool complained;
};
struct blob {
    struct blob *next; /* the one that was put after it */
    char *name;
    void *bytes;
    size_t n;
};

/* Directories are places, too: that of jobs without a store has this id. */
#define DIR_ID CW_SOURCE_NO_STORE

static struct {
    struct cw_mutex mutex; /* guards all that follows */
    unsigned starts;
    struct place *places;
    struct cw_strmap blobs;
    struct blob *oldest, *newest;
    size_t bytes;
} home = {.mutex = CW_MUTEX_INIT};

/* ---- places ---- */

static struct place **find(uint64_t cache_id)
{
    struct place **at = &home.places;
    while (*at && (*at)->cache_id != cache_id)
        at = &(*at)->next;
    return at;
}

/* The place where a job with this store keeps indices; NULL: in memory. It is left after use. */
static struct place *use(uint64_t cache_id)
{
    cw_mutex_lock(&home.mutex);
    struct place *place = *find(cache_id);
    if (!place)
        place = *find(DIR_ID);
    if (place)
        place->users++;
    cw_mutex_unlock(&home.mutex);
    return place;
}

static void place_free(struct place *place)
{
    cw_store_close(place->store);
    cw_mem_free(place->url);
    cw_mem_free(place);
}

static void leave(struct place *place)
{
    cw_mutex_lock(&home.mutex);
    const bool last = --place->users == 0 && place->is_retired;
    cw_mutex_unlock(&home.mutex);
    if (last)
        place_free(place);
}

/* Takes a place out of the list, with the lock held. Returns it if nobody uses it. */
static struct place *retire(struct place **at)
{
    struct place *place = *at;
    *at = place->next;
    place->is_retired = true;
    return place->users == 0 ? place : NULL;
}

static void add_place(uint64_t cache_id, const char *url)
{
    struct cw_err err = {0};
    struct cw_store *store = NULL;
    if (cw_store_open_lazily(url, &store, &err) < 0) {
        cw_log_warn("index", "indices are not kept in %s: %s", url, err.msg);
        return;
    }
    struct place *place = CW_NEW(struct place);
    *place = (struct place){
        .next = home.places, .cache_id = cache_id, .url = cw_mem_strdup(url), .store = store};
    home.places = place;
}

static void set_place(uint64_t cache_id, const char *url)
{
    cw_mutex_lock(&home.mutex);
    struct place **at = find(cache_id);
    const bool same = *at && url && strcmp((*at)->url, url) == 0;
    struct place *unused = *at && !same ? retire(at) : NULL;
    if (url && !same)
        add_place(cache_id, url);
    cw_mutex_unlock(&home.mutex);
    if (unused)
        place_free(unused);
}

void cw_index_home_set_dir(const char *dir)
{
    cw_autofree char *url = dir ? cw_mem_printf("dir:%s", dir) : NULL;
    set_place(DIR_ID, url);
}

void cw_index_home_set_store(uint64_t cache_id, const char *url)
{
    set_place(cache_id, url);
}

void cw_index_home_drop_store(uint64_t cache_id)
{
    set_place(cache_id, NULL);
}

/* ---- blobs in memory ---- */

static void drop_oldest(void)
{
    struct blob *blob = home.oldest;
    home.oldest = blob->next;
    if (!home.oldest)
        home.newest = NULL;
    if (cw_strmap_get(&home.blobs, blob->name) == blob)
        cw_strmap_remove(&home.blobs, blob->name);
    home.bytes -= blob->n;
    cw_mem_free(blob->name);
    cw_mem_free(blob->bytes);
    cw_mem_free(blob);
}

static void put_memory(const char *name, const void *bytes, size_t n)
{
    if (n > CW_INDEX_HOME_MEMORY / 4)
        return;
    struct blob *blob = CW_NEW(struct blob);
    *blob = (struct blob){.name = cw_mem_strdup(name), .bytes = cw_mem_dup(bytes, n), .n = n};
    cw_mutex_lock(&home.mutex);
    while (home.bytes + n > CW_INDEX_HOME_MEMORY)
        drop_oldest();
    home.bytes += n;
    if (home.newest)
        home.newest->next = blob;
    else
        home.oldest = blob;
    home.newest = blob;
    cw_strmap_set(&home.blobs, name, blob);
    cw_mutex_unlock(&home.mutex);
}

static bool get_memory(const char *name, void **ret_bytes, size_t *ret_n)
{
    cw_mutex_lock(&home.mutex);
    const struct blob *blob = cw_strmap_get(&home.blobs, name);
    if (blob) {
        *ret_bytes = cw_mem_dup(blob->bytes, blob->n);
        *ret_n = blob->n;
    }
    cw_mutex_unlock(&home.mutex);
    return blob != NULL;
}

/* ---- the keeper ---- */

int cw_index_read_blob(struct cw_store *store, const char *name, size_t most, void **ret_bytes,
                       size_t *ret_n, struct cw_err *err)
{
    struct cw_store_file *file = NULL;
    uint64_t n = 0;
    int rc = cw_store_file_open(store, name, &file, &n, err);
    if (rc < 0)
        return rc;
    void *bytes = n <= most ? cw_mem_try((size_t)n + 1) : NULL;
    if (bytes)
        rc = cw_store_file_read(file, 0, bytes, (size_t)n, err);
    else if (n > most)
        rc = cw_err_set(err, CW_E_LIMIT,
                        "%s: has %llu bytes, and an index of its file has at most %zu here", name,
                        (unsigned long long)n, most);
    else
        rc = cw_err_set(err, CW_E_NOMEM, "%s: no memory for %llu bytes", name,
                        (unsigned long long)n);
    cw_store_file_close(file);
    if (rc < 0) {
        cw_mem_free(bytes);
        return rc;
    }
    *ret_bytes = bytes;
    *ret_n = (size_t)n;
    return 0;
}

static void complain(struct place *place, const char *what, const struct cw_err *err)
{
    cw_mutex_lock(&home.mutex);
    const bool first = !place->complained;
    place->complained = true;
    cw_mutex_unlock(&home.mutex);
    if (first)
        cw_log_warn("index", "an index cannot be %s: %s; this is not said again", what, err->msg);
}

static bool get(void *arg, uint64_t store, const char *name, size_t most, void **ret_blob,
                size_t *ret_n)
{
    struct cw_err err = {0};
    struct place *place = use(store);
    (void)arg;
    if (!place)
        return get_memory(name, ret_blob, ret_n);
    int rc = cw_index_read_blob(place->store, name, most, ret_blob, ret_n, &err);
    if (rc < 0 && rc != CW_E_NOT_FOUND)
        complain(place, "read", &err);
    leave(place);
    return rc == 0;
}

static void put(void *arg, uint64_t store, const char *name, const void *blob, size_t n)
{
    struct cw_err err = {0};
    struct place *place = use(store);
    void *bytes;
    (void)arg;
    if (!place) {
        put_memory(name, blob, n);
        return;
    }
    memcpy(&bytes, &blob, sizeof(bytes)); /* it is only read */
    const struct iovec part = {.iov_base = bytes, .iov_len = n};
    /* It has a checksum: one that a crash of the machine cuts is made anew. */
    if (cw_store_put_unsynced(place->store, name, &part, 1, &err) < 0)
        complain(place, "kept", &err);
    leave(place);
}

static const struct cw_index_keeper keeper = {.get = get, .put = put};

void cw_index_home_start(void)
{
    cw_mutex_lock(&home.mutex);
    if (home.starts++ == 0)
        cw_index_keeper_set(&keeper);
    cw_mutex_unlock(&home.mutex);
}

void cw_index_home_stop(void)
{
    cw_mutex_lock(&home.mutex);
    if (--home.starts == 0) {
        cw_index_keeper_set(NULL);
        while (home.places) {
            struct place *idle = retire(&home.places);
            if (idle)
                place_free(idle);
        }
        while (home.oldest)
            drop_oldest();
        cw_strmap_fini(&home.blobs);
    }
    cw_mutex_unlock(&home.mutex);
}
