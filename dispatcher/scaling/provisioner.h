/* SPDX-License-Identifier: Apache-2.0 */
/* Where workers come from. One file a provisioner, one line in provisioner_list.h. The dispatcher
 * says how many there should be; a worker that is too many is drained, and then goes by itself.
 * Loop thread. */
#ifndef CW_DISPATCHER_PROVISION_H
#define CW_DISPATCHER_PROVISION_H

#include "dispatcher/model/model.h"

struct cw_provisioner {
    const char *name, *summary;
    bool tells; /* nothing more than how many there should be, to whoever asks */
    bool fixed; /* the fleet is what registers itself */
    int (*open)(struct cw_dispatcher *d, void **ret_state, struct cw_err *err);
    void (*close)(void *state); /* ends what it started */
    /* Begins so many workers more; returns how many it did. */
    size_t (*start)(void *state, size_t n);
    size_t (*starting)(void *state);                           /* begun, and not attached yet */
    bool (*owns)(void *state, const struct cw_worker *worker); /* may be drained by us */
    void (*tick)(void *state, int64_t now);
    void (*attached)(void *state, const struct cw_worker *worker);
};

/* external, none, process. INVALID names those that there are. */
int cw_provision_find(const char *name, const struct cw_provisioner **ret_kind, struct cw_err *err);
int cw_provision_open(struct cw_dispatcher *d, struct cw_err *err);
void cw_provision_close(struct cw_dispatcher *d);
/* Workers that there could be. */
double cw_provision_possible(const struct cw_dispatcher *d);
/* So many could be used: begins or drains workers, within the limits. */
void cw_provision_want(struct cw_dispatcher *d, double n, int64_t now);
void cw_provision_attached(struct cw_dispatcher *d, const struct cw_worker *worker);

#endif
