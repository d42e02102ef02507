/* SPDX-License-Identifier: Apache-2.0 */
/* The marker file of a cache's store. Two CacheBackends may name one directory, so what is deleted is
 * known by the uid that lies in it, and not by its path alone. */
#include "controller/engine_store.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cache/store/store.h"
#include "controller/engine_options.h"

#define UID_MAX 128
#define UID_LENGTH 36 /* of a UUID, which uids are */

/* A failure of the store, which may end. */
static int trouble(struct cachew_engine_answer *answer, const struct cw_err *err)
{
    const char *reason = err->code == CW_E_UNAVAILABLE || err->code == CW_E_TIMEOUT
                             ? "PeerUnreachable"
                         : err->code == CW_E_NOT_FOUND ? "VolumeNotFound"
                         : err->code == CW_E_DENIED    ? "NotAllowed"
                                                       : "StoreFailed";
    return cw_engine_say(answer, CACHEW_ENGINE_RETRY, reason, "%.500s", err->msg);
}

/* Takes the uid out of a marker of n bytes, which has it twice: what a store gives wrongly is not
 * another's uid, nor none. A marker of an older controller has it once. */
static int uid_of(char text[2 * UID_MAX], size_t n, char ret_uid[UID_MAX], struct cw_err *err)
{
    const bool has_nul = strlen(text) != n;
    const size_t first = strcspn(text, "\n");
    const bool is_twice = first + 1 < n;
    char *again = text + CW_MIN(first + 1, n);
    text[first] = '\0';
    again[strcspn(again, "\n")] = '\0';
    if (has_nul || (is_twice ? strcmp(text, again) != 0 : first > UID_LENGTH))
        return cw_err_set(err, CW_E_CORRUPT, CW_ENGINE_MARKER " is damaged");
    snprintf(ret_uid, UID_MAX, "%.*s", UID_MAX - 1, text);
    return 0;
}

/* Reads the marker: 0, with "" if there is none. */
static int read_marker(struct cw_store *store, char ret_uid[UID_MAX], struct cw_err *err)
{
    struct cw_store_file *file = NULL;
    uint64_t bytes = 0;
    ret_uid[0] = '\0';
    int rc = cw_store_file_open(store, CW_ENGINE_MARKER, &file, &bytes, err);
    if (rc == CW_E_NOT_FOUND)
        return 0;
    if (rc != 0)
        return rc;
    char text[2 * UID_MAX];
    size_t n = (size_t)CW_MIN(bytes, sizeof(text) - 1);
    rc = cw_store_file_read(file, 0, text, n, err);
    text[rc == 0 ? n : 0] = '\0';
    cw_store_file_close(file);
    return rc == 0 ? uid_of(text, n, ret_uid, err) : rc;
}

static int write_marker(struct cw_store *store, const char *uid, struct cw_err *err)
{
    cw_autofree char *text = cw_mem_printf("%s\n%s\n", uid, uid);
    const struct iovec part = {text, strlen(text)};
    return cw_store_put(store, CW_ENGINE_MARKER, &part, 1, err);
}

static int is_anothers(const struct cachew_engine_request *request, const char *uid,
                       struct cachew_engine_answer *answer)
{
    return cw_engine_say(answer, CACHEW_ENGINE_REFUSED, "NotOurs",
                         "%.300s: its file " CW_ENGINE_MARKER " %s%.100s: nothing there is touched",
                         request->url,
                         uid[0] ? "names another CacheBackend, of uid " : "is not there", uid);
}

int cw_engine_store_prepare(const struct cachew_engine_request *request,
                            struct cachew_engine_answer *answer)
{
    struct cw_store *store = NULL;
    struct cw_err err = {0};
    char uid[UID_MAX];
    int rc = cw_store_open(request->url, &store, &err);
    if (rc == 0)
        rc = read_marker(store, uid, &err);
    if (rc == 0 && uid[0] == '\0' && (rc = write_marker(store, request->uid, &err)) == 0)
        snprintf(uid, sizeof(uid), "%s", request->uid);
    cw_store_close(store);
    if (rc != 0)
        return trouble(answer, &err);
    return strcmp(uid, request->uid) == 0 ? CACHEW_ENGINE_READY : is_anothers(request, uid, answer);
}

int cw_engine_store_owns(const struct cachew_engine_request *request,
                         struct cachew_engine_answer *answer)
{
    struct cw_store *store = NULL;
    struct cw_err err = {0};
    char uid[UID_MAX];
    int rc = cw_store_open(request->url, &store, &err);
    if (rc == 0)
        rc = read_marker(store, uid, &err);
    cw_store_close(store);
    if (rc != 0)
        return trouble(answer, &err);
    return strcmp(uid, request->uid) == 0 ? CACHEW_ENGINE_READY : is_anothers(request, uid, answer);
}

static int pass_over(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    (void)arg;
    (void)name;
    (void)bytes;
    (void)mtime_ms;
    return 0;
}

/* What a controller that died while it wrote the marker has left goes as well: the listing removes it. */
static int remove_marker(struct cw_store *store, const char *uid, const char *own_uid,
                         struct cw_err *err)
{
    int rc = strcmp(uid, own_uid) == 0 ? cw_store_remove(store, CW_ENGINE_MARKER, err) : 0;
    if (rc == 0 && (uid[0] == '\0' || strcmp(uid, own_uid) == 0))
        rc = cw_store_list_unwritten(store, pass_over, NULL, err);
    return rc;
}

int cw_engine_store_erase(const struct cachew_engine_request *request,
                          struct cachew_engine_answer *answer)
{
    struct cw_store *store = NULL;
    struct cw_err err = {0};
    char uid[UID_MAX];
    int rc = cw_store_open(request->url, &store, &err);
    if (rc == 0)
        rc = read_marker(store, uid, &err);
    if (rc == 0)
        rc = remove_marker(store, uid, request->uid, &err);
    cw_store_close(store);
    return rc == 0 ? CACHEW_ENGINE_READY : trouble(answer, &err);
}
