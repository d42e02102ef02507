/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP server of tests, on 127.0.0.1: each connection has a thread, which reads a request and
 * calls a function of the test that writes whatever bytes it likes. With TLS if it is given a
 * certificate. */
#ifndef CW_TESTS_HTTP_SERVER_H
#define CW_TESTS_HTTP_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define HTTP_SERVER_CONNECTIONS 64

struct http_exchange {
    char *text;       /* the whole request: line, headers, empty line, body */
    const char *body; /* in text */
    bool last;        /* set by the function: the connection is closed after it */
    int fd;
    void *tls;
    struct http_server *server;
};
/* Called by the connection's thread. */
typedef void http_answer_fn(void *arg, struct http_exchange *exchange);

struct http_connection {
    struct http_server *server;
    int fd;
    bool used;
    unsigned long thread;
};
struct http_server {
    http_answer_fn *answer;
    void *arg;
    int port;
    atomic_int connections, requests; /* how many there were */
    atomic_int refused;               /* handshakes that failed */
    /* of the server alone */
    int fd;
    void *context;
    atomic_bool stopping;
    unsigned long thread;
    struct http_connection slots[HTTP_SERVER_CONNECTIONS];
};
/* PEM texts; NULL: no TLS. client_ca: who must have signed the client's; NULL: it needs none. */
void http_server_start(struct http_server *server, const char *cert, const char *key,
                       const char *client_ca);
/* Ends all connections and threads. */
void http_server_stop(struct http_server *server);

void http_send(struct http_exchange *exchange, const char *bytes, size_t n);
void http_send_text(struct http_exchange *exchange, const char *text);
/* Sends a whole response with its length; headers: further lines with \r\n, or "". */
void http_respond(struct http_exchange *exchange, int status, const char *headers,
                  const char *body);
/* Sends the head of a response whose body comes in pieces, and pieces; a piece of 0 bytes ends it. */
void http_send_head(struct http_exchange *exchange, int status, const char *headers);
void http_send_piece(struct http_exchange *exchange, const char *bytes, size_t n);
/* Waits until the client has closed the connection, or the server stops. */
void http_wait_closed(struct http_exchange *exchange);

/* Certificates for 127.0.0.1 and localhost, made for the test. days: until it expires, may be
 * negative. Texts are freed with free(). */
struct test_ca;
struct test_ca *test_ca_new(const char *name);
void test_ca_free(struct test_ca *ca);
char *test_ca_text(const struct test_ca *ca);
void test_ca_sign(struct test_ca *ca, const char *name, int days, char **ret_cert, char **ret_key);
/* The same with these names ("DNS:a,DNS:b"; NULL: none), valid from and until so many days from now. */
void test_ca_sign_names(struct test_ca *ca, const char *names, int from, int until, char **ret_cert,
                        char **ret_key);

#endif
