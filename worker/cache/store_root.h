/* SPDX-License-Identifier: Apache-2.0 */
/* Which stores a dispatcher may name to this worker: those below a URL that the option --store-root
 * gave. Without the option a dispatcher of this host may name any, and others none, since who
 * names a store decides where this worker writes. Any thread. */
#ifndef CW_WORKER_CACHE_STORE_ROOT_H
#define CW_WORKER_CACHE_STORE_ROOT_H

#include <stdbool.h>

#include "base/args.h"

/* Returns whether `url` is the root or below it, by whole components. */
bool cw_store_root_has(const char *root, const char *url);
/* Returns 0, or DENIED with a message that names the URL and the option. */
int cw_store_root_check(const struct cw_arg_list *roots, const char *dispatcher, const char *url,
                        struct cw_err *err);

#endif
