/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets and AlluxioRuntimes of Fluid: what is read of them, and what is written. Pure functions. */
#ifndef CW_CONTROLLER_FLUID_FACTS_H
#define CW_CONTROLLER_FLUID_FACTS_H

#include "base/hash.h"
#include "controller/cachebackend.h"

/* The annotation that says from which spec an object was made. Fluid adds its own defaults to the
 * specs, so these cannot be compared. */
#define CW_FLUID_SPEC "cachew.dev/fluid-spec"

/* A Dataset, or a runtime. */
struct cw_fluid_object {
    char *uid, *version;
    char *owner; /* uid of the CacheBackend that owns it; "": none */
    char *spec;  /* of CW_FLUID_SPEC; "": none */
    bool deleting;
    char *phase;  /* of a Dataset: "NotBound", "Bound", ... */
    char *phases; /* of a runtime: "master Ready, workers NotReady, fuse Ready" */
    /* Figures of a Dataset, as Fluid prints them; "": none. */
    char *total, *files, *cached, *capacity, *percent, *hits;
};
struct cw_fluid_object *cw_fluid_object_read(const struct cw_value *object) CW_MUST_CHECK;
void cw_fluid_object_free(struct cw_fluid_object *object); /* accepts NULL */
/* How much is cached, in whole percent; -1: not known. */
int64_t cw_fluid_percent(const struct cw_fluid_object *dataset);

/* What is seen of Fluid for one CacheBackend. */
struct cw_fluid_sight {
    bool known; /* the lists are in */
    /* Why Datasets cannot be seen: a word and a sentence; "": they can. */
    const char *reason, *why;
    bool taken;          /* one of its name is there that is not seen, so it is somebody else's */
    const char *refused; /* why the last write was refused; "": it was not */
    const struct cw_fluid_object *dataset, *runtime;                         /* NULL: not there */
    char dataset_spec[CW_HASH_TEXT_BYTES], runtime_spec[CW_HASH_TEXT_BYTES]; /* wanted */
};

/* Makes the spec of the Dataset, or of the runtime, that a CacheBackend wants. */
void cw_fluid_dataset_spec(const struct cw_cachebackend *b, struct cw_value *ret_spec);
void cw_fluid_runtime_spec(const struct cw_cachebackend *b, struct cw_value *ret_spec);
/* What stands in CW_FLUID_SPEC for a spec. */
void cw_fluid_spec_mark(const struct cw_value *spec, char ret_mark[CW_HASH_TEXT_BYTES]);

#endif
