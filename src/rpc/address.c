/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses: "host:port" and "unix:/path"; and what gRPC does not tell about them: why a server
 * could not be bound, and whether somebody lives behind a unix socket's file (gRPC would just
 * replace it). */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/str.h"
#include "rpc/rpc_int.h"

#define HOST_BYTES 256

bool cw_rpc_address_is_unix(const char *address)
{
    return cw_str_starts(address, "unix:");
}

static const char *unix_path(const char *address)
{
    return address + strlen("unix:");
}

static int check_unix(const char *address, struct cw_err *err)
{
    const char *path = unix_path(address);
    size_t max = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
    if (path[0] == '\0')
        return cw_err_set(err, CW_E_INVALID, "address \"%s\": the path is missing", address);
    if (strlen(path) > max)
        return cw_err_set(err, CW_E_INVALID,
                          "address \"%s\": the path of a unix socket has at most %zu characters",
                          address, max);
    return 0;
}

/* Splits "host:port" and "[v6]:port". */
static int split(const char *address, char ret_host[HOST_BYTES], const char **ret_port,
                 struct cw_err *err)
{
    const char *colon = strrchr(address, ':');
    uint64_t port;
    size_t n = colon ? (size_t)(colon - address) : 0;
    if (n == 0 || n >= HOST_BYTES || !cw_str_to_u64(colon + 1, &port) || port > 65535)
        return cw_err_set(err, CW_E_INVALID, "address \"%s\" is neither HOST:PORT nor unix:/path",
                          address);
    bool bracket = address[0] == '[' && address[n - 1] == ']';
    if (!bracket && memchr(address, ':', n))
        return cw_err_set(err, CW_E_INVALID,
                          "address \"%s\": an IPv6 address goes into brackets, like [::1]:8000",
                          address);
    snprintf(ret_host, HOST_BYTES, "%.*s", (int)(bracket ? n - 2 : n),
             bracket ? address + 1 : address);
    *ret_port = colon + 1;
    return 0;
}

int cw_rpc_address_check(const char *address, struct cw_err *err)
{
    char host[HOST_BYTES];
    const char *port;
    if (cw_rpc_address_is_unix(address))
        return check_unix(address, err);
    return split(address, host, &port, err);
}

int cw_rpc_address_clear(const char *address, struct cw_err *err)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    struct stat st;
    const char *path = unix_path(address);
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

/* Binds by hand to hear the reason. */
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
    char host[HOST_BYTES];
    const char *port = NULL;
    int code = split(address, host, &port, err);
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
    snprintf(sun.sun_path, sizeof sun.sun_path, "%s", unix_path(address));
    struct addrinfo info = {
        .ai_family = AF_UNIX, .ai_addr = (struct sockaddr *)&sun, .ai_addrlen = sizeof sun};
    int failure = try_bind(&info);
    if (failure)
        return cw_err_errno(err, failure, "cannot listen on %s", address);
    unlink(sun.sun_path);
    return cw_err_set(err, CW_E_IO, "cannot listen on %s", address);
}
