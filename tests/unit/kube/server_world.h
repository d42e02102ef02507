/* SPDX-License-Identifier: Apache-2.0 */
/* A whole server over HTTP for tests of the client: the fake one, as a child, or the one that
 * CACHEW_TEST_KUBECONFIG names, in a namespace of its own. */
#ifndef CW_TEST_SERVER_WORLD_H
#define CW_TEST_SERVER_WORLD_H

#include "base/str.h"
#include "kube/kube.h"
#include "kube/kube_list.h"
#include "loop/child.h"

struct server_world {
    struct cw_child server;
    struct cw_kube_config config;
    struct cw_loop *loop;
    struct cw_kube *kube;
    struct cw_timer *pause;
    char name_space[64];
    char orders[128]; /* the URL of the server's orders; "": it takes none */
    /* the last answer */
    int code, http;
    enum cw_kube_reason reason;
    char version[64], uid[64], err[1024];
};
extern struct server_world w;
extern const struct cw_kube_kind leases; /* also a server of custom resources may have them */

/* Set-up and tear-down of a group of tests: the server, a client, a namespace. */
int server_begin(void **state);
int server_end(void **state);
/* Keeps the answer of a call, and ends server_run. */
void on_answer(void *arg, struct cw_kube_answer *answer);
/* Waits for the answer of a call. */
void server_run(const struct cw_kube_call *call);
/* Fails unless the last answer's code is this. */
void expect(int code);
/* A lease of the namespace; NULL: all of them. */
struct cw_kube_target target(const char *name);
/* Makes a lease, whose label "holder" is the holder, too. */
void make(const char *name, const char *holder);
/* Waits for so long, while the loop goes on. */
void server_pause(int64_t ms);
/* Gives the server an order with a body of JSON, and waits until it has been taken. */
void server_order(const char *name, const char *body);

#endif
