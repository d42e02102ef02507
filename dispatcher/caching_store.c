/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/caching.h"

struct cw_caching_store *cw_caching_store_open(struct cw_caching *caching, const char *url)
{
    (void)caching, (void)url;
    return NULL;
}
void cw_caching_store_close(struct cw_caching_store *store)
{
    (void)store;
}
void cw_caching_store_free(struct cw_caching_store *store)
{
    (void)store;
}
void cw_caching_store_list(struct cw_caching_store *store)
{
    (void)store;
}
void cw_caching_store_space(struct cw_caching_store *store)
{
    (void)store;
}
void cw_caching_store_remove(struct cw_caching_store *store, const char *name)
{
    (void)store, (void)name;
}
