/* SPDX-License-Identifier: Apache-2.0 */
/* Compares URLs of stores as texts; nothing is opened. */
#include "worker/cache/store_root.h"

#include <string.h>

#include "rpc/rpc.h"

/* Whether the path has a component "..", with which it could lead out of a root. */
static bool climbs(const char *path)
{
    while (*path && *path != '?') {
        size_t n = strcspn(path, "/?");
        if (n == 2 && memcmp(path, "..", 2) == 0)
            return true;
        path += n;
        path += *path == '/';
    }
    return false;
}

bool cw_store_root_has(const char *root, const char *url)
{
    size_t n = strlen(root);
    while (n > 0 && root[n - 1] == '/')
        n--;
    if (n == 0 || strncmp(url, root, n) != 0 || climbs(&url[n]))
        return false;
    /* "dir:" and "gluster:" are roots of all stores of their kind. */
    return root[n - 1] == ':' || url[n] == '\0' || url[n] == '/' || url[n] == '?';
}

int cw_store_root_check(const struct cw_arg_list *roots, const char *dispatcher, const char *url,
                        struct cw_err *err)
{
    for (size_t i = 0; i < roots->n; i++)
        if (cw_store_root_has(roots->v[i], url))
            return 0;
    if (roots->n > 0)
        return cw_err_set(err, CW_E_DENIED,
                          "the dispatcher names the store %s, which is below no --store-root of "
                          "this worker",
                          url);
    if (cw_rpc_address_is_loopback(dispatcher))
        return 0;
    return cw_err_set(err, CW_E_DENIED,
                      "the dispatcher names the store %s, and is on another host: give this worker "
                      "--store-root with the beginning of URLs that it may use",
                      url);
}
