/* SPDX-License-Identifier: Apache-2.0 */
/* What a CacheBackend asks for, read from an object whatever is in it. Pure functions. The schema of
 * deploy/kubernetes/crd refuses most of what is wrong; what it cannot know, or what an older server
 * let pass, is found here and told by the field's name. */
#ifndef CW_CONTROLLER_CACHEBACKEND_H
#define CW_CONTROLLER_CACHEBACKEND_H

#include "base/hash.h"
#include "conf/value.h"

#define CW_CACHEBACKEND_GROUP "cachew.dev"
#define CW_CACHEBACKEND_VERSION "v1alpha1"
#define CW_BACKEND_FINALIZER "cachew.dev/cache-release"
#define CW_BACKEND_FORCE "cachew.dev/force-delete"
#define CW_BACKEND_ANNOTATION                                                                      \
    "cachew.dev/cache-backend" /* of jobs and pods: which one they wait for */
#define CW_BACKEND_SPEC "cachew.dev/cache-backend-spec" /* of jobs: the spec itself */
#define CW_BACKEND_LABEL "cachew.dev/cache"             /* "true": the controller is to see it */
#define CW_BACKEND_GATE "cachew.dev/cache"              /* of pods */

/* An object, read. Counted, so that a copy of the server's state and what is being done about it may
 * hold it; texts are borrowed from its own values. */
struct cw_cachebackend {
    unsigned refs;
    char *name_space, *name, *uid, *version;
    int64_t generation;
    int64_t created_ms; /* wall time; 0: not known */
    bool deleting;
    struct cw_value finalizers; /* the list as it is; null: there is none */
    bool has_finalizer;         /* the own one */
    bool force;                 /* it may go although its bytes could not be released */
    struct cw_value spec, status;

    bool suspend;
    const char *job_kind, *job_name;       /* of jobRef; NULL: there is none */
    const char *mount_path;                /* NULL: there is none */
    const char *engine;                    /* the member of cacheEngine; "" if it is none */
    const struct cw_value *engine_options; /* its value; NULL as above */
    const struct cw_value *sources;        /* dataset.dataSources; NULL: there are none */
    size_t sources_n;
    int64_t quota, source_quota;       /* bytes; 0: not given */
    int64_t high_percent, low_percent; /* watermarks */
    bool prefetch;
    int64_t ready_percent; /* so much has to be cached before the job begins */
    /* With prefetch: a mark of what is to be warmed, and into how much room. */
    char to_warm[CW_HASH_TEXT_BYTES];
    int64_t idle_ms; /* -1: it stays for ever */
    bool keep;       /* deletionPolicy Retain */
    /* What is wrong: a word for machines and a sentence that names the field; "": nothing. */
    char problem[64], problem_text[512];
};
/* Reads an object. Returns a new reference, or NULL if it has no name, uid or version. */
struct cw_cachebackend *cw_cachebackend_read(const struct cw_value *object) CW_MUST_CHECK;
struct cw_cachebackend *cw_cachebackend_ref(struct cw_cachebackend *backend);
void cw_cachebackend_unref(struct cw_cachebackend *backend); /* accepts NULL */
/* The name that the dispatcher knows the cache by, "NAMESPACE/NAME"; the caller frees it. */
char *cw_cachebackend_cache_name(const struct cw_cachebackend *backend) CW_MUST_CHECK;

/* Parses "10h", "1h30m", "45s" to milliseconds. INVALID: it is no such text. LIMIT: above 100 years. */
int cw_duration_parse(const char *text, int64_t *ret_ms, struct cw_err *err);

/* A condition of the status, as it stands; NULL: there is none. */
const struct cw_value *cw_status_condition(const struct cw_value *status, const char *type);
bool cw_status_is_true(const struct cw_value *status, const char *type);
/* Since when, in wall ms; 0: not known. */
int64_t cw_status_since(const struct cw_value *status, const char *type);
/* A time of the status in wall ms; 0: there is none. */
int64_t cw_status_time(const struct cw_value *status, const char *field);

#endif
