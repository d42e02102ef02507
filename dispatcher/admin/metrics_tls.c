/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP with the certificate of --tls-cert. When its files change, the server is started anew on the
 * same port: scrapers and browsers come back. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "auth/tls_files.h"
#include "base/hash.h"
#include "daemon/http.h"
#include "dispatcher/admin/admin_int.h"
#include "dispatcher/web/web.h"

#define LOOK_MS 1000

struct cw_metrics_tls {
    struct cw_dispatcher *d;
    const struct cw_http_page *pages;
    struct cw_timer *look;
    struct stat cert, key; /* when they were read */
    uint64_t hash;         /* of what is used */
};

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static uint64_t hash_of(const struct cw_tls_files *files)
{
    return cw_hash_u64(files->cert, strlen(files->cert)) ^
           cw_mix64(cw_hash_u64(files->key, strlen(files->key)));
}

/* What is wrong now is tried again when the files change once more. */
static int start(struct cw_metrics_tls *tls, const char *listen, struct cw_err *err)
{
    struct cw_dispatcher *d = tls->d;
    struct cw_tls_files files;
    (void)stat(d->options.tls.cert, &tls->cert);
    (void)stat(d->options.tls.key, &tls->key);
    int rc = cw_tls_files_read(&d->options.tls, &files, err);
    if (rc != 0)
        return rc;
    uint64_t hash = hash_of(&files);
    if (!d->http || hash != tls->hash) {
        cw_web_end_views(d);
        cw_http_stop(cw_steal(&d->http));
        rc = cw_http_start_tls(d->loop, listen, tls->pages, files.cert, files.key, &d->http, err);
        tls->hash = hash;
    }
    cw_tls_files_fini(&files);
    return rc;
}

static void on_look(void *arg)
{
    struct cw_metrics_tls *tls = arg;
    struct cw_dispatcher *d = tls->d;
    struct stat cert = {0}, key = {0};
    struct cw_err err = {0};
    (void)stat(d->options.tls.cert, &cert);
    (void)stat(d->options.tls.key, &key);
    if (d->http && is_same(&cert, &tls->cert) && is_same(&key, &tls->key))
        return;
    const char *listen = d->options.metrics_listen;
    int host_n = (int)(strrchr(listen, ':') - listen);
    CW_STR_AUTO same = {0};
    cw_str_addf(&same, "%.*s:%u", host_n, listen, d->metrics_port);
    if (start(tls, cw_str_text(&same), &err) != 0)
        cw_log_error(CW_LOG_MOD, "HTTPS with the new certificate: %s", err.msg);
    else
        cw_log_info(CW_LOG_MOD, "HTTPS: the certificate is read again");
}

int cw_metrics_tls_open(struct cw_dispatcher *d, const struct cw_http_page *pages,
                        struct cw_err *err)
{
    struct cw_metrics_tls *tls = CW_NEW(struct cw_metrics_tls);
    *tls = (struct cw_metrics_tls){.d = d, .pages = pages};
    int rc = start(tls, d->options.metrics_listen, err);
    if (rc != 0) {
        cw_mem_free(tls);
        return rc;
    }
    tls->look = cw_timer_new(d->loop, on_look, tls);
    cw_timer_start(tls->look, LOOK_MS, LOOK_MS);
    d->metrics_tls = tls;
    return 0;
}

void cw_metrics_tls_close(struct cw_dispatcher *d)
{
    if (!d->metrics_tls)
        return;
    cw_timer_free(d->metrics_tls->look);
    cw_mem_free(cw_steal(&d->metrics_tls));
}
