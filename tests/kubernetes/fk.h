/* SPDX-License-Identifier: Apache-2.0 */
/* A fake Kubernetes API server without sockets, threads or a clock: a request goes in with the time,
 * an answer or a watch comes out. What it answers is what real servers answered (recorded/); it keeps
 * their rules about versions, subresources, finalizers, owners, RBAC and watches, and plays the parts
 * of the controllers and the scheduler that cachew meets. Random things come from a seed, so that a
 * run can be repeated.
 *
 * All functions are for one thread. Nothing is called back from within fk_server_handle; watches are
 * called back from fk_server_handle, fk_server_advance and fk_watch_start. */
#ifndef CW_TESTS_KUBERNETES_FK_H
#define CW_TESTS_KUBERNETES_FK_H

#include <stdbool.h>
#include <jansson.h>
#include "base/err.h"

struct fk_server;
struct fk_watch;

struct fk_options {
    uint64_t seed;
    int64_t wall_ms;        /* the wall clock at time 0, ms since 1970 */
    size_t window;          /* events of a kind that a watch may go back; 0: 1000 */
    int64_t bookmark_ms;    /* between two bookmarks of a watch; 0: 60 s */
    bool old_gone;          /* a watch from too old a version gets HTTP 410, not 200 and a line */
    bool no_streaming_list; /* sendInitialEvents is refused, as with an old etcd */
    bool no_managed_fields; /* nobody asks who wrote what: half the work of a write */
    bool no_controllers;    /* Deployments, Jobs and Pods are objects and nothing else */
};

struct fk_server *fk_server_new(const struct fk_options *options) CW_MUST_CHECK;
void fk_server_free(struct fk_server *server); /* ends all watches without a word */

/* A request as the wire has it; NULL: not sent. Everything is borrowed for the call. */
struct fk_request {
    const char *method, *path, *query; /* path and query are percent-encoded */
    const char *content_type, *accept, *token, *user_agent;
    const char *body;
    size_t body_n;
};

/* What a fault does to the connection instead of, or after, the answer. */
enum fk_harm {
    FK_HARM_NONE,
    FK_HARM_SILENCE, /* nothing is answered, and the connection stays */
    FK_HARM_RESET,   /* the connection ends without an answer */
    FK_HARM_DONE,    /* the request was carried out, and the connection ends without an answer */
};

struct fk_answer {
    int status;
    char *body; /* with a NUL behind body_n; NULL where a watch begins */
    size_t body_n;
    char *warning;          /* text of a Warning header */
    int retry_after_s;      /* 0: no header */
    struct fk_watch *watch; /* belongs to the caller, who starts and frees it */
    enum fk_harm harm;
    char audit_id[40];
};
void fk_answer_fini(struct fk_answer *answer);

/* now_ms is monotonic and never goes back; the wall clock is derived from it. */
void fk_server_handle(struct fk_server *server, int64_t now_ms, const struct fk_request *request,
                      struct fk_answer *ret_answer);
/* Does what is due by now: controllers, garbage, bookmarks, ends of watches. */
void fk_server_advance(struct fk_server *server, int64_t now_ms);
/* When fk_server_advance has something to do next, INT64_MAX: with the next request only. */
int64_t fk_server_next_ms(const struct fk_server *server);

/* ---- watches ---- */
enum fk_watch_end {
    FK_WATCH_GOES_ON,
    FK_WATCH_ENDS, /* in order, as at its timeout */
    FK_WATCH_RESET,
};
/* Bytes of the answer's body: lines, whole but for faults. With n 0 it only ends. */
typedef void fk_watch_fn(void *arg, const char *bytes, size_t n, enum fk_watch_end end);
void fk_watch_start(struct fk_watch *watch, fk_watch_fn *fn, void *arg);
void fk_watch_free(struct fk_watch *watch); /* accepts NULL; not from within fn */

/* ---- setting up ---- */
/* A bearer token of a user; one of the group system:masters may do everything. Service accounts have
 * the groups that their names imply. user NULL: the token is forgotten, which makes it a 401. */
void fk_server_set_token(struct fk_server *server, const char *token, const char *user,
                         const char *group);
/* A token that is there is for this audience alone: what a TokenReview says of it. */
void fk_server_set_audience(struct fk_server *server, const char *token, const char *audience);
/* Reads documents (YAML or JSON, several): a CustomResourceDefinition makes a kind, everything else is
 * created as an administrator would create it; Roles and bindings count from then on. */
int fk_server_load(struct fk_server *server, int64_t now_ms, const char *text, size_t n,
                   struct cw_err *err) CW_MUST_CHECK;
/* Who has no token is an administrator (for the simplest tests). */
void fk_server_open_to_all(struct fk_server *server);
/* Rules of loaded definitions that are written in CEL and that no hand-written check stands for. */
const char *fk_server_unchecked(const struct fk_server *server); /* lines, "" */

/* The objects of a kind as a list would have them ("cachew.dev", "cachebackends"; group "" is core); a
 * new reference. */
json_t *fk_server_objects(struct fk_server *server, const char *group, const char *plural);
uint64_t fk_server_version(const struct fk_server *server);
/* Everything is gone and made anew by others: no objects but those with roles, versions start over
 * with a jump, uids are others, and watches break. */
void fk_server_wipe(struct fk_server *server, int64_t now_ms);
/* Everything that is there, as a backup of the server's store has it; a new reference. */
json_t *fk_server_save(const struct fk_server *server);
/* The server is restored from such a backup: objects have their old uids and versions again, what was
 * made later is gone, the next versions are those that had been given before, and watches break. */
void fk_server_restore(struct fk_server *server, int64_t now_ms, const json_t *saved);
/* Forgets all events: every watch from an earlier version and every continue token is expired. */
void fk_server_compact(struct fk_server *server);
void fk_server_jump_clock(struct fk_server *server, int64_t ms); /* the wall clock, either way */

/* ---- counts ---- */
struct fk_counts {
    uint64_t reads, lists, watches, writes, refused;
};
struct fk_counts fk_server_counts(const struct fk_server *server);

/* ---- faults ---- */
/* One order, a JSON object: {"fault": "500", "verb": "patch", "resource": "deployments/scale",
 * "times": 2, "skip": 1, "at": 17, "retryAfter": 3}. docs of fault.c name them. */
int fk_server_order(struct fk_server *server, const json_t *order, struct cw_err *err);
/* Random faults: each request and each line of a watch meets one with this chance, 0 to 1. */
void fk_server_set_fault_rate(struct fk_server *server, double rate);

#endif
