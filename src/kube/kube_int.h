/* SPDX-License-Identifier: Apache-2.0 */
/* The client, shared by the files of this folder. */
#ifndef CW_KUBE_KUBE_INT_H
#define CW_KUBE_KUBE_INT_H

#include "base/map.h"
#include "http/http_client.h"
#include "kube/kube.h"
#include "kube/kube_token.h"

struct cw_kube {
    struct cw_loop *loop;
    struct cw_http_client *http;
    struct cw_kube_options options; /* program is a copy */
    char *server, *name_space, *manager;
    struct cw_kube_token token;
    struct cw_kube_call *calls;
    struct cw_strmap warnings; /* texts that were told */
};

/* ---- kube_warnings.c ---- */
/* Tells the texts of Warning headers that were not told yet. */
void cw_kube_tell_warnings(struct cw_kube *kube, const struct cw_http_response *response);

#endif
