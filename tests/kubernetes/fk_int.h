/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the fake API server share: its state, a request on its way, and who may call
 * whom is by the sections below, from the lowest up. */
#ifndef CW_TESTS_KUBERNETES_FK_INT_H
#define CW_TESTS_KUBERNETES_FK_INT_H

#include "base/str.h"
#include "kubernetes/fk.h"
#include "kubernetes/jpath.h"

enum { FK_WINDOW = 1000, FK_BOOKMARK_MS = 60000, FK_STEP_MS = 10 };

/* An object at one version. Its JSON is never changed: a change is another fk_object. */
struct fk_object {
    char *key; /* "NAMESPACE/NAME", or "NAME" */
    json_t *json;
    uint64_t version;
};

struct fk_event {
    uint64_t version;
    json_t *before, *after; /* NULL: was, or is, not there */
};

/* A kind of object: its row in the table, its objects sorted by key, and its latest events. */
struct fk_kind {
    char *group, *version, *plural, *singular, *kind;
    bool namespaced, has_status, has_scale, has_generation;
    bool custom;        /* defined by a CustomResourceDefinition: items have kind and apiVersion */
    bool has_orphans;   /* deletion answers with the object, not with a Status */
    bool makes_by_put;  /* PUT of what is not there creates it */
    bool needs_version; /* PUT without a resourceVersion is refused */
    json_t *definition; /* of a custom kind: its version's entry: schema, columns, fields */
    json_t *names;      /* of a custom kind: spec.names */
    struct fk_object *objects;
    size_t n, cap;
    struct fk_event *events; /* oldest first */
    size_t events_n, events_cap;
    uint64_t forgotten; /* the version of the latest event that is not kept */
};

struct fk_token {
    char *token, *user, *group;
    char *audience; /* whom it is for; NULL: whoever asks */
};

struct fk_order {
    json_t *json;
    struct fk_order *next;
};

struct fk_server {
    struct fk_options options;
    int64_t now_ms, jumped_ms;
    uint64_t version, draws, uids;
    struct fk_kind **kinds;
    size_t kinds_n, kinds_cap;
    struct fk_token *tokens;
    size_t tokens_n, tokens_cap;
    struct fk_watch *watches;
    struct fk_order *orders;
    double fault_rate;
    bool shuffles; /* the list that is being answered has another order */
    bool open_to_all;
    int64_t work_ms; /* when controllers look next; INT64_MAX: not */
    struct fk_counts counts;
    struct cw_str unchecked;
};

struct fk_user {
    const char *name, *group; /* group: the one that was given; others follow from the name */
    bool anonymous;
};

/* A request on its way. */
struct fk_call {
    struct fk_server *server;
    const struct fk_request *request;
    struct fk_answer *answer;
    struct fk_user user;
    struct fk_kind *kind;
    char *group, *version, *ns, *resource, *name, *sub; /* ns, name, sub: NULL if not there */
    json_t *query;                                      /* parameters, decoded */
    const char *verb;
    char manager[128];
};

/* ---- names.c: names, times, ids ---- */
void fk_time_text(const struct fk_server *server, int64_t after_ms, char ret[32]); /* RFC 3339 */
int64_t fk_time_parse(const char *text);                                           /* ms; -1 */
int64_t fk_wall_ms(const struct fk_server *server);
uint64_t fk_draw(struct fk_server *server, uint64_t n); /* below n */
void fk_uid(struct fk_server *server, char ret[40]);
void fk_suffix(struct fk_server *server, char *text, size_t n); /* n letters and a NUL */
char *fk_decoded(const char *text, size_t n);                   /* %XX and + */

/* ---- kinds.c ---- */
void fk_kinds_init(struct fk_server *server);
void fk_kinds_fini(struct fk_server *server);
struct fk_kind *fk_kind_find(struct fk_server *server, const char *group, const char *plural);
struct fk_kind *fk_kind_of_object(struct fk_server *server, const char *api_version,
                                  const char *kind);
void fk_kind_forget(struct fk_server *server, struct fk_kind *kind); /* its definition has gone */
int fk_kind_define(struct fk_server *server, const json_t *crd, struct cw_err *err);
/* "deployments.apps", "pods" */
void fk_kind_name(const struct fk_kind *kind, struct cw_str *str);
/* "CacheBackend.cachew.dev", "Pod" */
void fk_kind_title(const struct fk_kind *kind, struct cw_str *str);
char *fk_kind_api_version(const struct fk_kind *kind); /* "apps/v1"; cw_mem */

/* ---- store.c ---- */
const struct fk_object *fk_store_find(const struct fk_kind *kind, const char *ns, const char *name);
json_t *fk_store_get(const struct fk_kind *kind, const char *ns, const char *name); /* borrowed */
/* Writes an object, which is taken, under the next version; its resourceVersion is set. Returns it,
 * borrowed. */
