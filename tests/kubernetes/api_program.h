/* SPDX-License-Identifier: Apache-2.0 */
/* The fake API server as a program: what its command line and its requests share. One thread. */
#ifndef CW_TESTS_KUBERNETES_API_PROGRAM_H
#define CW_TESTS_KUBERNETES_API_PROGRAM_H

#include <stdio.h>
#include "kubernetes/fk.h"
#include "kubernetes/http_front.h"

struct program {
    uv_loop_t loop;
    uv_timer_t timer;
    uv_signal_t on_term, on_int;
    struct fk_server *server;
    struct http_front *front;
    int64_t begun_ms;
    FILE *log;
};

/* A request has come (http_request_fn; arg is the program). */
void api_program_request(void *arg, struct http_conn *conn, const struct http_request *request);
/* Starts the timer for what the core has to do next. */
void api_program_set_timer(struct program *program);

#endif
