/* SPDX-License-Identifier: Apache-2.0 */
/* TLS of an environment: its own certificate, which is read again when a file changes, credentials for
 * gRPC, and who a peer is by its certificate. Unix sockets are not concerned. Loop thread, unless a
 * comment says otherwise. */
#ifndef CW_RPC_TLS_H
#define CW_RPC_TLS_H

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <sys/stat.h>

#include "auth/tls_files.h"
#include "rpc/rpc_int.h"

#define CW_TLS_FILES 3
struct cw_tls {
    struct cw_tls_files now; /* what counts; a mutex of tls.c guards it against gRPC's threads */
    uint64_t generation;     /* of `now`, from 1 */
    char *paths[CW_TLS_FILES];
    struct cw_role_rules rules;
    struct stat read[CW_TLS_FILES]; /* what the files were when they were read */
    struct cw_timer *look;
};

/* ---- tls.c ---- */
struct cw_tls *cw_tls_new(struct cw_loop *loop, const struct cw_tls_options *options,
                          struct cw_err *err);
void cw_tls_free(struct cw_tls *tls); /* Accepts NULL. */
/* A reader asks for the texts at its own times, and learns whether they are new to it. Readers are
 * numbers, so that gRPC's threads may ask also when the environment is gone. */
uint64_t cw_tls_reader_new(struct cw_tls *tls);
enum cw_tls_answer { CW_TLS_SAME, CW_TLS_NEW, CW_TLS_GONE };
/* Calls fn with the texts, which stay as they are meanwhile, if they are new. Any thread. */
enum cw_tls_answer cw_tls_read(uint64_t reader,
                               void (*fn)(const struct cw_tls_files *files, void *arg), void *arg);

/* ---- rpc.c ---- */
/* Logs handshakes that fail from now on: with servers nobody else says why. */
void cw_rpc_serves_tls(void);

/* ---- tls_client.c ---- */
/* Makes the credentials of a channel whose peer must have the role. */
grpc_channel_credentials *cw_tls_channel_creds(struct cw_tls *tls, enum cw_role role) CW_MUST_CHECK;
/* Puts what gRPC says of a connection with TLS, or of one without to a server that may want it, into
 * words. ret_msg may hold the text that gRPC gave. */
void cw_tls_explain(const struct cw_channel *channel, char *msg, size_t cap);

/* ---- tls_server.c ---- */
/* Makes the credentials of a server. */
grpc_server_credentials *cw_tls_server_creds(struct cw_tls *tls) CW_MUST_CHECK;
/* The DNS names in the certificate of a call's peer. */
#define CW_TLS_NAMES_MAX 32
struct cw_tls_names {
    const char *v[CW_TLS_NAMES_MAX];
    size_t n;
    grpc_auth_context *context;
};
void cw_tls_names_init(struct cw_tls_names *names, grpc_call *call);
void cw_tls_names_fini(struct cw_tls_names *names);

#endif