json_t *fk_store_put(struct fk_server *server, struct fk_kind *kind, json_t *object);
void fk_store_remove(struct fk_server *server, struct fk_kind *kind, const char *ns,
                     const char *name);
void fk_store_clear(struct fk_kind *kind); /* without events */
/* Puts an object back under the version that it has; without an event. */
void fk_store_place(struct fk_kind *kind, json_t *object);
void fk_store_forget(const struct fk_server *server, struct fk_kind *kind); /* its events */
/* The objects as they were at a version: an array, new reference; NULL: too old. */
json_t *fk_store_at(const struct fk_kind *kind, uint64_t version);

/* ---- status.c: Status objects. Each of them sets the answer and returns false. ---- */
json_t *fk_status(const char *message, const char *reason, int code, json_t *details);
bool fk_fail(struct fk_call *call, int code, const char *reason, json_t *details, const char *fmt,
             ...) CW_PRINTF(5, 6);
bool fk_fail_named(struct fk_call *call, int code, const char *reason, const char *name,
                   const char *fmt, ...) CW_PRINTF(5, 6);
bool fk_fail_not_found(struct fk_call *call);
bool fk_fail_conflict(struct fk_call *call);
/* causes: array of {reason, message, field}, taken. */
bool fk_fail_invalid(struct fk_call *call, const char *name, json_t *causes);
/* The same, in the words of the storage, which knows resources and not kinds. */
bool fk_fail_invalid_resource(struct fk_call *call, const char *name, json_t *causes);
void fk_cause(json_t *causes, const char *reason, const char *field, const char *fmt, ...)
    CW_PRINTF(4, 5);
void fk_answer_json(struct fk_call *call, int status, const json_t *json);
void fk_answer_object(struct fk_call *call, int status, const json_t *object);
json_t *fk_with_kind(const struct fk_kind *kind, const json_t *object); /* new reference */

/* ---- select.c ---- */
/* labelSelector and fieldSelector of a query, parsed; a bad one fails the call. */
struct fk_selector {
    json_t *labels; /* array of {key, op, values} */
    json_t *fields; /* array of {path, op, value} */
};
bool fk_selector_init(struct fk_call *call, struct fk_selector *ret);
void fk_selector_fini(struct fk_selector *selector);
bool fk_selector_matches(const struct fk_selector *selector, const json_t *object);
/* A LabelSelector object: matchLabels and matchExpressions; NULL matches nothing. */
bool fk_labels_match(const json_t *selector, const json_t *object);

/* ---- rbac.c ---- */
bool fk_rbac_allows(const struct fk_server *server, const struct fk_user *user, const char *verb,
                    const char *group, const char *resource, const char *ns, const char *name);

/* ---- managed.c: managedFields ---- */
void fk_managed_update(const struct fk_server *server, const struct fk_kind *kind,
                       const json_t *before, json_t *after, const char *manager, const char *sub);
/* The fields that an applied configuration names, in the form of fieldsV1. */
json_t *fk_managed_fields_of(const json_t *object);
/* The first field that others own and whose value the configuration would change: NULL, or causes of
 * a conflict. */
json_t *fk_managed_conflicts(const json_t *object, const json_t *config, const char *manager);
void fk_managed_apply(const struct fk_server *server, const struct fk_kind *kind, json_t *object,
                      json_t *fields, const char *manager, bool force);

/* ---- patch.c ---- */
void fk_merge(json_t *target, const json_t *patch); /* a merge patch, of objects */
/* Returns NULL, or what is wrong with it. */
const char *fk_json_patch(json_t **target, const json_t *patch);

/* ---- schema.c: what a CustomResourceDefinition says about values ---- */
/* Puts defaults in, removes unknown fields (their names come back as an array of strings, a new
 * reference) and says what is wrong (causes). */
json_t *fk_schema_prune(const struct fk_kind *kind, json_t *object);
json_t *fk_schema_check(const struct fk_kind *kind, const json_t *before, const json_t *object);
void fk_schema_note_rules(struct fk_server *server, const struct fk_kind *kind);
/* rules.c */
void fk_rules_check(const json_t *schema, const json_t *before, const json_t *object,
                    json_t *causes);
size_t fk_rules_count(const json_t *schema);

/* ---- settle.c, defaults.c ---- */
bool fk_is_same(const json_t *a, const json_t *b); /* but for resourceVersion and managedFields */
void fk_settle(const struct fk_server *server, const struct fk_kind *kind, const json_t *before,
               json_t *after, const char *manager, const char *sub);
/* Stores a settled object, or removes it when it is released (NULL). Takes. */
json_t *fk_commit(struct fk_server *server, struct fk_kind *kind, json_t *after);
void fk_stamp(struct fk_server *server, const struct fk_kind *kind, json_t *object);
void fk_defaults(const struct fk_kind *kind, json_t *object); /* of built-in kinds */
void fk_tidy(const struct fk_kind *kind, json_t *object); /* drops what is empty, as real ones do */
/* The built-in kinds' own rules about a change. */
void fk_check_change(const struct fk_kind *kind, const json_t *before, const json_t *after,
                     json_t *causes);

