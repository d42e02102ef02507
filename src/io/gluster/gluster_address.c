/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the address of a gluster:// URL: "//host[:port][,host2...]/volume[/path]". */
#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "base/str.h"
#include "io/gluster/gluster_connection.h"

static int add_host(struct cw_gluster_address *address, char *text)
{
    struct cw_gluster_host *host = &address->hosts[address->hosts_n];
    char *colon = strrchr(text, ':');
    int64_t port = CW_GLUSTER_PORT;

    if (colon) {
        *colon++ = '\0';
        if (!cw_str_to_i64(colon, &port) || port < 1 || port > 65535)
            return -1;
    }
    if (address->hosts_n == CW_GLUSTER_HOSTS_MAX || strlen(text) >= sizeof(host->name) || !*text ||
        text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")])
        return -1;
    snprintf(host->name, sizeof(host->name), "%s", text);
    host->port = (int)port;
    address->hosts_n++;
    return 0;
}
/* Adds the path without empty parts. Returns -1 if a part is "." or "..", or the path is too
 * long. */
static int add_path(struct cw_gluster_address *address, const char *path)
{
    size_t len = 0;

    while (*path) {
        size_t n = strcspn(path, "/");
        if ((n == 1 && path[0] == '.') || (n == 2 && path[0] == '.' && path[1] == '.') ||
            len + n + 2 > sizeof(address->path))
            return -1;
        if (n > 0)
            len += (size_t)snprintf(address->path + len, sizeof(address->path) - len, "/%.*s",
                                    (int)n, path);
        path += n + (path[n] == '/');
    }
    if (len == 0)
        snprintf(address->path, sizeof(address->path), "/");
    return 0;
}
int cw_gluster_address_parse(const char *text, struct cw_gluster_address *address)
{
    cw_autofree char *copy = cw_mem_strdup(text);

    if (!cw_str_starts(copy, "//"))
        return -1;
    char *hosts = copy + 2, *volume = strchr(hosts, '/');
    if (!volume)
        return -1;
    *volume++ = '\0';
    size_t n = strcspn(volume, "/");
    if (n == 0 || n >= sizeof(address->volume))
        return -1;
    snprintf(address->volume, sizeof(address->volume), "%.*s", (int)n, volume);
    for (char *host; (host = strsep(&hosts, ","));)
        if (add_host(address, host) < 0)
            return -1;
    return add_path(address, volume + n);
}
