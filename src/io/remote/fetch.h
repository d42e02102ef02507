/* SPDX-License-Identifier: Apache-2.0 */
/* One answer of a server, by as many requests as it takes: what fails for a while is tried again, a
 * body that breaks off is continued where it ended, redirects are followed, and a version that is not
 * the expected one is an error. Requests are made on the loop thread of this module (remote_loop.h).
 *
 * Tries end when no byte came for so long as the environment says (CACHEW_SOURCE_PATIENCE, by default
 * two minutes). The message then names the URL, the number of tries and what the last one met. */
#ifndef CW_IO_REMOTE_FETCH_H
#define CW_IO_REMOTE_FETCH_H

#include "base/backoff.h"
#include "base/thread.h"
#include "http/http_client.h"
#include "io/io.h"
#include "loop/loop.h"

#define CW_WIRE_HEADERS_MAX 16

/* What is asked for, in the terms of a scheme. */
struct cw_ask {
    const char *method; /* "GET" or "POST" */
    const char *url;    /* of the scheme: "s3://bucket/key" */
    const char *query;  /* NULL: none; else encoded, and sorted by name */
    const char *body;   /* NULL: none */
    /* "Name: value" of this request: the range, the condition */
    char headers[4][64 + CW_IO_VERSION_BYTES];
    size_t headers_n;
};
/* A request as it is sent: its URL, and headers, those of the question among them. Texts are on the
 * heap. */
struct cw_wire {
    char *url;
    char *headers[CW_WIRE_HEADERS_MAX];
    size_t headers_n;
};
void cw_wire_add(struct cw_wire *wire, const char *fmt, ...) CW_PRINTF(2, 3);
void cw_wire_fini(struct cw_wire *wire); /* overwrites headers, which may be credentials */

/* How a kind of server is asked. All functions are called on the loop thread and do not wait. */
struct cw_dialect {
    /* Makes a request, with credentials if there are any for it. It is called for each try. */
    int (*make)(const struct cw_ask *ask, struct cw_wire *ret_wire, struct cw_err *err);
    /* Looks at a refusal (400 and above, or a redirect). Returns true if it shows how to ask better:
     * the question is asked again at once. NULL: nothing is to be learnt. */
    bool (*learn)(const struct cw_ask *ask, const struct cw_http_response *response,
                  const char *body);
    /* Appends what a refusal says for people. */
    void (*explain)(const char *body, struct cw_str *ret_text);
    /* The header that names the version of an object; NULL: ETag, else Last-Modified. */
    const char *version_header;
    bool follows; /* redirects are followed, each URL made by `make` */
};

struct cw_fetch {
    /* ---- set by the caller, who keeps it where it is until the end ---- */
    const struct cw_dialect *dialect;
    struct cw_ask ask;
    /* Bytes of an object: n bytes at offset are written to dst, or to the file fd at their offset if
     * dst is NULL; n UINT64_MAX: all that there are. */
    uint64_t offset, n;
    char *dst;
    int fd;
    /* The version that it must be; NULL: whatever there is, and the object may be shorter. */
    const struct cw_io_info *expected;
    bool no_range;       /* the server is not asked for a range */
    int64_t patience_ms; /* how long it tries without a byte; 0: as the environment says */
    bool
        only_range; /* a server without ranges, which would send all of a longer object, is not read */
    size_t body_max; /* not 0: the body is collected instead */
    /* Called at the end, by the loop thread, if nobody waits; it may free the fetch. NULL: somebody does. */
    void (*on_end)(struct cw_fetch *fetch);
    /* ---- results ---- */
    struct cw_io_info info; /* what the server tells; its size is -1 if it does not */
    bool has_ranges;        /* the server gave just what it was asked for */
    uint64_t got;
    uint64_t copied; /* bytes that were counted as copies (io/copies.h), since they went to fd */
    struct cw_str body;
    int rc;
    struct cw_err err;
    /* ---- of fetch.c ---- */
    uint32_t reader; /* for whom the thread read that began it (io/source_root.h) */
    struct cw_http_call *call;
    struct cw_timer *timer;
    struct cw_loop_node begin_node, cancel_node;
    struct cw_backoff backoff;
    struct cw_err why; /* of this try: what its bytes showed */
    struct cw_str refusal;
    char *moved_to; /* where a redirect has sent us */
    uint64_t skip;  /* bytes of the body that come before what is wanted */
    uint64_t got_before;
    int64_t progress_ms;
    int tries, redirects, lessons, status;
    bool head_seen, is_good, is_empty_range;
    struct cw_mutex mutex; /* guards what follows */
    struct cw_cond ended;
    bool is_done, cancel_asked, cancel_ran;
};
/* Begins: fetch is zeroed but for what the caller sets. */
void cw_fetch_start(struct cw_fetch *fetch);
/* Waits for the end. Once `stop` is set it ends with CANCELLED. Returns fetch->rc and copies its
 * message. The result lives on until cw_fetch_fini. */
int cw_fetch_wait(struct cw_fetch *fetch, const struct cw_stop *stop, struct cw_err *err);
void cw_fetch_fini(struct cw_fetch *fetch);
/* Ends a fetch that nobody waits for, unless it has ended: on_end is called before this returns. On the
 * loop thread. */
void cw_fetch_cancel(struct cw_fetch *fetch);
/* Does both. */
int cw_fetch_run(struct cw_fetch *fetch, const struct cw_stop *stop, struct cw_err *err);

#endif
