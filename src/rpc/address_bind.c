/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out about addresses what gRPC does not report: why a server could not be bound, and whether
 * a process listens behind the file of a unix socket (gRPC would just replace the file). */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "rpc/rpc_int.h"

int cw_rpc_address_clear(const char *address, struct cw_err *err)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    struct stat st;
    const char *path = cw_rpc_address_path(address);
    if (lstat(path, &st) != 0)
        return 0;
    if (!S_ISSOCK(st.st_mode))
        return cw_err_set(err, CW_E_EXISTS, "%s is a file that is not a socket", path);
    snprintf(sun.sun_path, sizeof sun.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return cw_err_errno(err, errno, "cannot make a socket");
    int rc = connect(fd, (const struct sockaddr *)&sun, sizeof sun);
    int failure = rc == 0 ? 0 : errno;
    close(fd);
    if (failure != ECONNREFUSED)
        return cw_err_set(err, CW_E_EXISTS, "%s: another process listens on this socket", path);
    if (unlink(path) != 0 && errno != ENOENT)
        return cw_err_errno(err, errno, "cannot remove the dead socket %s", path);
    return 0;
}

/* Binds a socket directly, since the system call gives the reason. */
static int try_bind(const struct addrinfo *info)
{
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    int one = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    int failure = 0;
    if (bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, 1) != 0)
        failure = errno;
    close(fd);
    return failure;
}

static int explain_tcp(const char *address, struct cw_err *err)
{
    char host[CW_RPC_HOST_BYTES];
    const char *port = NULL;
    int code = cw_rpc_address_split(address, host, &port, err);
    if (code)
        return code;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *infos = NULL;
    int rc = getaddrinfo(host, port, &hints, &infos);
    if (rc != 0)
        return cw_err_set(err, CW_E_NOT_FOUND, "cannot listen on %s: %s", address,
                          gai_strerror(rc));
    int failure = 0;
    for (const struct addrinfo *info = infos; info && !failure; info = info->ai_next)
        failure = try_bind(info);
    freeaddrinfo(infos);
    if (failure == EADDRINUSE)
        return cw_err_set(err, CW_E_EXISTS, "cannot listen on %s: another process uses this port",
                          address);
    if (failure)
        return cw_err_errno(err, failure, "cannot listen on %s", address);
    return cw_err_set(err, CW_E_IO, "cannot listen on %s", address);
}

int cw_rpc_address_explain(const char *address, struct cw_err *err)
{
    if (!cw_rpc_address_is_unix(address))
        return explain_tcp(address, err);
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    snprintf(sun.sun_path, sizeof sun.sun_path, "%s", cw_rpc_address_path(address));
    struct addrinfo info = {
        .ai_family = AF_UNIX, .ai_addr = (struct sockaddr *)&sun, .ai_addrlen = sizeof sun};
    int failure = try_bind(&info);
    if (failure)
        return cw_err_errno(err, failure, "cannot listen on %s", address);
    unlink(sun.sun_path);
    return cw_err_set(err, CW_E_IO, "cannot listen on %s", address);
}