/* ---- admit.c: what an object must be; each fails the call ---- */
json_t *fk_body(struct fk_call *call); /* new reference, an object or array; NULL: it has failed */
bool fk_is_dry(const struct fk_call *call);
bool fk_admit_kind(struct fk_call *call, json_t *object); /* takes kind and apiVersion away */
bool fk_admit_namespace(struct fk_call *call, json_t *object);
bool fk_admit_fields(struct fk_call *call, json_t *object); /* as fieldValidation says */
bool fk_admit_values(struct fk_call *call, const json_t *before, const json_t *object);
bool fk_admit_new(struct fk_call *call, json_t *object); /* all of it, and defaults */

/* ---- write.c: creating and changing ---- */
/* Creates an object, which is taken, and answers; fields: what an apply sets, NULL: a plain create. */
bool fk_create(struct fk_call *call, json_t *object, json_t *fields);
/* Changes an object to what it should be; takes `after`. Fails the call or answers it. */
bool fk_change(struct fk_call *call, const json_t *before, json_t *after, const char *sub);
json_t *fk_change_quiet(struct fk_call *call, const json_t *before, json_t *after, const char *sub);
void fk_handle_create(struct fk_call *call);
void fk_handle_update(struct fk_call *call);
void fk_handle_patch(struct fk_call *call);
void fk_handle_apply(struct fk_call *call);
/* Reads one document of YAML or JSON from *text on; NULL: the end, or an error. */
json_t *fk_yaml_document(const char *text, size_t n, size_t number, struct cw_err *err);

/* ---- delete.c ---- */
void fk_handle_delete(struct fk_call *call);
void fk_handle_delete_all(struct fk_call *call);
/* Deletes as the API would: marks what has finalizers or a grace period. */
void fk_delete(struct fk_server *server, struct fk_kind *kind, const json_t *object,
               json_int_t grace_s, const char *propagation);
bool fk_is_released(const struct fk_kind *kind,
                    const json_t *object); /* marked, nothing holds it */

/* ---- read.c, table.c, watch.c ---- */
void fk_handle_get(struct fk_call *call);
void fk_handle_list(struct fk_call *call);
char *fk_base64url(const char *text); /* without padding; cw_mem */
bool fk_wants_table(const struct fk_call *call);
json_t *fk_table_of(const struct fk_server *server, const struct fk_kind *kind,
                    const json_t *items);
void fk_handle_watch(struct fk_call *call);
void fk_watches_tell(struct fk_server *server, const struct fk_kind *kind,
                     const struct fk_event *event);
void fk_watches_flush(struct fk_server *server);
void fk_watches_advance(struct fk_server *server);
int64_t fk_watches_next_ms(const struct fk_server *server);
void fk_watches_end(struct fk_server *server, enum fk_watch_end end);
void fk_watches_forget_server(struct fk_server *server);

/* ---- subresources ---- */
void fk_handle_scale(struct fk_call *call);
void fk_handle_eviction(struct fk_call *call);
void fk_handle_binding(struct fk_call *call);
void fk_bind(struct fk_server *server, struct fk_kind *pods, const json_t *pod, const char *node);
void fk_handle_token_request(struct fk_call *call);
void fk_handle_token_review(struct fk_call *call);
bool fk_handle_discovery(struct fk_call *call); /* false: the path is something else */

/* ---- fault.c ---- */
/* Whether a fault answers the call in place of the server. */
bool fk_fault_strikes(struct fk_call *call);
/* The fault that a watch's next line meets; NULL: none. */
const char *fk_fault_of_line(struct fk_server *server, const struct fk_kind *kind,
                             json_t **ret_order);
bool fk_fault_shuffles(struct fk_server *server);
void fk_faults_fini(struct fk_server *server);

/* ---- controllers ---- */
/* What a controller writes: as manager, with or without a subresource; takes `after`. */
json_t *fk_write(struct fk_server *server, struct fk_kind *kind, const json_t *before,
                 json_t *after, const char *manager, const char *sub);
/* Creates for a controller; NULL if it may not (quota). Takes. */
json_t *fk_make(struct fk_server *server, struct fk_kind *kind, json_t *object,
                const char *manager);
json_t *fk_owner_reference(const struct fk_kind *kind, const json_t *owner);
json_t *fk_pod_from(const struct fk_kind *kind, const json_t *owner); /* by spec.template */
json_t *fk_pods_by_owner(struct fk_server *server); /* arrays by the uid of the first owner */
void fk_controllers_run(struct fk_server *server);
void fk_garbage_run(struct fk_server *server);
void fk_deployments_run(struct fk_server *server);
void fk_replicasets_run(struct fk_server *server);
void fk_jobs_run(struct fk_server *server);
void fk_schedule_run(struct fk_server *server);
void fk_namespaces_run(struct fk_server *server);

#endif
