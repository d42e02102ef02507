/* SPDX-License-Identifier: Apache-2.0 */
/* The own certificate. A timer looks at the three files. They count together, once they fit each
 * other: while they are being replaced, and when they are wrong, what was read before still counts. */
#include "rpc/tls.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"

#define LOOK_MS 1000

/* gRPC's threads ask at handshakes, which may come when the environment is gone. */
struct reader {
    struct reader *next;
    uint64_t id, known; /* known: the generation that it was told last */
    struct cw_tls *tls;
};
static struct {
    struct cw_mutex mutex;
    struct reader *first;
    uint64_t last_id;
} readers = {.mutex = CW_MUTEX_INIT};

uint64_t cw_tls_reader_new(struct cw_tls *tls)
{
    struct reader *reader = CW_NEW(struct reader);
    cw_mutex_lock(&readers.mutex);
    *reader = (struct reader){.next = readers.first, .id = ++readers.last_id, .tls = tls};
    readers.first = reader;
    cw_mutex_unlock(&readers.mutex);
    return reader->id;
}

enum cw_tls_answer cw_tls_read(uint64_t id, void (*fn)(const struct cw_tls_files *files, void *arg),
                               void *arg)
{
    enum cw_tls_answer answer = CW_TLS_GONE;
    cw_mutex_lock(&readers.mutex);
    struct reader *reader = readers.first;
    while (reader && reader->id != id)
        reader = reader->next;
    if (reader)
        answer = reader->known == reader->tls->generation ? CW_TLS_SAME : CW_TLS_NEW;
    if (answer == CW_TLS_NEW) {
        reader->known = reader->tls->generation;
        fn(&reader->tls->now, arg);
    }
    cw_mutex_unlock(&readers.mutex);
    return answer;
}

static void forget_readers(const struct cw_tls *tls)
{
    cw_mutex_lock(&readers.mutex);
    for (struct reader **at = &readers.first; *at;) {
        struct reader *reader = *at;
        if (reader->tls != tls) {
            at = &reader->next;
            continue;
        }
        *at = reader->next;
        cw_mem_free(reader);
    }
    cw_mutex_unlock(&readers.mutex);
}

/* ---- the files ---- */

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool have_changed(const struct cw_tls *tls)
{
    bool changed = false;
    for (size_t i = 0; i < CW_TLS_FILES; i++) {
        struct stat st = {0};
        (void)stat(tls->paths[i], &st);
        changed = changed || !is_same(&st, &tls->read[i]);
    }
    return changed;
}

static void tell(const struct cw_tls *tls, const struct cw_tls_files *files)
{
    char names[CW_NAMES_TEXT_BYTES];
    cw_names_text((const char *const *)files->names, files->names_n, names);
    if (tls->generation > 0)
        cw_log_info("rpc", "TLS: %s is read again; its names: %s", tls->paths[0], names);
    if (files->untrusted)
        cw_log_warn("rpc",
                    "TLS: the certificate in %s is not signed by who signs in %s: peers that know "
                    "the same --tls-ca will refuse it",
                    tls->paths[0], tls->paths[2]);
    if (files->readable_by_all)
        cw_log_warn("rpc", "TLS: every user of this host can read the key in %s (chmod 600)",
                    tls->paths[1]);
}

/* Files may be written again with the same texts. */
static bool is_known(const struct cw_tls *tls, const struct cw_tls_files *files)
{
    return tls->generation > 0 && cw_str_eq(tls->now.cert, files->cert) &&
           cw_str_eq(tls->now.key, files->key) && cw_str_eq(tls->now.ca, files->ca);
}

/* The files are looked at before they are read: if one changes in between, they are read once more. */
static int read_files(struct cw_tls *tls, struct cw_err *err)
{
    const struct cw_tls_options options = {
        .cert = tls->paths[0], .key = tls->paths[1], .ca = tls->paths[2]};
    struct cw_tls_files files;
    for (size_t i = 0; i < CW_TLS_FILES; i++) {
        tls->read[i] = (struct stat){0};
        (void)stat(tls->paths[i], &tls->read[i]);
    }
    int rc = cw_tls_files_read(&options, &files, err);
    if (rc != 0)
        return rc;
    if (is_known(tls, &files)) {
        cw_tls_files_fini(&files);
        return 0;
    }
    tell(tls, &files);
    cw_mutex_lock(&readers.mutex);
    struct cw_tls_files before = tls->now;
    tls->now = files;
    tls->generation++;
    cw_mutex_unlock(&readers.mutex);
    cw_tls_files_fini(&before);
    return 0;
}

static void on_look(void *arg)
{
    struct cw_tls *tls = arg;
    struct cw_err err = {0};
    /* Files that stay as they are are not read again, and their error is told once. */
    if (have_changed(tls) && read_files(tls, &err) != 0)
        cw_log_error("rpc", "TLS: what was read before still counts: %s", err.msg);
}

struct cw_tls *cw_tls_new(struct cw_loop *loop, const struct cw_tls_options *options,
                          struct cw_err *err)
{
    struct cw_tls *tls = CW_NEW(struct cw_tls);
    tls->paths[0] = cw_mem_strdup(options->cert);
    tls->paths[1] = cw_mem_strdup(options->key);
    tls->paths[2] = cw_mem_strdup(options->ca);
    cw_tls_options_rules(options, &tls->rules);
    if (read_files(tls, err) != 0) {
        cw_tls_free(tls);
        return NULL;
    }
    tls->look = cw_timer_new(loop, on_look, tls);
    cw_timer_start(tls->look, LOOK_MS, LOOK_MS);
    return tls;
}

void cw_tls_free(struct cw_tls *tls)
{
    if (!tls)
        return;
    forget_readers(tls);
    cw_timer_free(tls->look);
    cw_tls_files_fini(&tls->now);
    cw_role_rules_fini(&tls->rules);
    for (size_t i = 0; i < CW_TLS_FILES; i++)
        cw_mem_free(tls->paths[i]);
    cw_mem_free(tls);
}
