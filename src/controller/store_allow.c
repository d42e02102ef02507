/* SPDX-License-Identifier: Apache-2.0 */
/* Compares places of stores by whole parts, so that gluster://g1/vol does not allow gluster://g10/vol
 * or gluster://g1/vol2. */
#include "controller/store_allow.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define GLUSTER_PORT "24007"

/* The parts of a URL, borrowed. */
struct place {
    const char *scheme, *hosts, *path;
    size_t scheme_n, hosts_n, path_n;
};

static bool split(const char *url, struct place *ret)
{
    size_t n = strcspn(url, "?");
    const char *colon = memchr(url, ':', n);
    if (!colon || colon == url)
        return false;
    *ret = (struct place){.scheme = url, .scheme_n = (size_t)(colon - url)};
    const char *p = colon + 1, *end = url + n;
    if (end - p >= 2 && p[0] == '/' && p[1] == '/') {
        const char *slash = memchr(p + 2, '/', (size_t)(end - p - 2));
        ret->hosts = p + 2;
        ret->hosts_n = (size_t)((slash ? slash : end) - ret->hosts);
        p = slash ? slash : end;
    }
    ret->path = p;
    ret->path_n = (size_t)(end - p);
    while (ret->path_n > 0 && ret->path[ret->path_n - 1] == '/')
        ret->path_n--;
    return true;
}

/* Whether a path has a part that means another one: it is not compared at all then. */
static bool is_plain(const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t part = 0;
        while (i + part < n && p[i + part] != '/')
            part++;
        bool dots = (part == 1 && p[i] == '.') || (part == 2 && p[i] == '.' && p[i + 1] == '.');
        if (dots || (part == 0 && i > 0))
            return false;
        i += part + 1;
    }
    return true;
}

/* Takes the next host of a list "h1[:port],h2": its name and its port. */
static bool next_host(const char **at, const char *end, const char **ret_host, size_t *ret_n,
                      const char **ret_port, size_t *ret_port_n)
{
    if (*at >= end)
        return false;
    const char *comma = memchr(*at, ',', (size_t)(end - *at));
    const char *stop = comma ? comma : end, *name_end = stop;
    const char *after = **at == '[' ? memchr(*at, ']', (size_t)(stop - *at)) : *at;
    const char *colon = after ? memchr(after, ':', (size_t)(stop - after)) : NULL;
    *ret_port = GLUSTER_PORT;
    *ret_port_n = strlen(GLUSTER_PORT);
    if (colon) {
        name_end = colon;
        *ret_port = colon + 1;
        *ret_port_n = (size_t)(stop - colon - 1);
    }
    *ret_host = *at;
    *ret_n = (size_t)(name_end - *at);
    *at = comma ? comma + 1 : end;
    return true;
}

static bool is_same(const char *a, size_t a_n, const char *b, size_t b_n)
{
    return a_n == b_n && memcmp(a, b, a_n) == 0;
}

/* Whether a host of one URL is among those of another. */
static bool has_host(const struct place *place, const char *host, size_t n, const char *port,
                     size_t port_n)
{
    const char *at = place->hosts, *end = place->hosts + place->hosts_n;
    const char *other, *other_port;
    size_t other_n, other_port_n;
    while (next_host(&at, end, &other, &other_n, &other_port, &other_port_n))
        if (is_same(other, other_n, host, n) && is_same(other_port, other_port_n, port, port_n))
            return true;
    return false;
}

static bool has_hosts(const struct place *prefix, const struct place *url)
{
    if (!prefix->hosts || !url->hosts)
        return prefix->hosts == url->hosts;
    const char *at = url->hosts, *end = url->hosts + url->hosts_n, *host, *port;
    size_t n, port_n, seen = 0;
    while (next_host(&at, end, &host, &n, &port, &port_n)) {
        seen++;
        if (!has_host(prefix, host, n, port, port_n))
            return false;
    }
    return seen > 0;
}

static bool lies_below(const struct place *prefix, const struct place *url)
{
    if (url->path_n < prefix->path_n || memcmp(url->path, prefix->path, prefix->path_n) != 0)
        return false;
    return url->path_n == prefix->path_n || url->path[prefix->path_n] == '/';
}

int cw_store_allow_check(const char *prefix, struct cw_err *err)
{
    struct place place;
    if (split(prefix, &place) && is_plain(place.path, place.path_n) &&
        (place.hosts ? place.hosts_n > 0 : place.path_n == 0 || place.path[0] == '/') &&
        !strchr(prefix, '?'))
        return 0;
    return cw_err_set(err, CW_E_INVALID,
                      "--allow-store: \"%.300s\" is no beginning of a store's URL, such as "
                      "gluster://HOST/VOLUME/PATH or dir:/PATH",
                      prefix);
}

bool cw_store_is_allowed(const char *url, const char *const *prefixes, size_t n)
{
    struct place place, prefix;
    if (!split(url, &place) || !is_plain(place.path, place.path_n))
        return false;
    for (size_t i = 0; i < n; i++)
        if (split(prefixes[i], &prefix) &&
            is_same(prefix.scheme, prefix.scheme_n, place.scheme, place.scheme_n) &&
            has_hosts(&prefix, &place) && lies_below(&prefix, &place))
            return true;
    return false;
}
