/* SPDX-License-Identifier: Apache-2.0 */
#include "support/http_server.h"

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/cm.h"

#define MUST(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static ssize_t receive(struct http_exchange *x, char *bytes, size_t n)
{
    return x->tls ? SSL_read(x->tls, bytes, (int)n) : recv(x->fd, bytes, n, 0);
}

void http_send(struct http_exchange *x, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent =
            x->tls ? SSL_write(x->tls, bytes, (int)n) : send(x->fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* the client has gone, as some tests want */
        bytes += sent;
        n -= (size_t)sent;
    }
}

void http_send_text(struct http_exchange *x, const char *text)
{
    http_send(x, text, strlen(text));
}

void http_respond(struct http_exchange *x, int status, const char *headers, const char *body)
{
    char head[2048];
    int n = snprintf(head, sizeof(head), "HTTP/1.1 %d Word\r\nContent-Length: %zu\r\n%s\r\n",
                     status, strlen(body), headers);
    MUST(n > 0 && (size_t)n < sizeof(head));
    http_send(x, head, (size_t)n);
    http_send_text(x, body);
}

void http_send_head(struct http_exchange *x, int status, const char *headers)
{
    char head[2048];
    int n = snprintf(head, sizeof(head), "HTTP/1.1 %d Word\r\nTransfer-Encoding: chunked\r\n%s\r\n",
                     status, headers);
    MUST(n > 0 && (size_t)n < sizeof(head));
    http_send(x, head, (size_t)n);
}

void http_send_piece(struct http_exchange *x, const char *bytes, size_t n)
{
    char head[32];
    int head_n = snprintf(head, sizeof(head), "%zx\r\n", n);
    http_send(x, head, (size_t)head_n);
    http_send(x, bytes, n);
    http_send(x, "\r\n", 2);
}

void http_wait_closed(struct http_exchange *x)
{
    char byte;
    while (receive(x, &byte, 1) > 0)
        ;
    x->last = true;
}

/* Reads one request into x; false: the client has closed. */
static bool read_request(struct http_exchange *x)
{
    size_t n = 0, cap = 1 << 16, whole = 0;
    x->text = malloc(cap + 1);
    while (whole == 0 || n < whole) {
        ssize_t got = receive(x, x->text + n, whole ? whole - n : 1);
        if (got <= 0)
            return false;
        n += (size_t)got;
        x->text[n] = '\0';
        if (whole == 0 && n >= 4 && memcmp(x->text + n - 4, "\r\n\r\n", 4) == 0) {
            const char *length = strcasestr(x->text, "\r\nContent-Length:");
            whole = n + (length ? strtoul(length + 17, NULL, 10) : 0);
            x->text = realloc(x->text, whole + 1);
        }
        MUST(whole || n < cap);
    }
    x->body = strstr(x->text, "\r\n\r\n") + 4;
    return true;
}

static bool shake_hands(struct http_exchange *x)
{
    if (!x->server->context)
        return true;
    x->tls = SSL_new(x->server->context);
    SSL_set_fd(x->tls, x->fd);
    if (SSL_accept(x->tls) == 1)
        return true;
    atomic_fetch_add(&x->server->refused, 1);
    return false;
}

static void *serve(void *arg)
{
    struct http_connection *connection = arg;
    struct http_server *server = connection->server;
    struct http_exchange x = {.fd = connection->fd, .server = server};
    bool going = shake_hands(&x);
    while (going && !x.last) {
        going = read_request(&x);
        if (going) {
            atomic_fetch_add(&server->requests, 1);
            server->answer(server->arg, &x);
        }
        free(x.text);
        x.text = NULL;
    }
    if (x.tls)
        SSL_free(x.tls);
    shutdown(x.fd, SHUT_RDWR);
    return NULL;
}

static void add_connection(struct http_server *server, int fd)
{
    for (size_t i = 0; i < HTTP_SERVER_CONNECTIONS; i++) {
        struct http_connection *slot = &server->slots[i];
        if (slot->used)
            continue;
        *slot = (struct http_connection){.server = server, .fd = fd, .used = true};
        atomic_fetch_add(&server->connections, 1);
        MUST(pthread_create(&slot->thread, NULL, serve, slot) == 0);
        return;
    }
    MUST(0); /* more connections than there is room for */
}

static void *accept_all(void *arg)
{
    struct http_server *server = arg;
    int fd;
    while ((fd = accept(server->fd, NULL, NULL)) >= 0)
        add_connection(server, fd);
    return NULL;
}

static X509 *read_cert(const char *text)
{
    BIO *bio = BIO_new_mem_buf(text, -1);
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    BIO_free(bio);
    MUST(cert);
    return cert;
}

static void set_tls(struct http_server *server, const char *cert, const char *key,
                    const char *client_ca)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    X509 *own = read_cert(cert);
    BIO *bio = BIO_new_mem_buf(key, -1);
    EVP_PKEY *own_key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    MUST(SSL_CTX_use_certificate(context, own) == 1);
    MUST(SSL_CTX_use_PrivateKey(context, own_key) == 1);
    if (client_ca) {
        X509 *ca = read_cert(client_ca);
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca);
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        X509_free(ca);
    }
    X509_free(own);
    EVP_PKEY_free(own_key);
    BIO_free(bio);
    server->context = context;
}

void http_server_start(struct http_server *server, const char *cert, const char *key,
                       const char *client_ca)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(at);
    if (cert)
        set_tls(server, cert, key, client_ca);
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(bind(server->fd, (const struct sockaddr *)&at, sizeof(at)) == 0);
    MUST(listen(server->fd, 64) == 0);
    MUST(getsockname(server->fd, (struct sockaddr *)&at, &n) == 0);
    server->port = ntohs(at.sin_port);
    MUST(pthread_create(&server->thread, NULL, accept_all, server) == 0);
}

void http_server_stop(struct http_server *server)
{
    atomic_store(&server->stopping, true);
    shutdown(server->fd, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->fd);
    for (size_t i = 0; i < HTTP_SERVER_CONNECTIONS; i++)
        if (server->slots[i].used)
            shutdown(server->slots[i].fd, SHUT_RDWR);
    for (size_t i = 0; i < HTTP_SERVER_CONNECTIONS; i++)
        if (server->slots[i].used) {
            pthread_join(server->slots[i].thread, NULL);
            close(server->slots[i].fd);
        }
    SSL_CTX_free(server->context);
}
