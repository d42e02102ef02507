/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline in a client's hello: checking it takes long if it names very many files, so any
 * thread may do it. */
#ifndef CW_DISPATCHER_SESSION_CLIENT_PIPELINE_H
#define CW_DISPATCHER_SESSION_CLIENT_PIPELINE_H

#include "dispatcher/model/model.h"

struct cw_client_pipeline {
    struct cw_buf *packed;
    struct cw_hash fingerprint;
    /* The pipeline as it was written, if a relaxed plan has made another one of it; else NULL. */
    struct cw_buf *written;
    struct cw_hash written_fingerprint;
    int rc; /* The result of its check; its fingerprint is known if it is 0. */
    struct cw_err err;
    /* The check found nothing wrong but operators of plugins that are not known here (yet): workers say
     * which there are. The fingerprint is that of the packed pipeline then. */
    bool is_unchecked;
};
/* Packs and checks the pipeline of a client's message. What stays in the message has no values of
 * options. NULL: the message has no pipeline. Any thread. */
struct cw_client_pipeline *cw_client_pipeline_read(Cachew__V1__ClientMessage *message);
/* Whether that takes long for its size, since a plan is looked for. */
bool cw_client_pipeline_is_slow(const Cachew__V1__ClientMessage *message);
void cw_client_pipeline_free(struct cw_client_pipeline *pipeline); /* Accepts NULL. */

#endif
