/* SPDX-License-Identifier: Apache-2.0 */
/* Parses addresses: "host:port" and "unix:/path". */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <sys/un.h>

#include "base/str.h"
#include "rpc/rpc_int.h"

bool cw_rpc_address_is_unix(const char *address)
{
    return cw_str_starts(address, "unix:");
}

const char *cw_rpc_address_path(const char *address)
{
    return address + strlen("unix:");
}

static int check_unix(const char *address, struct cw_err *err)
{
    const char *path = cw_rpc_address_path(address);
    size_t max = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
    if (path[0] == '\0')
        return cw_err_set(err, CW_E_INVALID, "address \"%s\": the path is missing", address);
    if (strlen(path) > max)
        return cw_err_set(err, CW_E_INVALID,
                          "address \"%s\": the path of a unix socket has at most %zu characters",
                          address, max);
    return 0;
}

int cw_rpc_address_split(const char *address, char ret_host[CW_RPC_HOST_BYTES],
                         const char **ret_port, struct cw_err *err)
{
    const char *colon = strrchr(address, ':');
    uint64_t port;
    size_t n = colon ? (size_t)(colon - address) : 0;
    if (n == 0 || n >= CW_RPC_HOST_BYTES || !cw_str_to_u64(colon + 1, &port) || port > 65535)
        return cw_err_set(err, CW_E_INVALID, "address \"%s\" is neither HOST:PORT nor unix:/path",
                          address);
    bool bracket = address[0] == '[' && address[n - 1] == ']';
    if (!bracket && memchr(address, ':', n))
        return cw_err_set(err, CW_E_INVALID,
                          "address \"%s\": an IPv6 address goes into brackets, like [::1]:8000",
                          address);
    snprintf(ret_host, CW_RPC_HOST_BYTES, "%.*s", (int)(bracket ? n - 2 : n),
             bracket ? address + 1 : address);
    *ret_port = colon + 1;
    return 0;
}

bool cw_rpc_address_is_loopback(const char *address)
{
    char host[CW_RPC_HOST_BYTES];
    const char *port;
    struct in_addr v4;
    struct in6_addr v6;
    if (cw_rpc_address_is_unix(address))
        return true;
    if (cw_rpc_address_split(address, host, &port, NULL) != 0)
        return false;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return (ntohl(v4.s_addr) >> 24) == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
    return cw_str_eq(host, "localhost");
}

int cw_rpc_address_check(const char *address, struct cw_err *err)
{
    char host[CW_RPC_HOST_BYTES];
    const char *port;
    if (cw_rpc_address_is_unix(address))
        return check_unix(address, err);
    return cw_rpc_address_split(address, host, &port, err);
}

/* Whether it may be a name: its last part is no number, or it would be a bad IPv4 address. */
static bool is_name(const char *host)
{
    const char *dot = strrchr(host, '.'), *last = dot ? dot + 1 : host;
    if (last[strspn(last, "0123456789")] == '\0')
        return false;
    for (const char *at = host; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr(".-_", *at))
            return false;
    return isalnum((unsigned char)*host);
}

/* Whether clients may be told this host: `bare` has no brackets. */
static bool is_host(const char *bare, bool has_brackets, bool *ret_is_v6)
{
    struct in_addr v4;
    struct in6_addr v6;
    *ret_is_v6 = inet_pton(AF_INET6, bare, &v6) == 1;
    if (*ret_is_v6)
        return !IN6_IS_ADDR_UNSPECIFIED(&v6);
    if (has_brackets)
        return false;
    return inet_pton(AF_INET, bare, &v4) == 1 ? v4.s_addr != htonl(INADDR_ANY) : is_name(bare);
}

int cw_rpc_address_of_host(const char *host, const char *listening, char *ret_address, size_t cap,
                           struct cw_err *err)
{
    char bare[CW_RPC_HOST_BYTES];
    size_t n = strlen(host);
    bool is_v6, has_brackets = n > 2 && host[0] == '[' && host[n - 1] == ']';
    if (cw_rpc_address_is_unix(listening))
        return cw_err_set(err, CW_E_INVALID, "%s has no port", listening);
    if (n >= sizeof(bare))
        return cw_err_set(err, CW_E_INVALID, "a host has at most %zu characters", sizeof(bare) - 1);
    snprintf(bare, sizeof(bare), "%.*s", (int)(has_brackets ? n - 2 : n),
             has_brackets ? host + 1 : host);
    if (!is_host(bare, has_brackets, &is_v6))
        return cw_err_set(err, CW_E_INVALID,
                          "\"%s\" is neither the name of a host nor an address by which others "
                          "reach it, like 10.0.0.8 or fd00::8, without a port",
                          host);
    snprintf(ret_address, cap, "%s%s%s%s", is_v6 ? "[" : "", bare, is_v6 ? "]" : "",
             strrchr(listening, ':'));
    return 0;
}
